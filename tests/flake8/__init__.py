"""Tests: flake8."""
