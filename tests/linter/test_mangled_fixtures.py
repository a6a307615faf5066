"""Fixtures from which parts are taken away at random, as while somebody types: no rule fails on what is left.

Which programs are mangled, and how, is always the same; with `--thorough`, there are many more.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from jaxlint.config.settings import Settings
from jaxlint.linter.engine import check_paths
from jaxlint.rules import all_rules
from tests.oracle import cases

Block: TypeAlias = "ast.FunctionDef | ast.ClassDef | ast.For | ast.If | ast.With"
Mangling = Callable[[list[ast.AST], random.Random], bool]

#: How many programs are mangled at a time: they are checked in one run.
BATCH = 50


def some_block(nodes: list[ast.AST], chance: random.Random) -> Block | None:
    kinds = (ast.FunctionDef, ast.ClassDef, ast.For, ast.If, ast.With)
    blocks: list[Block] = [n for n in nodes if isinstance(n, kinds)]
    return chance.choice(blocks) if blocks else None


def some_call(nodes: list[ast.AST], chance: random.Random) -> ast.Call | None:
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    return chance.choice(calls) if calls else None


def empty_body(nodes: list[ast.AST], chance: random.Random) -> bool:
    block = some_block(nodes, chance)
    if block is not None:
        block.body[:] = [ast.Pass()]
    return block is not None


def drop_statement(nodes: list[ast.AST], chance: random.Random) -> bool:
    block = some_block(nodes, chance)
    if block is not None:
        del block.body[chance.randrange(len(block.body))]
        block.body[:] = block.body or [ast.Expr(ast.Constant("nothing is left"))]
    return block is not None


def drop_arguments(nodes: list[ast.AST], chance: random.Random) -> bool:
    call = some_call(nodes, chance)
    if call is not None and call.args and chance.random() < 0.5:
        del call.args[chance.randrange(len(call.args))]
    elif call is not None:
        call.args, call.keywords = [], []
    return call is not None


def add_star(nodes: list[ast.AST], chance: random.Random) -> bool:
    call = some_call(nodes, chance)
    if call is not None:
        call.args.append(ast.Starred(ast.Name("things")))
    return call is not None


def drop_parameters(nodes: list[ast.AST], chance: random.Random) -> bool:
    functions = [n for n in nodes if isinstance(n, (ast.FunctionDef, ast.Lambda))]
    if functions:
        star = ast.arg("things") if chance.random() < 0.5 else None
        chance.choice(functions).args = ast.arguments([], [], star, [], [], None, [])
    return bool(functions)


def empty_display(nodes: list[ast.AST], chance: random.Random) -> bool:
    displays = [n for n in nodes if isinstance(n, (ast.Tuple, ast.List, ast.Dict))]
    display = chance.choice(displays) if displays else None
    if isinstance(display, ast.Dict):
        display.keys, display.values = [], []
    elif display is not None and isinstance(display.ctx, ast.Load):
        display.elts = []
    return display is not None


MANGLINGS: tuple[Mangling, ...] = (
    *(empty_body, drop_statement, drop_arguments),
    *(add_star, drop_parameters, empty_display),
)


def mangled(text: str, chance: random.Random) -> tuple[str, int]:
    """A program without some of its parts, and how many changes were made."""
    tree, made = ast.parse(text), 0
    for _ in range(chance.randint(1, 4)):
        made += chance.choice(MANGLINGS)(list(ast.walk(tree)), chance)
    return ast.unparse(ast.fix_missing_locations(tree)), made


def test_no_rule_fails(is_thorough: bool, tmp_path: Path) -> None:
    chance = random.Random(2026)
    programs = cases.one_of_each(cases.programs())
    settings = Settings(select=tuple(rule.code for rule in all_rules()))
    changes = files = found = 0
    errors: list[str] = []
    for batch in range(100 if is_thorough else 4):
        root = tmp_path / str(batch)
        for number, program in enumerate(chance.sample(programs, BATCH)):
            for name, text in program.files.items():
                path = root / str(number) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                text, made = mangled(text, chance) if name.endswith(".py") else (text, 0)
                path.write_text(text, encoding="utf-8")
                changes += made
        result = check_paths([str(root)], settings)
        files, found = files + result.files, found + len(result.findings)
        errors += result.errors
    assert not errors, "\n".join(errors)
    assert files >= BATCH and changes >= files and found >= files / 4  # what was left is still checked
