"""Tests of `jaxlint.cache.store`."""
