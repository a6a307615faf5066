"""What the real libraries make of a generated module."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import linecache
import os
import sys
import traceback
import types
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

from tests.model_oracle.programs import Program

_numbers = itertools.count()


@dataclasses.dataclass
class Observed:
    """One class, as it is at run time; None stands for what could not be observed."""

    name: str
    error: BaseException | None = None
    fields: tuple[str, ...] | None = None
    registered: bool | None = None
    #: Name, kind ("positional" or "keyword") and whether it may be left out.
    parameters: tuple[tuple[str, str, bool], ...] | None = None
    built: bool = False
    #: The fields that are leaves, in flattening order.
    leaves: tuple[str, ...] | None = None
    #: "leaf", "static" or "dropped", by field.
    roles: dict[str, str] = dataclasses.field(default_factory=dict)
    #: What `setattr` raises, by name; None: nothing. "unheard_of" is no field.
    refusals: dict[str, str | None] = dataclasses.field(default_factory=dict)
    #: "framework", "user" or "failed", by name of the method.
    replaces: dict[str, str] = dataclasses.field(default_factory=dict)
    #: The hooks that rebuilding the instance runs.
    reruns: set[str] = dataclasses.field(default_factory=set)
    hooks: set[str] = dataclasses.field(default_factory=set)
    unflattens: bool = False
    hashable: bool = True
    compares_fields: bool = False


def execute(program: Program) -> tuple[types.ModuleType, tuple[str, BaseException] | None]:
    """Run a module; what it raised, if anything, with the name of the class that did."""
    name = f"generated_{next(_numbers)}"
    module = types.ModuleType(name)
    path = f"<{name}>"
    sys.modules[name] = module
    linecache.cache[path] = (len(program.text), None, program.text.splitlines(True), path)
    module.__dict__["__file__"] = path
    try:
        exec(compile(program.text, path, "exec", dont_inherit=True), module.__dict__)
    except Exception as error:
        row = next((f.lineno or 0 for f in traceback.extract_tb(error.__traceback__) if f.filename == path), 0)
        for declared in program.classes:
            if declared.first <= row <= declared.last:
                return module, (declared.name, error)
        raise
    finally:
        linecache.cache.pop(path, None)
    return module, None


def forget(module: types.ModuleType) -> None:
    """Drop an executed module; until then jax_dataclasses and others find it in `sys.modules`."""
    sys.modules.pop(module.__name__, None)


def observe(cls: type, notes: list[str]) -> Observed:
    """Look at one class from all sides."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _Observer(cls, notes).observe()


