"""The outline's declarations for the `def` and `class` statements of a unit."""

from __future__ import annotations

from collections.abc import Iterable

from jaxlint.outline import Class, Function
from jaxlint.statements import Body, ClassDefinition, FunctionDefinition, walk


class Declarations:
    """The outline's functions and classes (`found`, in source order) for the definitions in a body."""

    def __init__(self, found: Iterable[Function | Class], body: Body) -> None:
        self._by_statement: dict[int, Function | Class] = {}
        self._statements: dict[str, FunctionDefinition] = {}
        pending = iter(found)
        for statement in walk(body):
            if not isinstance(statement, (FunctionDefinition, ClassDefinition)):
                continue
            declared = next(pending, None)
            if declared is None or declared.name != statement.name:
                break
            self._by_statement[id(statement)] = declared
            if isinstance(statement, FunctionDefinition):
                self._statements[declared.qualname] = statement

    def function(self, statement: FunctionDefinition) -> Function | None:
        """The outline's entry of a function."""
        found = self._by_statement.get(id(statement))
        return found if isinstance(found, Function) else None

    def statement_of(self, function: Function) -> FunctionDefinition | None:
        """The statement that defines a function of the outline."""
        return self._statements.get(function.qualname)

    def cls(self, statement: ClassDefinition) -> Class | None:
        """The outline's entry of a class."""
        found = self._by_statement.get(id(statement))
        return found if isinstance(found, Class) else None
