"""Tests of `jaxlint.libraries`."""
