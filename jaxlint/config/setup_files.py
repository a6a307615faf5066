"""What a `setup.py` or a `setup.cfg` asks for, as far as it is written down there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxlint.syntax.regular import read_regular

if TYPE_CHECKING:
    import ast

SETUP_FILES = ("setup.cfg", "setup.py")

#: What bounds a version above; a file without it is not read.
_BOUND = re.compile(r"<|==|~=")
_ASKED = "install_requires"
_ASKED_BY_EXTRAS = "extras_require"


def asked_by_setup(path: str) -> list[str]:
    """The requirements that a `setup.py` (which is not run) or a `setup.cfg` lists; none if it cannot be read."""
    try:
        text = read_regular(path).decode()
    except (OSError, UnicodeDecodeError):
        return []
    if _ASKED not in text or _BOUND.search(text) is None:
        return []
    return list(_in_cfg(text) if os.path.basename(path).endswith(".cfg") else _in_script(text))


def _in_cfg(text: str) -> Iterator[str]:
    from configparser import Error, RawConfigParser

    parser = RawConfigParser()
    try:
        parser.read_string(text)
    except Error:
        return
    yield from parser.get("options", _ASKED, fallback="").splitlines()
    if parser.has_section(f"options.{_ASKED_BY_EXTRAS}"):
        for _, listed in parser.items(f"options.{_ASKED_BY_EXTRAS}"):
            yield from listed.splitlines()


def _in_script(text: str) -> Iterator[str]:
    import ast

    try:
        script = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    variables: dict[str, list[ast.expr]] = {}
    for statement in script.body:
        if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Name):
            variables.setdefault(target.id, []).append(statement.value)
    for call in ast.walk(script):
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == "setup":
            for keyword in call.keywords:
                if keyword.arg in (_ASKED, _ASKED_BY_EXTRAS):
                    yield from _listed(keyword.value, variables)


def _listed(value: ast.expr, variables: dict[str, list[ast.expr]]) -> Iterator[str]:
    """The texts in a list, or in those of a dict; a variable is read if the module binds it once."""
    import ast

    match value:
        case ast.Name(id=name):
            bound = variables.get(name, ())
            if len(bound) == 1 and not isinstance(bound[0], ast.Name):
                yield from _listed(bound[0], variables)
        case ast.Dict(values=values):
            for one in values:
                yield from _listed(one, variables)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            yield from (item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str))
