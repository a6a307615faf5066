"""The tests of jaxlint."""
