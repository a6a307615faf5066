"""What names mean in a function that is traced, if they are no variables: functions, methods, classes, libraries."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.libraries.transforms import TRANSFORMS, Kind
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.under_trace.forms import UNKNOWN, Form, State
from jaxlint.rules.analyses.under_trace.things import ClassThing, Code, Frame, Library, Member, Thing, code_of
from jaxlint.syntax.expressions import Expr, dotted
from jaxlint.syntax.statements import Body

#: Transformations whose function returns what it returned, but for the shapes.
SAME = (Kind.JIT, Kind.MAP, Kind.CHECKPOINT, Kind.NAME)


class Meanings:
    """Answers for names; those of a module are asked for once."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        #: By module and scope.
        self._known: dict[tuple[str, str, str], Thing] = {}

    def code(self, symbol: FunctionSymbol, body: Body | None, around: Mapping[str, Thing] | None = None) -> Code | None:
        """The code of a function that nothing makes another one of."""
        function = symbol.declaration
        if body is None or function.is_generator or function.is_async:
            return None
        for decorator in function.decorators:
            callee = self._evaluator.model.callees.of_decorator(decorator, symbol.module, function.scope)
            transform = None if callee is None else TRANSFORMS.get(callee.name)
            method_kind = callee is not None and callee.name in ("builtins.staticmethod", "builtins.classmethod")
            if not method_kind and (transform is None or transform.kind not in SAME):
                return None
        return code_of(function, body, symbol.module, around)

    def outside(self, expr: Expr, frame: Frame) -> Thing:
        """What a name means that is no variable of the functions that are traced."""
        name = dotted(expr)
        if name is None:
            return self._meant(expr, frame)
        key = (frame.module.path, frame.scope, name)
        if key not in self._known:
            self._known[key] = self._meant(expr, frame)
        return self._known[key]

    def _meant(self, expr: Expr, frame: Frame) -> Thing:
        model = self._evaluator.model
        symbol = model.resolver.resolve(expr, frame.module, frame.scope)
        if isinstance(symbol, FunctionSymbol) and symbol.declaration.owner is None:
            return self.code(symbol, self._evaluator.calls.body_of(symbol)) or self._library(expr, frame)
        if isinstance(symbol, External):
            return Library(symbol.name)
        cls = model.class_of_symbol(symbol) if not isinstance(symbol, FunctionSymbol) else None
        if cls is not None and isinstance(symbol, ClassSymbol):
            return ClassThing(cls)
        return self._library(expr, frame)

    def _library(self, expr: Expr, frame: Frame) -> Thing:
        name = self._evaluator.model.resolver.library_name(expr, frame.module, frame.scope)
        return Library(name) if name else UNKNOWN

    def code_given(self, thing: Thing) -> Code | None:
        """The code of a function or of a method of an instance that another function is given."""
        if isinstance(thing, Member):
            return self.bound(thing.owner, thing.name)
        return thing if isinstance(thing, Code) else None

    def bound(self, owner: Form | ClassThing, name: str) -> Code | None:
        """The code of a method of an instance or a class, with what it is bound to."""
        found = owner.cls.method(name) if isinstance(owner, (State, ClassThing)) else None
        if found is None or not isinstance(owner, (State, ClassThing)):
            return None
        if isinstance(owner, State) and not owner.exact and not self._is_final(owner.cls, name):
            return None
        symbol = FunctionSymbol(found[0].module, found[1])
        code = self.code(symbol, self._evaluator.calls.body_of(symbol))
        kinds = {getattr(d, "id", "") for d in found[1].decorators}
        if code is None or "property" in kinds:
            return None
        bound: tuple[Thing, ...] = (ClassThing(owner.cls),) if "classmethod" in kinds else (owner,)
        if "staticmethod" in kinds or (isinstance(owner, ClassThing) and "classmethod" not in kinds):
            bound = ()
        return replace(code, positional=bound)

    def _is_final(self, cls: PytreeClass, name: str) -> bool:
        """Whether no class that is seen below one that is no pytree has a method of that name of its own."""
        if name in cls.abstract_methods or not cls.bases_known:
            return False
        return not self._evaluator.model.is_overridden(cls, name)
