"""JAX303 import-time-jax."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Proposal
from jaxlint.finding import Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import arrays_in
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import Kind, Placed, PytreeClass
from jaxlint.rules.analyses.fixes.made_at_import import making_inside, of_numpy
from jaxlint.rules.base import BodyRule, ClassRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, Expr
from jaxlint.syntax.statements import parts


class ImportTimeJax(ClassRule, BodyRule):
    """
    ## What it does

    Finds jax arrays that are made in the body of a pytree class, or as the default of a parameter.

    ## Why is this bad?

    Both run when the module is imported. The first array that is made starts the backend: it takes the memory of the
    GPU, and what is configured afterwards comes too late.

    ## What you will see

    `RuntimeError: jax.distributed.initialize() must be called before any JAX calls that might initialise the XLA
    backend.` A `jax.config.update("jax_platforms", "cpu")` after the import has no effect, and an import takes seconds.

    ## Example

    ```python
    from typing import ClassVar

    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class World:
        position: jax.Array
        gravity: ClassVar[jax.Array] = jnp.array([0.0, 0.0, -9.81])

        def fall(self, dt: float) -> jax.Array:
            return self.position + dt * self.gravity
    ```

    ## Use instead

    ```python
    from typing import ClassVar

    import jax
    import numpy as np
    from flax import struct

    @struct.dataclass
    class World:
        position: jax.Array
        gravity: ClassVar[np.ndarray] = np.array([0.0, 0.0, -9.81])

        def fall(self, dt: float) -> jax.Array:
            return self.position + dt * self.gravity
    ```

    ## Frameworks

    All. Dataclasses refuse an array as the default of a field (JAX301); named tuples take it.

    ## Fix safety

    The default of a parameter becomes `None`, and the function makes the array: that is safe where it is made of what
    libraries have. There is none where `None` may mean something already, or a decorator may pass the defaults. What a
    class body makes in one call of `jax.numpy` is made of numpy, if all that is seen of it is that it is computed with:
    no item of it can be taken with a traced index then, so the fix is unsafe.

    ## When not to use it

    In scripts and tests, which make arrays at once anyway. Functions inside of functions are not looked at.

    This rule is off by default, for what it says is always true and seldom of use. Of its 107 findings in projects,
    all of which were read, 82 stand in packages in which other statements, which this rule does not look at, make
    arrays while they are imported (constants of modules, mostly): nothing is gained there if the marked one is mended.
    7 stand in tests and scripts. The other 18, in seven packages, are alone in starting the backend.
    Select it in a library that keeps its imports free of arrays.

    ## References

    - [optimistix #186](https://github.com/patrick-kidger/optimistix/pull/186), [interpax #176](https://github.com/f0uriest/interpax/pull/176)
    - [jaxsim #329](https://github.com/gbionics/jaxsim/pull/329)
    """

    code = "JAX303"
    name = "import-time-jax"
    group = "construction"
    about_values = True
    severity = Severity.WARNING
    since = "0.1.0"
    enabled = False

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a class body binds, and at the defaults of its methods."""
        declaration = cls.symbol.declaration
        if declaration.scope:
            return
        bound: list[tuple[str, Expr | None, Expr | None]] = [(a.name, a.value, None) for a in declaration.assignments]
        on_class = {m.name for m in cls.members if m.kind is Kind.CLASS_VAR or cls.framework.is_tuple}
        bound += [(f.name, f.value, f.annotation) for f in declaration.fields if f.name in on_class]
        for name, value, annotation in bound:
            made = None if value is None else _made(value, cls.module, declaration.qualname, evaluator)
            if value is not None and made is not None:
                way_out = "make it of numpy, or in the function that uses it"
                fix = None if cls.framework.is_tuple else of_numpy(name, value, annotation, cls, evaluator)
                yield _problem(made, f"`{name}` in the body of `{cls.name}`", way_out, fix)
        for qualnames in declaration.methods.values():
            for qualname in qualnames:
                function = cls.module.outline.functions[qualname]
                yield from _defaults(function, cls.module, f"`{cls.name}.{function.name}`", evaluator)

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the defaults of a function of a module that takes or makes instances."""
        function = code.function
        if function is not None and not function.scope and function.owner is None and function.name != "<lambda>":
            yield from _defaults(function, code.place.module, f"`{function.name}`", evaluator)


def _defaults(function: Function, module: Module, of: str, evaluator: Evaluator) -> Iterator[Problem]:
    for parameter in function.parameters:
        default = parameter.default
        made = None if default is None else _made(default, module, function.scope, evaluator)
        if made is not None:
            way_out = "take `None` for the default, and make the array in the function"
            fix = making_inside(parameter, function, module, evaluator)
            yield _problem(made, f"the default of `{parameter.name}` of {of}", way_out, fix)


def _made(value: Expr, module: Module, scope: str, evaluator: Evaluator) -> Call | None:
    """The call in an expression that makes an array of jax, or several."""
    for part in parts(value, nested=False):
        if isinstance(part, Call):
            found = arrays_in(evaluator.static(Placed(part, module, scope)))
            if any(array.library == "jax" and not array.declared for array in found):
                return part
    return None


def _problem(call: Call, what: str, way_out: str, fix: Proposal | None) -> Problem:
    return Problem(
        at=call.at,
        message=f"{what} is made of jax when the module is imported: that starts the backend; {way_out}",
        reason="the first array that is made starts the backend, whatever is configured later",
        help=way_out,
        fix=fix,
    )
