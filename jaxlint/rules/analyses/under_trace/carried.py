"""What the functions of loops and branches make of the instances that they are given: another structure or type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.rules.analyses.under_trace.forms import (
    NOTHING,
    SOMETHING,
    UNKNOWN,
    Difference,
    Form,
    Held,
    Leaf,
    State,
    Unknown,
    differences,
    join,
)
from jaxlint.rules.analyses.under_trace.held_values import with_numbers
from jaxlint.rules.analyses.under_trace.things import (
    ClassThing,
    Code,
    Frame,
    Library,
    Member,
    Thing,
    after_loop,
    form_of,
    item_of,
    of_tuple,
)
from jaxlint.rules.analyses.under_trace.tracing import MAX_DEPTH, Tracer, known_as, parameters_of
from jaxlint.syntax.expressions import Attribute, Call, Display, Expr, Name, is_none, last_name
from jaxlint.syntax.statements import bound_once, own_names

_SCAN, _WHILE, _FORI = "jax.lax.scan", "jax.lax.while_loop", "jax.lax.fori_loop"
#: Loops and branches: the names of their parameters.
PARAMETERS = {
    _SCAN: ("f", "init", "xs", "length"),
    _WHILE: ("cond_fun", "body_fun", "init_val"),
    _FORI: ("lower", "upper", "body_fun", "init_val"),
    "jax.lax.cond": ("pred", "true_fun", "false_fun"),
    "jax.lax.switch": ("index", "branches"),
}


#: The same, by their last names.
RUNNING = frozenset(name.rpartition(".")[2] for name in PARAMETERS)


class Change(msgspec.Struct, frozen=True):
    """Where the function of a loop changes its carry, or where two branches differ."""

    #: The initial carry, or the second of the branches.
    at: object
    #: The loop, and the name of its function.
    transform: str
    function: str
    #: What differs; None if the function of `lax.scan` returns an instance in place of a pair.
    difference: Difference | None
    #: What is returned in place of a pair.
    returned: State | None = None
    #: An instance in the tree, where what differs is no part of one.
    beside: State | None = None
    #: The function of a loop that the body itself runs, and what the loop is given, by the names of its parameters.
    code: Code | None = None
    given: Mapping[str, Expr] = msgspec.field(default_factory=dict)

    @property
    def is_of_branches(self) -> bool:
        """Whether two branches return other values of a static field."""
        found = self.difference
        field = None if found is None or found.cls is None else found.cls.field(found.field)
        is_loop = self.transform in (_SCAN, _WHILE, _FORI)
        return not is_loop and field is not None and field.role is Role.STATIC


def changes(code: CodeRead, evaluator: Evaluator) -> list[Change]:
    """What the loops and branches of a body change, and those of the functions that it calls, one for each at most."""
    found: list[Change] | None = code.shared.get(Change)
    if found is None:
        found = code.shared[Change] = _changes(code, evaluator)
    return found


def _changes(code: CodeRead, evaluator: Evaluator) -> list[Change]:
    module, function = code.place.module, code.function
    variables: dict[str, Thing] = dict.fromkeys(own_names(code.body) if function is not None else (), UNKNOWN)
    numbers = count()
    for name, thing in parameters_of(function, code.parameters).items():
        variables[name] = with_numbers(form_of(thing), numbers)
    if not any(isinstance(thing, State) for thing in variables.values()):
        named = evaluator.calls.named_classes
        if not _says_what_it_takes(code, evaluator) and not named.may_be_met(
            code.body, frozenset(variables), module, code.scope, MAX_DEPTH
        ):
            return []
    tracer = _Loops(evaluator, code, numbers)
    tracer.execute(code.body, Frame(module, code.scope, variables))
    return tracer.changes


def _says_what_it_takes(code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a function that a loop or branch of the body is given by name has a parameter with an annotation."""
    resolver, own = evaluator.model.resolver, code.contents.bound
    for call in code.calls:
        for given in call.positional if last_name(call.func) in RUNNING else ():
            if isinstance(given, Name) and given.id not in own:
                symbol = resolver.follow(resolver.resolve(given, code.place.module, code.scope))
                if isinstance(symbol, FunctionSymbol):
                    if any(p.annotation is not None for p in symbol.declaration.parameters):
                        return True
    return False


