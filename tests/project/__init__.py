"""Tests of `jaxlint.project.modules`."""
