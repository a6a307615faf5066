"""What names a file or a folder: never nothing, as `"$UNSET"` would, and completed by the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class PathType(click.ParamType):
    """A path; `kind` says what the shell completes it with."""

    name = "path"

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path as it was given."""
        if value == "":
            self.fail("the path is empty.", param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What the shell knows."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type=self._kind)]


#: A file, or a file or folder.
PATH = PathType("file")
FOLDER = PathType("dir")
