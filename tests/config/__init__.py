"""Tests of `jaxlint.config.settings`."""
