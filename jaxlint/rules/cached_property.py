"""JAX513 cached-property."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlint.cst.changes import Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence, Severity
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Array, FunctionValue, UnknownValue, plain
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Caching
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.pytrees.non_arrays import non_array
from jaxlint.rules.analyses.changes.cached_tracers import cached_tracers
from jaxlint.rules.analyses.instances.methods import caching as caching_of
from jaxlint.rules.analyses.instances.methods import is_written, own_methods, run_by
from jaxlint.rules.base import BodyRule, ClassRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Expr


class CachedProperty(ClassRule, BodyRule):
    """
    ## What it does

    Finds `functools.cached_property` in classes whose framework flattens the `__dict__` of an instance, or that copy
    the `__dict__` of one and change the copy; and those of ordinary classes that keep an array which nothing but
    compiled methods of the class ask for, two or more.

    ## Why is this bad?

    The property stores its value in the `__dict__`. There it is one more leaf or attribute of the pytree: an instance
    whose property was asked for has another structure than one whose property was not. `jax.jit` compiles again,
    `jax.tree.map` over both fails, and simple_pytree cannot flatten the instance at all. The value is gone after each
    transformation, so that nothing is saved.

    ## What you will see

    `ValueError: Unexpected fields in Grid: area. You cannot add new fields to a Pytree after it has been initialized.`
    with simple_pytree. With chex `jax.tree.leaves` is longer by one; with all others one more compilation. With nnx, if
    the value is an array that is cached inside of `nnx.jit`, `UnexpectedTracerError` at the second call, or
    `ValueError: Exception raised while checking equality of metadata fields of pytree.`

    An ordinary object that compiled methods do not get as an argument keeps the tracer of the first trace:
    `UnexpectedTracerError` in the next one.

    ## Example

    ```python
    from functools import cached_property

    import chex
    import jax

    @chex.dataclass
    class Grid:
        width: jax.Array

        @cached_property
        def area(self) -> jax.Array:
            return self.width**2
    ```

    ## Use instead

    ```python
    import chex
    import jax

    @chex.dataclass
    class Grid:
        width: jax.Array

        @property
        def area(self) -> jax.Array:
            return self.width**2
    ```

    ## Frameworks

    All where a method copies the instance (`copy.copy(self)`) and changes fields of the copy: that has the old value.

    simple_pytree (an error), chex, equinox, nnx and treex. flax.struct, register_dataclass, jax_dataclasses, tjax,
    penzai and mjx flatten fields only, and lose the value when they rebuild the instance.

    ## Fix safety

    The decorator becomes `property`. The fix is unsafe: the value is computed each time.

    ## When not to use it

    A property of an equinox module that is asked for inside of `jax.jit` only is cached at the instance that was made
    there, and costs nothing; the finding is information of low confidence, and only shown when that is asked for. So it
    is of an nnx module if the value is certainly no array; where nothing is known of it, the confidence is medium.

    ## References

    - [functools.cached_property](https://docs.python.org/3/library/functools.html#functools.cached_property)
    """

    code = "JAX513"
    name = "cached-property"
    group = "transformations"
    since = "0.1.0"
    severity = Severity.WARNING

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Methods with decorators, or that are compiled, in modules that speak of the decorator."""
        return "cached_property" in candidate.module.source.text and any(f.owner for f in candidate.functions)

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what compiled methods ask an object for that they do not get as an argument."""
        if "cached_property" not in code.place.module.source.text:
            return
        for found in cached_tracers(code, evaluator):
            name, owner = found.function.name, code.place.owner
            way_out = "compute it in the constructor, or make it a property"
            yield Problem(
                at=found.function.at,
                message=(
                    f"`{name}` of `{owner.name if owner else ''}` is a cached_property that only compiled methods ask"
                    f" for: it keeps a tracer of the first trace, and `{found.second.name}` fails after"
                    f" `{found.first.name}` (UnexpectedTracerError); {way_out}"
                ),
                reason="what is computed while a function is traced is a tracer, and the property keeps it",
                help=way_out,
            )

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the decorators of the methods."""
        caching = cls.framework.caching
        if cls.registered is not True:
            return
        if caching is None:
            yield from _copied_along(cls, evaluator)
            return
        if caching.fact is not None and evaluator.model.target.holds(caching.fact) is False:
            return
        for function in own_methods(cls):
            decorator = caching_of(function, cls, evaluator)
            if decorator is not None:
                yield Problem(
                    at=function.at,
                    message=(
                        f"`{function.name}` of `{cls.name}` is a cached_property: {caching.consequence};"
                        " make it a property"
                    ),
                    reason=caching.reason,
                    help="write `@property`, or compute the value once and make it a field",
                    severity=caching.severity,
                    confidence=_confidence(function, cls, caching, evaluator),
                    fix=_as_property(function, decorator, cls.module, evaluator),
                )


def _copied_along(cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
    """The cached values that a method hands on to a copy of the instance with other fields."""
    own = own_methods(cls)
    for function in own:
        decorator = caching_of(function, cls, evaluator)
        if decorator is None:
            continue
        for method in own:
            if _goes_stale(function, method, cls, evaluator):
                yield Problem(
                    at=function.at,
                    message=(
                        f"`{function.name}` of `{cls.name}` is a cached_property, and `{method.name}` copies the"
                        " instance with the cached value and changes its fields: the copy goes on with the old value;"
                        " make it a property"
                    ),
                    reason="the value is stored in the `__dict__`, which a copy gets as it is",
                    help="write `@property`, or make the copy with `dataclasses.replace`",
                    fix=_as_property(function, decorator, cls.module, evaluator),
                )
                break


def _goes_stale(function: Function, method: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a method makes a copy of the instance with other values of what a cached value is made of."""
    from jaxlint.rules.analyses.changes.copied_state import changed_in_copy
    from jaxlint.rules.analyses.changes.stale import reads

    changed = changed_in_copy(method, cls.module, evaluator)
    if changed is None:
        return False
    return not changed or not reads(run_by(function, cls).values(), cls).isdisjoint(changed)


@proposing
def _as_property(function: Function, decorator: Expr, module: Module, evaluator: Evaluator) -> Proposal | None:
    """The unsafe fix, unless the cached value is deleted or set somewhere, which a property refuses."""
    name = re.escape(function.name)
    touched = re.compile(rf"""\bdel\b.*\.{name}\b|\.{name}\s*=(?!=)|(["']){name}\1""")
    if is_written(touched, module, evaluator):
        return None
    return Proposal("Make it a property", Applicability.UNSAFE, (Rewrite(decorator.at, "property"),))


def _confidence(function: Function, cls: PytreeClass, caching: Caching, evaluator: Evaluator) -> Confidence | None:
    """How likely the cached value does harm: one that is no array costs a compilation, at most."""
    if caching.is_harmless:
        return Confidence.LOW
    if not caching.harms_by_arrays:
        return None
    value = plain(evaluator.calls.returned(FunctionValue(FunctionSymbol(cls.module, function))))
    if isinstance(value, UnknownValue):
        return Confidence.LOW if _declares_no_array(function, cls, evaluator) else Confidence.MEDIUM
    return None if isinstance(value, Array) else Confidence.LOW


def _declares_no_array(function: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether what a function returns is declared as something that certainly is no array, such as a function."""
    if function.returns is None:
        return False
    return non_array(Placed(function.returns, cls.module, function.scope), evaluator.model.resolver) is not None
