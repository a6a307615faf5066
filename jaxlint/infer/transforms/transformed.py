"""Which functions are transformed, by what, and with which options."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from jaxlint.infer.transforms.applications import Applications
from jaxlint.infer.transforms.applied import Applied
from jaxlint.libraries.transforms import TRANSFORMS, WRAPPERS, Kind, Transform
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ValueSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.callee import Callee
from jaxlint.pytrees.frameworks.jax_dataclasses import is_marked_static
from jaxlint.pytrees.model import Placed
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Argument, Call, Constant, Display, Expr, Unary

_MAX_ALIASES = 8


class TransformedFunctions:
    """What is known of the functions of the project.

    Decorators, and what other modules do to a function, are read from outlines. What a call does to a function of the
    same module (`step = jax.jit(step)`) is noted while that is read, and forgotten when the next one begins; who asks
    for a function of another module, the outline of that module says it.
    """

    def __init__(self, model: PytreeModel) -> None:
        self.model = model
        self.applications = Applications(model, self)
        self._decorating: dict[tuple[str, str], tuple[Applied, ...]] = {}
        #: What is applied to functions, by path and qualified name.
        self._noted: dict[tuple[str, str], dict[Applied, None]] = {}
        #: The path of the module that is being read, whose calls are noted.
        self._reading = ""

    def start(self, module: Module) -> None:
        """Forget the calls that were read before; those of a module are read next."""
        self._noted = {}
        self._reading = module.path

    def note(self, function: Function, module: Module, applied: Iterable[Applied]) -> None:
        """Note what a call does to a function of the module being read."""
        self._noted.setdefault((module.path, function.qualname), {}).update(dict.fromkeys(applied))

    def of(self, function: Function, module: Module) -> tuple[Applied, ...]:
        """All that is applied to a function, the outermost decorator first."""
        noted = self._noted.get((module.path, function.qualname), ())
        if noted:
            noted = {a: None for a in noted if not self.applications.is_called_in_vain(a, function, module)}
        is_read = self._reading in ("", module.path)
        own = () if is_read else self.applications.at_home(function, module)
        return (*self.decorating(function, module), *noted, *own, *self.applications.elsewhere(function, module))

    def decorating(self, function: Function, module: Module) -> tuple[Applied, ...]:
        """What the decorators of a function apply, from the outermost."""
        if not function.decorators:
            return ()
        key = (module.path, function.qualname)
        if key not in self._decorating:
            found: list[Applied] = []
            for decorator in function.decorators:
                callee = self.model.callees.of_decorator(decorator, module, function.scope)
                transform = TRANSFORMS.get(callee.name) if callee is not None else None
                if callee is not None and transform is not None and not transform.runs:
                    applied = self.from_callee(transform, callee, decorator.at)
                    found.append(self.applied_to(function, module, replace(applied, is_decorator=True)))
            self._decorating[key] = tuple(found)
        return self._decorating[key]

    def is_wrapped(self, function: Function, module: Module) -> bool:
        """Whether a decorator that is not known may do something with the arguments, or with what is returned."""
        for decorator in function.decorators:
            callee = self.model.callees.of_decorator(decorator, module, function.scope)
            if callee is None or not (callee.name in TRANSFORMS or callee.name in WRAPPERS):
                return True
        return False

    def applied_to(
        self, function: Function, module: Module, applied: Applied, bound: int = 0, given: frozenset[str] = frozenset()
    ) -> Applied:
        """The same transformation as it is applied to a function, of which some parameters are given already."""
        if applied.transform.reads_static_annotations:
            applied = replace(applied, static_argnames=tuple(sorted(self.marked_static(function, module))))
        return replace(applied, bound=bound, given=given)

    def names_with_static_arguments(self, functions: Iterable[Function], module: Module) -> set[str]:
        """The names of those of some functions of a module with a static or donated argument other than `self`."""
        found: set[str] = set()
        for function in functions:
            applied = self.decorating(function, module)
            sets = [
                names
                for a in applied
                for names in (a.static_parameters(function) or (), a.donated_parameters(function))
            ]
            if any(name != function.self_name for names in sets for name in names):
                found.add(function.name)
        return found

    def marked_static(self, function: Function, module: Module) -> frozenset[str]:
        """The parameters that are annotated with `jdc.Static[...]`."""
        return frozenset(
            p.name
            for p in function.parameters
            if p.annotation is not None
            and is_marked_static(self.model.context(p.annotation, module, function.scope, {}))
        )

    def from_callee(self, transform: Transform, callee: Callee, at: object) -> Applied:
        """A decorator, or a call that is seen from outside, with its options."""
        keywords = (*_by_position(transform, callee.positional[len(transform.functions) :]), *callee.keywords)
        applied = self._applied(transform, at, keywords, callee.complete)
        return applied if callee.transparent else replace(applied, static_argnums=None, static_argnames=None)

    def from_call(
        self, transform: Transform, at: object, args: tuple[Argument, ...], module: Module, scope: str
    ) -> Applied:
        """A call with its options: `args` is what it is given beside the functions."""
        complete = not any(a.star for a in args)
        keywords = tuple((a.keyword, Placed(a.value, module, scope)) for a in args if a.keyword is not None)
        if complete and not transform.runs:
            positional = tuple(Placed(a.value, module, scope) for a in args if a.keyword is None)
            keywords = (*_by_position(transform, positional), *keywords)
        return self._applied(transform, at, keywords, complete)

    def _applied(
        self,
        transform: Transform,
        at: object,
        keywords: tuple[tuple[str, Placed], ...],
        complete: bool,
    ) -> Applied:
        given = dict(keywords)
        mapped = None
        if "in_axes" in given and transform.kind is Kind.MAP:
            mapped = _sliced(given["in_axes"].expr)
            if _is_default(given["in_axes"].expr) and not transform.filters:
                del given["in_axes"]

        def numbers(name: str, default: tuple[int, ...] = ()) -> tuple[int, ...] | None:
            if name not in given:
                return default if complete else None
            return self._integers(given[name])

        static_numbers = numbers(transform.static_argnums)
        if "static_argnums" in given and (transform.refuses_static or transform.static_argnums != "static_argnums"):
            static_numbers = None
        if "static_argnames" in given:
            static_names = None if transform.refuses_static else self._strings(given["static_argnames"])
        else:
            static_names = () if complete else None
        has_aux = given["has_aux"].expr if "has_aux" in given else None
        donate = given["donate"].expr if "donate" in given and transform.filters else None
        return Applied(
            transform,
            at,
            static_numbers,
            static_names,
            numbers("argnums", (0,)),
            (bool(has_aux.value) if isinstance(has_aux, Constant) else None) if has_aux is not None else False,
            options=frozenset(given),
            donate_argnums=numbers("donate_argnums"),
            donate_argnames=self._strings(given["donate_argnames"]) if "donate_argnames" in given else (),
            donate=donate.value if isinstance(donate, Constant) and isinstance(donate.value, str) else "",
            mapped=mapped,
        )

    def _integers(self, placed: Placed) -> tuple[int, ...] | None:
        values = self._literals(placed)
        return None if values is None or not all(isinstance(v, int) for v in values) else tuple(values)  # type: ignore[arg-type]

    def _strings(self, placed: Placed) -> tuple[str, ...] | None:
        values = self._literals(placed)
        return None if values is None or not all(isinstance(v, str) for v in values) else tuple(values)  # type: ignore[arg-type]

    def _literals(self, placed: Placed, depth: int = 0) -> tuple[object, ...] | None:
        """The literals that an option lists; a single one counts as a list of one."""
        expr = placed.expr
        match expr:
            case Constant(kind="NoneType"):
                return ()
            case Constant(value=value) if value is not None:
                return (value,)
            case Unary(op="-", operand=Constant(value=int(number))):
                return (-number,)
            case Display(items=items):
                found: list[object] = []
                for item in items:
                    one = self._literals(Placed(item, placed.module, placed.scope), depth + 1)
                    if one is None or len(one) != 1:
                        return None
                    found += one
                return tuple(found)
        symbol = self.model.resolver.resolve(expr, placed.module, placed.scope)
        if isinstance(symbol, ValueSymbol) and symbol.assignment.value is not None and depth < _MAX_ALIASES:
            return self._literals(Placed(symbol.assignment.value, symbol.module, symbol.scope), depth + 1)
        return None


def _by_position(transform: Transform, positional: tuple[Placed, ...]) -> tuple[tuple[str, Placed], ...]:
    """The options that follow the functions, with their names: `jax.vmap(f, (None, 0))`."""
    return tuple(zip(transform.options, positional, strict=False))


def _sliced(in_axes: Expr) -> tuple[int, ...] | None:
    """Which arguments `in_axes=(0, None)` gives a number, by position; None if it is not written out like that."""
    if not isinstance(in_axes, Display) or in_axes.has_star:
        return None
    return tuple(n for n, axis in enumerate(in_axes.items) if isinstance(axis, Constant) and axis.kind == "int")


def _is_default(in_axes: Expr) -> bool:
    return isinstance(in_axes, Constant) and in_axes.value == 0


def names_static(call: Call) -> bool:
    """Whether a call names static or donated arguments."""
    return any(a.keyword is not None and a.keyword.startswith(("static_", "donate")) for a in call.args)
