"""JAX101 undecorated-subclass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxlint.cst.changes import Change, Decorate, NeededImport, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.reading.creation import UNSURE, creation_error
from jaxlint.project.resolution import External
from jaxlint.pytrees.framework import Role, Subclasses, Unflatten
from jaxlint.pytrees.model import Kind, PytreeClass
from jaxlint.rules.analyses.instances.instantiated import constructing_units, looks_abstract
from jaxlint.rules.analyses.under_trace.traced import carries_arrays, holds_settings, is_seen_to_cross, stays_outside
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.symbols.outline import EXPECTS_ERROR, Definition
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Call, Constant, Expr, last_name, without_call

#: Methods that are of no use but to a class that is registered.
_FLATTENING = frozenset({"tree_flatten", "tree_unflatten", "tree_flatten_with_keys"})


class UndecoratedSubclass(ClassRule):
    """
    ## What it does

    Finds subclasses of a pytree class that are not registered themselves: its decorator (or a call) registers that
    class alone.

    ## Why is this bad?

    A decorator registers one class, and no subclass of it. An instance of the subclass is no pytree: for JAX it is one
    opaque leaf. Transformations refuse it, `jax.tree.map` hands the whole object to the function, and annotations that
    the subclass adds are no fields. It makes no difference that the subclass only adds methods.

    ## What you will see

    `TypeError: Error interpreting argument to <function …> as an abstract array. The problematic value is of type
    <class 'Robot'> and was passed to the function at path …`, from `jax.jit`; `TypeError: Argument 'Robot(…)' of type
    <class 'Robot'> is not a valid JAX type.`, from `jax.grad`, `jax.vmap` and `jax.lax.scan`. With penzai
    `TypeError: Can't instantiate abstract Struct subclass <class 'Robot'>.`

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Body:
        position: jax.Array

    class Robot(Body):
        def height(self) -> jax.Array:
            return self.position[2]
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Body:
        position: jax.Array

    @struct.dataclass
    class Robot(Body):
        def height(self) -> jax.Array:
            return self.position[2]
    ```

    ## Frameworks

    flax.struct.dataclass, register_dataclass, register_pytree_node(_class), register_static, jax_dataclasses, chex and
    tjax: one opaque leaf, also if the subclass has a plain `@dataclass`. penzai: the instance cannot be constructed. In
    simple_pytree and nnx the subclass is registered, but its new annotations are no fields; only those are reported.
    PyTreeNode, TrainState, equinox, mjx and treex register subclasses by themselves.

    ## Fix safety

    The decorators of the base class are put above the class, with the imports that they need, or in the place of its
    `@dataclasses.dataclass`. A class without fields of its own is not made a dataclass, which would change how its
    instances compare. penzai's decorator comes with `has_implicitly_inherited_fields=True`. The fix is unsafe: what was
    no pytree becomes one.

    ## When not to use it

    Nothing is reported for classes that look abstract (abstract methods, `ABC`, `Protocol`, a name with `Abstract`,
    `Base` or `Mixin`), or that are only inherited from, or that something else may register: an `__init_subclass__`, a
    metaclass, an unknown decorator or base class, a call in a loop or in a function. A subclass that is never given to
    JAX can do without the decorator. So if the base class need not hold arrays, the confidence is low, unless an
    instance is seen to go into a transformation, or medium if most other subclasses are registered, and it is not of a
    branch of which no class is.

    ## References

    - [jax #2916](https://github.com/jax-ml/jax/issues/2916)
    """

    code = "JAX101"
    name = "undecorated-subclass"
    group = "declaring"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at whether the class is registered like its base."""
        if cls.framework.subclasses is Subclasses.FIELDS_IGNORED and not cls.framework.is_tuple:
            yield from self._ignored_fields(cls, evaluator)
        elif cls.registered is False:
            base = next((c for c in cls.mro[1:] if c.registered and c.framework is cls.framework), None)
            if base is not None:
                yield from self._unregistered(cls, base, evaluator)

    def _unregistered(self, cls: PytreeClass, base: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        if creation_error(cls, evaluator) not in (None, UNSURE) or looks_abstract(cls) or _is_superseded(cls):
            return
        if "__new__" in cls.symbol.declaration.methods:
            return  # what it makes need not be an instance of the class
        uses = constructing_units(cls, evaluator)
        added = _added_names(cls, base, evaluator) if base.is_dataclass and not cls.is_dataclass else []
        subclasses = evaluator.model.subclasses(cls)
        if subclasses and not uses:
            redeclared = {f.name for c in subclasses for f in c.symbol.declaration.fields}
            if not added or redeclared.intersection(added):
                return
        if uses and all(unit.calls & EXPECTS_ERROR for unit in uses):
            return
        if cls.framework.refuses_undecorated:
            consequence = "constructing it raises TypeError"
        else:
            consequence = "its instances are no pytrees, and jit, grad and vmap refuse them (TypeError)"
        fields = f"; {_listed(added)} no field{'s' if len(added) > 1 else ''} either" if added else ""
        yield Problem(
            at=cls.symbol.declaration.name_at,
            message=(
                f"`{cls.name}` inherits from `{base.name}` but is not registered itself: {consequence}{fields};"
                f" {_way_out(base)}"
            ),
            reason=(
                "penzai wants each class that is instantiated to be decorated itself"
                if cls.framework.refuses_undecorated
                else "a registration holds for one class: JAX takes an instance of a subclass for one opaque leaf"
            ),
            help=_help(cls, base),
            fix=_decorating(cls, base, evaluator),
            confidence=_confidence(cls, base, evaluator, is_used=bool(uses)),
        )

    def _ignored_fields(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """simple_pytree and nnx: what a subclass without a dataclass decorator declares is ignored."""
        if cls.is_dataclass or cls.unknown_decorator or not cls.bases_known or looks_abstract(cls):
            return
        base = next((c for c in cls.mro[1:] if c.params is not None), None)
        if base is None or cls.custom_init() is not None:
            return
        added = _added_names(cls, base, evaluator)
        family = list(evaluator.model.family(cls))
        assigned = {a.attr for c in family for f in _methods(c) for a in c.module.outline.functions[f].self_assignments}
        added = [name for name in added if name not in assigned]
        uses = constructing_units(cls, evaluator)
        if not added or (len(family) > 1 and not uses) or (uses and all(u.calls & EXPECTS_ERROR for u in uses)):
            return
        plural = len(added) > 1
        yield Problem(
            at=cls.symbol.declaration.name_at,
            message=(
                f"{_listed(added)} no field{'s' if plural else ''} of `{cls.name}`: without a dataclass decorator it"
                f" keeps the constructor of `{base.name}`, which raises TypeError for {'them' if plural else 'it'};"
                f" decorate it like `{base.name}`"
            ),
            reason="a subclass is registered by itself, but only a dataclass decorator makes fields of its annotations",
            help=_help(cls, base),
            fix=_decorating(cls, base, evaluator),
            confidence=Confidence.HIGH if uses else Confidence.MEDIUM,
        )


def _confidence(cls: PytreeClass, base: PytreeClass, evaluator: Evaluator, *, is_used: bool) -> Confidence:
    """High or medium if instances meet a transformation, are made for that, or if the others like it are registered."""
    if not is_used and _is_local(cls):
        return Confidence.LOW  # only its function can make one
    fails_anyway = cls.framework.refuses_undecorated
    flattens = not _FLATTENING.isdisjoint(cls.symbol.declaration.methods)
    is_for_jax = flattens or is_seen_to_cross(cls, evaluator)
    is_meant = fails_anyway or is_for_jax or carries_arrays(base, evaluator)
    unknown = any(field.role is Role.UNKNOWN for field in base.fields)  # what made them tells nothing
    if base.leaves == () and not cls.fields and not (fails_anyway or is_for_jax):
        return Confidence.LOW  # nothing of it is for JAX
    if not (evaluator.model.sees_importers or is_used or is_for_jax) and _is_for_others(cls):
        return Confidence.LOW
    if not is_meant and (
        unknown
        or holds_settings(base, evaluator)
        or stays_outside(base, evaluator)
        or not _is_exception(cls, evaluator)
    ):
        return Confidence.LOW
    return Confidence.HIGH if is_used and is_meant else Confidence.MEDIUM


def _is_local(cls: PytreeClass) -> bool:
    scope = cls.module.outline.scopes.get(cls.symbol.declaration.scope)
    return scope is not None and scope.kind == "function"


def _is_for_others(cls: PytreeClass) -> bool:
    """Whether a class may be there for others to inherit from: it adds methods only, and no function here takes it."""
    declared, functions = cls.symbol.declaration, cls.module.outline.functions.values()
    if declared.fields or not declared.methods:
        return False
    taken = (p.annotation for f in functions if f.owner != declared.qualname for p in f.parameters if p.annotation)
    return all(last_name(annotation) != declared.name for annotation in taken)


def _is_exception(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether most other subclasses of its registered bases in the package are registered, each by itself."""
    package = evaluator.model.project.package_root
    root = next(one for one in reversed(cls.mro) if one.registered and one.framework is cls.framework)
    beside = [one for one in evaluator.model.subclasses(root) if package(one.module.path) == package(cls.module.path)]
    others = [one for one in beside if one is not cls and not looks_abstract(one)]
    registered = sum(one.registered is True for one in others)
    branches = (one for one in cls.mro[1 : cls.mro.index(root)] if one.registered is False)
    if any(all(c.registered is not True for c in evaluator.model.subclasses(branch)) for branch in branches):
        return False  # a class between, and no class below it is registered: they go without
    return registered > 2 * sum(one.registered is False for one in others)


def _added_names(cls: PytreeClass, base: PytreeClass, evaluator: Evaluator) -> list[str]:
    """The names that the class annotates for the first time, and that would be fields if it were decorated."""
    known = {m.name for m in base.members} | {f.name for f in base.fields}
    declared = evaluator.model.bodies.read(cls.symbol, False).members
    return [m.declaration.name for m in declared if m.kind is Kind.FIELD and m.declaration.name not in known]


def _listed(names: list[str]) -> str:
    """`a` is, or `a` and `b` are."""
    quoted = [f"`{name}`" for name in names[:4]]
    if len(names) > 4:
        quoted[3:] = ["…"]
    if len(quoted) == 1:
        return f"{quoted[0]} is"
    return f"{', '.join(quoted[:-1])} and {quoted[-1]} are"


def _is_superseded(cls: PytreeClass) -> bool:
    """Whether another class of the same name is declared in the same scope, and is the one that others get."""
    declaration = cls.symbol.declaration
    scope = cls.module.outline.scopes.get(declaration.scope)
    bindings = scope.bindings.get(declaration.name, []) if scope is not None else []
    return len([b for b in bindings if isinstance(b, Definition)]) > 1


def _methods(cls: PytreeClass) -> list[str]:
    """The qualified names of the methods that the class body defines."""
    return [q for qualnames in cls.symbol.declaration.methods.values() for q in qualnames]


def _way_out(base: PytreeClass) -> str:
    """How to register the subclass, in a few words."""
    registration = base.registrations[0] if base.registrations else None
    by_call = registration is not None and registration.is_call
    return f"register it like `{base.name}`" if by_call else f"decorate it like `{base.name}`"


def _help(cls: PytreeClass, base: PytreeClass) -> str:
    registration = base.registrations[0] if base.registrations else None
    if registration is None:
        return f"put the dataclass decorator of `{base.name}` above `class {cls.name}` too"
    if registration.is_call:
        return f"call `{registration.name}` for `{cls.name}` too"
    if cls.framework.refuses_undecorated:
        return (
            f"put `@{registration.name}(has_implicitly_inherited_fields=True)` above `class {cls.name}`, without the"
            " argument if it lists all fields again"
        )
    return f"put `@{registration.name}` above `class {cls.name}` too"


@proposing
def _decorating(cls: PytreeClass, base: PytreeClass, evaluator: Evaluator) -> Proposal | None:
    """The fix: the decorators of the base class above the class as well, as they are written in its file."""
    declared = cls.symbol.declaration
    if base.symbol.declaration.scope:
        return None
    if any(registration.is_call or registration.has_lists for registration in base.registrations):
        return None
    if cls.custom_init() is not None and not _is_rebuilt_by_its_own(cls, base):
        return None
    written = [_written(decorator, cls, base, evaluator) for decorator in base.symbol.declaration.decorators]
    if None in written:
        return None
    changes = _decorators(cls, base, [text for text, _ in filter(None, written)], evaluator)
    if not changes:
        return None
    used = " ".join(text for change in changes for text in _put_there(change))
    imports = tuple(needed for text, some in filter(None, written) for needed in some if text.partition("(")[0] in used)
    return Proposal(f"Decorate `{declared.name}` like `{base.name}`", Applicability.UNSAFE, changes, imports)


def _written(
    decorator: Expr, cls: PytreeClass, base: PytreeClass, evaluator: Evaluator
) -> tuple[str, tuple[NeededImport, ...]] | None:
    """A decorator of the base class as the file of the class writes it, and the imports that this needs."""
    text, scope, resolver = base.module.source.segment, cls.symbol.declaration.scope, evaluator.model.resolver
    whole = text(*place_of(decorator.at))
    if base.module is cls.module:
        return whole, ()
    head = without_call(decorator)
    if isinstance(decorator, Call) and not all(isinstance(a.value, Constant) and not a.star for a in decorator.args):
        return None
    symbol = resolver.resolve(head, base.module)
    named = spelled(symbol.name, cls.module, resolver, scope) if isinstance(symbol, External) else None
    return None if named is None else (named[0] + whole[len(text(*place_of(head.at))) :], named[1])


def _is_rebuilt_by_its_own(cls: PytreeClass, base: PytreeClass) -> bool:
    """Whether the methods that take instances apart fit the constructor of a class: it declares both, or none."""
    own = cls.symbol.declaration.methods
    return base.framework.unflatten is Unflatten.CUSTOM and ("__init__" not in own or "tree_flatten" in own)


def _put_there(change: Change) -> tuple[str, ...]:
    """What a change writes for decorators."""
    if isinstance(change, Decorate):
        return change.decorators
    return (change.template,) if isinstance(change, Rewrite) else ()


def _decorators(cls: PytreeClass, base: PytreeClass, texts: Sequence[str], evaluator: Evaluator) -> tuple[Change, ...]:
    """The changes of the decorators of a class; that of a plain dataclass goes, if its base does not have it."""
    declared = cls.symbol.declaration
    own = list(declared.decorators)
    plain = [_is_dataclass(decorator, base, evaluator) for decorator in base.symbol.declaration.decorators]
    written = list(zip(texts, plain, strict=True))
    if cls.framework.refuses_undecorated:
        name = texts[0].partition("(")[0] if len(texts) == 1 else ""
        is_free = name and not own and not declared.fields
        return (Decorate(declared.at, (f"{name}(has_implicitly_inherited_fields=True)",)),) if is_free else ()
    others = tuple(text for text, is_plain in written if not is_plain)
    if not own:
        wanted = texts if declared.fields else others  # a dataclass without new fields would lose its base's __hash__
        return (Decorate(declared.at, tuple(wanted)),) if wanted else ()
    if len(own) != 1 or not others or not _is_dataclass(own[0], cls, evaluator):
        return ()
    if len(others) < len(written):
        return (Decorate(declared.at, others),)
    return (Rewrite(own[0].at, others[0]),) if len(others) == 1 else ()


def _is_dataclass(decorator: Expr, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a decorator is that of the standard library."""
    head = without_call(decorator)
    symbol = evaluator.model.resolver.resolve(head, cls.module, cls.symbol.declaration.scope)
    return isinstance(symbol, External) and symbol.name == "dataclasses.dataclass"
