"""The `jaxlint` command, and what its commands share."""
