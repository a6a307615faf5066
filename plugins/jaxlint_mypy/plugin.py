"""What mypy calls. Whatever goes wrong below this, mypy goes on, and one note says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mypy.checker import TypeChecker
from mypy.nodes import MypyFile
from mypy.options import Options
from mypy.plugin import (
    AttributeContext,
    ClassDefContext,
    FunctionContext,
    FunctionSigContext,
    MethodContext,
    MethodSigContext,
    Plugin,
    ReportConfigContext,
)
from mypy.types import FunctionLike, Type

from jaxlint_mypy.classes import as_mypy_does
from jaxlint_mypy.front import FrontEnd
from jaxlint_mypy.hooks import GENERATED, Hooks
from jaxlint_mypy.internals import is_daemon, is_ignored, looking_again, note, spared_by_collector
from jaxlint_mypy.running import describe
from jaxlint_mypy.untyped import BESIDE_UNTYPED

_C = TypeVar("_C")
_T = TypeVar("_T")
_Answer = Callable[[Any], Any] | None
#: What mypy asks about every class.
_OF_ALL_CLASSES = "get_customize_class_mro_hook"
#: By what mypy asks about names, the method by which it asks.
_METHODS = {
    name.removeprefix("get_").replace("_hook", ""): name
    for name in (
        *("get_class_decorator_hook", "get_class_decorator_hook_2", "get_base_class_hook", "get_method_signature_hook"),
        *("get_function_signature_hook", "get_method_hook", "get_function_hook", "get_attribute_hook"),
        "get_class_attribute_hook",
    )
}


class _Answers(dict[str, _Answer]):
    """By names, who answers a question about them; who is not known yet is asked for."""

    def __init__(self, ask: Callable[[str], _Answer]) -> None:
        super().__init__()
        self._ask = ask

    def __missing__(self, fullname: str) -> _Answer:
        return self._ask(fullname)


class JaxlintPlugin(Plugin):
    """Passes mypy's questions on, and answers itself, as mypy would without a plugin, where that fails."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._failure = ""
        self._reported = False
        #: What was answered, until a file is read or something fails.
        self._known: dict[str, _Answers] = {}
        #: The checkers of files in which something was asked, until these are done.
        self._checkers: dict[str, TypeChecker] = {}
        #: The files that were read, until they have been checked.
        self._unchecked: set[str] = set()
        #: Of attributes it is the class that tells.
        self._owners: dict[str, _Answer] = {}
        self._is_daemon = self._try("the start", lambda: True, is_daemon, options)
        self._hooks = self._try("the start", lambda: None, self._start)
        self._try("the start", lambda: None, self._answer_at_once)

    def _start(self) -> Hooks:
        return spared_by_collector(Hooks(FrontEnd(self.options), self))

    def _answer_at_once(self) -> None:
        """Put what was answered before the methods below: mypy asks hundred thousands of times.

        A look into a dictionary takes a tenth of what a call of a method takes.
        """
        for question, method in _METHODS.items():
            answers = self._known[question] = _Answers(getattr(self, method))
            setattr(self, method, answers.__getitem__)
        if not self._is_daemon and not self._failure:
            beside = {name: self.get_customize_class_mro_hook(name) for name in BESIDE_UNTYPED}
            setattr(self, _OF_ALL_CLASSES, beside.get)

    # -- mypy's life ---------------------------------------------------------------------------

    def set_modules(self, modules: dict[str, MypyFile]) -> None:
        """Take the modules that mypy knows."""
        super().set_modules(modules)
        if self._hooks is not None:
            self._try("the modules", lambda: None, self._hooks.see, modules)

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """A file is read: what was known of it may be out of date."""
        self._unchecked.add(file.fullname)
        if self._hooks is not None and not self._hooks.front.stale:  # else nothing was answered since the last file
            self._try("a file", lambda: None, self._hooks.forget)
            self._forget()
        return []

    def _forget(self) -> None:
        for answers in (*self._known.values(), self._owners):
            answers.clear()

    def get_additional_indirect_deps(self, file: MypyFile) -> set[str]:
        """A file has been checked: time for what mypy asks no plugin about."""
        if file.fullname in self._unchecked:
            self._unchecked.discard(file.fullname)
            if not self._unchecked:
                self._ask("what is kept", "keep")
        checker = self._checkers.pop(file.fullname, None)
        if checker is not None and checker.tree is file:
            self._try("a checked file", lambda: None, self._look_again, checker)
        return set()

    def _look_again(self, checker: TypeChecker) -> None:
        if not self._try("a checked file", lambda: True, is_ignored, checker):
            self._ask("a checked file", "checked", checker)
        if self._failure and not self._reported:
            with looking_again(checker, ()):
                self._tell(checker, checker.tree)

    def report_config_data(self, ctx: ReportConfigContext) -> Any:
        """What results depend on besides the files: this plugin, jaxlint and its settings."""
        if self._hooks is None:
            return None
        try:  # as `_try` does, without the calls: mypy asks for each of thousands of modules
            return self._hooks.config_data(ctx)
        except Exception as error:
            self._fail("the configuration", error)
            return None

    # -- hooks ---------------------------------------------------------------------------------

    def get_class_decorator_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        """In the main pass: decorators that make dataclasses, and that mypy does not see through."""
        return self._hook("a class", "class_decorator", fullname, lambda ctx: None)

    def get_class_decorator_hook_2(self, fullname: str) -> Callable[[ClassDefContext], bool] | None:
        """After the main pass: the generated methods."""
        return self._hook("a class", "class_decorator_2", fullname, as_mypy_does)

    def get_customize_class_mro_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        """Types of functions beside the class; in the daemon, what depends on it may have to be looked at again."""
        return self._hook("a class", "class_mro", fullname, lambda ctx: None)

    def get_base_class_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        """Classes that inherit from pytree classes."""
        return self._hook("a class", "base_class", fullname, lambda ctx: None)

    def get_method_signature_hook(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        """`replace`, `create`, `apply_gradients` of pytree classes."""
        return self._hook("a signature", "method_signature", fullname, lambda ctx: ctx.default_signature)

    def get_function_signature_hook(self, fullname: str) -> Callable[[FunctionSigContext], FunctionLike] | None:
        """The functions of frameworks that declare fields."""
        return self._hook("a signature", "function_signature", fullname, lambda ctx: ctx.default_signature)

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """Methods that copy with changes, methods that change a container, and class statements."""
        return self._hook("a call", "method", fullname, lambda ctx: ctx.default_return_type)

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """Functions that copy with changes, `setattr`, constructors, and fields."""
        return self._hook("a call", "function", fullname, lambda ctx: ctx.default_return_type)

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """Attributes of classes that refuse assignment, or that have static fields."""
        owner, _, name = fullname.rpartition(".")
        found: Callable[[AttributeContext], Type] | None
        if name not in GENERATED and owner in self._owners:
            found = self._known["attribute"][fullname] = self._owners[owner]
            return found
        found = self._hook("an attribute", "attribute", fullname, lambda ctx: ctx.default_attr_type)
        if name not in GENERATED and fullname in self._known.get("attribute", ()):
            self._owners[owner] = found
        return found

    def get_class_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """Generated methods that are taken from a class."""
        return self._hook("an attribute", "class_attribute", fullname, lambda ctx: ctx.default_attr_type)

    # -- what must not happen ------------------------------------------------------------------

    def _ask(self, what: str, question: str, *asked: Any) -> Any:
        if self._hooks is None:
            return None
        return self._try(what, lambda: None, getattr(self._hooks, question), *asked)

    def _hook(
        self, what: str, question: str, fullname: str, otherwise: Callable[[_C], _T]
    ) -> Callable[[_C], _T] | None:
        """The callback that answers, made safe; None if there is nothing to be said about that name."""
        callback, is_settled = None, False
        if self._hooks is not None:
            try:  # as `_try` does, without the calls: mypy asks for thousands of names
                callback, is_settled = self._hooks.answer(question, fullname)
            except Exception as error:
                self._fail(what, error)
        if callback is None and self._failure:
            return None if self._reported else self._teller(question, otherwise)
        found = None if callback is None else self._safe(what, callback, otherwise)
        if is_settled and question in self._known and not self._failure:
            self._known[question][fullname] = found
        return found

    def _safe(self, what: str, callback: Callable[[_C], _T], otherwise: Callable[[_C], _T]) -> Callable[[_C], _T]:
        """A callback that mypy goes on without if it fails."""

        def safe(ctx: Any) -> _T:
            api = ctx.api
            if type(api) is TypeChecker:
                self._checkers[api.tree.fullname] = api
            try:  # as `_try` does, without the calls
                found = callback(ctx)
            except Exception as error:
                self._fail(what, error)
                found = otherwise(ctx)
            if not self._reported:
                self._tell(api, ctx)
            return found

        return safe

    def _teller(self, question: str, otherwise: Callable[[_C], _T]) -> Callable[[_C], _T] | None:
        """A callback that only reports the failure, where no other plugin loses its turn: mypy asks one for a name."""
        if question not in ("class_mro", "function", "attribute"):
            return None

        def tell(ctx: Any) -> _T:
            self._tell(ctx.api, ctx)
            return otherwise(ctx)

        return tell

    def _try(self, what: str, otherwise: Callable[[], _T], do: Callable[..., _T], *given: Any) -> _T:
        try:
            return do(*given)
        except Exception as error:
            self._fail(what, error)
            return otherwise()

    def _fail(self, what: str, error: Exception) -> None:
        """Keep what went wrong first; from now on nothing is answered at once, so that it can be reported."""
        self._failure = self._failure or describe(what, error)
        self.__dict__.pop(_OF_ALL_CLASSES, None)
        self._forget()

    def _tell(self, api: Any, at: Any) -> None:
        """Say once what went wrong, where mypy is just now."""
        if self._reported:
            return
        failure = self._failure or (self._hooks.front.failure if self._hooks is not None else "")
        if failure:
            place = at if isinstance(at, MypyFile) else getattr(at, "context", None) or at.cls
            self._reported = note(api, failure, place)
