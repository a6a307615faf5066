"""What becomes of something that a body changes in place: whether it is read, or handed on, afterwards.

A *slot* is what is changed: a variable, and the attributes and items that lead from it to the place. Other variables
that hold the same object, or one that holds it, have slots of their own for the same place.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.bodies.slots import (
    ANYWHERE,
    MAX_ROUNDS,
    Slot,
    bindings_of,
    changed_by,
    goes_through_keys,
    is_bound,
    may_be,
    slot_of,
)
from jaxlint.symbols.outline import MUTATING, UPDATING
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    NamedExpr,
    Other,
    Starred,
    Subscript,
    Unary,
    children,
    dotted,
    items_of,
)
from jaxlint.syntax.names_read import names_in, reads
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Augment,
    Body,
    Delete,
    Do,
    For,
    FunctionDefinition,
    Return,
    Statement,
    While,
    With,
    all_parts,
    blocks,
    expressions,
    own_parts,
    parts,
    walk,
)


class Aliases:
    """The variables of a body that lead to a place."""

    #: What evaluating does not count: the change itself.
    ignored: object = None

    def __init__(self, slot: Slot, body: Body) -> None:
        self.slots = [slot]
        for _ in range(MAX_ROUNDS):
            before = len(self.slots)
            for statement in walk(body, nested=False):
                self._find_aliases(statement)
            if len(self.slots) == before:
                break

    def _is_late(self, statement: Statement) -> bool:
        """Whether what a statement finds at the place is what matters."""
        return True

    def _find_aliases(self, statement: Statement) -> None:
        """Find the variables that a statement binds to what holds the place, or (after the change) to what it holds."""
        if isinstance(statement, FunctionDefinition):
            if any(self.sees(e) for s in walk(statement.body) for e in expressions(s)):
                self._add(Slot(statement.name, (ANYWHERE,)))
        late = self._is_late(statement)
        for binding in bindings_of(statement):
            bound, value = binding.slot, binding.value
            if bound is not None:
                for slot in self.slots:
                    rest = slot.path[len(bound.path) :]
                    if self._overlap(bound, slot) and binding.name != slot.root and (rest or late):
                        self._add(Slot(binding.name, rest))
            elif value is not None:
                if self.holds(value, late) or any(isinstance(p, Lambda) and self.sees(p) for p in parts(value)):
                    self._add(Slot(binding.name, (ANYWHERE,)))

    def _add(self, slot: Slot) -> None:
        if slot not in self.slots:
            self.slots = [*self.slots, slot]

    # -- expressions ------------------------------------------------------------------------

    def sees(self, expr: Expr) -> bool:
        """Whether evaluating an expression reads the place."""
        if expr.at is self.ignored:
            return False
        slot = slot_of(expr)
        if slot is not None:
            return any(self._overlap(slot, s) for s in self.slots) or any(map(self.sees, _indices(expr)))
        if isinstance(expr, Call) and isinstance(expr.func, Attribute) and self.is_holder(expr.func.value):
            return True  # a method sees all of its receiver
        return any(map(self.sees, children(expr)))

    def holds(self, expr: Expr, late: bool = True) -> bool:
        """Whether an expression is an object that holds the place, or a new one made of such.

        After the change (`late`) what is found at the place counts as well.
        """
        slot = slot_of(expr)
        if slot is not None:
            return any(self._overlap(slot, s) for s in self.slots) if late else self.is_holder(expr)
        match expr:
            case Call(func=func):
                return _keeps(func) and any(self.holds(a.value, late) for a in expr.args)
            case Conditional(body=body, orelse=orelse):
                return self.holds(body, late) or self.holds(orelse, late)
            case Display() | DictDisplay() | BoolOp() | Starred() | NamedExpr():
                return any(self.holds(child, late) for child in children(expr))
        return False

    def hands_on(self, expr: Expr) -> bool:
        """Whether an expression holds the value that was assigned, or passes the object that has it to a call."""
        if expr.at is self.ignored:
            return False
        if self.holds(expr):
            return True
        match expr:
            case Call():
                return any(map(self.passes, given_in(expr))) and not self.is_followed(expr)
            case Lambda(body=body):
                return self.hands_on(body) and any(next(names_in(expr, s.root), None) for s in self.slots)
            case Attribute(value=value) | Subscript(value=value):
                return slot_of(expr) is None and self.hands_on(value)
            case Binary() | Compare() | Unary():
                return False
        return any(map(self.hands_on, children(expr)))

    def is_followed(self, call: Call) -> bool:
        """Whether it is seen that a function that is given such an object does not hand it on itself."""
        return False

    def passes(self, expr: Expr) -> bool:
        """Whether an argument is an object that holds the place, or is made with one."""
        return self.is_holder(expr) if slot_of(expr) is not None else self.hands_on(expr)

    def is_holder(self, expr: Expr) -> bool:
        """Whether an expression is an object that the place is a part of."""
        slot = slot_of(expr)
        return slot is not None and any(self._overlap(slot, s) and len(slot.path) < len(s.path) for s in self.slots)

    @staticmethod
    def _overlap(one: Slot, other: Slot) -> bool:
        return one.root == other.root and all(map(may_be, one.path, other.path))


class Changed(Aliases):
    """A place that the statement with the target (or call) at `at` changes, and what the code after it does with it."""

    def __init__(self, slot: Slot, at: object, body: Body) -> None:
        after = _after(at, body)
        self.after = [s for s in walk(body) if not _is_target(s, at)] if after is None else after
        self.ignored = at
        super().__init__(slot, body)

    def _is_late(self, statement: Statement) -> bool:
        return any(s is statement for s in self.after)

    def is_read(self) -> bool:
        """Whether the new value is read: by itself, by reading something that holds it, or by a method."""
        return any(self.sees(expr) for statement in self.after for expr in self._read(statement))

    def is_handed_on(self) -> bool:
        """Whether an object that holds the new value goes somewhere, or the new value itself does as it is."""
        return any(self._hands_on_in(statement) for statement in self.after)

    def _read(self, statement: Statement) -> Iterator[Expr]:
        """The expressions that a statement reads; a plain target is written, and what leads to it is read."""
        match statement:
            case Assign(targets=targets, value=value):
                yield value
                for target in targets:
                    yield from _read_by_target(target)
            case Augment(target=target, value=value):
                yield value
                yield target
            case For(target=target, iterable=iterable):
                yield from () if goes_through_keys(statement) else (iterable,)
                yield from _read_by_target(target)
            case Do(value=Call(func=Attribute(value=held)) as call) if self._is_container(held):
                yield from (a.value for a in call.args)  # one more change
            case Delete():
                return
            case _:
                yield from expressions(statement)

    def _is_container(self, expr: Expr) -> bool:
        """Whether an expression is the very list or dict that is changed."""
        slot = slot_of(expr)
        return slot is not None and any(
            s.root == slot.root and s.path[:-1] == slot.path and s.path[-1].startswith("[")
            for s in self.slots
            if s.path
        )

    def _hands_on_in(self, statement: Statement) -> bool:
        match statement:
            case Assign(targets=targets, value=value) if all(isinstance(t, Name) for t in targets):
                return slot_of(value) is None and self.hands_on(value)
            case Assign(value=value) | Augment(value=value) | Return(value=value) if value is not None:
                return self.hands_on(value)
            case Do() | With() | FunctionDefinition():
                return any(self.hands_on(expr) for expr in self._read(statement))
        return False


def given_in(call: Call) -> list[Expr]:
    """What a call may do something with: its receiver, or what is called, and the arguments."""
    func = call.func
    return [func.value if isinstance(func, Attribute) else func, *(argument.value for argument in call.args)]


def _indices(expr: Expr) -> Iterator[Expr]:
    """The indices in a chain of attributes and items: `i` and `j` of `x[i].a[j]`."""
    while isinstance(expr, (Attribute, Subscript)):
        if isinstance(expr, Subscript):
            yield expr.index
        expr = expr.value


def _keeps(func: Expr) -> bool:
    """Whether a function certainly keeps its arguments: a class, or an update."""
    name = (dotted(func) or "").rpartition(".")[2].lstrip("_")
    return name[:1].isupper() or name in ("replace", "dict", "list", "tuple", "append", "update")


def _read_by_target(target: Expr) -> Iterator[Expr]:
    match target:
        case Subscript():
            yield from _indices(target)
        case Starred(value=value):
            yield from _read_by_target(value)
        case Name() | Attribute():
            return
        case _:
            for item in children(target):
                yield from _read_by_target(item)


def _after(at: object, body: Body) -> list[Statement] | None:
    """The statements that may run after the target or call at `at`; None if that is not below `body`.

    The statement that holds a call is among them: other parts of it may be evaluated later.
    """
    for index, statement in enumerate(body):
        inner: list[Statement] | None = None
        if _holds(statement, at):
            inner = [] if _is_target(statement, at) else [statement]
        for block in blocks(statement):
            below = _after(at, block)
            if below is not None:
                looping = isinstance(statement, (For, While))
                inner = [s for s in walk(block) if not _is_target(s, at)] if looping else below
        if inner is not None:
            return inner + [s for later in body[index + 1 :] for s in walk((later,))]
    return None


def _holds(statement: Statement, at: object) -> bool:
    return any(part.at is at for part in own_parts(statement))


def _is_target(statement: Statement, at: object) -> bool:
    """Whether a statement does nothing but make the change at `at`."""
    match statement:
        case Do(value=value):
            return value.at is at
        case Assign() | Annotate() | Augment() | Delete() | For():
            return any(place is at for place, _ in changed_by(statement))
    return False


def handed_on_before(root: str, at: object, body: Body) -> bool:
    """Whether what a variable is at `at` was passed to a call before, or one of its methods called (or in a loop)."""
    handed = False
    for statement in body:
        if _holds(statement, at):
            return handed
        inner = next((block for block in blocks(statement) if _after(at, block) is not None), None)
        if inner is not None:
            if isinstance(statement, (For, While)) and not is_bound(root, inner):
                return handed or any(_passes(s, root, at) for s in walk(inner))
            return handed or handed_on_before(root, at, inner)
        passes = any(_passes(s, root, at) for s in walk((statement,)))
        bound = [b for s in walk((statement,), nested=False) for b in bindings_of(s) if b.name == root]
        if isinstance(statement, Assign) and bound and all(_is_updated(b.value, root) for b in bound):
            continue  # what was handed on is part of the new instance, too
        handed = passes and not all(_is_copy(b.value) for b in bound) if bound else handed or passes
    return handed


def goes_anywhere(name: str, body: Body, *, returned: bool = False) -> bool:
    """Whether a variable goes anywhere as a whole: it is passed, returned or stored, or one of its methods is called.

    To read its attributes is none of that, nor to make a changed copy of it that it is bound to itself, nor to be
    `returned` if that says so.
    """
    rebinding = {id(s.value) for s in walk(body) if isinstance(s, Assign) and [dotted(t) for t in s.targets] == [name]}
    harmless: set[int] = set()
    called: set[int] = set()
    for statement in walk(body, nested=False) if returned else ():
        if isinstance(statement, Return) and statement.value is not None:
            items = items_of(statement.value)
            harmless.update(map(id, items))
    for part in all_parts(body):
        if isinstance(part, Attribute):
            harmless.add(id(part.value))
        elif isinstance(part, Call):
            is_own_copy = id(part) in rebinding
            if isinstance(part.func, Attribute) and not (part.func.attr in UPDATING and is_own_copy):
                called.add(id(part.func.value))
            if (dotted(part.func) or "").endswith("replace") and part.positional and is_own_copy:
                harmless.add(id(part.positional[0]))
    return any(id(read) not in harmless or id(read) in called for read in reads(body, name))


def _is_copy(value: Expr | None) -> bool:
    """Whether a value is certainly a new object, whatever it is made of."""
    name = dotted(value.func) or "" if isinstance(value, Call) else ""
    return name.rpartition(".")[2] in ("deepcopy", "copy", "dict", "list", "set")


def _is_updated(value: Expr | None, root: str) -> bool:
    """Whether a value is an updated copy of a variable: `replace(cfg, mesh=mesh)`, `cfg.replace(mesh=mesh)`."""
    if not isinstance(value, Call):
        return False
    owner, _, function = (dotted(value.func) or "").rpartition(".")
    given = value.positional
    return function in UPDATING and (owner == root or (bool(given) and dotted(given[0]) == root))


def _passes(statement: Statement, root: str, at: object) -> bool:
    """Whether a call in a statement is given a variable, or is one of a method of it (or of a part of it)."""
    for expr in expressions(statement):
        for part in parts(expr):
            if isinstance(part, Call) and part.at is not at:
                given = [a.value for a in part.args]
                if not isinstance(part.func, Attribute):
                    given.append(part.func)
                elif isinstance(part.func.value, Name) or part.func.attr not in MUTATING:
                    given.append(part.func.value)
                if any(isinstance(p, Name) and p.id == root for e in given for p in parts(e)):
                    return True
    return False


def only_yields_alone(body: Body) -> bool:
    """Whether all that a generator function yields is yielded by statements of their own."""
    for statement in walk(body, nested=False):
        alone = statement.value if isinstance(statement, Do) else None
        for part in own_parts(statement):
            if isinstance(part, Other) and part.kind in ("Yield", "YieldFrom"):
                if part is not alone or not part.parts:
                    return False
    return True


def discarded(value: Expr) -> Iterator[Call]:
    """The calls whose results are thrown away where an expression stands alone."""
    match value:
        case Call():
            yield value
        case Other(kind="Await", parts=(awaited,)):
            yield from discarded(awaited)
        case Conditional(body=body, orelse=orelse):
            yield from discarded(body)
            yield from discarded(orelse)
        case BoolOp(right=right):
            yield from discarded(right)
        case Display(items=items):
            for item in items:
                yield from discarded(item)
        case Comprehension(kind="list" | "set", element=element):
            yield from discarded(element)
