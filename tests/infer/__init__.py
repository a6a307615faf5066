"""Tests of `jaxlint.infer`."""
