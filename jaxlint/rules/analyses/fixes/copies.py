"""Whether a copy of an instance with another field can be made, and what to do where it cannot."""

from __future__ import annotations

from jaxlint.libraries.packages import usual_name
from jaxlint.pytrees.made_of_fields import takes_fields
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.updating import is_copied_by_constructor, is_not_updatable, is_updatable, update_function
from jaxlint.rules.analyses.fields.keeping import is_stored


def is_copied(cls: PytreeClass, attr: str) -> bool:
    """Whether a copy with another value of a field can certainly be made, in which all other fields are as they were.

    An own `__init__` that makes something else of what it is given does so again. Without a name, it is any field.
    """
    if not attr:
        by_name = not cls.framework.copies_leaves or (keeps_fields(cls) and all(field.init for field in cls.fields))
        return by_name and bool(cls.fields) and all(is_copied(cls, field.name) for field in cls.fields)
    if not is_updatable(cls, attr):
        return False
    return not is_copied_by_constructor(cls, attr) or keeps_fields(cls)


def keeps_fields(cls: PytreeClass) -> bool:
    """Whether the constructor certainly takes all fields by name and, if it is written, holds them as they are."""
    stored = cls.custom_init() is None or all(is_stored(field.name, cls) for field in cls.fields if field.init)
    return takes_fields(cls) is True and stored


def made_anew_help(cls: PytreeClass, attr: str) -> str:
    """What to do where the constructor makes no copy with another value of a field; empty if it may well do."""
    function = usual_name(update_function(cls, attr)).removeprefix(".")
    if not is_not_updatable(cls, attr):
        runs_again = is_copied_by_constructor(cls, attr) and takes_fields(cls) is True and not keeps_fields(cls)
        anew = f"make a new `{cls.name}(...)` with another `{attr}`, as `{function}` runs `__init__` again"
        return f"{anew}, which may change what it is given" if runs_again else ""
    field = cls.field(attr)
    if field is not None and not field.init:
        return f"let the constructor take `{attr}`, as `{function}` refuses a field with `init=False`"
    init = cls.custom_init()
    if init is not None and not init.takes(attr):
        return f"let `__init__` of `{cls.name}` take all fields and require nothing else, and use `{function}`"
    needed = "needs an `__init__` that takes all fields and requires nothing else"
    return f"make a new `{cls.name}(...)` with another `{attr}`, as `{function}` {needed}"
