"""Tests of `jaxlint.report`."""
