"""The table of contents of one file: what it imports, declares and does, from one `ast` pass.

An `Outline` is small and picklable and knows nothing of other files. It holds the scopes with
their bindings, the class and function declarations, and the *units*: the top-level statements with
their line range and their triggers. Only units whose triggers a rule asks for are read.
"""

from collections.abc import Iterable, Iterator
from typing import Tuple  # noqa: UP035

import msgspec  # which must compile annotations that are text: here they are none

from jaxlint.symbols.links import HERE, Links
from jaxlint.syntax.expressions import Argument, Attribute, Call, Display, Expr, Name, Span, dotted, last_name


class Import(msgspec.Struct, frozen=True, tag=True, array_like=True, gc=False):
    """`import module`, or `from module import name`; `level` counts the dots of a relative import.

    `import a.b` binds `a` (module "a"); `import a.b as c` binds `c` (module "a.b").
    """

    module: str
    name: str | None
    level: int
    guard: str = ""


class Definition(msgspec.Struct, frozen=True, tag=True, array_like=True, gc=False):
    """A `class` or `def` statement that binds a name; `kind` is "class" or "function"."""

    kind: str
    qualname: str
    guard: str = ""


class Assignment(msgspec.Struct, frozen=True, tag=True, array_like=True, gc=False):
    """A name bound by `=` or an annotation; `value` is None where it cannot be read off the statement."""

    value: Expr | None
    annotation: Expr | None
    at: Span
    guard: str = ""


#: Context managers (and callers) inside which errors are expected.
EXPECTS_ERROR = frozenset(
    """raises assertRaises assertRaisesRegex suppress raises_regex assert_raises assert_raises_regex assertRaisesRegexp
    assertRaisesWithLiteralMatch assertRaisesWithPredicateMatch RaisesGroup""".split()
)
#: The one of them that goes on after the error, and the errors that no mistake raises which is looked for.
SUPPRESSING = "suppress"
UNRELATED_ERRORS = frozenset(
    """KeyError IndexError LookupError OSError IOError FileNotFoundError FileExistsError PermissionError TimeoutError
    ConnectionError BrokenPipeError ProcessLookupError ImportError ModuleNotFoundError StopIteration CancelledError
    QueueEmpty Empty QueueFull Full KeyboardInterrupt EOFError UnicodeDecodeError JSONDecodeError""".split()
)
#: What makes a copy of a frozen instance that takes assignments.
#: Methods that change their receiver in place, of lists, dicts, sets, deques and numpy arrays.
MUTATING = frozenset(
    "append extend insert remove pop clear sort reverse update setdefault popitem add discard appendleft extendleft"
    " popleft fill".split()
)
#: Functions and methods that make a copy with changes.
UPDATING = frozenset({"replace", "_replace", "tree_replace", "tree_at"})
#: Stand among the calls of a unit for comparisons of things that have names, and for choices between such.
COMPARES, CHOOSES = "==", "where()"
#: Methods of sequences that compare what they are given with the items.
SEARCHES = frozenset({"index", "remove", "count"})
#: Methods of dicts and sets that hash what they are given.
LOOKUPS = frozenset({"add", "discard", "setdefault", "get", "pop"})
#: How functions call a class that they are given.
CLASS_PARAMETERS = frozenset({"cls", "clz", "klass", "class_", "_cls", "maybe_cls", "nodetype"})
#: Decorators of functions that are expected to fail, or that no test runs.
EXPECTED_FAILURE = frozenset({"xfail", "expectedFailure", "skip"})

Binding = Import | Definition | Assignment


class Scope(msgspec.Struct, array_like=True, gc=False):
    """A module, class or function scope: its bindings in source order, name by name."""

    kind: str
    qualname: str
    parent: str | None
    bindings: dict[str, list[Binding]]
    is_global: set[str]
    #: Function scopes keep the assigned values only if a class declaration or `tree_flatten` needs them.
    keeps_values: bool = True


