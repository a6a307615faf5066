"""The options of a class declaration that its framework does not take."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.pytrees.model import Placed, PytreeClass, truth
from jaxlint.syntax.expressions import Expr, Span


class Unsupported(msgspec.Struct, frozen=True):
    """An option that makes the class statement fail, who refuses it, and the exception with a part of its text."""

    name: str
    #: What it is given.
    value: Expr
    refused_by: str
    exception: str
    text: str
    #: Whether it is the value that is refused, and not the option.
    value_matters: bool = False
    #: The decorator (or call) that gives it in another module, and the name by which that is applied here.
    given_by: tuple[Span, str] | None = None


def unsupported_options(cls: PytreeClass) -> Iterator[Unsupported]:
    """The options, of decorators and among the class keywords, that are refused."""
    yield from _class_keywords(cls)
    for run in cls.made_by:
        accepted = run.framework.options.get(run.function)
        if accepted is None or run.ignored or run.guarded:
            continue
        by = f"{run.name}(...)" if run.is_call else f"@{run.name}"
        for name, placed in run.options.items():
            if placed.module is not cls.module:
                if name not in accepted and run.elsewhere is None:
                    text, given_by = f"got an unexpected keyword argument '{name}'", (run.at, run.name)
                    yield Unsupported(name, placed.expr, f"`{run.function}`", "TypeError", text, given_by=given_by)
                continue
            if name not in accepted:
                text = f"got an unexpected keyword argument '{name}'"
                yield Unsupported(name, placed.expr, f"`{by}`", "TypeError", text)
            elif name == "slots" and cls.framework.refuses_slots and truth(placed, None):
                yield Unsupported(
                    name, placed.expr, f"`{cls.framework.title}`", "TypeError", cls.framework.refuses_slots
                )
            elif name == "frozen" and run.framework.must_be_frozen and truth(placed, None) is False:
                text = "Pytree dataclasses can only be frozen!"
                yield Unsupported(name, placed.expr, f"`{by}`", "AssertionError", text, True)


def _class_keywords(cls: PytreeClass) -> Iterator[Unsupported]:
    framework = cls.framework
    if framework.class_keywords is None or not cls.bases_known or _takes_keywords(cls):
        return
    title = f"`{framework.title}`"
    for argument in cls.symbol.declaration.bases:
        name = argument.keyword
        if name is None or name == "metaclass":
            continue
        if name not in framework.class_keywords:
            yield Unsupported(name, argument.value, title, "TypeError", "keyword argument")
        elif name in framework.refused_keywords and truth(Placed(argument.value, cls.module, ""), None):
            yield Unsupported(name, argument.value, title, "TypeError", framework.refused_keywords[name])


def _takes_keywords(cls: PytreeClass) -> bool:
    """Whether a class of the project, or a metaclass, says what class keywords there are."""
    declarations = [c.symbol.declaration for c in cls.mro[1:]]
    return any(
        "__init_subclass__" in declaration.methods or any(a.keyword == "metaclass" for a in declaration.bases)
        for declaration in (*declarations, cls.symbol.declaration)
    )
