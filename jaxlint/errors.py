"""The errors that a user can cause and cure."""

from __future__ import annotations


class UserError(Exception):
    """A wrong option, configuration or path; its text is one line that names the place and the way out."""
