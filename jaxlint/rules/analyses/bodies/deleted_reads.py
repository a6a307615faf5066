"""What needs the numbers of arrays that are deleted, and what a list holds of them."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Array, Value, as_instance, is_python_number, plain
from jaxlint.libraries.arrays import ARRAY_TRAITS, OF_NUMBERS, OF_TRAITS
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field
from jaxlint.rules.analyses.bodies.read_after import ReadAfter
from jaxlint.syntax.expressions import (
    Attribute,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Constant,
    Display,
    Expr,
    Lambda,
    Name,
    Subscript,
    Unary,
    children,
    dotted,
    last_name,
)
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Body,
    Delete,
    Do,
    If,
    Return,
    Statement,
    While,
    bound_names,
    expressions,
    own_parts,
    walk,
)

#: What a deleted array still tells.
_METADATA = ARRAY_TRAITS | {"sharding", "aval", "is_deleted", "delete", "itemsize", "nbytes"}
#: Functions that do not look at the numbers, by the last part of their names.
_HARMLESS = (
    _METADATA
    | OF_TRAITS
    | frozenset(
        """type id len isinstance issubclass hasattr structure tree_structure eval_shape iscomplexobj
    ShapeDtypeStruct typeof tree_flatten flatten leaves tree_leaves tree_flatten_with_path flatten_with_path
    tree_leaves_with_path leaves_with_path clear_caches lower""".split()
    )
)
#: What functions are called that ask whether something is deleted: `assertDeleted`, `check_not_deleted`.
_ABOUT_DELETION = "deleted"
#: What asks a dict for its keys, or goes through a container: the numbers of arrays in there do not matter.
_GOING_THROUGH = frozenset({"list", "tuple", "set", "sorted", "iter", "enumerate"})
_OF_DICTS = frozenset({"keys", "items", "values"})
_MAPS = frozenset({"map", "tree_map"})
#: How many methods that call each other are followed.
_MAX_METHODS = 3
#: Methods that take items out of a list again.
_TAKING = frozenset({"pop", "popleft", "clear", "remove"})


class DeletedReads:
    """Finds what needs the numbers of something that is deleted."""

    def __init__(self, path: str, value: Value, evaluator: Evaluator, depth: int = 0) -> None:
        self._path = path
        self._value = value
        self._cls = None if (instance := as_instance(value)) is None else instance.cls
        self._evaluator = evaluator
        #: Whether this may be a container of arrays, as parameters are.
        self._is_tree = self._cls is None and not isinstance(plain(value), Array)
        #: How many methods were followed to get here.
        self._depth = depth

    def find(self, expr: Expr) -> Expr | None:
        """The part of an expression that needs them."""
        if isinstance(expr, Lambda):
            return None
        if dotted(expr) == self._path:
            return expr
        if self._is_tree and (rest := self._besides_keys(expr)) is not None:
            return self._first(iter(rest))
        match expr:
            case Compare(ops=ops) if not {"is", "is not"}.isdisjoint(ops):
                return None
            case Call(func=func) if last_name(func) in _HARMLESS or _looks_at_metadata(expr):
                return None
            case Call(func=func) if _ABOUT_DELETION in last_name(func).lower():
                return None
            case Call(func=Attribute(value=held, attr=called)) if dotted(held) == self._path:
                given = self._first(argument.value for argument in expr.args)
                is_read = self._is_of_numbers(called) or self._is_read_by(called)
                return held if given is None and is_read else given
            case Attribute(value=held, attr=attr):
                if dotted(held) == self._path:  # a field may be called like what an array knows of itself
                    is_read = self._is_leaf(attr) or self._is_of_numbers(attr)
                    return expr if is_read or self._is_read_by(attr, is_property=True) else None
                return None if attr in _METADATA else self.find(held)
            case Subscript(value=held) if dotted(held) == self._path:
                return expr
            case Conditional(test=first) | BoolOp(left=first) if self._depth:  # a method may not come to the rest
                return self.find(first)
            case Comprehension(clauses=(clause, *_)) if self._depth:
                return self.find(clause.iterable)
        return self._first(children(expr))

    def _besides_keys(self, expr: Expr) -> tuple[Expr, ...] | None:
        """What is left of an expression that asks a container of arrays for its keys, or an optimizer for its state."""
        match expr:
            case Call(func=Name(id=name), args=(one,)) if name in _GOING_THROUGH and self._is_part(one.value):
                return ()
            case Call(func=Attribute(value=held, attr=attr), args=()) if attr in _OF_DICTS and self._is_part(held):
                return ()
            case Call(func=Attribute(attr="init"), args=(one,)) if self._is_part(one.value):
                return ()
            case Compare(left=left, ops=("in" | "not in",), comparators=(held,)) if self._is_part(held):
                return (left,)
            case Comprehension(clauses=(clause, *_)) if self._is_part(clause.iterable):
                return tuple(child for child in children(expr) if child is not clause.iterable)
        return None

    def _is_part(self, expr: Expr) -> bool:
        """Whether an expression is the container, or what it holds by the texts of keys: `params["params"]`."""
        while isinstance(expr, Subscript) and isinstance(expr.index, Constant) and expr.index.kind == "str":
            expr = expr.value
        return dotted(expr) == self._path

    def _first(self, exprs: Iterator[Expr] | tuple[Expr, ...]) -> Expr | None:
        return next((found for expr in exprs if (found := self.find(expr)) is not None), None)

    def _is_leaf(self, attr: str) -> bool:
        field = None if self._cls is None else self._cls.field(attr)
        return field is not None and field.role is Role.LEAF and not self._may_be_number(field)

    def _may_be_number(self, field: Field) -> bool:
        """Whether a leaf may be a number of Python, which nothing deletes, until a compiled function returns it."""
        if self._cls is None or field.annotation is None:
            return False
        return is_python_number(plain(self._evaluator.promises.field(field, self._cls)))

    def _is_of_numbers(self, attr: str) -> bool:
        """Whether an attribute or a method of an array has to do with its numbers."""
        return isinstance(plain(self._value), Array) and attr in OF_NUMBERS

    def _is_read_by(self, method: str, *, is_property: bool = False) -> bool:
        """Whether a method of the instance, or a property, reads leaves whatever it is given; most may need nothing."""
        found = self._cls.method(method) if self._cls is not None and self._depth < _MAX_METHODS else None
        if self._cls is None or found is None or found[1].self_name is None:
            return False
        function = FunctionSymbol(found[0].module, found[1])
        decorators = [last_name(decorator) for decorator in found[1].decorators]  # what is cached may not be read again
        if decorators != (["property"] if is_property else []) or found[1].is_generator or found[1].is_async:
            return False
        if self._evaluator.model.is_overridden(self._cls, method):
            return False
        reads = DeletedReads(found[1].self_name, self._value, self._evaluator, self._depth + 1)
        return any(
            reads.find(expr) is not None
            for statement in _always_run(self._evaluator.calls.body_of(function) or (), found[1].self_name)
            for expr in expressions(statement)
        )


def _always_run(body: Body, name: str) -> Iterator[Statement]:
    """The first statements of a body: they run with any arguments, the last one assigns the variable again."""
    for statement in body:
        if not isinstance(statement, (Annotate, Assign, Do, Return)):
            return
        yield statement
        if name in bound_names(statement):
            return


def _looks_at_metadata(call: Call) -> bool:
    """Whether a function over trees only asks for shapes and the like."""
    first = call.positional[0] if call.positional else None
    if last_name(call.func) not in _MAPS or first is None:
        return False
    asked = first.body if isinstance(first, Lambda) else first
    pending = [asked]
    while pending:
        expr = pending.pop()
        if last_name(expr) in _HARMLESS or (isinstance(expr, Call) and last_name(expr.func) in _HARMLESS):
            return True
        pending += children(expr)
    return False


def is_read_from_list(name: str, at: object, body: Body, value: Value, evaluator: Evaluator) -> bool:
    """Whether a list that the body makes is read after the call at a place, and nothing is taken out of it before."""
    statements = list(walk(body, nested=False))
    made = [s for s in statements if isinstance(s, (Assign, Annotate)) and _is_made(s, name)]
    taken = any(
        isinstance(part, Attribute) and part.attr in _TAKING and dotted(part.value) == name
        for statement in statements
        for part in own_parts(statement)
    )
    removed = any(isinstance(s, Delete) and isinstance(s.target, Subscript) for s in statements)
    if not made or taken or removed:
        return False
    tested = {id(test) for s in statements if isinstance(s, (If, While)) for test in _tests(s)}
    return ReadAfter(name, _ListReads(name, value, tested, evaluator).find).of(at, body) is not None


def _is_made(statement: Assign | Annotate, name: str) -> bool:
    """Whether a statement gives a variable an empty list."""
    targets = statement.targets if isinstance(statement, Assign) else (statement.target,)
    match statement.value:
        case Display(kind="list", items=()) | Call(func=Name(id="list"), args=()):
            return any(isinstance(target, Name) and target.id == name for target in targets)
    return False


def _tests(statement: If | While) -> tuple[Expr, ...]:
    return (statement.test,) if isinstance(statement, While) else tuple(test for test, _ in statement.branches)


class _ListReads:
    """Finds what reads items of a list that are deleted; one that is asked for by its number may be another one."""

    def __init__(self, name: str, value: Value, tested: set[int], evaluator: Evaluator) -> None:
        self._name = name
        self._value = value
        self._evaluator = evaluator
        #: The tests (by identity), which only ask whether there are items.
        self._tested = tested

    def find(self, expr: Expr) -> Expr | None:
        """The part of an expression that does."""
        match expr:
            case Name(id=name):
                return expr if name == self._name and id(expr) not in self._tested else None
            case Lambda() | Unary(op="not", operand=Name()) | Subscript(value=Name(), index=Constant() | Unary()):
                return None
            case Call(func=func) if last_name(func) in _HARMLESS:
                return None
            case Call(func=Attribute(value=Name(id=name))) if name == self._name:
                return None
            case Comprehension(clauses=(clause, *_), element=element) if dotted(clause.iterable) == self._name:
                item = dotted(clause.target)
                return None if item is None else DeletedReads(item, self._value, self._evaluator).find(element)
        return next((found for child in children(expr) if (found := self.find(child)) is not None), None)
