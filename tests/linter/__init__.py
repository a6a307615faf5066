"""Tests of `jaxlint.linter`."""
