"""JAX207 positional-field-default."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import NameArgument, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import (
    Array,
    ClassObject,
    Container,
    FunctionValue,
    Instance,
    LocalFunctionValue,
    Scalar,
    Symbolic,
    Value,
    plain,
)
from jaxlint.libraries.functions import WITHOUT_FLAGS
from jaxlint.project.resolution import External
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.frameworks import FIELD_FUNCTIONS
from jaxlint.pytrees.model import Field, FieldCall, Placed, PytreeClass
from jaxlint.rules.base import ClassRule, Problem


class PositionalFieldDefault(ClassRule):
    """
    ## What it does

    Finds field functions whose first positional argument is meant as the default, but is something else.

    ## Why is this bad?

    `dataclasses.field` and its kin take their options by keyword. The first parameter of `struct.field` is
    `pytree_node`, so `struct.field(0)` is a static field without a default and `struct.field(5)` is a leaf without
    one. In a class body `nnx.static(3)` and `nnx.data(3)` drop the value. The others refuse the argument.

    ## What you will see

    `TypeError: Head.__init__() missing 1 required positional argument: 'stride'`, or
    `TypeError: field() takes 0 positional arguments but 1 was given` when the class is created.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Head:
        kernel: jax.Array
        stride: int = struct.field(1)
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Head:
        kernel: jax.Array
        stride: int = struct.field(pytree_node=False, default=1)
    ```

    ## Frameworks

    flax.struct and TrainState (`struct.field`), nnx (`nnx.static`, `nnx.data`) and all that declare fields with
    `dataclasses.field`, `jax.tree.static`, `eqx.field`, `jdc.field`, simple_pytree's or tjax's `field`, which refuse
    positional arguments. treex takes the default as its first argument.

    ## Fix safety

    The argument is given as `default=`. The fix is safe where the class cannot be created as it is; otherwise the field
    has a default, or another role, from then on.

    ## When not to use it

    `struct.field(True)` and `struct.field(False)` mean what they say and are no findings.

    ## References

    - [flax.struct](https://flax.readthedocs.io/en/latest/api_reference/flax.struct.html)
    - [dataclasses.field](https://docs.python.org/3/library/dataclasses.html#dataclasses.field)
    """

    code = "JAX207"
    name = "positional-field-default"
    group = "roles"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the calls that declare the class's own fields."""
        if not cls.is_dataclass or cls.framework.is_tuple:
            return
        for field in cls.fields:
            call = field.call
            if field.owner != cls.symbol or call is None or call.function not in FIELD_FUNCTIONS:
                continue
            spec = FIELD_FUNCTIONS[call.function]
            if len(call.positional) > len(spec.positional):
                yield _refused(cls, field, call, call.positional[len(spec.positional)], len(spec.positional))
            for parameter, value in zip(spec.positional, call.positional, strict=False):
                if parameter in spec.keywords:
                    known = plain(evaluator.static(value))
                    if not {"default", "default_factory"} & call.keywords and _is_no_flag(known):
                        yield _taken_as_flag(cls, field, call, value, parameter)
                elif parameter != "default":
                    yield _dropped(cls, field, call, value)


def _is_no_flag(value: Value) -> bool:
    """Whether a value is certainly meant as a default, not as a truth value."""
    match value:
        case Scalar(kind=kind):
            return kind != "bool"
        case Symbolic(symbol=External(name=name)):
            return name.startswith(WITHOUT_FLAGS)
    return isinstance(value, (Array, Container, Instance, ClassObject, FunctionValue, LocalFunctionValue))


def _at(cls: PytreeClass, field: Field, value: Placed) -> object:
    return value.expr.at if value.module is cls.module else field.at


def _taken_as_flag(cls: PytreeClass, field: Field, call: FieldCall, value: Placed, parameter: str) -> Problem:
    role = {Role.STATIC: "is static and ", Role.LEAF: "is a leaf and "}.get(field.role, "")
    return Problem(
        at=_at(cls, field, value),
        message=(
            f"the first argument of `{call.function}` is `{parameter}`: field `{field.name}` of `{cls.name}` {role}"
            "has no default; write `default=...`"
        ),
        reason=f"`{parameter}` is the first parameter, and whatever is given for it is taken as a truth value",
        help=f"write `{field.name}: ... = {call.function}(default=...)`",
        fix=_named(cls, call, value, Applicability.UNSAFE),
    )


def _dropped(cls: PytreeClass, field: Field, call: FieldCall, value: Placed) -> Problem:
    return Problem(
        at=_at(cls, field, value),
        message=(
            f"`{call.function}` drops its positional argument in a class body: field `{field.name}` of `{cls.name}`"
            " has no default; write `default=...`"
        ),
        reason="a positional argument is the value of an attribute that is assigned to `self`, not the default of one",
        help=f"write `{field.name}: ... = {call.function}(default=...)`",
        fix=_named(cls, call, value, Applicability.UNSAFE),
    )


def _refused(cls: PytreeClass, field: Field, call: FieldCall, value: Placed, accepted: int) -> Problem:
    number = "one positional argument" if accepted else "no positional arguments"
    return Problem(
        at=_at(cls, field, value),
        message=(
            f"`{call.function}` takes {number}: `{cls.name}` cannot be created (TypeError);"
            f" write `default=...` for field `{field.name}`"
        ),
        reason="the options of a field are given by keyword, its default too",
        help=f"write `{field.name}: ... = {call.function}(default=...)`",
        fix=_named(cls, call, value, Applicability.SAFE),
    )


@proposing
def _named(cls: PytreeClass, call: FieldCall, value: Placed, applicability: Applicability) -> Proposal | None:
    """The fix that gives a default by its name."""
    if value.module is not cls.module or not call.keywords.isdisjoint({"default", "default_factory"}):
        return None
    return Proposal("Name the default", applicability, (NameArgument(value.expr.at, "default"),))
