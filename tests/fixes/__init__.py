"""Tests of jaxlint.fixes."""
