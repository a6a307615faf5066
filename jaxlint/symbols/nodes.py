"""What a node of an `ast` tree says by itself, for the outline."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any

from jaxlint.libraries.arrays import ARRAY_TRAITS
from jaxlint.libraries.static_arguments import SHAPED
from jaxlint.symbols.outline import (
    CLASS_PARAMETERS,
    EXPECTS_ERROR,
    SEARCHES,
    SUPPRESSING,
    UNRELATED_ERRORS,
    UPDATING,
    ClassAssignment,
    FieldDeclaration,
    Parameter,
)
from jaxlint.syntax.ast_expressions import from_ast, span_of
from jaxlint.syntax.expressions import Call

#: `try` with `except*`, of Python 3.11.
TRY_STAR: Any = getattr(ast, "TryStar", ast.Try)


def body_rows(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int]:
    """The first and the last row of a body; the first is that of the `def` if it begins beside it."""
    return node.body[0].lineno, node.end_lineno or 0


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def variables_of(node: ast.AST) -> list[str]:
    """The variables of a lambda or a comprehension."""
    if isinstance(node, ast.Lambda):
        args = node.args
        extra = [a for a in (args.vararg, args.kwarg) if a is not None]
        return [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, *extra)]
    targets = [g.target for g in node.generators]  # type: ignore[attr-defined]
    return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]


#: Methods that make an instance.
_MAKING = frozenset({"__init__", "__new__", "__post_init__"})


def class_body(node: ast.ClassDef) -> tuple[list[FieldDeclaration], list[ClassAssignment], bool]:
    """The annotated and unannotated names of a class body, and whether some may be hidden in blocks."""
    fields: list[FieldDeclaration] = []
    assignments: list[ClassAssignment] = []
    conditional = False
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name) as target, annotation=annotation, value=value):
                fields.append(
                    FieldDeclaration(
                        name,
                        from_ast(annotation),
                        from_ast(value) if value is not None else None,
                        span_of(statement),
                        span_of(target),
                    )
                )
            case ast.Assign(targets=targets, value=assigned):
                for bound in targets:
                    names = bound.elts if isinstance(bound, (ast.Tuple, ast.List)) else [bound]
                    whole = bound if isinstance(bound, ast.Name) else None
                    assignments += [
                        ClassAssignment(
                            n.id, from_ast(assigned) if whole is not None else None, span_of(statement), span_of(n)
                        )
                        for n in names
                        if isinstance(n, ast.Name)
                    ]
                conditional = conditional or any(a.name in _MAKING for a in assignments)  # by what is not seen here
            case ast.If(test=test) if _is_type_checking(test):
                conditional = conditional or any(isinstance(s, ast.AnnAssign) for s in statement.body)
            case ast.If() | ast.For() | ast.While() | ast.With() | ast.Try() | TRY_STAR() | ast.Match():
                conditional = True
    return fields, assignments, conditional


def parameters_of(args: ast.arguments) -> list[Parameter]:
    """The parameters of a function, in the order in which they are written."""
    positional = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
    defaults += args.defaults
    out = [_parameter(a, d, "positional") for a, d in zip(positional, defaults, strict=True)]
    if args.vararg is not None:
        out.append(_parameter(args.vararg, None, "*"))
    out += [_parameter(a, d, "keyword") for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg is not None:
        out.append(_parameter(args.kwarg, None, "**"))
    return out


def _parameter(arg: ast.arg, default: ast.expr | None, kind: str) -> Parameter:
    return Parameter(
        arg.arg,
        from_ast(arg.annotation) if arg.annotation is not None else None,
        from_ast(default) if default is not None else None,
        kind,
        span_of(arg),
    )


def expects_error(items: list[ast.withitem]) -> bool:
    """Whether a `with` statement expects an error in its body."""
    for item in items:
        func = item.context_expr.func if isinstance(item.context_expr, ast.Call) else None
        name = "" if func is None else last_name(func)
        if name in EXPECTS_ERROR and isinstance(item.context_expr, ast.Call):
            errors = item.context_expr.args
            return name != SUPPRESSING or any(last_name(error) not in UNRELATED_ERRORS for error in errors)
    return False


def updated_array(call: ast.Call) -> ast.expr | None:
    """The array `x` of `x.at[i].set(v)`, or None."""
    match call.func:
        case ast.Attribute(value=ast.Subscript(value=ast.Attribute(value=array, attr="at"))):
            return array
    return None


def updated_by(value: ast.Call) -> ast.expr | None:
    """What a call makes a copy of with changes, or None."""
    array = updated_array(value)
    if array is not None:
        return array
    match value.func:
        case ast.Attribute(value=receiver, attr=name) if name in UPDATING and value.keywords and not value.args:
            return receiver
        case ast.Attribute(attr=name) | ast.Name(id=name) if name in UPDATING and value.args:
            return value.args[1 if name == "tree_at" and len(value.args) > 1 else 0]
    return None


def copied_by(value: ast.Call) -> ast.expr | None:
    """What a call makes a copy of with changes, `TrainState.apply_gradients` among them, or None."""
    func = value.func
    if type(func) is ast.Attribute and func.attr == "apply_gradients" and not value.args:
        return func.value
    return updated_by(value)


def starts_again(first: ast.Assign, second: ast.Assign, modules: Collection[str]) -> bool:
    """Whether a variable is given what two calls make of one thing: `y = f(x)`, and `y = g(x)` after that.

    The second one may be arithmetic, if the first one is an update: `y = x.at[0].set(1)`, and `y = 2 * x`.
    """
    target, again, one, other = first.targets[0], second.targets[0], first.value, second.value
    if type(target) is not ast.Name or type(again) is not ast.Name or target.id != again.id:
        return False
    if type(other) is ast.BinOp:
        updated = updated_by(one) if type(one) is ast.Call else None
        return updated is not None and any(ast.dump(part) == ast.dump(updated) for part in ast.walk(other))
    if type(one) is not ast.Call or type(other) is not ast.Call:
        return False
    before: set[str] = set()
    for expr in (*one.args, getattr(one.func, "value", None)):
        if type(expr) is ast.Name and expr.id not in modules:
            before.add(expr.id)
    shared = False
    for expr in (*other.args, getattr(other.func, "value", None)) if before else ():
        if type(expr) is ast.Name:
            if expr.id == target.id:
                return False
            shared = shared or expr.id in before
    return shared and last_name(one.func) != last_name(other.func)


def item_of(value: ast.expr, index: int) -> ast.expr:
    """`value[index]`, standing where `value` stands: what unpacking assigns to one of the targets."""
    item = ast.copy_location(ast.Constant(index), value)
    return ast.copy_location(ast.Subscript(value, item, ast.Load()), value)


def takes_class(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the first parameter of a function is called as one is that takes a class."""
    return bool(node.args.args) and node.args.args[0].arg in CLASS_PARAMETERS


