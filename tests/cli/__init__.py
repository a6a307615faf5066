"""Tests of `jaxlint.cli.main`."""
