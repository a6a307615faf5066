"""Tests of what the language server is built on."""
