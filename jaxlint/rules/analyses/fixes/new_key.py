"""How the new key comes into a state, in the names of a body that has split the old one already."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jaxlint.cst.changes import Change, EditCall, InsertLine, NeededImport, Proposal, Rename, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Construct, Replace
from jaxlint.libraries.packages import usual_name
from jaxlint.pytrees.updating import update_function, update_template
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Argument, Attribute, Call, Display, Expr, Name, Starred, dotted, items_of, same
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import Assign, Body, Do, Return, all_parts, blocks, bound_names

_SPLIT = "jax.random.split"


class PutBack(msgspec.Struct, frozen=True):
    """How the new key comes into the state: in words, and as a fix."""

    help: str
    fix: Proposal | None = None


class _Split(msgspec.Struct, frozen=True):
    """A statement that splits a key, the call, and the variables that it binds to one key each; others to the rest."""

    statement: Assign
    call: Call
    names: tuple[str, ...]
    has_rest: bool = False


def key_put_back(
    key: Attribute, call: Call, updates: Sequence[Replace | Construct], code: CodeRead, evaluator: Evaluator
) -> PutBack:
    """What to do about a call that draws with the key of a state, which the updates give no new one."""
    if found := _of_split(key, call, updates, code, evaluator):
        return found
    split = f"`key, subkey = jax.random.split({dotted(key)})`"
    words = f"split it, and put the new key back: {split}, and {_given(key, 'key', updates)}"
    return PutBack(words, _splitting(key, call, updates, code, evaluator))


@proposing
def _splitting(
    key: Attribute, call: Call, updates: Sequence[Replace | Construct], code: CodeRead, evaluator: Evaluator
) -> Proposal | None:
    """The fix that splits the key in front of the statement that draws with it, if nothing else does."""
    block, place, text = _block_of(call, code), code.place, dotted(key)
    if not block or text is None or not isinstance(block[0], (Assign, Return, Do)):
        return None
    if not place_of(call.at).holds(place_of(key.at)) or not all(_stands_in(block, update) for update in updates):
        return None
    given = [argument.value for update in updates for argument in update.call.args]
    others = [part for part in all_parts(code.body) if same(part, key) and part is not key]
    if any(all(part is not one for one in given) for part in others):
        return None
    written = spelled(_SPLIT, place.module, evaluator.model.resolver, place.scope)
    if written is None or any(_is_bound(name, code) for name in ("key", "subkey")):
        return None
    split = InsertLine(call.at, f"key, subkey = {written[0]}({text})")
    return _giving(key, "key", updates, (split, Rewrite(key.at, "subkey")), written[1])


@proposing
def _giving(
    key: Attribute,
    name: str,
    updates: Sequence[Replace | Construct],
    changes: Sequence[Change] = (),
    imports: tuple[NeededImport, ...] = (),
) -> Proposal | None:
    """The fix that gives the updates the key in a variable, with other changes."""
    given = [_argument(key, update) for update in updates]
    if not all(_takes(key, update) for update in updates):
        return None
    if not updates or any(old is not None and old.keyword is None for old in given):
        return None
    edits = [EditCall(update.call.at, ((key.attr, name),)) for update in updates]
    return Proposal(f"Put the new `{key.attr}` back", Applicability.UNSAFE, (*changes, *edits), imports)


def _of_split(
    key: Attribute, call: Call, updates: Sequence[Replace | Construct], code: CodeRead, evaluator: Evaluator
) -> PutBack | None:
    """What to give to the updates that follow a call, if that splits the key into variables."""
    block = _block_of(call, code)
    split = _split_by(block[0], code, evaluator) if block else None
    if split is None or split.call is not call or not all(_stands_in(block[1:], update) for update in updates):
        return None
    free = _free(split, block[1:], code, evaluator)
    if free is not None:
        return PutBack(f"put the new key back: {_given(key, free, updates)}", _giving(key, free, updates))
    if split.has_rest:
        return None
    names, target = list(split.names), split.statement.targets[0]
    new_name = key.attr if not _is_bound(key.attr, code) else f"new_{key.attr}"
    what = "keep the new key" if "_" in names else "split off one more key"
    if "_" in names:
        dropped = items_of(target)[names.index("_")]
        names[names.index("_")] = new_name
        changes: tuple[Change, ...] = (Rename(dropped.at, new_name),)
    else:
        names.insert(0, new_name)
        changes = _splitting_more(call, target, names)
    count = "" if len(names) == 2 else f", {len(names)}"
    line = f"{', '.join(names)} = {dotted(call.func)}({dotted(call.positional[0])}{count})"
    fix = _giving(key, new_name, updates, changes) if changes else None
    return PutBack(f"{what}, and put it back: `{line}`, and {_given(key, new_name, updates)}", fix)


def _splitting_more(call: Call, target: Expr, names: Sequence[str]) -> tuple[Change, ...]:
    """The changes of a statement that splits a key, which give it these names; none if the call says more."""
    if len(call.args) > 2 or len(call.positional) != len(call.args):
        return ()
    counted = Rewrite(call.at, f"{{0}}({{1}}, {len(names)})", (call.func.at, call.positional[0].at))
    return Rewrite(target.at, ", ".join(names)), counted


def _block_of(call: Call, code: CodeRead) -> Body:
    """The statements of a block from the one on that makes a call."""
    statement = code.contents.statement_of.get(id(call))
    for block in (code.body, *(block for one in code.statements for block in blocks(one))):
        for index, one in enumerate(block):
            if one is statement:
                return block[index:]
    return ()


def _split_by(statement: object, code: CodeRead, evaluator: Evaluator) -> _Split | None:
    match statement:
        case Assign(targets=(target,), value=Call() as call):
            items = items_of(target)
            name = evaluator.model.resolver.library_name(call.func, code.place.module, code.scope)
            rest = [item for item in items if isinstance(item, Starred)]
            is_plain = len(items) > 1 and all(isinstance(i, (Name, Starred)) for i in items) and not call.has_star
            is_shape = any(isinstance(one.value, Display) for one in call.args)
            if name == _SPLIT and is_plain and call.positional and not is_shape:
                return _Split(statement, call, tuple(i.id for i in items if isinstance(i, Name)), bool(rest))
    return None


def _free(split: _Split, following: Body, code: CodeRead, evaluator: Evaluator) -> str | None:
    """The variable that holds a key at the end with which nothing was drawn: it is returned, split, or read nowhere."""
    names, used = [name for name in split.names if name != "_"], {id(split.call.positional[0])}
    for statement in following:
        later = _split_by(statement, code, evaluator)
        again = later.call.positional[0] if later is not None else None
        if later is not None and isinstance(again, Name) and again.id in names:
            if again.id not in later.names:
                names.remove(again.id)
            names += [name for name in later.names if name not in (*names, "_")]
            used.add(id(again))
        elif any(name in names for name in bound_names(statement)):
            return None
        if isinstance(statement, Return) and statement.value is not None:
            used |= {id(item) for item in items_of(statement.value)}
    return next((n for n in names if all(id(read) in used for read in reads(code.body, n))), None)


def _given(key: Attribute, name: str, updates: Sequence[Replace | Construct]) -> str:
    """What the update is given, and which one, if there is but one.

    A method that makes the copy may take no key: what it returns is given one.
    """
    updates = [update for update in updates if _takes(key, update)] or updates
    called = dotted(updates[0].call.func)
    if isinstance(updates[0], Replace) and not _takes(key, updates[0]):
        function = usual_name(update_function(updates[0].receiver.cls, key.attr))
        written = update_template(function, key.attr).replace("{value}", name)
        return f"give what `{called}` returns the new key: `{written.replace('{base}', f'{called}(...)')}`"
    if len(updates) != 1 or called is None:
        return f"pass `{key.attr}={name}` to the update"
    old = _argument(key, updates[0])
    written = name if old is not None and old.keyword is None else f"{key.attr}={name}"
    before = dotted(old.value) if old is not None else None
    instead = f" in place of `{before}`" if before not in (None, name) else ""
    return f"pass `{written}` to `{called}`{instead}"


def _takes(key: Attribute, update: Replace | Construct) -> bool:
    """Whether an update takes a key: a method or a function that makes the copy takes what it is declared with."""
    by = update.by if isinstance(update, Replace) else None
    return by is None or by.declaration.takes(key.attr)


def _argument(key: Attribute, update: Replace | Construct) -> Argument | None:
    """The argument that gives an update a key already."""
    given = update.keywords if isinstance(update, Replace) else update.arguments
    ats = {id(a.at) for a in given if a.name == key.attr}
    return next((a for a in update.call.args if id(a.at) in ats), None)


def _stands_in(following: Body, update: Replace | Construct) -> bool:
    place = place_of(update.call.at)
    return any(place_of(statement.at).holds(place) for statement in following)


def _is_bound(name: str, code: CodeRead) -> bool:
    """Whether a name means something in a body already, be it a variable of what is around it."""
    is_own = name in code.contents.bound or (code.function is not None and code.function.takes(name))
    return is_own or any(True for _ in reads(code.body, name))
