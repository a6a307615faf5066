"""Running one program both ways, and counting what was compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.model_oracle.compare import Fact, creation, facts, modelled
from tests.model_oracle.programs import Program
from tests.model_oracle.runtime import execute, forget, observe


@dataclass
class Tally:
    """How often each kind of fact was compared, and how often the model said nothing."""

    programs: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)

    def add(self, fact: Fact) -> None:
        """Count one fact."""
        named = " of " in fact.what or " to " in fact.what
        kind = " ".join(fact.what.split()[: 1 if named else 2])
        (self.compared if fact.is_known else self.unknown)[kind] += 1

    @property
    def unknown_share(self) -> float:
        """The part of all facts on which the model says nothing."""
        return self.unknown.total() / max(1, self.compared.total() + self.unknown.total())


def all_facts(program: Program, tally: Tally) -> list[Fact]:
    """Everything that is said of a program's classes, counted."""
    module, failure = execute(program)
    try:
        model = modelled(program)
        found: list[Fact] = []
        for declared in program.classes:
            cls = model.classes[declared.name]
            if failure is not None and failure[0] == declared.name:
                found.append(creation(cls, model.evaluator, failure[1]))
                break
            found.append(creation(cls, model.evaluator, None))
            module.NOTED.clear()
            found += facts(cls, observe(getattr(module, declared.name), module.NOTED))
    finally:
        forget(module)
    tally.programs += 1
    for fact in found:
        tally.add(fact)
    return found
