"""JAX204 nested-static-marker."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import DropMarker, HoistMarker, NeededImport, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Event, Transformed
from jaxlint.project.modules import Module
from jaxlint.pytrees.context import FieldContext
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.frameworks import JAX_DATACLASSES
from jaxlint.pytrees.frameworks.jax_dataclasses import STATIC
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.rules.analyses.fields.meant_static import leaf_consequence
from jaxlint.rules.base import ClassRule, EventRule, Problem
from jaxlint.symbols.outline import Import
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Expr, Name, Subscript, dotted, last_name
from jaxlint.syntax.statements import parts

_MARKER = frozenset({STATIC})


class NestedStaticMarker(ClassRule, EventRule):
    """
    ## What it does

    Finds `jax_dataclasses.Static` where it marks nothing: inside of `Optional[...]`, a union or a container, or in an
    annotation that cannot find it at run time; in fields, and in parameters of functions that `jdc.jit` compiles.

    ## Why is this bad?

    `Static[T]` is `Annotated[T, marker]`, and jax_dataclasses looks for the marker on the outside of the annotation
    only. Inside of another type it is ignored without a word, and the field is a leaf. The same happens where
    annotations are stored as strings and `Static` is imported for type checkers only, or inside of a function: the name
    is looked up in the module when the first instance is flattened, and a name that is not found counts as any type.

    ## What you will see

    A tracer where a number was expected (`TypeError: Shapes must be 1D sequences of concrete values of integer type`),
    or `TypeError: Error interpreting argument to <function …> as an abstract array` for strings and functions.
    If the module `jax_dataclasses` itself cannot be found: `AttributeError: type object
    '_UnresolvableForwardReference' has no attribute 'Static'`, when the first instance is flattened.

    ## Example

    ```python
    from typing import Optional

    import jax
    import jax_dataclasses as jdc

    @jdc.pytree_dataclass
    class Window:
        values: jax.Array
        width: Optional[jdc.Static[int]] = None
    ```

    ## Use instead

    ```python
    from typing import Optional

    import jax
    import jax_dataclasses as jdc

    @jdc.pytree_dataclass
    class Window:
        values: jax.Array
        width: jdc.Static[Optional[int]] = None
    ```

    ## Frameworks

    jax_dataclasses, the only one whose static marker is an annotation. The parameters of functions under `jdc.jit`
    follow the same rule, and are not looked at.

    ## Fix safety

    The marker is put around the whole annotation, if it is written there. That of an alias stays there,
    too. What is only imported for type checkers, or in a function, is imported at the top. The fixes are unsafe: what
    was a leaf becomes static.

    ## When not to use it

    There is no reason to keep a marker that marks nothing.

    ## References

    - [jax_dataclasses: static fields](https://github.com/brentyi/jax_dataclasses#core-interface)
    """

    code = "JAX204"
    name = "nested-static-marker"
    group = "roles"
    since = "0.1.0"
    events = (Transformed,)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the parameters of a function that `jdc.jit` compiles."""
        assert isinstance(event, Transformed)
        function, module = event.function, event.module
        if not event.applied.transform.reads_static_annotations or function is None or module is None:
            return
        static = evaluator.calls.transformed.marked_static(function, module)
        for parameter in function.parameters:
            if parameter.annotation is None or parameter.name in static:
                continue
            context = evaluator.model.context(parameter.annotation, module, function.scope, {})
            found = context.mention(_MARKER)
            if found is not None:
                here = module is event.place.module
                fix = _hoisting(parameter.annotation, found[1]) if here else None
                yield _nested_parameter(found[1].at if here else event.at, parameter.name, function.name, fix)

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the annotations of the class's own fields."""
        if cls.framework is not JAX_DATACLASSES or cls.registered is not True or cls.unknown_decorator:
            return
        for field in cls.fields:
            place = field.annotation
            if field.owner != cls.symbol or place is None or field.opaque or not field.init:
                continue
            context = evaluator.model.context(place.expr, place.module, place.scope, field.metadata)
            found = context.mention(_MARKER)
            if found is None or field.role is Role.STATIC:
                continue
            at = found[1]
            if dotted(at) is not None and not context.finds(at):
                yield _not_found(cls, field, at, context, evaluator)
            elif field.role is Role.LEAF:
                yield _nested(cls, field, at, evaluator)


def _nested(cls: PytreeClass, field: Field, at: Expr, evaluator: Evaluator) -> Problem:
    return Problem(
        at=at.at,
        message=(
            f"`Static` marks nothing inside of the annotation of field `{field.name}` of `{cls.name}`:"
            f" it is {leaf_consequence(field, cls, evaluator)}; put `jdc.Static[...]` around the whole annotation"
        ),
        reason="jax_dataclasses looks for the marker on the outside of the annotation only",
        help=f"write `{field.name}: jdc.Static[...]` with all of the type inside of the brackets",
        fix=_marking(field.annotation, at, cls, evaluator)
        if field.annotation is not None and field.annotation.module is cls.module
        else None,
    )


def _nested_parameter(at: object, parameter: str, function: str, fix: Proposal | None) -> Problem:
    return Problem(
        at=at,
        message=(
            f"`Static` marks nothing inside of the annotation of parameter `{parameter}` of `{function}`: `jdc.jit`"
            " traces it; put `jdc.Static[...]` around the whole annotation"
        ),
        reason="jdc.jit looks for the marker on the outside of the annotation only",
        help=f"write `{parameter}: jdc.Static[...]` with all of the type inside of the brackets",
        fix=fix,
    )


@proposing
def _marking(annotation: Placed, marker: Expr, cls: PytreeClass, evaluator: Evaluator) -> Proposal | None:
    """The fix: the marker goes around all of the annotation; that in an alias or a string stays there, too."""
    name = marker.value if isinstance(marker, Subscript) else marker
    is_itself = evaluator.model.resolver.library_name(name, annotation.module, annotation.scope) == STATIC
    is_here = is_itself and any(part.at == marker.at for part in parts(annotation.expr))
    hoisted = _without_final(annotation.expr, marker) or _hoisting(annotation.expr, marker) if is_here else None
    is_text = not {"'", '"'}.isdisjoint(annotation.module.source.segment(*place_of(annotation.expr.at)))
    written = spelled(STATIC, cls.module, evaluator.model.resolver)
    if written is None or (hoisted is not None and not is_text):
        return hoisted
    change = Rewrite(annotation.expr.at, f"{written[0]}[{{0}}]", (annotation.expr.at,))
    around = Proposal("Put the marker around the annotation", Applicability.UNSAFE, (change,), written[1])
    return around if hoisted is None else hoisted.or_else(around)


@proposing
def _without_final(annotation: Expr, marker: Expr) -> Proposal | None:
    """The fix of `Final[Static[int]]`: `Final` may stand in no brackets, and a frozen instance does without it."""
    if not isinstance(annotation, Subscript) or last_name(annotation.value) != "Final":
        return None
    inner = annotation.index.value if isinstance(annotation.index, Subscript) else annotation.index
    if place_of(marker.at) not in (place_of(annotation.index.at), place_of(inner.at)):
        return None
    change = DropMarker(annotation.value.at)
    return Proposal("Put the marker around the annotation", Applicability.UNSAFE, (change,))


@proposing
def _importing(name: str, module: Module) -> Proposal | None:
    """The fix: what is imported for type checkers, or in a function, is imported for all of the module."""
    scopes = module.outline.scopes.values()
    found = {b for scope in scopes for b in scope.bindings.get(name, ()) if isinstance(b, Import)}
    origins = {(one.module, one.name) for one in found}
    if len(origins) != 1 or any(one.level for one in found):
        return None
    origin, member = next(iter(origins))
    known = member or origin
    needed = NeededImport(origin, member, None if name == known else name)
    return Proposal(f"Import `{name}`", Applicability.UNSAFE, (), (needed,))


@proposing
def _hoisting(annotation: Expr, marker: Expr) -> Proposal | None:
    """The fix: the marker goes around all of the annotation."""
    change = HoistMarker(annotation.at, marker.at)
    return Proposal("Put the marker around the annotation", Applicability.UNSAFE, (change,))


def _not_found(cls: PytreeClass, field: Field, at: Expr, context: FieldContext, evaluator: Evaluator) -> Problem:
    name = (dotted(at) or "").partition(".")[0]
    outline = context.module.outline
    guards = [b.guard for b in outline.module_scope.bindings.get(name, ())]
    where = "imported for type checkers only" if "type_checking" in guards else "a local name of a function"
    if isinstance(at, Name):
        outcome = f"the field is {leaf_consequence(field, cls, evaluator)}"
    else:
        outcome = "flattening the first instance fails (AttributeError)"
    return Problem(
        at=at.at,
        message=(
            f"`{name}` is {where}, and the annotation of field `{field.name}` of `{cls.name}` does not find it at run"
            f" time: {outcome}; import it in the module itself"
        ),
        reason="annotations that are strings are read in the namespace of the module, when an instance is flattened",
        help=f"import `{name}` at the top of the module, outside of `if TYPE_CHECKING` and of functions",
        fix=_importing(name, context.module) if context.module is cls.module else None,
    )
