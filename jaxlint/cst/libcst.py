"""libcst as rules see it: it is loaded with the first node that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libcst import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        import libcst

        found = globals()[name] = getattr(libcst, name)
        return found
