"""Where what some pieces of a module make may come: into the functions that get it, as far as names tell."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlint.infer.choosing.pieces import has_bare_parameters
from jaxlint.infer.choosing.rows import Place, place
from jaxlint.symbols.outline import Function, Unit


def handed_on(making: Sequence[Unit], functions: Sequence[tuple[Unit, Sequence[Function]]]) -> set[Place]:
    """The pieces whose functions get what some pieces make: by a parameter without annotation, or an attribute.

    `functions` are the pieces of the module, each with those in it.
    """
    declared = [(piece, f) for piece, own in functions for f in own if f.owner or not f.scope]
    made = set(map(place, making))
    makers = {f.name for piece, own in functions if place(piece) in made for f in own}
    pending = [*making, *(piece for piece, _ in functions if not piece.calls.isdisjoint(makers))]
    at_hand = set(map(place, pending))
    held = {(f.owner, a.attr) for piece, f in declared if place(piece) in at_hand for a in f.self_assignments}
    found = {place(piece) for piece, f in declared if any((f.owner, attr) in held for attr in f.self_reads)}
    taking: dict[str, list[Unit]] = {}
    for piece, function in declared:
        if has_bare_parameters(function):
            taking.setdefault(function.name, []).append(piece)
    while pending:
        for name in sorted(pending.pop().calls & taking.keys()):
            pending += taking[name]
            found.update(map(place, taking.pop(name)))
    return found
