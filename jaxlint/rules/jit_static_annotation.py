"""JAX516 jit-static-annotation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxlint.cst.changes import Change, DropOption, EditCall, Proposal, RenameFunction, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Event, Transformed
from jaxlint.infer.transforms.applied import Applied
from jaxlint.libraries.transforms import Kind
from jaxlint.pytrees.frameworks.jax_dataclasses import STATIC
from jaxlint.rules.base import EventRule, Problem
from jaxlint.symbols.outline import Function

_OPTIONS = ("static_argnums", "static_argnames")


class JitStaticAnnotation(EventRule):
    """
    ## What it does

    Finds parameters annotated with `jdc.Static[...]` in a function that `jax.jit` compiles, and `static_argnums` or
    `static_argnames` given to `jdc.jit`.

    ## Why is this bad?

    Only `jdc.jit` reads the annotations. `jax.jit` traces such a parameter like any other: a string is refused, a
    number becomes a tracer. `jdc.jit` on the other hand takes no `static_argnums`: the annotation says it all.

    ## What you will see

    `TypeError: Error interpreting argument to <function …> as an abstract array. The problematic value is of type
    <class 'str'>`, or `TracerBoolConversionError` where the parameter decides an `if`; from `jdc.jit`:
    `TypeError: jit() got an unexpected keyword argument 'static_argnums'`, when the function is decorated.

    ## Example

    ```python
    import jax
    import jax_dataclasses as jdc

    @jax.jit
    def smooth(x: jax.Array, mode: jdc.Static[str]) -> jax.Array:
        return x * 0.5 if mode == "half" else x
    ```

    ## Use instead

    ```python
    import jax
    import jax_dataclasses as jdc

    @jdc.jit
    def smooth(x: jax.Array, mode: jdc.Static[str]) -> jax.Array:
        return x * 0.5 if mode == "half" else x
    ```

    ## Frameworks

    jax_dataclasses.

    ## Fix safety

    `jax.jit` becomes `jdc.jit` where it is given no options; where it is, `static_argnames` names the parameters. The
    options that `jdc.jit` does not take become annotations of the parameters. The fix is unsafe: what was traced
    becomes static.

    ## When not to use it

    There is no reason to turn it off.

    ## References

    - [jax_dataclasses](https://github.com/brentyi/jax_dataclasses)
    """

    code = "JAX516"
    name = "jit-static-annotation"
    group = "transformations"
    about_values = True
    since = "0.1.0"
    events = (Transformed,)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at one function that is given to a transformation."""
        assert isinstance(event, Transformed)
        applied = event.applied
        if applied.transform.reads_static_annotations:
            option = next((o for o in _OPTIONS if o in applied.options), None)
            if option is not None:
                yield Problem(
                    at=event.at,
                    message=(
                        f"`jdc.jit` takes no `{option}`: decorating raises TypeError; annotate the parameter with"
                        " `jdc.Static[...]` instead"
                    ),
                    reason="jdc.jit finds the static parameters by their annotation",
                    help="annotate the static parameters with `jdc.Static[...]`",
                    fix=_annotating(event, evaluator),
                )
            return
        if applied.transform.kind is not Kind.JIT or not applied.transform.takes_static or event.function is None:
            return
        yield from _ignored(event, event.function, evaluator)


def _ignored(event: Transformed, function: Function, evaluator: Evaluator) -> Iterator[Problem]:
    """The parameters whose annotation the transformation does not read."""
    applied, module = event.applied, event.module
    transformed = evaluator.calls.transformed
    if module is None:
        return
    outer = [a for a in event.place.applied(function) if a.transform.reads_static_annotations]
    static = applied.static_parameters(function)
    if outer or static is None:
        return
    marked = transformed.marked_static(function, module) - static
    given = applied.given_parameters(function)
    ignored = [p for p in function.parameters if p.name in marked and p.name not in given]
    fix = _compiled(event, function, [p.name for p in ignored], evaluator) if ignored else None
    for parameter in ignored:
        here = module is event.place.module
        yield Problem(
            at=parameter.at if here else event.at,
            message=(
                f"`{applied.transform.name}` does not read `jdc.Static`: parameter `{parameter.name}` of"
                f" `{function.name}` is traced; use `jdc.jit`"
            ),
            reason="only jdc.jit reads the annotation; for jax.jit the parameter is an ordinary, traced argument",
            help="use `jdc.jit`, or name the parameter in `static_argnames`",
            fix=fix,
        )


@proposing
def _compiled(event: Transformed, function: Function, names: Sequence[str], evaluator: Evaluator) -> Proposal | None:
    """The fix: `jdc.jit`, which reads the annotations, compiles the function, or `jax.jit` gets the names."""
    applied, module = event.applied, event.place.module
    written = spelled("jax_dataclasses.jit", module, evaluator.model.resolver, event.place.scope)
    if applied.transform.name != "jax.jit" or applied.bound or applied.given:
        return None
    named = _named(applied, function, names)
    if written is None or applied.options:
        return named
    change = RenameFunction(applied.at, "jit", written[0])
    return Proposal("Compile it with `jdc.jit`", Applicability.UNSAFE, (change,), written[1], named)


@proposing
def _named(applied: Applied, function: Function, names: Sequence[str]) -> Proposal | None:
    """The fix: the options of `jax.jit`, where it is called or held by a partial, name the parameters, too."""
    if applied.static_argnums != () or applied.static_argnames is None:
        return None
    if not applied.donated_parameters(function).isdisjoint(names):
        return None
    every = (*applied.static_argnames, *(name for name in names if name not in applied.static_argnames))
    written = "(" + ", ".join(f'"{name}"' for name in every) + ("," if len(every) == 1 else "") + ")"
    change = EditCall(applied.at, (("static_argnames", written),))
    return Proposal("Name the static parameters", Applicability.UNSAFE, (change,))


@proposing
def _annotating(event: Transformed, evaluator: Evaluator) -> Proposal | None:
    """The fix: the parameters that `static_argnums` names are annotated, and the option goes."""
    function, module, applied = event.function, event.place.module, event.applied
    written = spelled(STATIC, module, evaluator.model.resolver)
    if written is None or function is None or event.module is not module or applied.bound or applied.given:
        return None
    positional = [p for p in function.parameters if p.kind == "positional"]
    chosen = [positional[n] for n in applied.static_argnums or () if -len(positional) <= n < len(positional)]
    chosen += [p for p in function.parameters if p.name in (applied.static_argnames or ()) and p not in chosen]
    annotations = [parameter.annotation for parameter in chosen if parameter.annotation is not None]
    if not chosen or len(annotations) < len(chosen):
        return None
    marked = [Rewrite(annotation.at, f"{written[0]}[{{0}}]", (annotation.at,)) for annotation in annotations]
    options = [one for one in ("static_argnums", "static_argnames") if one in applied.options]
    changes: tuple[Change, ...] = (*(DropOption(applied.at, option) for option in options), *marked)
    if len(options) != 1:
        return None
    return Proposal("Annotate the static parameters", Applicability.UNSAFE, changes, written[1])
