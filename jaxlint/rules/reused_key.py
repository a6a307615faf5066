"""JAX517 reused-key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jaxlint.cst import libcst as cst
from jaxlint.cst.reading import FunctionNode
from jaxlint.cst.shapes import names, own, returned
from jaxlint.finding import Confidence, Severity
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead, Construct, Replace, Update
from jaxlint.infer.known.values import Instance, plain
from jaxlint.libraries.sampling import SAMPLERS
from jaxlint.libraries.updates import COPYING_NAMES, REPLACE_FUNCTIONS
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.pytrees.updating import is_train_state
from jaxlint.rules.analyses.changes.coming_round import comes_round
from jaxlint.rules.analyses.changes.drawn_each_turn import DrawnEachTurn, drawn_each_turn
from jaxlint.rules.analyses.changes.drawn_in_loops import DrawnInLoop, drawn_in_loops
from jaxlint.rules.analyses.changes.next_dropped import NextDropped, next_dropped
from jaxlint.rules.analyses.changes.scanned_again import ScannedAgain, scanned_again
from jaxlint.rules.analyses.fixes.new_key import PutBack, key_put_back
from jaxlint.rules.analyses.instances.drawn_twice import DrawnTwice, drawn_twice, outcome_of, written
from jaxlint.rules.analyses.instances.given_literals import calls_giving, giving
from jaxlint.rules.analyses.instances.keys_drawn import (
    KEY,
    NOT_USING,
    Drawn,
    drawn_again,
    drawn_by_helper,
    is_given_by_others,
    taken_from,
)
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.sharing import copied_by
from jaxlint.rules.base import NodeRule, Problem
from jaxlint.syntax.expressions import Attribute, Call, DictDisplay, Display, Expr, Name, dotted, last_name, root, same
from jaxlint.syntax.spelling import with_article
from jaxlint.syntax.statements import Assign, FunctionDefinition, Statement, all_parts, assigned_names

#: Methods that run a flax module, which draws with each key that it is given.
_RUNNING = frozenset({"apply_fn", "apply"})
#: Functions of `jax.random` that are called most, by their last names.
_DRAWING = frozenset("split normal uniform bernoulli categorical randint choice permutation gumbel".split())
_SPLITTING = re.compile(r"^\s*[a-z]\w*,.*=.*\bsplit\(\w+\.\w*(?:key|rng)\w*[,)]", re.MULTILINE)
_DIRECTLY = re.compile(r"(?:\.(?:" + "|".join(sorted(SAMPLERS)) + r")\(|= )\w+\.\w*(?:key|rng)(?:[,)]|$)", re.MULTILINE)
#: The updating method of `TrainState`.
_APPLYING = "apply_gradients"


class ReusedKey(NodeRule):
    """
    ## What it does

    Finds functions that draw random numbers with the key of a state, themselves or by a function that they give the
    state, or run its model with it, and return an updated copy of the state in which the key is still the same;
    those that drop the next key that such a function returns, and call it with the same state again; those that draw
    with the key of a state which a loop gives them in each turn; those that split the key of a state that they are
    given, drop the next one, and return the state as it was; and those that give the key of a state to two samplers of
    `jax.random`, or any key if they are given a state or make one.

    ## Why is this bad?

    A key gives the same numbers each time. The next step draws with the same key: the same noise, the same dropout, the
    same actions in every step. Two samplers that are given one key make their numbers of the same random bits: the
    noise of the position is the noise of the velocity.

    ## What you will see

    No error. The random numbers repeat.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array
        key: jax.Array

    def step(state: State) -> State:
        noise = jax.random.normal(state.key, state.x.shape)
        return state.replace(x=state.x + noise)
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array
        key: jax.Array

    def step(state: State) -> State:
        key, subkey = jax.random.split(state.key)
        noise = jax.random.normal(subkey, state.x.shape)
        return state.replace(x=state.x + noise, key=key)
    ```

    ## Frameworks

    All.

    ## Fix safety

    The key is split in front of the call that draws with it, or another name is taken of the statement that splits it
    already, and the updates are given the new one. That is unsafe, as other numbers are drawn from then on. There is
    no fix where a helper draws with the key, where a method that takes none makes the copy, or where it is read twice.

    ## When not to use it

    `jax.random.fold_in(state.key, state.step)` makes another key in each step, and is not reported; nor is
    a key of which some update in the module, or in one that imports it, gives a new one, unless a loop is seen to give
    the function its own result again, and nothing else. Noise that is meant to be the
    same in all steps is. Keys of no state are not looked at in tests, nor where no instance is at hand.

    ## References

    - [JAX: pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html)
    - [omega #14](https://github.com/hr0nix/omega/pull/14), [maxtext #276](https://github.com/AI-Hypercomputer/maxtext/issues/276)
    """

    code = "JAX517"
    name = "reused-key"
    group = "transformations"
    about_values = True
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.MEDIUM

    everywhere = True

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """What calls functions of its module that draw and that make copies, itself doing neither.

        And what splits the key of something in a function that returns no copy.
        """
        called, unit = candidate.unit.calls, candidate.unit
        if "split" in called and _SPLITTING.search(candidate.module.source.rows(unit.first, unit.last)):
            return True
        if not SAMPLERS.isdisjoint(called) and _DIRECTLY.search(candidate.module.source.rows(unit.first, unit.last)):
            return True
        if called.isdisjoint(candidate.calling(COPYING_NAMES)):
            return False
        return not called.isdisjoint(_DRAWING | candidate.calling(_DRAWING))

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the keys that a function draws with twice, and at those that it does not renew."""
        function = code.function
        if function is not None and not function.name.startswith("test") and any(map(_is_underscored, code.statements)):
            instances = LocalInstances.of(code, evaluator)
            for call, state, drawn in drawn_again(code, instances, evaluator):
                held = _key_of(Attribute(state.at, state, drawn.keys[0].attr), instances)
                if held is not None:
                    yield _drawn_again(call, held, drawn)
            for again in scanned_again(code, evaluator):
                held = _key_of(again.key, instances)
                if held is not None:
                    yield _scanned_again(again, held)
        if function is not None and not function.name.startswith("test"):
            for twice in drawn_twice(code, evaluator):
                held = _key_of(twice.key, LocalInstances.of(code, evaluator))
                if held is not None or not isinstance(twice.key, Attribute):
                    yield _drawn_twice(twice, held)
            for each in drawn_each_turn(code, evaluator):
                held = _key_of(each.key, LocalInstances.of(code, evaluator))
                if held is not None:
                    yield _drawn_each_turn(each, held)
            for one in drawn_in_loops(code, evaluator):
                held = _key_of(one.key, LocalInstances.of(code, evaluator))
                if held is not None:
                    yield _drawn_in_loop(one, held)
            for dropped in next_dropped(code, evaluator):
                yield _next_dropped(dropped, LocalInstances.of(code, evaluator).instance(dropped.state))
        yield from super().check_body(code, evaluator)

    def can_match(self, code: CodeRead) -> bool:
        """Ask for an update of a variable whose class has a key, or for one made anew that is given a field's key."""
        if code.function is None:
            return False
        if any(KEY.search(field.name) for update in _updates(code) for field in update.receiver.cls.fields):
            return True
        made = [e for e in code.events if type(e) is Construct and not e.by_create]
        keys = [(e, a.name) for e in made for a in e.arguments if KEY.search(a.name)] if made else []
        return any(isinstance(_given(e, name), Attribute) for e, name in keys)

    def check_node(self, function: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the keys that a function uses, and at the states that it returns."""
        code = function.code
        instances = LocalInstances.of(code, evaluator)
        for call in (*code.calls, *_inside(code)):
            helped = drawn_by_helper(call, code, instances, evaluator)
            own_keys = (taken_from(key, call, code) for key in _used(call, code, evaluator))
            used: list[tuple[Expr, FunctionSymbol | None]] = [(key, None) for key in own_keys]
            used += [(key, helped.function) for key in helped.keys] if helped is not None else []
            for key, helper in used:
                held = _key_of(key, instances)
                own = (_leaving_key(key, code, evaluator) or _put_back(key, held, code)) if held is not None else []
                if helper is not None and any(update.call is call for update in own):
                    continue  # the function that draws makes the copy as well, and has a finding of its own
                if held is not None and own and _comes_back(own, dotted(root(key)), function):
                    if comes_round(own, dotted(root(key)), code, evaluator) or not (
                        _is_given_elsewhere(key, helper, code, evaluator)
                        or _is_made_with_another(key, held, code, evaluator)
                    ):
                        assert isinstance(key, Attribute)
                        name = dotted(call.func) or "this"
                        by_helper = "" if helped is None or helper is None else _by(helped, key, name)
                        back = PutBack(by_helper) if by_helper else key_put_back(key, call, own, code, evaluator)
                        yield _problem(key, held, name, back)


def _is_underscored(statement: Statement) -> bool:
    """Whether a statement says that it drops the first thing that a call returns, or the last."""
    match statement:
        case Assign(targets=(Display(items=(Name() as first, *_, last)),), value=Call()):
            return first.id.startswith("_") or (isinstance(last, Name) and last.id.startswith("_"))
    return False


def _inside(code: CodeRead) -> list[Call]:
    """The calls in the functions inside of a body."""
    nested = [s for s in code.statements if isinstance(s, FunctionDefinition)]
    return [part for one in nested for part in all_parts(one.body) if isinstance(part, Call)]


def _used(call: Call, code: CodeRead, evaluator: Evaluator) -> list[Expr]:
    """The keys that a call certainly draws random numbers with, or that it is given to do so."""
    name = evaluator.model.resolver.library_name(call.func, code.place.module, code.scope)
    if name.startswith("jax.random."):
        return [] if name.rpartition(".")[2] in NOT_USING else list(call.positional[:1])
    if last_name(call.func) not in _RUNNING:
        return []
    given = [argument.value for argument in call.args]
    held = [value for expr in given if isinstance(expr, DictDisplay) for value in expr.values]
    keys = [expr for expr in (*given, *held) if isinstance(expr, Attribute) and KEY.search(expr.attr)]
    # what is given another field beside it, as the step, may make another key of both
    bases = [dotted(expr.value) for expr in given if isinstance(expr, Attribute)]
    return [key for key in keys if bases.count(dotted(key.value)) <= 1]


def _is_given_elsewhere(key: Expr, helper: FunctionSymbol | None, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether some update in this module, or in one that imports it, gives a state a key, perhaps before each step.

    What the function does that draws with the key is known; it is elsewhere if it is called elsewhere, too.
    """
    assert isinstance(key, Attribute)
    attr = re.escape(key.attr)
    given = rf"\b{attr}\s*=(?!=)|:[^,]*\.{attr}\b"  # the latter by `tree_at(lambda s: s.key, ...)`
    gives = re.compile(rf"(?:replace|apply_gradients|tree_at)\((?:[^()]|\([^()]*\))*?(?:{given})")
    module = code.place.module
    around = (module, *evaluator.model.importers(module))
    if helper is None:
        return any(gives.search(one.source.text) for one in around)
    return is_given_by_others(gives, helper, around)


def _updates(code: CodeRead) -> list[Replace]:
    return [e for e in code.events if isinstance(e, Replace) and isinstance(e.base, Name)]


def _key_of(expr: Expr, instances: LocalInstances) -> PytreeClass | None:
    """The class of the state whose key an expression reads."""
    match expr:
        case Attribute(value=Name() as base, attr=attr) if KEY.search(attr):
            instance = instances.instance(base)
            field = None if instance is None else instance.cls.field(attr)
            if instance is not None and field is not None and field.role is Role.LEAF:
                return instance.cls
    return None


def _leaving_key(key: Expr, code: CodeRead, evaluator: Evaluator) -> list[Replace]:
    """The updates of the state that holds a key, if they are all that happens to it and none gives it another key."""
    assert isinstance(key, Attribute)
    updates = _updates(code)
    base, attr = dotted(key.value), key.attr
    own = [u for u in updates if isinstance(u.base, Name) and u.base.id == base]
    if any(u.call.has_star for u in updates) or len(own) != len(updates):
        return []
    if not all(_is_seen_through(one) or _leaves(one, attr, evaluator) for one in own):
        return []  # a method of the class, which may do more
    given = [(u, u.call.keyword(attr)) for u in updates if any(k.name == attr for k in u.keywords)]
    if any(value is None or not same(taken_from(value, u.call, code), key) for u, value in given):
        return []
    if any(isinstance(e, AssignAttribute) and e.attr == attr for e in code.events):
        return []
    if any(isinstance(e, Update) and not isinstance(e, Replace) and _is_instance(e) for e in code.events):
        return []
    return own


def _put_back(key: Expr, cls: PytreeClass, code: CodeRead) -> list[Construct]:
    """The instances of the class that a body makes anew, if each is given the same key again."""
    assert isinstance(key, Attribute)
    made = [e for e in code.events if isinstance(e, Construct) and e.cls.cls is cls]
    changes = (e for e in code.events if isinstance(e, Update) and _is_instance(e))
    if any(plain(e.receiver).cls is cls for e in changes):  # type: ignore[union-attr]
        return []
    if any(isinstance(e, AssignAttribute) and e.attr == key.attr for e in code.events):
        return []
    return made if all(same(_given(e, key.attr), key) for e in made) else []


def _given(made: Construct, field: str) -> Expr | None:
    """What a construction gives a field."""
    ats = {id(a.at) for a in made.arguments if a.name == field}
    return next((a.value for a in made.call.args if id(a.at) in ats), None)


def _is_made_with_another(key: Expr, cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether one is made anew somewhere of the fields of another one, but for the key."""
    assert isinstance(key, Attribute)
    field, names = cls.field(key.attr), {cls.name}
    if field is None:
        return False
    fields = {one.name for one in cls.fields} - {key.attr}
    for module in (code.place.module, *evaluator.model.importers(code.place.module)):
        for call, _ in calls_giving(key.attr, names, module, evaluator):
            given = giving(field, cls, call, names)
            takes = any(isinstance(a.value, Attribute) and a.value.attr in fields for a in call.args)
            if takes and not (isinstance(given, Attribute) and given.attr == key.attr):
                return True
    return False


def _is_seen_through(update: Replace) -> bool:
    """Whether an update changes what it is given, and nothing else that matters here."""
    cls = update.receiver.cls
    if update.function == _APPLYING:
        own = cls.method(_APPLYING)
        return is_train_state(cls) and (own is None or is_stub(own[0].module))
    return update.function in (*REPLACE_FUNCTIONS, cls.framework.replace_method)


def _leaves(update: Replace, attr: str, evaluator: Evaluator) -> bool:
    """Whether a function makes the update that does no more than return a copy of what it gets, with the same key."""
    function = None if update.by is None else update.by.declaration
    if function is None or function.decorators or not function.return_values or not function.only_returns:
        return False
    name = function.self_name
    if name is None:
        given = update.call.given_to(function.positional)
        names = [one for one, value in given.items() if update.base is not None and same(value, update.base)]
        name = names[0] if len(names) == 1 else None
    copies = [v for v in function.return_values if isinstance(v, Call) and copied_by(v) == name]
    if update.by is None or name is None or len(copies) < len(function.return_values):
        return False
    is_bound = name in assigned_names(evaluator.calls.body_of(update.by) or ())
    return not is_bound and all(copy.keyword(attr) is None for copy in copies)


def _is_instance(update: Update) -> bool:
    return isinstance(plain(update.receiver), Instance)


def _comes_back(updates: Sequence[Replace | Construct], base: str | None, function: FunctionNode) -> bool:
    """Whether a function returns one of the updates, and the state is given nothing else."""
    made = [function.node_at(update.call.at) for update in updates]
    body, variables = function.body, set()
    for assigned in own(body, cst.Assign):
        targets = [one.target for one in assigned.targets]
        if assigned.value in made:
            variables |= {one.value for one in targets[:1] if isinstance(one, cst.Name)}
        elif base in set(names(targets)) and not _unpacks_parameter(assigned, function):
            return False
    values = list(returned(body))
    return not variables.isdisjoint(names(values)) or any(part in made for v in values for part in own(v, cst.Call))


def _unpacks_parameter(assigned: cst.Assign, function: FunctionNode) -> bool:
    """Whether an assignment takes the items out of a parameter, which is bound nowhere else: `state, total = carry`."""
    value, declared = assigned.value, function.code.function
    if not isinstance(value, cst.Name) or declared is None or value.value in function.code.contents.bound:
        return False
    return declared.takes(value.value) and isinstance(assigned.targets[0].target, cst.Tuple)


def _drawn_again(call: Call, cls: PytreeClass, drawn: Drawn) -> Problem:
    key = drawn.keys[0]
    name, base = drawn.function.declaration.name, dotted(key.value)
    way_out = f"keep what the first call returns of the next `{key.attr}`, and go on with that"
    return Problem(
        at=call.func.at,
        message=(
            f"`{name}` is called again for the same `{cls.name}`, for the call before it drops the next `{key.attr}`:"
            f" both draw the same numbers; {way_out}"
        ),
        reason=f"`{base}` still has the key that the first call has used",
        help=way_out,
    )


def _scanned_again(again: ScannedAgain, cls: PytreeClass) -> Problem:
    key, base = again.key.attr, dotted(again.key.value)
    way_out = f"keep the carry that this one returns, `{base}, ... = ...`, and go on with that"
    return Problem(
        at=again.call.at,
        message=(
            f"the `{cls.name}` that `jax.lax.scan` returns is dropped, and `{again.function.name}` is scanned again"
            f" from `{base}`, which still has the same `{key}`: both runs draw the same numbers; {way_out}"
        ),
        reason="a key gives the same random numbers each time it is used",
        help=way_out,
    )


def _drawn_each_turn(each: DrawnEachTurn, cls: PytreeClass) -> Problem:
    by = f"a loop in `{each.caller}`" if each.caller else "a loop"
    what = f"`{each.next}`, the next `{each.key.attr}` of the `{cls.name}`, is dropped"
    way_out = f"return `{each.next}` as well, and let the next state have it"
    if each.next is None:
        what = f"`{dotted(each.call.func)}` draws with `{each.key.attr}` of the `{cls.name}` itself"
        way_out = "split it, return the next key as well, and let the next state have it"
    return Problem(
        at=each.call.at,
        message=(
            f"{what}, and {by} gives the same"
            f" `{each.key.value.id if isinstance(each.key.value, Name) else cls.name}` in each turn: all draw the same"
            f" numbers; {way_out}"
        ),
        reason="a key gives the same random numbers each time it is used",
        help=way_out,
    )


def _drawn_in_loop(drawn: DrawnInLoop, cls: PytreeClass) -> Problem:
    key, way_out = drawn.key.attr, "carry the key along, and split it in each turn"
    return Problem(
        at=drawn.call.at,
        message=(
            f"`{dotted(drawn.call.func)}` draws with `{key}` of the `{cls.name}` in each turn of {drawn.loop}, which"
            f" leaves it as it is: all draw the same numbers; {way_out}"
        ),
        reason="a key gives the same random numbers each time it is used",
        help=way_out,
    )


def _next_dropped(dropped: NextDropped, instance: Instance | None) -> Problem:
    key, state = dropped.key, dropped.state.id
    of_class = "" if instance is None else f" ({with_article(instance.cls.name)})"
    way_out = f"return a copy of `{state}` with `{key.attr}={dropped.next}`"
    return Problem(
        at=key.at,
        message=(
            f"`{dropped.next}`, the next `{key.attr}` of `{state}`{of_class}, is dropped, and `{state}` is returned"
            f" with the same key: the next call draws the same numbers; {way_out}"
        ),
        reason="a key gives the same random numbers each time it is split",
        help=way_out,
    )


def _drawn_twice(twice: DrawnTwice, cls: PytreeClass | None) -> Problem:
    key, way_out = twice.key, "split the key, and give each draw one of its own"
    what = f"`{written(key)}`" if cls is None or not isinstance(key, Attribute) else f"`{key.attr}` of the `{cls.name}`"
    second, first = dotted(twice.call.func), dotted(twice.before.func)
    return Problem(
        at=twice.call.at,
        message=f"`{second}` draws with {what}, which `{first}` has used: {outcome_of(twice)}; {way_out}",
        reason="a key stands for one stream of random bits, from which each function that is given it takes the same",
        help=f"write `first, second = jax.random.split({written(key)})`",
    )


def _by(helped: Drawn, key: Attribute, name: str) -> str:
    """What to do about a helper, as it is called, that draws with a key."""
    if helped.drops_next:
        return f"keep what `{name}` returns of the next `{key.attr}`, and let the state that is returned have it"
    return f"let `{name}` return the next key, and put it back: `{key.attr}=...`"


def _problem(key: Attribute, cls: PytreeClass, function: str, back: PutBack) -> Problem:
    return Problem(
        at=key.at,
        message=(
            f"`{function}` uses `{key.attr}` of the `{cls.name}`, and the state that is returned still has the same"
            f" key: the next step draws the same numbers; {back.help}"
        ),
        reason="a key gives the same random numbers each time it is used",
        help=back.help,
        fix=back.fix,
    )
