"""Tests of `jaxlint.suppression`."""
