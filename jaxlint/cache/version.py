"""The version of jaxlint, by which what is stored belongs to the code that wrote it.

It stands here, below all who ask for it: the package itself imports what it offers, and no room imports the package.
"""

from __future__ import annotations

__version__ = "0.1.0"