def effects_of(body: list[ast.stmt]) -> list[Call]:
    """The calls among some statements."""
    calls = [from_ast(s.value) for s in body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
    return [call for call in calls if isinstance(call, Call)]


def only_returns(body: list[ast.stmt]) -> bool:
    """Whether statements only bind local names, define functions and return."""
    for statement in body:
        match statement:
            case ast.Return() | ast.FunctionDef() | ast.Import() | ast.ImportFrom():
                continue
            case ast.Pass() | ast.Raise() | ast.Assert():
                continue
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.Assign(targets=[ast.Name()]) | ast.AnnAssign(target=ast.Name()):
                continue
            case ast.Assign(targets=[ast.Tuple(elts=items)]) if all(isinstance(item, ast.Name) for item in items):
                continue
            case ast.If(body=inner, orelse=orelse) if only_returns(inner) and only_returns(orelse):
                continue
        return False
    return True


def rows_of(node: ast.stmt, lines: list[str]) -> tuple[int, int]:
    """The first and last row of a statement; its first decorator may begin below its `@`."""
    first = node.lineno
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.decorator_list:
        first = node.decorator_list[0].lineno
        while first > 1 and not lines[first - 1].lstrip(" \t\f").startswith("@"):
            first -= 1
    return first, node.end_lineno or first


def grouped(body: list[ast.stmt], lines: list[str]) -> Iterator[tuple[int, int, str, list[ast.stmt]]]:
    """The units that some statements make up: the first and the last row of each, its kind, and its statements."""
    first = last = 0
    kind, statements = "", list[ast.stmt]()
    for statement in body:
        begins, ends = rows_of(statement, lines)
        own_kind = _unit_kind(statement)
        if statements and last >= begins:
            kind = kind if kind == own_kind else "code"
            statements.append(statement)
        else:
            if statements:
                yield first, last, kind, statements
            first, kind, statements = begins, own_kind, [statement]
        last = ends
    if statements:
        yield first, last, kind, statements


def _unit_kind(node: ast.stmt) -> str:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return "import"
    return "definition" if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else "code"


def type_checking_guards(test: ast.expr) -> tuple[str, str]:
    """What a test of TYPE_CHECKING says of the branch below it, and of the `else` branch."""
    if _is_type_checking(test):
        return "type_checking", "runtime"
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and _is_type_checking(test.operand):
        return "runtime", "type_checking"
    return "", ""


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


#: Attributes that are no pytrees.
_PLAIN_ATTRIBUTES = ARRAY_TRAITS | {"name", "__class__", "__name__"}
#: What items are stored under, mostly: numbers and strings.
_INDICES = frozenset("i j k l m n t u v x y z idx index indices key keys name names step mask slot row col pos".split())
#: Functions and methods of Python whose results are compared all over.
_OF_BUILTINS = frozenset(
    """abs bool dict float frozenset get getattr hash id int isinstance keys len list lower max min repr round set
    sorted str sum tuple type upper""".split()
)
_EQUALITY = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
#: The modules whose functions return arrays, as they are mostly called, and methods of arrays.
_ARRAY_MODULES = frozenset({"jnp", "np", "jax", "lax", "numpy", "random", "nn"})
_ARRAY_METHODS = frozenset(
    {"astype", "reshape", "set", "add", "sum", "mean", "copy", "transpose", "squeeze", "flatten"}
)
_CHOICES = frozenset({"where", "select", "select_n", "stack", "concatenate"})


def hashes_objects(node: ast.Set | ast.Dict) -> bool:
    """Whether a thing that has a name is a member of a set, or a key of a dict."""
    keys = node.elts if isinstance(node, ast.Set) else node.keys
    return any(key is not None and _is_object(key) for key in keys)


def stores_by_object(index: ast.expr) -> bool:
    """Whether an item is stored under what has a name, and not the name of a number or a string."""
    return isinstance(index, ast.Name) and _is_key(index)


def looks_up_object(call: ast.Call) -> bool:
    """Whether a method of what may be a dict or a set hashes what has a name, or a tuple of such things."""
    held = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not isinstance(held, (ast.Name, ast.Attribute)) or last_name(held) in _ARRAY_MODULES:
        return False
    return bool(call.args) and _is_key(call.args[0])


def collects_objects(node: ast.AST) -> bool:
    """Whether a comprehension makes a set of things that have names, or a dict with such keys."""
    made = node.elt if isinstance(node, ast.SetComp) else node.key if isinstance(node, ast.DictComp) else None
    return made is not None and _is_key(made)


def _is_key(node: ast.expr) -> bool:
    """Whether what is hashed has a name, and not the name of a number or a string; or is a tuple of such things."""
    if isinstance(node, ast.Tuple):
        return any(map(_is_key, node.elts))
    return _is_object(node) and last_name(node) not in _INDICES


def compares_objects(node: ast.Compare) -> bool:
    """Whether two things that have names are compared, or one is looked for in the other."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], _EQUALITY) or not _may_be_object(node.left):
        return False
    other = node.comparators[0]
    if isinstance(node.ops[0], (ast.In, ast.NotIn)) and isinstance(other, ast.Name):
        return True
    return _may_be_object(other) or isinstance(other, (ast.List, ast.Tuple))


def _may_be_object(node: ast.expr) -> bool:
    """Whether what is compared has a name, is an item of such a thing, or is made by a function of the user's."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, (ast.Name, ast.Attribute)) and last_name(node.func) not in _OF_BUILTINS
    return _is_object(_container(node))


def _container(node: ast.expr) -> ast.expr:
    """What an item is taken out of."""
    return node.value if isinstance(node, ast.Subscript) else node


def chooses_objects(call: ast.Call) -> bool:
    """Whether a function that chooses between arrays, stacks them or looks for one is given things that have names.

    A call of a function or method of the user's may return such a thing.
    """
    name = last_name(call.func)
    if name in SEARCHES:
        return len(call.args) == 1 and _is_object(call.args[0])
    if name not in _CHOICES or not call.args:
        return False
    first = call.args[0]
    given = first.elts if isinstance(first, (ast.List, ast.Tuple)) else call.args[1:]
    others = [one for one in given if not (isinstance(one, ast.Call) and isinstance(one.func, ast.Name))]
    return len(given) > 1 and bool(others) and all(_is_object(one) or _may_make_object(one) for one in others)


def _may_make_object(node: ast.expr) -> bool:
    """Whether a call may be one of a method of the user's."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    held, attr = node.func.value, node.func.attr
    is_library = isinstance(held, ast.Name) and held.id in _ARRAY_MODULES
    return isinstance(held, (ast.Name, ast.Attribute)) and not is_library and attr not in _ARRAY_METHODS


def _is_object(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr not in _PLAIN_ATTRIBUTES
    return isinstance(node, ast.Name) and not node.id.isupper()


def asks_attribute(node: ast.Call | ast.Slice) -> bool:
    """Whether a slice, a shape or the number of turns of a loop is made of an attribute: a tracer cannot be asked."""
    if isinstance(node, ast.Slice):
        return any(map(_is_of_attribute, (node.lower, node.upper)))
    name = last_name(node.func)
    if name == "range":
        return any(map(_is_of_attribute, node.args))
    if name not in SHAPED:
        return False
    position, keyword = SHAPED[name]
    given = [*node.args[position : position + 1], *(k.value for k in node.keywords if k.arg == keyword)]
    asked = (part for one in given for part in (one.elts if isinstance(one, (ast.Tuple, ast.List)) else (one,)))
    return any(map(_is_of_attribute, asked))


def _is_of_attribute(node: ast.expr | None) -> bool:
    """Whether a number is an attribute of a variable, which no array has, or is computed from one."""
    match node:
        case ast.UnaryOp(operand=operand):
            return _is_of_attribute(operand)
        case ast.BinOp(left=left, right=right):
            return _is_of_attribute(left) or _is_of_attribute(right)
        case ast.Attribute(value=ast.Name(), attr=attr):
            return attr not in ARRAY_TRAITS
    return False


def type_parameters(node: ast.ClassDef) -> tuple[str, ...]:
    """The type parameters of a class, where the running Python reads them; none if one stands for several types."""
    parameters = getattr(node, "type_params", ())
    is_plain = all(type(parameter).__name__ == "TypeVar" for parameter in parameters)
    return tuple(parameter.name for parameter in parameters) if is_plain else ()
