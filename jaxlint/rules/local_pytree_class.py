"""JAX109 local-pytree-class."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.libraries.transforms import TRANSFORMS, Kind
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.symbols.outline import Assignment, Function
from jaxlint.syntax.expressions import Call, Expr, Name, Subscript, dotted, without_call
from jaxlint.syntax.paths import is_test_file

#: Decorators below which a body does not run at every call, by canonical name.
_TRACING = frozenset(name for name, transform in TRANSFORMS.items() if transform.kind is Kind.JIT)
_LOCAL = ".<locals>"


class LocalPytreeClass(ClassRule):
    """
    ## What it does

    Finds pytree classes that are declared in a function, so that each call makes a new class.

    ## Why is this bad?

    The class is part of the structure of a pytree. Instances that come from two calls have different structures
    though they look the same: `jax.jit` compiles once more for each of them, `jax.tree.map` and `jax.lax.cond` refuse
    to combine them. (jaxlib 0.10.2 takes dataclasses with the same fields for equal and tells them apart by a hash:
    for about one pair in 70 `jax.jit` does not compile again, and returns instances of the first class.) Each class
    is registered with jax for good. `pickle` finds classes by their name in a module, and so refuses the instances
    (multiprocessing and many checkpoint formats do too).

    ## What you will see

    `ValueError: pytree structure error: different types at key path`, and when pickled
    `AttributeError: Can't pickle local object 'make.<locals>.Carry'`.

    ## Example

    ```python
    import jax
    from flax import struct

    def initial(size):
        @struct.dataclass
        class Carry:
            total: jax.Array

        return Carry(total=jax.numpy.zeros(size))
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Carry:
        total: jax.Array

    def initial(size):
        return Carry(total=jax.numpy.zeros(size))
    ```

    ## Frameworks

    All.

    ## Fix safety

    There is no automatic fix yet.

    ## When not to use it

    The rule is off by default, as it cannot see how often a function is called. Left out are functions that are cached
    (`functools.lru_cache` and other decorators with "cache" in their name, results stored in a dict of the module) or
    compiled, functions that the module calls once, `main`, tests, and classes that extend a class which is passed in.

    ## References

    - [jax: custom pytree nodes](https://docs.jax.dev/en/latest/custom_pytrees.html)
    - [pickle: what can be pickled](https://docs.python.org/3/library/pickle.html#what-can-be-pickled-and-unpickled)
    """

    code = "JAX109"
    name = "local-pytree-class"
    group = "declaring"
    severity = Severity.WARNING
    confidence = Confidence.MEDIUM
    enabled = False
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at where the class is declared."""
        declaration = cls.symbol.declaration
        scope = cls.module.outline.scopes.get(declaration.scope)
        if _LOCAL not in declaration.scope or cls.registered is not True or scope is None:
            return
        functions = _around(declaration.scope, cls.module)
        if declaration.name in scope.is_global or is_test_file(cls.module.path) or not functions:
            return
        if any(_runs_once(f, cls.module, evaluator) for f in functions) or _extends_argument(cls, functions):
            return
        function = functions[-1]
        yield Problem(
            at=declaration.name_at,
            message=(
                f"each call of `{function.name}` makes a new class `{cls.name}`: pickle refuses its instances, and jax"
                " takes those of two calls for different types; declare it in the module"
            ),
            reason="the class is part of the pytree structure, which jit, tree_map and pickle compare or look up",
            help=f"move `{cls.name}` out of `{function.name}`, and pass what it uses from there as fields",
        )


def _around(scope: str, module: Module) -> list[Function]:
    """The functions around a scope, from the outside in."""
    parts = scope.split(_LOCAL)
    names = [_LOCAL.join(parts[: i + 1]) for i in range(len(parts) - 1)]
    return [module.outline.functions[name] for name in names if name in module.outline.functions]


def _extends_argument(cls: PytreeClass, functions: list[Function]) -> bool:
    """Whether a base class is an argument of the function: there is one class for each that is passed in."""
    names = {p.name for f in functions for p in f.parameters}
    return any(isinstance(a.value, Name) and a.value.id in names for a in cls.symbol.declaration.bases)


def _runs_once(function: Function, module: Module, evaluator: Evaluator) -> bool:
    """Whether the body runs once, or once for each of different arguments."""
    if function.name == "main" or function.name.startswith("test"):
        return True
    if any(_keeps_result(d, function, module, evaluator) for d in function.decorators):
        return True
    scope = module.outline.module_scope
    if any(isinstance(v, Subscript) and dotted(v.value) in scope.bindings for v in function.return_values):
        return True  # the results are stored in a dict of the module
    if function.scope:
        return False
    rebound = any(isinstance(b, Assignment) for b in scope.bindings.get(function.name, ()))
    return rebound or _is_called_once(function, module)


def _keeps_result(decorator: Expr, function: Function, module: Module, evaluator: Evaluator) -> bool:
    name = dotted(without_call(decorator)) or ""
    if any(word in name.lower() for word in ("cache", "memo", "fixture")):
        return True
    callee = evaluator.model.callees.of_decorator(decorator, module, function.scope)
    return callee is not None and callee.name in _TRACING


def _is_called_once(function: Function, module: Module) -> bool:
    """Whether the only place of the module that names the function is a plain statement that calls it."""
    outline = module.outline
    units = [u for u in outline.units if function.qualname in u.references and not u.first <= function.at.row <= u.last]
    if len(units) != 1 or units[0].kind != "code":
        return False
    rows = range(units[0].first, units[0].last + 1)
    assigned = [b for bindings in outline.module_scope.bindings.values() for b in bindings]
    values = [b.value for b in assigned if isinstance(b, Assignment) and b.guard == "" and b.at.row in rows]
    values += [call for call in outline.module_calls if call.at.row == units[0].first]
    return len(values) == 1 and isinstance(values[0], Call) and dotted(values[0].func) == function.name
