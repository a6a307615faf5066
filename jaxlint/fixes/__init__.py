"""Applying fixes: rounds of them, each looked at before anything is written."""
