"""JAX112 malformed-flatten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from jaxlint.cst.changes import Decorate, Proposal, Rename, Rewrite
from jaxlint.finding import Applicability
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.values import Array, Instance, Scalar, plain
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.frameworks import PYTREE_NODE_CLASS
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.flattening import Rebuilt, flattened, rebuilt
from jaxlint.rules.analyses.stale import own_methods
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.symbols.outline import Function, Parameter
from jaxlint.syntax.expressions import Argument, Attribute, Call, Display, Expr, Name, Span, dotted, is_none

#: The decorators that take both methods from the class.
_CLASS_DECORATORS = {
    "jax.tree_util.register_pytree_node_class": "tree_flatten",
    "jax.tree_util.register_pytree_with_keys_class": "tree_flatten_with_keys",
}
#: How the parameters of `tree_unflatten` are called.
_CHILDREN = frozenset({"children", "leaves", "childs", "dynamic", "arrays"})
_AUX = frozenset({"aux", "aux_data", "auxiliary", "metadata", "meta", "static", "aux_values", "treedef"})


class MalformedFlatten(ClassRule):
    """
    ## What it does

    Finds classes whose `tree_flatten` and `tree_unflatten` do not fit jax or each other: one of them is missing,
    `tree_unflatten` is no classmethod or takes its arguments in the wrong order, `tree_flatten` does not return two
    things, its children are no tuple, in another order than the constructor takes them, or too few.

    ## Why is this bad?

    jax takes an instance apart with the one and puts it together with the other. Where they do not fit, each
    transformation fails, or, worse, exchanges attributes or resets them to their defaults.

    ## What you will see

    `AttributeError: type object 'Grid' has no attribute 'tree_unflatten'`, when the class is registered; `TypeError:
    Grid.tree_unflatten() missing 1 required positional argument: 'children'`, `ValueError: The to_iterable function for
    a custom PyTree node should return a (children, aux_data) tuple` or `TypeError: Grid.__init__() missing 1 required
    positional argument: 'origin'`, in the first transformation. Nothing where attributes are exchanged or reset.

    ## Example

    ```python
    import jax

    @jax.tree_util.register_pytree_node_class
    class Grid:
        def __init__(self, origin: jax.Array, spacing: jax.Array) -> None:
            self.origin = origin
            self.spacing = spacing

        def tree_flatten(self):
            return (self.spacing, self.origin), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)
    ```

    ## Use instead

    ```python
    import jax

    @jax.tree_util.register_pytree_node_class
    class Grid:
        def __init__(self, origin: jax.Array, spacing: jax.Array) -> None:
            self.origin = origin
            self.spacing = spacing

        def tree_flatten(self):
            return (self.origin, self.spacing), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)
    ```

    ## Frameworks

    `jax.tree_util.register_pytree_node_class` and `register_pytree_with_keys_class`. Arrays in the aux data are
    reported as JAX201.

    ## Fix safety

    What is no pair becomes one, children and aux data change places, and `@classmethod` is added; these are safe, for
    flattening could only raise. The order of children and parameters, attributes that are left out and missing commas
    are mended, too, which is unsafe. There is none for a method that is missing.

    ## When not to use it

    Attributes that are left out of `tree_flatten` are reported only if the constructor takes them. A cache that may be
    lost is best no parameter of it.

    ## References

    - [jax: extending pytrees](https://docs.jax.dev/en/latest/custom_pytrees.html)
    - [jax.tree_util.register_pytree_node_class](https://docs.jax.dev/en/latest/_autosummary/jax.tree_util.register_pytree_node_class.html)
    """

    code = "JAX112"
    name = "malformed-flatten"
    group = "declaring"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Compare the two methods with what jax wants, and with each other."""
        if cls.framework is not PYTREE_NODE_CLASS or cls.unknown_decorator or not cls.bases_known:
            return
        names = [_CLASS_DECORATORS[r.function] for r in cls.registrations if r.function in _CLASS_DECORATORS]
        if len(names) != 1 or cls.symbol.declaration.conditional_body or cls.registrations[0].guarded:
            return
        flatten, unflatten = cls.method(names[0]), cls.method("tree_unflatten")
        for name, found in ((names[0], flatten), ("tree_unflatten", unflatten)):
            if found is None and not _sets(cls, name):
                yield _missing(cls, name)
        own = cls.symbol.declaration.methods
        if flatten is not None and names[0] in own:
            yield from _returned(cls, flatten[1], names[0], evaluator)
        if unflatten is not None and "tree_unflatten" in own:
            problem = _signature(cls, unflatten[1])
            if problem is not None:
                yield problem
            elif flatten is not None and names[0] == "tree_flatten":
                problems = list(_rebuilt(cls, unflatten[1], flatten[1]))
                yield from problems or _compared(cls, flatten, unflatten, evaluator)
                return
        if flatten is not None and unflatten is not None and names[0] == "tree_flatten":
            yield from _compared(cls, flatten, unflatten, evaluator)


def _sets(cls: PytreeClass, name: str) -> bool:
    """Whether the body of a class binds a name other than by `def`, or metaclasses and hooks may."""
    declarations = [c.symbol.declaration for c in cls.mro]
    return any(
        any(a.name == name for a in d.assignments)
        or d.conditional_body
        or "__init_subclass__" in d.methods
        or any(b.keyword == "metaclass" for b in d.bases)
        for d in declarations
    )


def _missing(cls: PytreeClass, name: str) -> Problem:
    when = "cannot be registered" if name == "tree_unflatten" else "cannot be flattened"
    return Problem(
        at=cls.symbol.declaration.name_at,
        message=f"`{cls.name}` has no `{name}`: it {when} (AttributeError); write it",
        reason="the decorator takes both methods from the class",
        help=f"write `{name}`, or use `jax.tree_util.register_dataclass`",
    )


# -- what tree_flatten returns ------------------------------------------------------------------


def _returned(cls: PytreeClass, method: Function, name: str, evaluator: Evaluator) -> Iterator[Problem]:
    """Whether it is a pair whose first part is a tuple."""
    if len(method.return_values) != 1 or method.is_generator:
        return
    value = method.return_values[0]
    if isinstance(value, Display) and len(value.items) != 2 and value.kind in ("tuple", "list"):
        if not value.has_star:
            yield _problem(
                cls,
                value,
                f"`{name}` of `{cls.name}` returns {len(value.items)} thing{'' if len(value.items) == 1 else 's'} where"
                " jax wants children and aux data: it cannot be flattened (ValueError); return a pair",
                "return `(children, aux_data)`, where the aux data may be None",
                _paired(value, method),
            )
        return
    if not isinstance(value, Display) or value.kind != "tuple":
        return
    children, aux = value.items
    if is_none(children) and not is_none(aux):
        what, advice = "returns None for its children: it cannot be flattened (ValueError)", "return the children first"
        swapped = (Rewrite(children.at, "{0}", (aux.at,)), Rewrite(aux.at, "{0}", (children.at,)))
        fix = Proposal("Return the children first", Applicability.SAFE, swapped)
    elif _is_bare(children, method, cls, evaluator):
        what = "returns an attribute for its children, which are to be a tuple: its elements become the leaves"
        advice = "put a comma behind it"
        fix = Proposal("Put a comma behind it", Applicability.UNSAFE, (Rewrite(children.at, "({0},)", (children.at,)),))
    else:
        return
    yield _problem(cls, children, f"`{name}` of `{cls.name}` {what}; {advice}", "return `(self.x,), aux_data`", fix)


def _paired(value: Display, method: Function) -> Proposal | None:
    """The fix of attributes that are returned without aux data."""
    own = [item for item in value.items if isinstance(item, Attribute) and dotted(item.value) == method.self_name]
    if not value.items or len(own) < len(value.items) or value.kind != "tuple":
        return None
    change = Rewrite(value.at, "{0}, None", (value.at,))
    return Proposal("Return a pair", Applicability.SAFE, (change,))


def _is_bare(expr: Expr, method: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an expression is an attribute that certainly holds an array, a number or an instance."""
    if not isinstance(expr, Attribute) or not isinstance(expr.value, Name) or expr.value.id != method.self_name:
        return False
    value = plain(evaluator.attribute_of(Instance(cls), expr.attr))
    return isinstance(value, (Array, Instance)) or (isinstance(value, Scalar) and value.kind in ("int", "float"))


# -- tree_unflatten -----------------------------------------------------------------------------


def _signature(cls: PytreeClass, method: Function) -> Problem | None:
    """A decorator that is missing, or parameters that are exchanged."""
    decorators = {(dotted(d) or "").rpartition(".")[2] for d in method.decorators}
    positional = [p.name for p in method.parameters if p.kind == "positional"]
    if not method.decorators and len(positional) == 3 and len(method.parameters) == 3:
        return _problem(
            cls,
            method,
            f"`tree_unflatten` of `{cls.name}` is no classmethod: the first transformation fails (TypeError);"
            " decorate it with `@classmethod`",
            "write `@classmethod` above it",
            Proposal("Make it a classmethod", Applicability.SAFE, (Decorate(method.at, ("classmethod",)),)),
        )
    own = positional[1:] if "classmethod" in decorators else positional if "staticmethod" in decorators else []
    if len(own) == 2 and own[0] in _CHILDREN and own[1] in _AUX:
        return _problem(
            cls,
            method,
            f"`tree_unflatten` of `{cls.name}` takes `{own[0]}` before `{own[1]}`, and jax passes the aux data first;"
            " exchange them",
            f"write `tree_unflatten(cls, {own[1]}, {own[0]})`",
            _exchanged(method, own),
        )
    return None


def _exchanged(method: Function, own: list[str]) -> Proposal:
    """The fix of two parameters that stand in each other's place."""
    first, second = (parameter for parameter in method.parameters if parameter.name in own)
    changes = (Rename(first.at, second.name), Rename(second.at, first.name))
    return Proposal("Exchange the parameters", Applicability.UNSAFE, changes)


def _rebuilt(cls: PytreeClass, method: Function, flatten: Function) -> Iterator[Problem]:
    """`return cls(*children)`: whether the children are what the constructor takes, in its order."""
    given = _children_only(method)
    parameters = _parameters(cls)
    children = cls.explicit_leaves
    if given is None or parameters is None or not children or any(p.kind.startswith("*") for p in parameters):
        return
    if any("__new__" in c.symbol.declaration.methods for c in cls.mro) or not _keeps_names(cls, flatten):
        return
    taken = [p.name for p in parameters if p.kind == "positional"]
    stored = _stored(cls)
    if any(stored.get(name, name) not in children for name in children):
        return
    expected = taken[: len(children)]
    if set(expected) == set(children) and tuple(expected) != children and stored.keys() >= set(children):
        first = next(i for i, name in enumerate(children) if expected[i] != name)
        yield _problem(
            cls,
            flatten,
            f"`tree_flatten` of `{cls.name}` gives `{children[first]}` where the constructor takes `{expected[first]}`:"
            " each transformation exchanges them; give the children in the order of the constructor",
            f"write the children in the order {', '.join(f'`{name}`' for name in expected)}",
            _ordered(flatten, children, expected),
        )
        return
    aux = [f.name for f in cls.fields if f.role is Role.STATIC]
    if tuple(expected) == children and not aux:
        left = [p for p in parameters if p.name not in children]
        required = next((p for p in left if p.default is None), None)
        lost = next((p for p in left if stored.get(p.name) is not None), None)
        if required is not None:
            outcome = f"and the constructor requires `{required.name}`: the first transformation fails (TypeError)"
        elif lost is not None:
            outcome = f"and not `{stored[lost.name]}`, which each transformation resets to its default"
        else:
            return
        yield _problem(
            cls,
            flatten,
            f"`tree_flatten` of `{cls.name}` gives {', '.join(f'`{name}`' for name in children)} {outcome};"
            " add it to the children or to the aux data",
            "give all attributes, and pass them all in `tree_unflatten`",
            _completed(flatten, [stored.get(p.name) for p in left]),
        )


def _ordered(flatten: Function, children: Sequence[str], expected: Sequence[str]) -> Proposal | None:
    """The fix: the children stand in the order of the constructor."""
    returned = flatten.return_values[0]
    display = returned.items[0] if isinstance(returned, Display) else None
    if not isinstance(display, Display):
        return None
    items = dict(zip(children, display.items, strict=False))
    changes = tuple(
        Rewrite(items[there].at, "{0}", (items[wanted].at,))
        for there, wanted in zip(children, expected, strict=False)
        if there != wanted
    )
    return Proposal("Order the children", Applicability.UNSAFE, changes)


def _completed(flatten: Function, left: Sequence[str | None]) -> Proposal | None:
    """The fix: what is left out becomes a child, behind the others, as the constructor takes them."""
    returned = flatten.return_values[0]
    display = returned.items[0] if isinstance(returned, Display) else None
    names = [name for name in left if name is not None]
    if not isinstance(display, Display) or len(names) < len(left) or flatten.self_name is None:
        return None
    every = [*(f"{{{number}}}" for number in range(len(display.items))), *(f"{flatten.self_name}.{n}" for n in names)]
    template = f"[{', '.join(every)}]" if display.kind == "list" else f"({', '.join(every)})"
    change = Rewrite(display.at, template, tuple(item.at for item in display.items))
    return Proposal("Give all attributes", Applicability.UNSAFE, (change,))


def _compared(
    cls: PytreeClass,
    flatten: tuple[PytreeClass, Function],
    unflatten: tuple[PytreeClass, Function],
    evaluator: Evaluator,
) -> Iterator[Problem]:
    """Compare child by child, where both methods spell them out: exchanged ones, and attributes that are left out."""
    given, back = flattened(*flatten, evaluator), rebuilt(*unflatten, evaluator)
    if given is None or back is None or any(position >= len(given.children) for position in back.targets):
        return
    into = _attributes_of(cls, back)
    if into is None or any(name is None for name in into.values()):
        return
    sent = {position: given.children[position] for position in into}
    at = flatten[1].at if flatten[0] is cls else cls.symbol.declaration.name_at
    wrong = next((position for position in sorted(sent) if sent[position] != into[position]), None)
    if wrong is not None and set(sent.values()) == set(into.values()):
        yield _problem(
            cls,
            at,
            f"`tree_flatten` of `{cls.name}` gives `{sent[wrong]}` where `tree_unflatten` takes `{into[wrong]}`: each"
            " transformation exchanges them; give the children in the order in which they are taken",
            f"write the children in the order {', '.join(f'`{into[i]}`' for i in sorted(into))}",
        )
        return
    known = {*into.values(), *back.others, *given.aux, *given.children}
    left = next((name for name in _needed(cls) if name not in known), None)
    if wrong is None and back.bypasses and left is not None:
        by = f"`tree_flatten` of `{flatten[0].name}`, which `{cls.name}` inherits," if flatten[0] is not cls else ""
        yield _problem(
            cls,
            at,
            f"{by or f'`tree_flatten` of `{cls.name}`'} leaves `{left}` out: an instance has none any more after the"
            " first transformation (AttributeError); add it to the children or to the aux data",
            f"give `{left}`, too, and set it in `tree_unflatten`",
        )


def _attributes_of(cls: PytreeClass, back: Rebuilt) -> dict[int, str | None] | None:
    """The attributes that the children end up in: those that are set, or that `__init__` stores parameters in."""
    if back.bypasses:
        return dict(back.targets)
    parameters = _parameters(cls)
    if parameters is None or any(p.kind.startswith("*") for p in parameters):
        return None
    if any("__new__" in c.symbol.declaration.methods for c in cls.mro):
        return None
    taken = [p.name for p in parameters if p.kind == "positional"]
    stored = _stored(cls)
    names: dict[int, str | None] = {}
    for position, target in back.targets.items():
        name = (taken[int(target)] if int(target) < len(taken) else "") if target.isdigit() else target
        names[position] = stored.get(name)
    return names


def _needed(cls: PytreeClass) -> Iterator[str]:
    """The attributes that `__init__` sets to what it is given and that other methods read, and nothing else sets."""
    if cls.method("__getattr__") is not None:
        return
    stored = set(_stored(cls).values())
    bound = {a.name for c in cls.mro for a in c.symbol.declaration.assignments}
    bound |= {n for c in cls.mro for n in c.symbol.declaration.methods}
    bound |= {f.name for c in cls.mro for f in c.symbol.declaration.fields if f.value is not None}
    for function in own_methods(cls):
        if function.name in ("__init__", "__new__", "tree_flatten", "tree_unflatten"):
            continue
        for name in sorted(function.self_reads & stored - bound):
            if all(a.attr != name for a in function.self_assignments):
                yield name


def _children_only(method: Function) -> Argument | None:
    """The argument in `return cls(*children)`, where nothing else is passed."""
    values = method.return_values
    if len(values) != 1 or not isinstance(values[0], Call) or len(method.parameters) != 3:
        return None
    call, (first, _, children) = values[0], method.parameters
    if not isinstance(call.func, Name) or call.func.id != first.name or len(call.args) != 1:
        return None
    argument = call.args[0]
    given = isinstance(argument.value, Name) and argument.value.id == children.name
    return argument if argument.star == "*" and given and method.statements <= 2 else None


def _keeps_names(cls: PytreeClass, flatten: Function) -> bool:
    """Whether the children are attributes as they are, so that their names can be compared."""
    value = flatten.return_values[0] if len(flatten.return_values) == 1 else None
    children = value.items[0] if isinstance(value, Display) and len(value.items) == 2 else None
    if not isinstance(children, Display) or len(children.items) != len(cls.explicit_leaves or ()):
        return False
    return all(isinstance(item, Attribute) for item in children.items)


def _parameters(cls: PytreeClass) -> tuple[Parameter, ...] | None:
    """The parameters of the constructor; those of a dataclass are its fields, whatever it flattens."""
    if cls.generated_init and cls.symbol.declaration.fields and not cls.parents:
        return msgspec.structs.replace(cls, fields_known=True).constructor()
    return cls.constructor()


def _stored(cls: PytreeClass) -> dict[str, str]:
    """The attribute that holds each parameter of the constructor as it is."""
    init = cls.custom_init()
    if init is None:
        return {f.name: f.name for f in cls.members if f.init} if cls.generated_init else {}
    return {a.value.id: a.attr for a in init.self_assignments if isinstance(a.value, Name)}


def _problem(
    cls: PytreeClass, at: Expr | Function | Span, message: str, advice: str, fix: Proposal | None = None
) -> Problem:
    return Problem(
        at=at if isinstance(at, Span) else at.at,
        message=message,
        reason="jax calls `tree_flatten()`, which returns children and aux data, and `tree_unflatten(aux, children)`",
        help=advice,
        fix=fix,
    )
