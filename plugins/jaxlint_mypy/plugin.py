"""What mypy calls. Whatever goes wrong below this, mypy goes on, and one note says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

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

_T = TypeVar("_T")
_Callback = Callable[[Any], Any]
_Answer = _Callback | None


class _Question(NamedTuple):
    """What mypy asks about a name: by which method, about what, and what it goes on with where the answer fails."""

    method: str
    what: str
    otherwise: _Callback


def _is_no_dataclass(ctx: ClassDefContext) -> None:
    """Nothing is known of the class."""


def _signature(ctx: MethodSigContext | FunctionSigContext) -> FunctionLike:
    return ctx.default_signature


def _result(ctx: MethodContext | FunctionContext) -> Type:
    return ctx.default_return_type


def _type(ctx: AttributeContext) -> Type:
    return ctx.default_attr_type


#: By the names of the methods of `Hooks` that answer.
_QUESTIONS = {
    "class_decorator": _Question("get_class_decorator_hook", "a class", _is_no_dataclass),
    "class_decorator_2": _Question("get_class_decorator_hook_2", "a class", as_mypy_does),
    "class_mro": _Question("get_customize_class_mro_hook", "a class", _is_no_dataclass),
    "base_class": _Question("get_base_class_hook", "a class", _is_no_dataclass),
    "method_signature": _Question("get_method_signature_hook", "a signature", _signature),
    "function_signature": _Question("get_function_signature_hook", "a signature", _signature),
    "method": _Question("get_method_hook", "a call", _result),
    "function": _Question("get_function_hook", "a call", _result),
    "attribute": _Question("get_attribute_hook", "an attribute", _type),
    "class_attribute": _Question("get_class_attribute_hook", "an attribute", _type),
}


class _Answers(dict[str, _Answer]):
    """By names, who answers a question about them; who is not known yet is asked for."""

    def __init__(self, plugin: JaxlintPlugin, question: str) -> None:
        super().__init__()
        self._plugin, self._question = plugin, question

    def __missing__(self, fullname: str) -> _Answer:
        return self._plugin.find(self._question, fullname)


class _OfAttributes(_Answers):
    """Of attributes it is the class that tells, but for those that are generated."""

    def __init__(self, plugin: JaxlintPlugin, question: str) -> None:
        super().__init__(plugin, question)
        self._owners: dict[str, _Answer] = {}

    def __missing__(self, fullname: str) -> _Answer:
        owner, _, name = fullname.rpartition(".")
        if name not in GENERATED and owner in self._owners:
            found = self[fullname] = self._owners[owner]
            return found
        found = super().__missing__(fullname)
        if name not in GENERATED and fullname in self:
            self._owners[owner] = found
        return found

    def clear(self) -> None:
        """Forget all of them."""
        super().clear()
        self._owners.clear()


class JaxlintPlugin(Plugin):
    """Passes mypy's questions on, and answers itself, as mypy would without a plugin, where that fails."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._failure = ""
        self._reported = False
        #: What was answered, until a file is read or something fails.
        self._known = {question: _Answers(self, question) for question in _QUESTIONS}
        self._known["attribute"] = _OfAttributes(self, "attribute")
        #: The checkers of files in which something was asked, until these are done.
        self._checkers: dict[str, TypeChecker] = {}
        #: The files that were read, until they have been checked.
        self._unchecked: set[str] = set()
        self._is_daemon = self._try("the start", lambda: True, is_daemon, options)
        self._hooks = self._try("the start", lambda: None, self._start)
        self._answer_at_once()

    def _start(self) -> Hooks:
        return spared_by_collector(Hooks(FrontEnd(self.options), self))

    def _answer_at_once(self) -> None:
        """Answer with what was answered before: mypy asks hundred thousands of times.

        A look into a dictionary takes a tenth of what a call of a method takes.
        """
        for question, asked in _QUESTIONS.items():
            setattr(self, asked.method, self._known[question].__getitem__)
        if not self._is_daemon and not self._failure:  # it is asked of all classes
            beside = {name: self.find("class_mro", name) for name in BESIDE_UNTYPED}
            setattr(self, _QUESTIONS["class_mro"].method, beside.get)

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
        for answers in self._known.values():
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

    # -- what must not happen ------------------------------------------------------------------

    def _ask(self, what: str, question: str, *asked: Any) -> Any:
        if self._hooks is None:
            return None
        return self._try(what, lambda: None, getattr(self._hooks, question), *asked)

    def find(self, question: str, fullname: str) -> _Answer:
        """The callback that answers a question, made safe; None if there is nothing to be said about that name."""
        _, what, otherwise = _QUESTIONS[question]
        callback, is_settled = None, False
        if self._hooks is not None:
            try:  # as `_try` does, without the calls: mypy asks for thousands of names
                callback, is_settled = self._hooks.answer(question, fullname)
            except Exception as error:
                self._fail(what, error)
        if callback is None and self._failure:
            return None if self._reported else self._teller(question, otherwise)
        found = None if callback is None else self._safe(what, callback, otherwise)
        if is_settled and not self._failure:
            self._known[question][fullname] = found
        return found

    def _safe(self, what: str, callback: _Callback, otherwise: _Callback) -> _Callback:
        """A callback that mypy goes on without if it fails."""

        def safe(ctx: Any) -> Any:
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

    def _teller(self, question: str, otherwise: _Callback) -> _Answer:
        """A callback that only reports the failure, where no other plugin loses its turn: mypy asks one for a name."""
        if question not in ("class_mro", "function", "attribute"):
            return None

        def tell(ctx: Any) -> Any:
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
        setattr(self, _QUESTIONS["class_mro"].method, self._known["class_mro"].__getitem__)
        self._forget()

    def _tell(self, api: Any, at: Any) -> None:
        """Say once what went wrong, where mypy is just now."""
        if self._reported:
            return
        failure = self._failure or (self._hooks.front.failure if self._hooks is not None else "")
        if failure:
            place = at if isinstance(at, MypyFile) else getattr(at, "context", None) or at.cls
            self._reported = note(api, failure, place)
