"""JAX111 field-name-clash."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.finding import Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Array, Scalar, plain
from jaxlint.pytrees.model import Field, Kind, PytreeClass
from jaxlint.rules.analyses.instances.methods import own_methods
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, Name, Subscript, dotted, last_name, without_call

#: Decorators whose result refuses assignment, unless there is a setter.
_PROPERTIES = frozenset({"property", "abstractproperty"})


class FieldNameClash(ClassRule):
    """
    ## What it does

    Finds fields that share their name with a method or property, in the class or in a base class (with a method that is
    called, where the field holds an array), methods that the
    framework overwrites, and fields with the name of a method that the framework needs.

    ## Why is this bad?

    A class has one attribute of a name. A method becomes the default of the field, and a leaf that is no array; a
    property makes every construction fail; a `replace` of your own is never called, because flax, chex and mjx put
    theirs in its place.

    ## What you will see

    `AttributeError: property 'loss' of 'Metrics' object has no setter` (`can't set attribute` on Python 3.10) or
    `TypeError: Can't instantiate abstract class Metrics with abstract method loss`, when an instance is made;
    `TypeError: Error interpreting argument to <function step> as an abstract array. The problematic value is of type
    <class 'function'>`, in `jax.jit`; chex: `ValueError: The following dataclass fields are disallowed: {'replace'}`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Metrics:
        total: jax.Array
        loss: jax.Array

        @property
        def loss(self) -> jax.Array:
            return self.total / 2
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Metrics:
        total: jax.Array

        @property
        def loss(self) -> jax.Array:
            return self.total / 2
    ```

    ## Frameworks

    All that build on dataclasses. A `replace` of your own is overwritten by flax.struct, chex and mjx; chex overwrites
    `to_tuple`, `from_tuple`, `__getstate__` and `__setstate__`, too. `static_fields` and `dynamic_fields` belong to
    tjax.

    ## Fix safety

    There is no automatic fix yet.

    ## When not to use it

    A property with a setter may take what the constructor assigns, and is left alone. So is a property of a base class
    where the class has slots, which stand before it. So is a `replace` that only
    calls `dataclasses.replace` or the constructor, and one without a body, which is there for the type checker. A
    method under the name of a field that holds functions, or that the constructor puts an instance into, is reported
    with low confidence. Fields called `keys`,
    `values`, `items` or `get` hide methods of the mapping that a chex dataclass is; few use it as one: JAX603 reports
    the calls that fail.

    ## References

    - [dataclasses](https://docs.python.org/3/library/dataclasses.html)
    - [chex.dataclass](https://chex.readthedocs.io/en/latest/api.html#module-chex._src.dataclass)
    """

    code = "JAX111"
    name = "field-name-clash"
    group = "declaring"
    since = "0.1.0"
    raises_at_once = True

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Compare fields with methods, and both with the names that the framework uses."""
        if cls.unknown_decorator or cls.symbol.declaration.conditional_body or cls.framework.is_tuple:
            return
        if cls.params is not None:
            for field in cls.members:
                if field.kind is Kind.FIELD:
                    yield from _with_method(cls, field)
                    yield from _called_by_base(cls, field, evaluator)
                    if field.owner == cls.symbol:
                        yield from _reserved(cls, field)
        yield from _overwritten(cls, evaluator)


def _with_method(cls: PytreeClass, field: Field) -> Iterator[Problem]:
    """A field whose name is that of a method of the class, or of one from which the class inherits it."""
    own = field.owner == cls.symbol
    if own:
        if field.name in cls.symbol.declaration.methods:
            method = _last(cls, field.name)
            hidden = field.default is not None and field.at.row > method.at.row
            if not hidden and not _has_setter(cls, field.name):
                yield from _own_method(cls, field, method)
        elif field.default is None and field.factory is None and field.call is None:
            yield from _inherited_method(cls, field)
    elif field.name in cls.symbol.declaration.methods and not _has_setter(cls, field.name):
        if cls.generated_init and field.init and not field.opaque and cls.fields_known:
            yield _field_of_base(cls, field, _last(cls, field.name))


def _own_method(cls: PytreeClass, field: Field, method: Function) -> Iterator[Problem]:
    if _is_property(method):
        overridden = field.name in cls.abstract_methods  # by subclasses, be it with an attribute that takes values
        if cls.generated_init and field.init and not field.opaque and not overridden:
            yield _problem(
                method.at,
                f"`{field.name}` of `{cls.name}` is a field and a property: no instance can be made (AttributeError);"
                " rename one of them",
                "the constructor assigns the field, and a property without a setter refuses that",
            )
        return
    yield _problem(
        method.at,
        f"`{field.name}` of `{cls.name}` is a field and a method: the method is the default of the field, and cannot be"
        " called on instances that are given another value; rename one of them",
        "a class has one attribute of a name, and the dataclass machinery takes it for the default",
        Confidence.LOW if _holds_functions(field) or _is_given_a_module(cls, field) else Confidence.HIGH,
    )


def _is_given_a_module(cls: PytreeClass, field: Field) -> bool:
    """Whether the constructor of the class itself puts an instance there, which may be called in the method's place."""
    constructors = cls.symbol.declaration.methods.get("__init__", ())
    assigned = (a for q in constructors for a in cls.module.outline.functions[q].self_assignments)
    values = (a.value for a in assigned if a.attr == field.name)
    names = [last_name(value.func) or "" if isinstance(value, Call) else "" for value in values]
    return bool(names) and all(name[:1].isupper() for name in names)


def _holds_functions(field: Field) -> bool:
    """Whether the annotation says that a field holds functions: its method is one, and need not be replaced."""
    annotation = field.annotation.expr if field.annotation is not None else None
    if isinstance(annotation, Subscript):
        annotation = annotation.value
    return annotation is not None and last_name(annotation) == "Callable"


def _inherited_method(cls: PytreeClass, field: Field) -> Iterator[Problem]:
    """A field without a default, where a base class has a property of its name."""
    if not cls.bases_known or not cls.generated_init or not field.init:
        return
    if any(registration.option("slots", False) is not False for registration in cls.made_by):
        return  # the slot of the field stands before the property
    for base in cls.mro:
        declaration = base.symbol.declaration
        bound = {a.name for a in declaration.assignments} | {f.name for f in declaration.fields if f.value is not None}
        if field.name in bound:
            return
        if base is not cls and field.name in declaration.methods:
            method = _last(base, field.name)
            if _is_property(method) and not _has_setter(base, field.name):
                yield _problem(
                    field.at,
                    f"field `{field.name}` of `{cls.name}` has the name of a property of `{base.name}`: no instance can"
                    " be made (AttributeError or TypeError); give the field a default, or rename it",
                    "the property is found as the default of the field, and refuses what the constructor assigns",
                )
            return


def _called_by_base(cls: PytreeClass, field: Field, evaluator: Evaluator) -> Iterator[Problem]:
    """A field that holds an array, where a class has inherited a method of its name that another method calls."""
    declaration = cls.symbol.declaration
    if field.owner != cls.symbol or field.name in declaration.methods or not cls.bases_known:
        return
    base = next((one for one in cls.mro[1:] if field.name in one.symbol.declaration.methods), None)
    if base is None or any(field.name == other.name for one in cls.mro[1:] for other in one.members):
        return
    if _is_property(_last(base, field.name)) or not isinstance(
        plain(evaluator.promises.field(field, cls)), (Array, Scalar)
    ):
        return
    callers = (one for each in cls.mro for one in own_methods(each) if field.name in one.self_calls)
    caller = next((one for one in callers if (cls.method(one.name) or (None, None))[1] is one), None)
    if caller is not None:
        yield _problem(
            field.at,
            f"field `{field.name}` of `{cls.name}` hides the method of `{base.name}`, which `{caller.name}` calls: it"
            " holds an array (TypeError: not callable); rename it",
            "what the constructor assigns to an instance hides the method of the class",
            Confidence.MEDIUM,
        )


def _field_of_base(cls: PytreeClass, field: Field, method: Function) -> Problem:
    owner = field.owner.declaration.name
    if _is_property(method):
        what = "no instance can be made (AttributeError)"
        why = "the constructor assigns the field, and a property without a setter refuses that"
        kind = "property"
    else:
        what = "instances have the value of the field, and the method is never called"
        why = "what the constructor assigns to an instance hides the method of the class"
        kind = "method"
    message = f"{kind} `{field.name}` of `{cls.name}` has the name of a field of `{owner}`: {what}; rename it"
    return _problem(method.at, message, why)


def _reserved(cls: PytreeClass, field: Field) -> Iterator[Problem]:
    """Fields with names that the framework uses itself."""
    if cls.registered is not True:
        return
    name, framework = f"field `{field.name}` of `{cls.name}`", cls.framework
    if field.name in framework.refused_names:
        message = f"{name} has the name of a method of chex: the class cannot be created (ValueError); rename it"
        yield _problem(field.at, message, f"chex puts a method `{field.name}` into the class")
    elif framework.replace_overwrites and field.name == framework.replace_method:
        message = f"{name} hides the method that copies with changes: `x.replace(...)` fails (TypeError); rename it"
        yield _problem(field.at, message, "an instance has the value of the field under the name of the method")
    elif field.name in framework.set_names:
        message = f"{name} has a name that tjax uses: its default is overwritten; rename it"
        yield _problem(field.at, message, f"tjax stores the names of fields in `{field.name}` of the class")


def _overwritten(cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
    """Methods that the framework replaces by its own."""
    if cls.registered is not True or not cls.framework.replace_overwrites or cls.params is None:
        return
    names = ["replace", *cls.framework.added_methods]
    for name in names:
        if name in cls.symbol.declaration.methods:
            method = _last(cls, name)
            if not _is_stub(method) and not _does_the_same(method, cls, evaluator):
                yield _problem(
                    method.at,
                    f"`{name}` of `{cls.name}` is never called: {cls.framework.title} puts a method of its own in its"
                    " place; rename it",
                    "the framework assigns its method to the class when it is registered",
                )


def _last(cls: PytreeClass, name: str) -> Function:
    return cls.module.outline.functions[cls.symbol.declaration.methods[name][-1]]


def _decorators(function: Function) -> list[str]:
    return [dotted(without_call(d)) or "" for d in function.decorators]


def _is_property(function: Function) -> bool:
    return any(d.rpartition(".")[2] in _PROPERTIES for d in _decorators(function))


def _has_setter(cls: PytreeClass, name: str) -> bool:
    """Whether one of the definitions of a name is `@name.setter`, or has a decorator of which nothing is known."""
    functions = [cls.module.outline.functions[q] for q in cls.symbol.declaration.methods[name]]
    return any(d.endswith((".setter", ".overload")) or d == "overload" for f in functions for d in _decorators(f))


def _is_stub(function: Function) -> bool:
    """Whether a method has no body to speak of: a docstring, `...`, or both."""
    does_something = function.return_values or function.self_assignments or function.self_calls or function.self_reads
    return function.statements <= 2 and not does_something


def _does_the_same(function: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a method only passes its arguments on to a function of its name, or to the constructor."""
    if len(function.return_values) != 1:
        return False
    (returned,) = function.return_values
    made = dict(function.copies).get(returned.id) if isinstance(returned, Name) else returned
    if not isinstance(made, Call) or function.statements > (2 if made is returned else 3):
        return False
    if dotted(made.func) == f"{function.self_name}.__class__" and all(a.star == "**" for a in made.args):
        return True  # it makes the copy itself
    named = evaluator.model.resolver.library_name(made.func, cls.module, function.inner_scope)
    path = named or dotted(made.func) or ""  # `super().replace` has none: the method would be called, and is not
    return path.rpartition(".")[2] == function.name and made.has_star


def _problem(at: object, message: str, reason: str, confidence: Confidence = Confidence.HIGH) -> Problem:
    advice = "give the field or the method another name"
    return Problem(at=at, message=message, reason=reason, help=advice, confidence=confidence)
