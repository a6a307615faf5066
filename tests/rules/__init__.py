"""Tests of `jaxlint.rules`."""
