"""What a rule proposes to change, in words that need no parser: places as events and declarations know them.

`jaxlint.cst.rewriting` makes them out on the libcst tree of the code. A new kind of change is a class here and a
function there. An `at` is a range of the source or a node of `ast`; the code is that of the module with the problem.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from jaxlint.finding import Applicability, Edit


class NeededImport(msgspec.Struct, frozen=True):
    """`import module` or `from module import name`, each if need be `as alias`, if the module does not have it yet."""

    module: str
    name: str | None = None
    alias: str | None = None

    def __str__(self) -> str:
        alias = f" as {self.alias}" if self.alias else ""
        return f"from {self.module} import {self.name}{alias}" if self.name else f"import {self.module}{alias}"


class UpdateField(msgspec.Struct, frozen=True):
    """What is assigned to the attribute `at` of a variable goes into an updated copy, which the variable is bound to.

    `at` is the attribute as a target, or the call of `setattr`, whose name is `{attr}` in the template; or an item, if
    `array` is what has it, as it is written: then the value is an updated copy of that. `template` makes the copy out
    of `{base}` and `{value}`: `{base}.replace(x={value})`. There is no fix if nobody would see the copy, unless another
    change returns it (`is_returned`). What is assigned to the attributes `also`, by statements that follow or in the
    same tuple, goes into the same copy, as `{value1}`, ….
    """

    at: object
    base: str
    template: str
    array: str = ""
    is_returned: bool = False
    also: tuple[object, ...] = ()


class AssignTo(msgspec.Struct, frozen=True):
    """What the call `at`, a statement of its own, returns is assigned to `target`.

    `template` makes of it, the `{value}`, what is assigned. There is no fix if nobody would see the copy, unless it
    `is_returned` by another change.
    """

    at: object
    target: str
    is_returned: bool = False
    template: str = "{value}"


class Rename(msgspec.Struct, frozen=True):
    """The keyword of the argument `at`, the last name of the attribute `at` or the name `at` becomes another one."""

    at: object
    name: str


class Rewrite(msgspec.Struct, frozen=True):
    """The expression `at` becomes another one: `template`, in which `{0}` stands for the first of the `parts`, ….

    Parts are expressions inside of `at`, which are taken over as they are written.
    """

    at: object
    template: str
    parts: tuple[object, ...] = ()


class EditCall(msgspec.Struct, frozen=True):
    """The keyword arguments of the call `at`: some are given another value, or added, and some are left out."""

    at: object
    given: tuple[tuple[str, str], ...] = ()
    without: tuple[str, ...] = ()


class NameArgument(msgspec.Struct, frozen=True):
    """The positional argument `at` of a call is given by keyword, as are all others if it `is_one_of_many`."""

    at: object
    keyword: str
    is_one_of_many: bool = False


class CallFunction(msgspec.Struct, frozen=True):
    """The call `at` of a method becomes that of a function, which is given the receiver first."""

    at: object
    function: str


class Decorate(msgspec.Struct, frozen=True):
    """Decorators, as they are written behind the `@`, are put above those of the class or function `at`."""

    at: object
    decorators: tuple[str, ...]


class MoveDecorator(msgspec.Struct, frozen=True):
    """The decorator whose expression is `at` goes under the decorator `below` of the same class or function."""

    at: object
    below: object


class EditClass(msgspec.Struct, frozen=True):
    """The class whose name stands `at` gets more bases, behind those that it has, and keywords."""

    at: object
    bases: tuple[str, ...] = ()
    given: tuple[tuple[str, str], ...] = ()


class ReturnLast(msgspec.Struct, frozen=True):
    """The function `at`, which returns nothing, returns `value` at its end, and wherever it returns."""

    at: object
    value: str


class MakeHashable(msgspec.Struct, frozen=True):
    """The expression `at` becomes one that can be hashed: a tuple instead of a list, a frozenset instead of a set.

    Displays are written as tuples, those inside of them, too; around what is no display `function` is called.
    """

    at: object
    function: str


class DropOption(msgspec.Struct, frozen=True):
    """The option `name` of the call `at` goes, or of its display, string or number those `items` that are given.

    A decorator that is left without options is no call any more.
    """

    at: object
    name: str
    items: tuple[str | int, ...] = ()


class RenameFunction(msgspec.Struct, frozen=True):
    """What is called, or used as a decorator, `at`, another function: `last` is how its dotted name ends now.

    It may be the first argument of a `partial`.
    """

    at: object
    last: str
    code: str


class DropMarker(msgspec.Struct, frozen=True):
    """The subscript with the name `at` in front, such as `Static[int]`, becomes what stands in its brackets."""

    at: object


class HoistMarker(msgspec.Struct, frozen=True):
    """The subscript with the name `marker` in front goes around all of the annotation `at`, in which it stands."""

    at: object
    marker: object


class MoveField(msgspec.Struct, frozen=True):
    """The declaration of the field whose name stands `at` goes in front of another one of the same class."""

    at: object
    before: object


class Annotate(msgspec.Struct, frozen=True):
    """The name `at`, to which the body of a class assigns, is annotated.

    With a `function`, such as `dataclasses.field`, the value is made anew for each instance.
    """

    at: object
    annotation: str
    function: str = ""


class CallSetattr(msgspec.Struct, frozen=True):
    """What is assigned to the attribute `at` of an instance is set with `object.__setattr__`."""

    at: object


class SetItem(msgspec.Struct, frozen=True):
    """What is assigned to the item `at` of a dict goes into a copy of the dict, and that into a copy of what holds it.

    `template` makes the copy out of `{value}`, and is assigned to `base`; `held` is the dict as it is written. There
    is no fix if nobody would see the copy, unless another change returns it (`is_returned`).
    """

    at: object
    base: str
    template: str
    held: str
    is_returned: bool = False


class TakeResult(msgspec.Struct, frozen=True):
    """`step(x)` becomes `x = step(x)`: an argument of the function named `at` is bound to the result of the call.

    The call stands alone. The argument is the one for `parameter`, at `position`; -1 is the object before the dot. It
    is a variable, or one of the `attributes` of a variable. Names of other things stay as they are; those of methods
    stand behind a dot, and the object before it has the last name of one of the `owners`. There is no fix where the
    function is handed on, or its result is used.
    """

    at: object
    parameter: str
    position: int
    attributes: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()


class ReturnAlso(msgspec.Struct, frozen=True):
    """The function `at`, which returns something wherever it ends, returns a pair of that and the variable `name`."""

    at: object
    name: str


class TakeAlso(msgspec.Struct, frozen=True):
    """`y = f(x)` becomes `y, x = f(x)`: an argument is bound to the second part of what `ReturnAlso` makes it return.

    `at` is a name of the function. The call is a statement, or assigned to one target; the argument is that for
    `parameter`, found by `position` as in `TakeResult`, and can be assigned. There is no fix where the function is
    handed on, unless to a compiler.
    """

    at: object
    parameter: str
    position: int
    attributes: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()


class AddParameter(msgspec.Struct, frozen=True):
    """The function or lambda `at` gets another parameter, without a default."""

    at: object
    name: str


class PassAttribute(msgspec.Struct, frozen=True):
    """If the name `at` is that of what is called, it is given the `attribute` of its receiver, too.

    That is by a keyword, or in front of all others. A variable that is called holds the compiled `method` of something,
    and is given the attribute of that. There is no fix where the method is handed on to anything but what compiles it
    and what has one of the `names`, which are looked at, too.
    """

    at: object
    keyword: str
    attribute: str
    method: str = ""
    names: tuple[str, ...] = ()


class CallLogical(msgspec.Struct, frozen=True):
    """The `operator`, `and`, `or` or `not`, around the expression `at` becomes a call of a function."""

    at: object
    operator: str
    function: str


class ChooseByCall(msgspec.Struct, frozen=True):
    """What `if` chooses by the expression `at`, two values that are returned or assigned, a function chooses.

    It is given the test, and two functions without parameters or the values themselves.
    """

    at: object
    function: str
    takes_values: bool = False


class Remove(msgspec.Struct, frozen=True):
    """What stands `at` goes: a decorator, a statement that is an expression, an argument, or the item of a display."""

    at: object


class EditField(msgspec.Struct, frozen=True):
    """The value of the field whose name stands at `at`: what its field function is given, or what becomes its default.

    `is_call` says whether its value is the call of a field function now; `function` is how one is written that takes
    its place (or is needed). Keywords are `given`, or go (`without`), as does the key `metadata` of the metadata. With
    `factory`, the default is made anew for each instance. A call without arguments is left out, unless `says_role`.
    """

    at: object
    is_call: bool
    function: str = ""
    given: tuple[tuple[str, str], ...] = ()
    without: tuple[str, ...] = ()
    metadata: str = ""
    factory: bool = False
    says_role: bool = False


class MoveItem(msgspec.Struct, frozen=True):
    """The string `item` goes from the list or tuple display `at` to the end of the one at `to`."""

    at: object
    to: object
    item: str


class AddItems(msgspec.Struct, frozen=True):
    """Strings go to the end of the list or tuple display `at`."""

    at: object
    items: tuple[str, ...]


class InsertLine(msgspec.Struct, frozen=True):
    """The statement `code` goes in front of the line that `at` stands in, or of the loop, or behind it."""

    at: object
    code: str
    is_behind: bool = False


class MakeFactory(msgspec.Struct, frozen=True):
    """The `__post_init__` at `at`, which computes some of the `fields`, becomes a classmethod that takes them.

    It is called `name`, has these `parameters`, as they are written, and `returns` an instance.
    """

    at: object
    name: str
    fields: tuple[str, ...]
    parameters: tuple[str, ...]
    returns: str


class CallFactory(msgspec.Struct, frozen=True):
    """If the name `at` is that of a class which is called, its classmethod `name` is called instead.

    There is no fix where the class is handed on to what may call it.
    """

    at: object
    name: str


class ReplaceBody(msgspec.Struct, frozen=True):
    """The function `at` consists of these lines, behind its docstring; there is no fix if a comment would be lost."""

    at: object
    lines: tuple[str, ...]


class BeginBody(msgspec.Struct, frozen=True):
    """The function `at` begins with the statement `code`, behind its docstring."""

    at: object
    code: str


class NameItem(msgspec.Struct, frozen=True):
    """The item `at` of a `with` statement gets a name: `as name`."""

    at: object
    name: str


class EnterBlock(msgspec.Struct, frozen=True):
    """The call `at`, which a line assigns or makes alone, is entered: `with call as name:`.

    What follows in the same block goes inside, up to the row `last_row`.
    """

    at: object
    name: str
    last_row: int


class EditText(msgspec.Struct, frozen=True):
    """Edits of what is no code, like comments."""

    edits: tuple[Edit, ...]


Change: TypeAlias = (
    UpdateField
    | AssignTo
    | Rename
    | Rewrite
    | EditCall
    | NameArgument
    | CallFunction
    | Decorate
    | MoveDecorator
    | EditClass
    | ReturnLast
    | MakeHashable
    | DropOption
    | RenameFunction
    | DropMarker
    | HoistMarker
    | MoveField
    | Annotate
    | SetItem
    | CallSetattr
    | TakeResult
    | ReturnAlso
    | TakeAlso
    | AddParameter
    | PassAttribute
    | CallLogical
    | ChooseByCall
    | Remove
    | EditField
    | MoveItem
    | AddItems
    | InsertLine
    | MakeFactory
    | CallFactory
    | ReplaceBody
    | BeginBody
    | NameItem
    | EnterBlock
    | EditText
)


class Proposal(msgspec.Struct, frozen=True):
    """A fix as a rule knows it; `title` is an imperative sentence.

    There is none after all if one of the changes cannot be made out in the code; then what is proposed `otherwise`.
    """

    title: str
    applicability: Applicability
    changes: tuple[Change, ...]
    imports: tuple[NeededImport, ...] = ()
    otherwise: Proposal | None = None

    def or_else(self, other: Proposal) -> Proposal:
        """The fix, or another one if neither it nor what it proposes otherwise can be made."""
        return replace(self, otherwise=other if self.otherwise is None else self.otherwise.or_else(other))

    def as_unsafe(self) -> Proposal:
        """The fix where what it mends may be meant for something else."""
        otherwise = None if self.otherwise is None else self.otherwise.as_unsafe()
        is_safe = self.applicability is Applicability.SAFE
        return replace(self, applicability=Applicability.UNSAFE if is_safe else self.applicability, otherwise=otherwise)