class Parameter(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A parameter; `kind` is "positional", "keyword", "*" or "**"."""

    name: str
    annotation: Expr | None
    default: Expr | None
    kind: str
    at: Span


def names_by_position(parameters: Iterable[Parameter]) -> list[str]:
    """The names of those of some parameters that take arguments by position."""
    return [parameter.name for parameter in parameters if parameter.kind == "positional"]


class SelfAssignment(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`self.attr = value` in a method; `value` is None where it is not a plain assignment."""

    attr: str
    value: Expr | None
    annotation: Expr | None
    at: Span


class Function(msgspec.Struct, array_like=True, gc=False):
    """A function declaration, with what it returns and what it does to `self`."""

    name: str
    qualname: str
    scope: str
    owner: str | None
    parameters: tuple[Parameter, ...]
    decorators: tuple[Expr, ...]
    returns: Expr | None
    at: Span
    is_async: bool
    is_generator: bool = False
    return_values: tuple[Expr, ...] = ()
    self_assignments: tuple[SelfAssignment, ...] = ()
    self_calls: frozenset[str] = frozenset()
    #: The attributes of `self` that are read (those that are called among them).
    self_reads: frozenset[str] = frozenset()
    #: Those of them of which nothing is read but the dtype or the shape.
    self_traits: frozenset[str] = frozenset()
    #: The attributes of `self` that hold what is changed in place.
    self_mutations: frozenset[str] = frozenset()
    statements: int = 0
    #: The first and the last row of the body; the first is that of the `def` if it begins beside it.
    body_rows: tuple[int, int] = (0, 0)
    #: Whether the body only binds local names and returns, and so does nothing to what it is given.
    only_returns: bool = False
    #: Whether it does more than to compute what it returns: an error may be raised, a call stands alone, or something
    #: is written to that it has not made.
    acts: bool = False
    #: Whether it asserts or raises something.
    checks: bool = False
    #: Whether it asks for the value of an attribute: in a slice, in a shape, or how often to do something.
    asks: bool = False
    #: The calls that stand alone in the body of a function that is given a class.
    effects: tuple[Call, ...] = ()
    #: The updates that variables are given, and nothing else, which are returned: `new = self.replace(...)`.
    copies: tuple[tuple[str, Expr], ...] = ()

    @property
    def inner_scope(self) -> str:
        """The scope in which the names of its body are looked up; `scope` is the one that it is declared in."""
        return f"{self.qualname}.<locals>"

    @property
    def constructs(self) -> str:
        """The name of the class whose constructor it is; empty if it is none."""
        return (self.owner or "").rpartition(".")[2] if self.name == "__init__" else ""

    def takes(self, name: str) -> bool:
        """Whether it has a parameter of a name, of whatever kind."""
        return any(parameter.name == name for parameter in self.parameters)

    @property
    def positional(self) -> list[str]:
        """The names of its parameters that take arguments by position, its instance among them."""
        return [p.name for p in self.parameters if p.kind == "positional"]  # asked for too often for a call more

    @property
    def rest(self) -> str | None:
        """The parameter that gets the keywords for which there is no other one: `**kwargs`."""
        return next((parameter.name for parameter in self.parameters if parameter.kind == "**"), None)

    @property
    def may_only_copy(self) -> bool:
        """Whether it may do nothing but return copies with changes, or new instances of its own class."""
        return self.only_returns and bool(self.return_values) and all(map(self._may_copy, self.return_values))

    @property
    def may_return_copy(self) -> bool:
        """Whether one of its values may be a copy with changes, whatever else it does."""
        return any(map(self._may_copy, self.return_values))

    def _may_copy(self, value: Expr) -> bool:
        if isinstance(value, Display) and value.kind == "tuple":
            return any(map(self._may_copy, value.items))
        if isinstance(value, Name):
            return any(name == value.id for name, _ in self.copies)
        if not isinstance(value, Call):
            return False
        if isinstance(value.func, Attribute) and isinstance(value.func.value, Name) and self.takes(value.func.value.id):
            return True  # by a method of what is given
        name = last_name(value.func)
        of_own_class = self.owner is not None and name in ("", "__class__", self.owner.rpartition(".")[2])
        return name in UPDATING or name == "apply_gradients" or of_own_class

    @property
    def self_name(self) -> str | None:
        """The first positional parameter, if this is a method (and no static one)."""
        if self.owner is None or not self.parameters or self.parameters[0].kind != "positional":
            return None
        for decorator in self.decorators:
            if isinstance(decorator, Name) and decorator.id == "staticmethod":
                return None
        return self.parameters[0].name


class FieldDeclaration(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An annotated name in a class body."""

    name: str
    annotation: Expr
    value: Expr | None
    at: Span
    name_at: Span


class ClassAssignment(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An unannotated name in a class body."""

    name: str
    value: Expr | None
    at: Span
    name_at: Span


class Class(msgspec.Struct, array_like=True, gc=False):
    """A class declaration, exactly as written."""

    name: str
    qualname: str
    scope: str
    bases: tuple[Argument, ...]
    decorators: tuple[Expr, ...]
    fields: tuple[FieldDeclaration, ...]
    assignments: tuple[ClassAssignment, ...]
    methods: dict[str, list[str]]
    at: Span
    name_at: Span
    #: Whether it is declared where an error is expected (`with pytest.raises(...)`), in a function that names it there
    #: later, or for type checkers only.
    expects_error: bool = False
    #: Whether the body holds statements (if, for, try, with, exec …) that may declare more than is seen.
    conditional_body: bool = False
    #: The type parameters of `class Runner[S]`; none if one of them stands for several types.
    type_parameters: tuple[str, ...] = ()


class Applying(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A call that may apply a transformation to functions, and where its names are to be read."""

    call: Call
    scope: str
    #: The class whose method it is in, and what that method calls its instance.
    owner: str | None
    self_name: str | None
    #: The variables of the lambdas and comprehensions around it.
    shadowed: tuple[str, ...] = ()
    #: How many arguments what it makes is given at once, by position; None if that is not seen.
    arguments: int | None = None
    #: What has made the objects in variables of functions whose methods it is given: `Env` of `jit(env.step)`.
    makers: tuple[tuple[str, Expr], ...] = ()


class Unit(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A run of top-level statements that share lines: rows `first` to `last`, and what triggers rules.

    A unit that holds several functions (a class with its methods) also tells of each of its `pieces`: the outermost
    functions, and what is left of it.
    """

    first: int
    last: int
    calls: frozenset[str]
    stores: bool
    self_stores: frozenset[str]
    classes: frozenset[str]
    #: "import", "definition" (def or class), "code", or of a piece "function" or "rest".
    kind: str
    #: The functions of the module that are named in it.
    references: frozenset[str] = frozenset()
    #: The functions and methods whose calls stand alone; "at[]" for `x.at[i].set(v)`.
    discards: frozenset[str] = frozenset()
    #: The attributes and variables that hold what is changed in place (`x.f[k] = v`, `x.f.append(v)`, `x.f.g = v`);
    #: "=x" where that is a container that a function has made itself.
    mutations: frozenset[str] = frozenset()
    #: The methods that are called on what may come from elsewhere; "[]" where items of that are stored (`x[k] = v`).
    methods: frozenset[str] = frozenset()
    #: Whether the same thing is updated twice (or in a loop), though the first of the updates was put into a variable,
    #: or a variable is given what two functions make of one thing, one after the other.
    repeats: bool = False
    pieces: Tuple["Unit", ...] = ()  # noqa: UP006 - in Python 3.10 a name in `tuple[...]` stands for nothing


class Outline(msgspec.Struct, array_like=True, gc=False):
    """The facts of one file."""

    scopes: dict[str, Scope]
    classes: dict[str, Class]
    functions: dict[str, Function]
    units: tuple[Unit, ...]
    module_calls: tuple[Call, ...]
    #: Those of them that need not run, or may fail: under `if`, `for`, `try`, `with suppress(...)`.
    guarded_calls: frozenset[Span]
    star_imports: tuple[Import, ...]
    all_names: tuple[str, ...] | None
    future_annotations: bool
    imported_modules: tuple[tuple[int, str], ...]
    applying: tuple[Applying, ...] = ()
    #: Whether there may be comments that suppress findings of jaxlint.
    has_suppressions: bool = False
    #: The attributes that are assigned outside of functions, as `name.attribute`.
    attributes_set: frozenset[str] = frozenset()

    @property
    def module_scope(self) -> Scope:
        """The scope of the module itself, whose qualified name is empty."""
        return self.scopes[""]

    def leads(self, name: str) -> str:
        """From where the module has a name that one statement imports: the dots, the module, and the name in it.

        Otherwise `HERE`; empty if it has no such name.
        """
        match self.module_scope.bindings.get(name):
            case [Import(module, imported, level)]:
                return f"{level} {module} {imported or ''}"
            case None:
                return HERE if self.star_imports else ""
        return HERE

    @property
    def links(self) -> Links:
        """What ties the module to others."""
        return Links(self.imported_modules, tuple(sorted(self._registered())))

    def _registered(self) -> Iterator[str]:
        """The names, where they are declared, of what is imported and then given to a call that registers it."""
        for call in self.module_calls:
            if last_name(call.func).startswith("register") and call.positional and call.at not in self.guarded_calls:
                given = call.positional[0]
                for bound in self.module_scope.bindings.get((dotted(given) or "").partition(".")[0], ()):
                    if isinstance(bound, Import):
                        yield last_name(given) if isinstance(given, Attribute) else bound.name or ""

    def function_of(self, scope: str) -> Function | None:
        """The function whose variables a scope holds, by the qualified name of that; None for other scopes."""
        return self.functions.get(scope.removesuffix(".<locals>"))

    def changes_in_place(self, name: str) -> bool:
        """Whether what a variable or an attribute of that name holds is changed somewhere (`x.append(v)`)."""
        return any(name in unit.mutations or f"={name}" in unit.mutations for unit in self.units)

    def may_change(self, name: str) -> bool:
        """Whether that is so, or a call outside of functions is given what a variable of that name holds."""
        given = (argument.value for call in self.module_calls for argument in call.args if not argument.star)
        return self.changes_in_place(name) or any(isinstance(value, Name) and value.id == name for value in given)

    def changes_given(self, name: str) -> bool:
        """Whether that is changed somewhere by what has not made it: no local variable that is filled."""
        return any(name in unit.mutations for unit in self.units)
