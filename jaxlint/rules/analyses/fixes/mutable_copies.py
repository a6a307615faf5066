"""Blocks of `jax_dataclasses.copy_and_mutate`: what is bound and changed in them, and fixes of it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.cst.changes import Change, EditCall, EnterBlock, InsertLine, NameItem, Proposal, Rename
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.events import CodeRead, MutateField
from jaxlint.infer.known.values import Array
from jaxlint.symbols.outline import MUTATING
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Expr,
    Name,
    Subscript,
    dotted,
    is_within,
    items_of,
    root,
    without_call,
)
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    Body,
    Do,
    Return,
    Statement,
    With,
    bound_by,
    expressions,
    parts,
    target_names,
    walk,
)


class Block(msgspec.Struct, frozen=True):
    """`with copy_and_mutate(original) as copy:`; `validates` is None if that cannot be determined."""

    call: Call
    original: str | None
    copy: str
    validates: bool | None
    body: Body


def bindings(name: str, body: Body) -> int:
    """How often a variable is bound."""
    targets = (target for statement in walk(body) for target in bound_by(statement))
    return sum(name in target_names(target) for target in targets)


def all_expressions(body: Body) -> Iterator[Expr]:
    """The expressions of the statements of a body, and of those inside of them."""
    for statement in walk(body):
        yield from expressions(statement)


def variable_of(expr: Expr) -> str | None:
    """The variable that holds what `expr` stands for: `x` of `x.a[0].b`; None for the bare variable."""
    start = root(expr)
    return start.id if start is not expr and isinstance(start, Name) else None


@proposing
def entering(call: Call, name: str, body: Body) -> Proposal | None:
    """The fix that enters the context manager: what writes to the copy goes into the block."""
    writes = [s for s in body if any(isinstance(t, Attribute) and variable_of(t) == name for t in bound_by(s))]
    if not writes:
        return None
    change = EnterBlock(call.at, name, writes[-1].at.end_lineno)
    return Proposal("Enter the context manager", Applicability.UNSAFE, (change,))


@proposing
def naming(call: Call, body: Body, code: CodeRead) -> Proposal | None:
    """The fix that names the copy: what the block assigns to the original, it assigns to the copy."""
    original = dotted(call.positional[0])
    if code.function is None or next(reads(code.body, "copy"), None) is not None:
        return None
    written = [t for s in walk(body) for t in bound_by(s) if isinstance(t, Attribute) and variable_of(t) == original]
    changes: list[Change] = [NameItem(call.at, "copy")]
    changes += [Rename(root(target).at, "copy") for target in written]
    if not written or original is None or bindings("copy", code.body):
        return None
    changes += [Rename(part.at, "copy") for part in returned_parts(original, code)]
    return Proposal("Change the copy, and return it", Applicability.UNSAFE, tuple(changes))


def is_certain(block: Block, body: Body) -> bool:
    """Whether a block of a body is certainly entered, so that its copy is there behind it."""
    opened = [s for s in body if isinstance(s, With)]
    return any(s.body is block.body or is_certain(block, s.body) for s in opened)


@proposing
def returning_copy(block: Block, returned: list[Expr]) -> Proposal | None:
    """The fix that returns the copy, wherever the original is returned behind the block."""
    end = max((statement.at.end_lineno for statement in block.body), default=place_of(block.call.at).end_row)
    behind = [part for part in returned if place_of(part.at).row > end]
    changes = tuple(Rename(part.at, block.copy) for part in behind)
    return Proposal(f"Return `{block.copy}`", Applicability.UNSAFE, changes) if changes else None


@proposing
def changing_copy(event: MutateField, path: str, block: Block, renewed: set[str]) -> Proposal | None:
    """The fix that changes an attribute of the copy; an array of numpy is copied first."""
    if event.receiver_text != block.original or "." in (block.original or "."):
        return None
    copied = f"{block.copy}{path.removeprefix(block.original or '')}"
    variable = _variable(event.at, block)
    if variable is None:
        return None
    changes: list[Change] = [Rename(variable.at, block.copy)]
    if isinstance(event.held, Array) and event.held.library == "numpy" and not is_within(copied, renewed):
        changes.append(InsertLine(event.at, f"{copied} = {copied}.copy()"))
    return Proposal(f"Change `{copied}`", Applicability.UNSAFE, tuple(changes))


def _variable(at: object, block: Block) -> Expr | None:
    """The variable of the original at the start of what is changed."""
    for expr in all_expressions(block.body):
        for part in parts(expr):
            if part.at is at:
                start = root(without_call(part))
                return start if dotted(start) == block.original else None
    return None


@proposing
def renewing(at: object, path: str) -> Proposal | None:
    """The fix that gives the copy an array of its own before something happens."""
    change = InsertLine(at, f"{path} = {path}.copy()")
    return Proposal(f"Copy `{path}` first", Applicability.UNSAFE, (change,))


@proposing
def not_validating(block: Block) -> Proposal | None:
    """The fix that lets the block change the structure."""
    if len(block.call.positional) > 1:
        return None
    change = EditCall(block.call.at, (("validate", "False"),))
    return Proposal("Let the block change the structure", Applicability.UNSAFE, (change,))


def returned_parts(original: str | None, code: CodeRead) -> list[Expr]:
    """Where the original is returned."""
    return [
        part
        for statement in code.statements
        if isinstance(statement, Return) and statement.value is not None
        for part in items_of(statement.value)
        if original is not None and dotted(part) == original
    ]


# -- what is written into through variables --------------------------------------------------------


class Written(msgspec.Struct, frozen=True):
    """The first place of a block that writes into what a variable holds, and the attribute of the copy that it is."""

    at: object
    variable: str
    attribute: Attribute
    path: str


def written_through_variables(block: Block, code: CodeRead) -> Iterator[Written]:
    """The variables of a block that are given what an attribute of the copy holds, and are written into in place."""
    held: dict[str, Attribute] = {}
    renewed: set[str] = set()
    for statement in walk(block.body, nested=False):
        for name, at in _written_into(statement):
            attribute = held.pop(name, None)
            path = None if attribute is None else dotted(attribute)
            if attribute is not None and path is not None:
                yield Written(at, name, attribute, path)
        match statement:
            case Assign(targets=(Name(id=name),), value=Attribute() as value) if variable_of(value) == block.copy:
                path = dotted(value)
                if path is not None and not is_within(path, renewed) and bindings(name, code.body) == 1:
                    held[name] = value
            case Assign(targets=targets):
                renewed |= {path for target in targets if (path := dotted(target)) is not None}


def _written_into(statement: Statement) -> Iterator[tuple[str, object]]:
    """The variables that hold what a statement writes into, with the places where it does."""
    match statement:
        case Assign(targets=targets):
            for target in targets:
                if isinstance(target, Subscript) and isinstance(target.value, Name):
                    yield target.value.id, target.at
        case Augment(target=Name(id=name) as target) | Augment(target=Subscript(value=Name(id=name)) as target):
            yield name, target.at
        case Do(value=Call(func=Attribute(value=Name(id=name), attr=attr)) as call) if attr in MUTATING:
            yield name, call.at
