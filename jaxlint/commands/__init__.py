"""Commands of `jaxlint.cli` and what they share."""
