"""Tests of jaxlint.cst."""
