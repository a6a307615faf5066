"""Tests of the mypy plugin: a corpus of marked programs, and the ways in which mypy is run."""
