"""Report: the forms in which findings are shown, one module each, named in one table and imported when needed.

Imports findings and what is below; it never looks at code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from jaxlint.report.base import Report
    from jaxlint.report.drawing import Drawing

    Writer = Callable[[Report, TextIO], None]
    Drawer = Callable[[Drawing, TextIO], None]

#: The output formats, and what writes each: a module here and a function in it.
FORMATS = {
    "full": "text:write_full",
    "concise": "text:write_concise",
    "grouped": "grouped:write",
    "json": "json:write",
    "json-lines": "json:write_lines",
    "github": "github:write",
    "gitlab": "gitlab:write",
    "junit": "junit:write",
    "rdjson": "rdjson:write",
    "sarif": "sarif:write",
}

#: What counts the findings of each rule, for the formats that have a place for that.
STATISTICS = {
    "full": "statistics:write",
    "concise": "statistics:write",
    "grouped": "statistics:write",
    "json": "statistics:write_json",
    "json-lines": "statistics:write_json_lines",
}

#: The forms of `jaxlint tree`.
DRAWINGS = {
    "text": "tree_text:write",
    "mermaid": "tree_mermaid:write",
    "svg": "tree_svg:write",
    "html": "tree_html:write",
    "json": "tree_json:write",
}


def writer(table: Mapping[str, str], name: str) -> Writer:
    """What writes the format `name` of `table`."""
    found: Writer = _function(table[name])
    return found


def drawer(name: str) -> Drawer:
    """What writes a drawing in the form `name`."""
    found: Drawer = _function(DRAWINGS[name])
    return found


def _function(place: str) -> Any:
    module, _, function = place.partition(":")
    return getattr(import_module(f"{__name__}.{module}"), function)
