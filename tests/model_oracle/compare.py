"""What the model says of a class, fact by fact, beside what was observed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.reading.creation import UNSURE, creation_error
from jaxlint.infer.reading.reader import ModuleReader
from jaxlint.project.modules import Project
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.framework import Role, Unflatten
from jaxlint.pytrees.hashing import is_hashable
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.target import Target
from jaxlint.syntax.source import Source
from tests.model_oracle.programs import Program
from tests.model_oracle.runtime import Observed
from tests.oracle.versions import here, target_versions


@dataclass(frozen=True)
class Fact:
    """One thing said twice; `predicted` is None where the model does not know."""

    cls: str
    what: str
    predicted: Any
    observed: Any

    @property
    def is_known(self) -> bool:
        """Whether the model says anything."""
        return self.predicted is not None

    @property
    def agrees(self) -> bool:
        """Whether both say the same, or the model says nothing."""
        return self.predicted is None or self.predicted == self.observed


@dataclass(frozen=True)
class Modelled:
    """The classes of a program as jaxlint sees them."""

    classes: dict[str, PytreeClass]
    evaluator: Evaluator


def modelled(program: Program) -> Modelled:
    """The model of a program's classes; nothing is executed."""
    project = Project()
    module = project.add_source(Source.from_text("/generated/program.py", program.text))
    model = PytreeModel(project, Target(target_versions=target_versions(here())))
    evaluator = ModuleReader(model).evaluator
    return Modelled({c.symbol.declaration.qualname: c for c in model.classes_in(module)}, evaluator)


def creation(cls: PytreeClass, evaluator: Evaluator, error: BaseException | None) -> Fact:
    """Whether the class statement and its decorators succeed."""
    predicted = creation_error(cls, evaluator)
    if predicted is UNSURE:
        return Fact(cls.name, "creation", None, repr(error))
    if predicted is None:
        return Fact(cls.name, "creation", "created", "created" if error is None else repr(error))
    text = f"{predicted.exception}: {predicted.text}"
    fits = type(error).__name__ == predicted.exception and predicted.text in str(error)
    return Fact(cls.name, "creation", text, text if fits else repr(error))


def facts(cls: PytreeClass, found: Observed) -> Iterator[Fact]:
    """All that is said of a class that exists."""
    name = cls.name
    if found.fields is not None and (cls.is_dataclass or cls.fields):
        yield Fact(name, "fields", tuple(f.name for f in cls.fields) if cls.fields_known else None, found.fields)
    yield Fact(name, "registered", cls.registered, found.registered)
    yield Fact(name, "hashable", is_hashable(cls), found.hashable)
    yield Fact(name, "compares fields", cls.eq, found.compares_fields)
    if not found.built:
        return
    yield Fact(name, "parameters", _parameters(cls), found.parameters)
    if cls.registered and found.leaves is not None:
        leaves = cls.leaves
        yield Fact(name, "leaves", None if leaves is None else tuple(f.name for f in leaves), found.leaves)
        for field, role in found.roles.items():
            yield Fact(name, f"role of {field}", _role(cls, field), role)
        yield from _reruns(cls, found)
    for target, refusal in found.refusals.items():
        yield Fact(name, f"assignment to {target}", *_refusals(cls, target, refusal))
    for method in ("replace", "_replace"):
        yield from _replace(cls, method, found)


def _parameters(cls: PytreeClass) -> tuple[tuple[str, str, bool], ...] | None:
    parameters = cls.constructor()
    if parameters is None:
        return None
    return tuple((p.name, p.kind, p.default is not None) for p in parameters)


def _role(cls: PytreeClass, name: str) -> str | None:
    field = cls.field(name)
    if field is None:
        return "no field" if cls.fields_known else None
    return None if field.role is Role.UNKNOWN else field.role.value


def _refusals(cls: PytreeClass, target: str, refusal: str | None) -> tuple[str | None, str]:
    """What the model and the runtime say of `instance.target = ...`."""
    observed = "accepted" if refusal is None else "refused"
    if cls.frozen is None:
        return None, observed
    if cls.frozen and cls.frozen_names is None:
        known = {"FrozenInstanceError", cls.framework.frozen_error.rpartition(".")[2], "TypeError"}
        return "refused", observed if refusal in known else f"{observed} ({refusal})"
    if cls.frozen and target in (cls.frozen_names or ()):
        return "refused", observed
    if target == "unheard_of" and refusal is not None:
        return None, observed
    return "accepted", observed


def _reruns(cls: PytreeClass, found: Observed) -> Iterator[Fact]:
    unflatten = cls.framework.unflatten
    if "post" in found.hooks and found.unflattens:
        runs = unflatten in (Unflatten.CONSTRUCTOR, Unflatten.POST_INIT)
        yield Fact(cls.name, "__post_init__ runs again", runs, "post" in found.reruns)
    if "init" in found.hooks and found.unflattens:
        yield Fact(cls.name, "__init__ runs again", unflatten is Unflatten.CONSTRUCTOR, "init" in found.reruns)


def _replace(cls: PytreeClass, method: str, found: Observed) -> Iterator[Fact]:
    if cls.framework.replace_method == method and cls.has_framework_replace:
        predicted: str | None = "framework"
    else:
        predicted = "none" if cls.method(method) is None else "user"
    observed = found.replaces.get(method, "none")
    if observed == "failed":  # there is one, whosesoever it is
        predicted, observed = "none" if predicted == "none" else "some", "some"
    yield Fact(cls.name, method, predicted, observed)