class _Observer:
    def __init__(self, cls: type, notes: list[str]) -> None:
        self.cls = cls
        self.notes = notes
        self.found = Observed(cls.__name__)
        self.names = _field_names(cls)
        self.codes = {name: index for index, name in enumerate(sorted(self.names or ()), start=1001)}

    def observe(self) -> Observed:
        found = self.found
        found.fields = self.names
        found.registered = self._is_registered()
        found.hashable = self.cls.__hash__ is not None
        found.compares_fields = _is_generated(self.cls.__eq__) or getattr(self.cls, "__eq__", None) is tuple.__eq__
        instance = self._construct()
        if instance is not None:
            found.built = True
            self._look_at(instance)
        return found

    def _is_registered(self) -> bool:
        if issubclass(self.cls, tuple):
            return True
        bare = object.__new__(self.cls)
        try:
            leaves = jax.tree_util.tree_leaves(bare)
        except Exception:
            return True
        return not (len(leaves) == 1 and leaves[0] is bare)

    # -- construction -------------------------------------------------------------------------

    def _value(self, name: str) -> Any:
        """A value that fits the annotation, and tells the field."""
        code = self.codes.setdefault(name.removesuffix("_in"), len(self.codes) + 1001)
        fields = getattr(self.cls, "__dataclass_fields__", {})
        kind = str(fields.get(name.removesuffix("_in"), types.SimpleNamespace(type="")).type)
        if "rray" in kind:
            return (_array(code),) if "uple" in kind and "Seq" not in kind else _array(code)
        return f"text {code}" if kind in ("str", "<class 'str'>") else code if "int" in kind else float(code)

    def _construct(self) -> Any:
        maker = self.cls.__new__ if issubclass(self.cls, tuple) else self.cls.__init__
        signature = list(inspect.signature(maker).parameters.values())[1:]
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature):
            signature = []
        values = {p.name: self._value(p.name) for p in signature}
        try:
            instance = self.cls(**values)
        except Exception:
            return None
        positional = [p.name for p in signature if p.kind is p.POSITIONAL_OR_KEYWORD]
        rest = {name: value for name, value in values.items() if name not in positional}
        try:
            self.cls(*[values[name] for name in positional], **rest)
        except Exception:
            positional = []
        self.found.parameters = tuple(
            (p.name, "positional" if p.name in positional else "keyword", p.default is not p.empty) for p in signature
        )
        return instance

    # -- an instance --------------------------------------------------------------------------

    def _look_at(self, instance: Any) -> None:
        self.found.hooks = set(self.notes)
        if self.found.registered:
            self._flatten(instance)
        for name in (*(self.names or ()), "unheard_of"):
            if name == "unheard_of" or hasattr(instance, name):
                self.found.refusals[name] = _refusal(_copy(instance), name)
        for method in ("replace", "_replace"):
            if hasattr(instance, method):
                self._replace(instance, method)

    def _flatten(self, instance: Any) -> None:
        found = self.found
        try:
            paths, treedef = _children(instance)
        except Exception:
            return
        owners = [(getattr(path[0], "name", None) or self._owner(instance, child), child) for path, child in paths]
        # equinox has a placeholder for what the instance does not carry
        names = [n for n, child in owners if not n.startswith("_pytree__") and type(child).__name__ != "_Missing"]
        found.leaves = tuple(names)
        for name in self.names or ():
            found.roles[name] = "leaf" if name in names else self._role(instance, treedef, name)
        self.notes.clear()
        try:
            jax.tree_util.tree_unflatten(treedef, [child for _, child in paths])
            found.unflattens = True
        except Exception:
            found.unflattens = False
        found.reruns = set(self.notes)

    def _owner(self, instance: Any, child: Any) -> str:
        """The field that a child without a key name belongs to."""
        return next((n for n in self.names or () if getattr(instance, n, None) is child), "?")

    def _role(self, instance: Any, treedef: Any, name: str) -> str:
        """Whether a field that is no leaf is in the treedef: then another value makes another treedef."""
        if isinstance(instance, tuple):
            return "dropped"
        other = _copy(instance)
        other.__dict__[name] = "another value"
        try:
            children, changed = _children(other)
        except Exception:
            return "dropped"
        if any(child is other.__dict__[name] for _, child in children):
            return "dropped"
        return "static" if changed != treedef else "dropped"

    def _replace(self, instance: Any, method: str) -> None:
        first = next((p for p, _, _ in self.found.parameters or () if p in (self.names or ())), None)
        try:
            copy = getattr(instance, method)(**({} if first is None else {first: getattr(instance, first)}))
        except Exception:
            self.found.replaces[method] = "failed"
            return
        self.found.replaces[method] = "user" if copy == "mine" else "framework"


def _field_names(cls: type) -> tuple[str, ...] | None:
    if issubclass(cls, tuple):
        return tuple(getattr(cls, "_fields", ()))
    if not dataclasses.is_dataclass(cls):
        return None
    return tuple(f.name for f in dataclasses.fields(cls))


@cache
def _array(code: int) -> Any:
    return jnp.asarray(np.int32(code))


def _children(instance: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """The children with their key paths, and the treedef."""
    return jax.tree_util.tree_flatten_with_path(instance, is_leaf=lambda value: value is not instance)


def _copy(instance: Any) -> Any:
    if isinstance(instance, tuple):
        return instance
    other = object.__new__(type(instance))
    other.__dict__.update(instance.__dict__)
    return other


def _refusal(instance: Any, name: str) -> str | None:
    try:
        setattr(instance, name, getattr(instance, name, 1.0))
    except Exception as error:
        return type(error).__name__
    return None


def _is_generated(function: Callable[..., Any]) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == "<string>"