class _Loops(Tracer):
    """Compares what goes into the functions of loops with what comes out."""

    def __init__(self, evaluator: Evaluator, code: CodeRead, numbers: count[int]) -> None:
        super().__init__(evaluator)
        #: Those that tell values of static fields apart.
        self._numbers = numbers
        self.changes: list[Change] = []
        self._seen: set[int] = set()
        self._code_read = code
        #: The call in the body itself that leads to what is traced.
        self._outer: Call | None = None

    @cached_property
    def _working(self) -> frozenset[int]:
        """The expressions of the body (by identity) that are expected to work."""
        return frozenset(map(id, self._code_read.contents.expected_to_work))

    def call(self, call: Call, frame: Frame) -> Thing:
        """What a call returns."""
        if frame.depth == 0:
            self._outer = call
        return super().call(call, frame)

    def loop(
        self, call: Call, name: str, given: Sequence[Thing], keywords: Mapping[str, Thing], frame: Frame
    ) -> Form | None:
        """Run the functions of a loop once, on its initial carry, or those of a choice; operands may be spread."""
        if name not in PARAMETERS or (call.has_star and len(call.positional) < len(PARAMETERS[name])):
            return None
        exprs = dict(zip(PARAMETERS[name], call.positional, strict=False))
        exprs |= {a.keyword: a.value for a in call.args if a.keyword is not None}
        things = {**dict(zip(PARAMETERS[name], given, strict=False)), **keywords}
        looks = id(call) not in self._seen if frame.depth == 0 else id(self._outer) in self._working
        if looks and frame.depth == 0:
            self._seen.add(id(call))
        if name not in (_SCAN, _WHILE, _FORI):
            operands = [form_of(thing) for thing in given[len(PARAMETERS[name]) :]]
            operands += [form_of(keywords["operand"])] if "operand" in keywords else []
            return self._chosen(name, exprs, operands, frame, looks)
        key, function = ("init", "f") if name == _SCAN else ("init_val", "body_fun")
        if key not in things or function not in things:
            return UNKNOWN
        code = self._code_in(exprs[function], frame)
        before = self._said(form_of(things[key]), [code], 1 if name == _FORI else 0)
        before = with_numbers(before, self._numbers)
        if looks and any(_states(before)):
            arguments: list[Thing] = [before]
            if name == _FORI:
                arguments = [Leaf("int"), before]
            elif name == _SCAN:
                arguments = [before, _item(exprs.get("xs"), things.get("xs", NOTHING), frame)]
            self._turn(self._at(exprs[key], frame), name, code, before, arguments, frame, exprs)
        carry = after_loop(before)
        return of_tuple([carry, UNKNOWN]) if name == _SCAN else carry

    def _turn(
        self,
        at: object,
        name: str,
        code: Code | None,
        before: Form,
        arguments: list[Thing],
        frame: Frame,
        given: Mapping[str, Expr],
    ) -> None:
        """Compare the carry before and after a turn."""
        if code is None:
            return
        after = self.run(code, arguments, {}, frame.depth + 1)
        if name == _SCAN:
            if isinstance(after, State) and after.exact and not after.cls.framework.is_tuple:
                self.changes.append(Change(at, name, code.name, None, after))
            if not isinstance(after, Held) or after.kind != "tuple" or len(after.entries) != 2:
                return
            after = after.entries["0"]
        shown = given if frame.depth == 0 else None
        self._note(at, name, code, before, differences(before, after, carried=True), shown)

    def _chosen(self, name: str, given: dict[str, Expr], operands: list[Form], frame: Frame, looks: bool) -> Form:
        """What one of the branches returns."""
        if name.endswith("switch"):
            branches = self._listed(given.get("branches"), frame)
        else:
            branches = [given[key] for key in ("true_fun", "false_fun") if key in given]
        codes = [self._code_in(branch, frame) for branch in branches]
        taken = [with_numbers(self._said(one, codes, n), self._numbers) for n, one in enumerate(operands)]
        returned: list[tuple[Expr, Code, Form]] = []
        for branch, code in zip(branches, codes, strict=True):
            if code is None:
                return UNKNOWN
            returned.append((branch, code, self.run(code, taken, {}, frame.depth + 1)))
        result: Form = returned[0][2] if returned else UNKNOWN
        for branch, code, form in returned[1:]:
            if looks:
                first = returned[0][2]
                listed = given.get("branches")
                at = self._at(listed if isinstance(listed, Name) else branch, frame)
                self._note(at, name, code, first, differences(first, form, carried=False))
            result = join(result, form)
        return result

    def _listed(self, expr: Expr | None, frame: Frame) -> list[Expr]:
        """The items of a display, or of what a variable of the body or a constant of the module is bound to."""
        if isinstance(expr, Name):
            variable = bound_once(self._code_read.body).get(expr.id) if frame.depth == 0 else None
            expr = variable or self.settling(frame)(expr)
        return list(expr.items) if isinstance(expr, Display) and not expr.has_star else []

    def _code_in(self, expr: Expr, frame: Frame) -> Code | None:
        """The code of a function or method that is named, perhaps by its class: `Light.flipped`."""
        thing = self.value(expr, frame)
        if isinstance(thing, Library) and isinstance(expr, Attribute):
            owner = self.value(expr.value, frame)
            thing = Member(owner, expr.attr) if isinstance(owner, ClassThing) else thing
        return self.code_given(thing)

    def _said(self, form: Form, codes: Sequence[Code | None], position: int) -> Form:
        """What is given at some position; where nothing is known of that, what one of the functions says it takes."""
        for code in codes if isinstance(form, Unknown) else ():
            function = None if code is None else code.function
            index = position + (0 if code is None else len(code.positional))
            if code is not None and function is not None and index < len(function.positional):
                said = known_as(self._evaluator.parameter(function, function.positional[index], code.module))
                if isinstance(said, State):
                    return said
        return form

    def _at(self, expr: Expr, frame: Frame) -> object:
        """Where a finding about an expression stands: at the call that leads to another module, or gives a function."""
        is_here = frame.depth == 0 or frame.module is self._code_read.place.module
        if frame.depth and isinstance(expr, Name) and isinstance(given := frame.variables.get(expr.id), Code):
            is_here = is_here and given.name == expr.id
        return expr.at if is_here or self._outer is None else self._outer.at

    def _note(
        self,
        at: object,
        name: str,
        function: Code,
        before: Form,
        found: Iterator[Difference],
        given: Mapping[str, Expr] | None = None,
    ) -> None:
        if any(change.at is at for change in self.changes):
            return
        differing = list(found)
        first = next((one for one in differing if one.cls is not None), None)
        beside = next(_states(before), None)
        if first is not None:
            code = function if given is not None else None
            self.changes.append(Change(at, name, function.name, first, code=code, given=given or {}))
        elif differing and beside is not None:
            self.changes.append(Change(at, name, function.name, differing[0], beside=beside))


def _item(xs: Expr | None, thing: Thing, frame: Frame) -> Form:
    """What `lax.scan` gives to its function beside the carry."""
    if xs is None or is_none(xs):
        return NOTHING
    form = form_of(thing)
    if form == UNKNOWN and not (isinstance(xs, Name) and xs.id not in frame.variables):
        return SOMETHING  # it loops over something
    return item_of(form)


def _states(form: Form) -> Iterator[State]:
    """The instances in a tree of tuples, lists and dicts."""
    if isinstance(form, State):
        yield form
    for entry in form.entries.values() if isinstance(form, Held) else ():
        yield from _states(entry)
