"""Which bodies of functions say more than the outline does: those that other modules look into, and what decides it."""

from __future__ import annotations

import re

from jaxlint.libraries.packages import STATEFUL
from jaxlint.libraries.transforms import LAST_NAMES
from jaxlint.symbols.outline import Function, Outline
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, dotted, items_of, last_name
from jaxlint.syntax.statements import parts

_WORD = re.compile(r"[A-Za-z_]\w*")
#: Methods whose bodies tell what instances are made of.
_TELLING = frozenset({"__init__", "__post_init__", "__new__", "setup", "__init_subclass__"})


def changes_modules(outline: Outline) -> bool:
    """Whether functions may write to modules of flax.nnx or treex: what they do is followed from other modules."""
    return any(name.startswith(STATEFUL) for _, name in outline.imported_modules)


def transforms_functions(outline: Outline) -> bool:
    """Whether something in a module is called like a transformation of JAX that is applied to functions."""
    decorators = [decorator for function in outline.functions.values() for decorator in function.decorators]
    named = [dotted(part) or "" for decorator in decorators for part in parts(decorator)]
    return bool(outline.applying) or any(name.rpartition(".")[2] in LAST_NAMES for name in named)


def makes_what_it_says(function: Function) -> bool:
    """Whether a function makes what it returns by calling a class its annotation names: the fields are not said."""
    made: set[str] = set()
    for value in function.return_values if function.returns is not None else ():
        for part in items_of(value):
            if type(part) is Call and (name := last_name(_class_called(part.func)))[:1].isupper():
                made.add(name)
    if not made or function.returns is None:
        return False
    named = " ".join(str(p.value) if isinstance(p, Constant) else last_name(p) for p in parts(function.returns))
    return not made.isdisjoint(_WORD.findall(named))


def _class_called(func: Expr) -> Expr:
    """The class that is called, perhaps by the class method of a `TrainState`."""
    return func.value if isinstance(func, Attribute) and func.attr == "create" else func


def shows_body(function: Function, outline: Outline) -> bool:
    """Whether other modules look into a function.

    Not if it says what it returns, does nothing else to others, and asks them for nothing that a tracer has not.
    """
    tells_more = function.acts or function.asks or function.may_return_copy or makes_what_it_says(function)
    is_said = function.returns is not None and not tells_more
    is_closed = is_said and function.name not in _TELLING and not function.self_assignments
    return not is_closed or "flatten" in function.name or changes_modules(outline)
