"""What outlines tell of the pieces of a module and of the functions in them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from jaxlint.infer.choosing.rows import Place, place
from jaxlint.infer.transforms.calling import is_transformed
from jaxlint.libraries.transforms import LAST_NAMES
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Assignment, Function, Import, Unit
from jaxlint.syntax.expressions import Attribute, Call, Name, last_name


def pieces_of(module: Module) -> list[Unit]:
    """The functions of a module, and what else is in it."""
    return [piece for unit in module.outline.units if unit.kind != "import" for piece in unit.pieces or (unit,)]


def applying_pieces(pieces: list[Unit], module: Module) -> dict[str, set[Place]]:
    """The pieces with calls that may apply transformations, by the functions and methods (`.f`) that they are given."""
    applying = sorted(module.outline.applying, key=lambda one: one.call.at.row)
    rows = [one.call.at.row for one in applying]
    found: dict[str, set[Place]] = {}
    for piece in pieces:
        if piece.calls.isdisjoint(LAST_NAMES):
            continue
        calls = applying[bisect_left(rows, piece.first) : bisect_right(rows, piece.last)]
        given = [argument.value for one in calls for argument in one.call.args]
        methods = {f".{value.attr}" for value in given if isinstance(value, Attribute)}
        for name in piece.references | methods if calls else ():
            found.setdefault(name, set()).add(place(piece))
    return found


def imports_jax(module: Module) -> bool:
    """Whether a name of a module stands for jax or a part of it."""
    bindings = module.outline.module_scope.bindings.values()
    return any(isinstance(b, Import) and b.module.partition(".")[0] == "jax" for found in bindings for b in found)


def is_made(name: str, module: Module) -> bool:
    """Whether a variable of the module is given what a call returns."""
    bindings = module.outline.module_scope.bindings.get(name, ())
    return any(isinstance(b, Assignment) and isinstance(b.value, Call) for b in bindings)


def transformed_attributes(function: Function) -> set[str]:
    """The attributes of `self` that a method assigns the result of a transformation to."""
    return {a.attr for a in function.self_assignments if is_transformed(a.value)}


def held_as(module: Module) -> dict[str, list[str]]:
    """The attributes that hold what a transformation makes of a function or method, by its name."""
    found: dict[str, list[str]] = {}
    if all(unit.calls.isdisjoint(LAST_NAMES) for unit in module.outline.units):
        return found
    assigned = (a for function in module.outline.functions.values() for a in function.self_assignments)
    for assignment in [a for a in assigned if type(a.value) is Call]:
        given = assignment.value
        while isinstance(given, Call) and is_transformed(given) and given.args:
            given = given.args[0].value
        if isinstance(given, (Name, Attribute)):
            found.setdefault(last_name(given), []).append(assignment.attr)
    return found


def has_bare_parameters(function: Function) -> bool:
    """Whether a parameter other than `self` has no annotation."""
    own = function.parameters[1:] if function.self_name is not None else function.parameters
    bare = [p for p in own if p.annotation is None]
    if not bare or any([p.kind[0] != "*" for p in bare]):
        return bool(bare)
    return any(isinstance(value, Call) and value.has_star for value in function.return_values)


def called_names(function: Function) -> set[str]:
    """By which names a function is called: a constructor by that of its class, too."""
    return {function.name, function.constructs or function.name}


def rebinds_self(function: Function, module: Module) -> bool:
    """Whether a method binds its first parameter again."""
    name = function.self_name
    scope = module.outline.scopes.get(function.inner_scope)
    return name is not None and scope is not None and len(scope.bindings.get(name, ())) > 1


def binds_field(cls: PytreeClass) -> bool:
    """Whether a constructor has a variable with the name of a field, besides its parameters."""
    declaration, outline = cls.symbol.declaration, cls.module.outline
    for qualname in (q for name in ("__init__", "__post_init__") for q in declaration.methods.get(name, ())):
        bindings = outline.scopes[f"{qualname}.<locals>"].bindings
        if any(
            cls.field(name) is not None and len(found) > (found[0].guard == "parameter")
            for name, found in bindings.items()
        ):
            return True
    return False
