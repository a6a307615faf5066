"""Draws in the turns of a loop, of Python or of jax, with the key of a state that stays the same in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead
from jaxlint.libraries.sampling import SAMPLERS
from jaxlint.libraries.transforms import CARRIED
from jaxlint.rules.analyses.changes.coming_round import given_as, returns_at
from jaxlint.rules.analyses.changes.only_run import reads_clock
from jaxlint.rules.analyses.instances.callees import called_by
from jaxlint.rules.analyses.instances.keys_drawn import KEY, given_key, is_key, taken_from
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.symbols.outline import names_by_position
from jaxlint.syntax.expressions import Attribute, Call, Expr, Lambda, Name, last_name
from jaxlint.syntax.names_read import names_inside
from jaxlint.syntax.statements import For, While, all_parts, assigned_names, parts, target_names, walk

#: What a loop of Python goes through that only counts the turns.
_COUNTING = frozenset({"range", "trange", "count"})
_LOOPS = frozenset(name.rpartition(".")[2] for name in CARRIED)


class DrawnInLoop(msgspec.Struct, frozen=True):
    """The call that draws, or that of a helper which does, the key, and the loop, in words."""

    call: Call
    key: Attribute
    loop: str


def drawn_in_loops(code: CodeRead, evaluator: Evaluator) -> Iterator[DrawnInLoop]:
    """The draws with a key that no turn of a loop renews, be they written there or made by a function called there.

    A loop of Python must only count, and give the sampler nothing that differs: who goes through candidates compares
    them by the same numbers, perhaps.
    """
    called = code.contents.called
    if "fold_in" in called or any(isinstance(e, AssignAttribute) and KEY.search(e.attr) for e in code.events):
        return
    reader = _Reader(code, evaluator)
    if not SAMPLERS.isdisjoint(called):
        yield from reader.in_python()
    if code.function is not None and any(a.transform.name in CARRIED for a in code.applied):
        yield from reader.in_body()
    if not _LOOPS.isdisjoint(called):
        yield from reader.in_lambdas()


class _Reader:
    def __init__(self, code: CodeRead, evaluator: Evaluator) -> None:
        self._code, self._evaluator = code, evaluator

    def in_python(self) -> Iterator[DrawnInLoop]:
        """The draws in loops of Python that only count."""
        for loop in walk(self._code.body, nested=False):
            if isinstance(loop, For):
                counts = isinstance(loop.iterable, Call) and last_name(loop.iterable.func) in _COUNTING
                targets = {*target_names(loop.target)} if counts else set[str]()
            elif isinstance(loop, While):
                counts, targets = True, set[str]()
            else:
                continue
            calls = [p for p in all_parts(loop.body, nested=False) if isinstance(p, Call)] if counts else []
            bound = assigned_names((loop,)) if calls else frozenset[str]()
            for call in calls:
                key = self._key_of(call)
                if key is None or not _names(call).isdisjoint(targets) or _names(call, first=True) & bound:
                    continue
                if _name_of(key) not in bound and not self._may_change(key, calls) and not self._is_timed():
                    yield DrawnInLoop(call, key, "a loop")

    def in_body(self) -> Iterator[DrawnInLoop]:
        """The draws of a function that a loop of jax runs, with the key of what it closes over or hands on as it is."""
        function, bound = self._code.function, self._code.contents.bound
        applied = [a for a in self._code.applied if a.transform.name in CARRIED]
        if function is None or len(applied) < len(self._code.applied):
            return
        for call, key in self._drawing(self._code.calls):
            state = _name_of(key)
            if (not function.takes(state) and state not in bound) or all(
                self._is_handed_on(state, a.carried_parameter(function), a.transform.name) for a in applied
            ):
                yield DrawnInLoop(call, key, f"`{applied[0].transform.name}`")

    def _is_handed_on(self, state: str, carried: str | None, loop: str) -> bool:
        """Whether the next turn gets a state as it is, alone or in a tuple, at the place from which it was taken."""
        parameter, path = given_as(state, self._code)
        if parameter != carried or self._code.function is None:
            return False
        if sum(state in assigned_names((s,)) for s in self._code.statements) != bool(path):
            return False
        return returns_at(state, self._code.function, *(0,) * loop.endswith(".scan"), *path)

    def in_lambdas(self) -> Iterator[DrawnInLoop]:
        """The draws of lambdas that loops of jax run."""
        for call in self._code.calls:
            if last_name(call.func) not in _LOOPS or not any(isinstance(a, Lambda) for a in call.positional):
                continue
            name = self._evaluator.model.resolver.library_name(call.func, self._code.place.module, self._code.scope)
            for run in call.positional if name in CARRIED else ():
                if isinstance(run, Lambda):
                    inside = [part for part in parts(run.body) if isinstance(part, Call)]
                    for drawing, key in self._drawing(inside):
                        if _name_of(key) not in (*run.params, *run.other_params):
                            yield DrawnInLoop(drawing, key, f"`{name}`")

    def _drawing(self, calls: Iterable[Call]) -> Iterator[tuple[Call, Attribute]]:
        """The calls that draw with a key of a state, by themselves or in the function of the project that they call."""
        for call in calls:
            key = self._key_of(call)
            if key is not None:
                yield call, key
            elif last_name(call.func) not in SAMPLERS:
                yield from ((call, one) for one in self._drawn_by_helper(call))

    def _key_of(self, call: Call) -> Attribute | None:
        """The attribute of a variable that a sampler is given as its key."""
        given = given_key(call, self._code.place.module, self._code.scope, self._evaluator)
        key = None if given is None else taken_from(given, call, self._code)
        return key if is_key(key) else None

    def _drawn_by_helper(self, call: Call) -> Iterator[Attribute]:
        """The keys of variables that a function is given which draws with them itself, and makes no other state."""
        given = [a for a in call.args if isinstance(a.value, Name) and self._has_key(a.value)]
        callee = called_by(call, self._code, self._evaluator, plainly=False) if given and not call.has_star else None
        if callee is None:
            return
        names = names_by_position(callee.parameters)
        named = {a.keyword or names[n]: a.value for n, a in enumerate(call.args) if a.keyword or n < len(names)}
        bound = assigned_names(callee.body)
        for part in all_parts(callee.body, nested=False):
            key = given_key(part, callee.module, callee.scope, self._evaluator) if isinstance(part, Call) else None
            state = named.get(_name_of(key)) if is_key(key) else None
            if is_key(key) and isinstance(state, Name) and _name_of(key) not in bound:
                yield Attribute(call.func.at, state, key.attr)
                return

    def _has_key(self, expr: Expr) -> bool:
        held = LocalInstances.of(self._code, self._evaluator).instance(expr)
        return held is not None and any(KEY.search(field.name) for field in held.cls.fields)

    def _may_change(self, key: Attribute, calls: Iterable[Call]) -> bool:
        """Whether something in a loop may give a mutable state another key."""
        held = LocalInstances.of(self._code, self._evaluator).instance(key.value)
        if held is None or held.cls.frozen is True:
            return False
        state = _name_of(key)
        return any(
            (isinstance(call.func, Attribute) and names_inside(call.func) == {state})
            or any(isinstance(a.value, Name) and a.value.id == state for a in call.args)
            for call in calls
        )

    def _is_timed(self) -> bool:
        place = self._code.place
        return reads_clock(self._code.calls, place.module, self._code.scope, self._evaluator)


def _name_of(key: Attribute) -> str:
    return key.value.id if isinstance(key.value, Name) else ""


def _names(call: Call, *, first: bool = False) -> frozenset[str]:
    """The variables that a call is given for its key, or for the rest."""
    given = call.args[:1] if first else call.args[1:]
    return frozenset(name for argument in given for name in names_inside(argument.value))
