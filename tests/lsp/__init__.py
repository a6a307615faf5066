"""Tests of the language server, and of what it is built on."""
