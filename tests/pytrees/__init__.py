"""Tests of `jaxlint.pytrees`."""
