"""To which scope a name belongs that a function binds."""

from __future__ import annotations

from jaxlint.symbols.outline import Assignment
from jaxlint.symbols.parsing import outline_of

TEXT = """
def outer():
    last = None

    class Kept:
        last = 1

        def keep(self, one):
            nonlocal last
            last = one

    def forget():
        global last
        last = None

    return Kept, forget
"""


def test_names_of_functions_around_and_of_the_module() -> None:
    scopes = outline_of(TEXT).scopes
    bound = {key: scope.bindings.get("last", ()) for key, scope in scopes.items()}
    rows = {key: [one.at.row for one in found if isinstance(one, Assignment)] for key, found in bound.items()}
    assert {key: found for key, found in rows.items() if found} == {
        "": [14],
        "outer.<locals>": [3, 10],
        "outer.<locals>.Kept": [6],
    }
