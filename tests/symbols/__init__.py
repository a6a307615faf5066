"""Tests of `jaxlint.symbols`."""
