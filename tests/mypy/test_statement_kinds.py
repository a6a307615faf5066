"""What the plugin reads of statements, kind by kind: `tests/infer/test_statement_kinds.py` for mypy's own nodes."""

from __future__ import annotations

import pytest
from jaxlint_mypy.statements import Statements
from mypy import nodes
from mypy.errors import Errors
from mypy.options import Options
from mypy.parse import parse

from tests.infer.test_statement_kinds import HOLDING, kinds

#: Kinds that hold no other statement, but for functions, which are read by themselves.
SIMPLE = {
    *("AssertStmt", "AssignmentStmt", "BreakStmt", "ContinueStmt", "DelStmt", "ExpressionStmt", "GlobalDecl"),
    *("ImportBase", "NonlocalDecl", "OperatorAssignmentStmt", "PassStmt", "RaiseStmt", "ReturnStmt", "TypeAliasStmt"),
    *("Decorator", "FuncDef", "OverloadedFuncDef"),
}
#: Kinds that do: `HOLDING` has one of each, and all of them have blocks.
COMPOUND = {"Block", "ClassDef", "ForStmt", "IfStmt", "MatchStmt", "TryStmt", "WhileStmt", "WithStmt"}


def test_kinds_of_mypy() -> None:
    """A kind that a version of mypy adds is put to one side or the other."""
    assert {kind.__name__ for kind in nodes.Statement.__subclasses__()} == SIMPLE | COMPOUND


@pytest.mark.parametrize("kind", sorted(HOLDING.keys() & kinds().keys() - {"FunctionDef"}))
def test_all_blocks_are_read(kind: str) -> None:
    """Each assignment in a block is a known one."""
    options = Options()
    module = parse(HOLDING[kind], "a.py", "a", Errors(options), options, eager=True)
    rows = [row for row, line in enumerate(HOLDING[kind].splitlines(), 1) if line.endswith("x.a = 1")]
    read = Statements(module.defs)
    assert [row for row in rows if read.around(row).targets != {"x.a"}] == []
