"""The values that the interpreter of decorators and field helpers computes with.

What is known is a value of Python: a constant, list, dict, … All else is one of the classes of this module, or
`UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from jaxlint.project.modules import Module
from jaxlint.syntax.expressions import Expr
from jaxlint.syntax.statements import Body

#: A value of Python, or an instance of one of the classes below.
Value: TypeAlias = Any
Env: TypeAlias = dict[str, Any]


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()


class Undecided(Exception):
    """What happens depends on something that is not known."""


class TheClass:
    """The class that is decorated."""

    def __init__(self, name: str, fields: list[AField], taken: frozenset[str], *, is_dataclass: bool) -> None:
        self.name = name
        self.fields = fields
        #: The names that its body binds.
        self.taken = taken
        self.is_dataclass = is_dataclass
        #: What is assigned to its attributes.
        self.attributes: dict[str, Value] = {}
        #: The known functions that are applied to it, in order.
        self.applied: list[Application] = []
        #: Whether it was passed to a function that nobody can read.
        self.escaped = False
        #: Whether defaults that cannot be hashed may be replaced by what makes new ones.
        self.may_wrap_defaults = False


class AField(msgspec.Struct, frozen=True, eq=False):
    """What `dataclasses.fields` tells of one field."""

    name: str
    metadata: Mapping[str, bool | None]
    init: bool = True


class Metadata(msgspec.Struct, frozen=True, eq=False):
    """`field.metadata`."""

    field: AField


class Attributes(msgspec.Struct, frozen=True, eq=False):
    """`cls.__dict__`."""

    cls: TheClass


class Annotations(dict[str, Any]):
    """`cls.__annotations__`: what is put there becomes a field."""


class AnInstance(msgspec.Struct, frozen=True, eq=False):
    """An instance of the class; `is_made` if it was made by calling the class."""

    cls: TheClass
    is_made: bool = False


class FieldValue(msgspec.Struct, frozen=True):
    """What an instance holds in a field."""

    name: str


class Given(msgspec.Struct, frozen=True, eq=False):
    """An expression that is passed on and not looked at, and where it is to be read."""

    expr: Expr
    module: Module
    scope: str


class Known(msgspec.Struct, frozen=True):
    """A function, class or module outside of the project, by its name; or an `object()` of the project that has one."""

    name: str
    is_object: bool = False

    @property
    def is_sentinel(self) -> bool:
        """Whether it stands for "nothing was given": nothing else is the same object."""
        return self.is_object or self.name in _SENTINELS


#: What the standard library gives for that.
MISSING = Known("dataclasses.MISSING")
_SENTINELS = frozenset({MISSING.name, "builtins.Ellipsis", "inspect.Parameter.empty", "inspect.Signature.empty"})


class Closure(msgspec.Struct, frozen=True, eq=False):
    """A function of the project, or a lambda, with the variables around it."""

    positional: tuple[str, ...]
    keyword_only: tuple[str, ...]
    rest: str
    rest_keywords: str
    defaults: Mapping[str, Value]
    #: An expression for a lambda.
    body: Body | Expr
    env: Env
    module: Module
    scope: str


class Method(msgspec.Struct, frozen=True, eq=False):
    """`value.name`, to be called."""

    value: Value
    name: str


class Partial(msgspec.Struct, frozen=True, eq=False):
    """`partial(function, …)`, or a known decorator that was given its options."""

    function: Value
    positional: tuple[Value, ...]
    keywords: Mapping[str, Value]


class Application(msgspec.Struct, frozen=True, eq=False):
    """A known function that is applied to the class, and what else it is given."""

    name: str
    positional: tuple[Value, ...]
    keywords: Mapping[str, Value]


class ADeclaration(msgspec.Struct, frozen=True, eq=False):
    """What a known field function returns, and what that is given."""

    name: str
    positional: tuple[Value, ...]
    keywords: Mapping[str, Value]


class Run(Protocol):
    """What runs: it calls functions, and knows which of them are applied to classes, and which declare fields."""

    #: The keys of metadata that were asked for.
    asked: set[str]

    @property
    def decorators(self) -> Collection[str]:
        """The known functions that are applied to classes."""

    @property
    def field_functions(self) -> Collection[str]:
        """The known functions that declare fields."""

    def call(self, function: Value, positional: Iterable[Value], keywords: dict[str, Value]) -> Value:
        """What a call returns."""


def truth_of(value: Value) -> bool:
    """Whether a value is true. Raises `Undecided`."""
    if value is UNKNOWN or isinstance(value, (Given, Metadata, Attributes, AnInstance, FieldValue)):
        raise Undecided
    if value == Known("typing.TYPE_CHECKING"):
        return False
    return True if isinstance(value, (TheClass, AField, Known, Closure, Method, Partial)) else bool(value)
