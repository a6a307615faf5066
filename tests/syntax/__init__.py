"""Tests of `jaxlint.syntax`."""
