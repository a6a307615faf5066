"""Loops of jax that start again from a state with a key, for what the run before has ended with is dropped."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.changes.only_run import reads_clock
from jaxlint.rules.analyses.instances.keys_drawn import drawn_by, is_dropped
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Display, Name, dotted
from jaxlint.syntax.statements import Assign, Body, blocks, bound_names, own_parts

_SCAN = "jax.lax.scan"


class ScannedAgain(msgspec.Struct, frozen=True):
    """The first run, the function of both, and the key that it draws with, as an attribute of what both start from."""

    call: Call
    function: Function
    key: Attribute


def scanned_again(code: CodeRead, evaluator: Evaluator) -> Iterator[ScannedAgain]:
    """The runs of `jax.lax.scan` whose last carry is dropped, where another one begins with the same state."""
    if "scan" not in code.contents.called:
        return
    for block in (code.body, *(block for statement in code.statements for block in blocks(statement))):
        for index, statement in enumerate(block):
            match statement:
                case Assign(
                    targets=(Display(items=(Name(id=last), *_)),), value=Call(args=(run, start, *_)) as call
                ) if isinstance(start.value, Name) and isinstance(run.value, Name) and is_dropped(last, code.body):
                    if not _runs_again(block[index + 1 :], call, run.value.id, start.value.id, code, evaluator):
                        continue
                    symbol = evaluator.model.resolver.resolve(run.value, code.place.module, code.scope)
                    if not isinstance(symbol, FunctionSymbol) or not symbol.declaration.positional:
                        continue
                    carry = symbol.declaration.positional[0]
                    keys = drawn_by(evaluator.calls.body_of(symbol) or (), symbol, evaluator)
                    own = next((key for key in keys if dotted(key.value) == carry), None)
                    if own is not None and not reads_clock(code.calls, code.place.module, code.scope, evaluator):
                        yield ScannedAgain(call, symbol.declaration, Attribute(call.at, start.value, own.attr))


def _runs_again(following: Body, call: Call, run: str, start: str, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether one of some statements scans with the same function from the same state, before that is bound anew."""
    module, named = code.place.module, evaluator.model.resolver.library_name
    for statement in following:
        for part in own_parts(statement):
            match part:
                case Call(args=(one, other, *_)) if (dotted(one.value), dotted(other.value)) == (run, start):
                    if all(named(each.func, module, code.scope) == _SCAN for each in (call, part)):
                        return True
        if any(blocks(statement)) or start in bound_names(statement) or run in bound_names(statement):
            return False
    return False
