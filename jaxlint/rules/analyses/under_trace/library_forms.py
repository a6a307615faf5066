"""What functions and methods of JAX, and of libraries beside it, make of the forms that they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from jaxlint.libraries.arrays import ARRAY_METHODS, returned_library
from jaxlint.libraries.updates import BY_GRADIENTS
from jaxlint.rules.analyses.under_trace.forms import (
    DECLARED_ARRAY,
    SOMETHING,
    UNKNOWN,
    Form,
    Held,
    Leaf,
    State,
    promoted,
)
from jaxlint.rules.analyses.under_trace.things import Thing, form_of, unpacked
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Constant,
    Display,
    Expr,
    Lambda,
    Name,
    Subscript,
    Unary,
    dotted,
    last_name,
    selected_by,
)

#: Functions that make an array of a dtype that may be given, by the position of the dtype.
_FILLED = {"zeros": 1, "ones": 1, "empty": 1, "eye": 3, "identity": 1}
_LIKE = frozenset({"zeros_like", "ones_like", "empty_like", "full_like"})
#: The kind of numbers that a dtype stands for, by its name.
_DTYPES = {
    **dict.fromkeys("int8 int16 int32 int64 uint8 uint16 uint32 uint64 int int_ uint".split(), "int"),
    **dict.fromkeys("float16 float32 float64 bfloat16 float float_ double single half".split(), "float"),
    **dict.fromkeys(("bool", "bool_"), "bool"),
}
#: Functions of jax.numpy that give floats for any number, that keep the kind, and those that give another.
_TO_FLOAT = frozenset(
    """exp exp2 expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh arcsin arccos arctan mean std var
    true_divide divide sigmoid softplus linspace""".split()
)
_KEEPING = frozenset(
    """max min amax amin maximum minimum abs absolute add subtract multiply mod remainder floor_divide negative square
    clip roll reshape ravel squeeze transpose flip sort""".split()
)
_SUMS = frozenset({"sum", "prod", "cumsum", "cumprod"})
_TO_BOOLEAN = frozenset(
    """any all isnan isinf isfinite logical_and logical_or logical_not logical_xor equal not_equal less less_equal
    greater greater_equal array_equal allclose""".split()
)
#: Other functions that give floats or complex numbers.
_INEXACT = frozenset(f"jax.numpy.linalg.{name}" for name in "norm det inv pinv solve cholesky cond".split())
_TO_INTEGER = frozenset({"argmax", "argmin", "argsort", "count_nonzero", "searchsorted"})
_RANDOM = {"normal": "float", "uniform": "float", "gumbel": "float", "randint": "int", "bernoulli": "bool"}
_RANDOM |= {"categorical": "int", "exponential": "float", "truncated_normal": "float", "laplace": "float"}
#: Functions that choose between two arrays, and the parts of jax whose functions take arrays and no trees.
_CHOOSING = frozenset({"where", "select"})
_OF_JAX = frozenset({"jax.numpy", "jax.nn", "jax.lax"})
#: Functions of jax.lax that return the tree that they are given, with numbers of another kind perhaps.
_OVER_DEVICES = frozenset({"psum", "pmean", "pmax", "pmin"})


def is_integer(expr: Expr) -> bool:
    """Whether an expression certainly makes an array of integers, by the usual names of jax.numpy and numpy."""
    return isinstance(expr, Call) and number_kind(expr) == "int"


def number_kind(expr: Expr) -> str:
    """The kind of numbers ("int", "float", "bool") that an expression makes, by the usual names; empty if not known."""
    if isinstance(expr, Constant):
        return expr.kind if expr.kind in ("int", "float", "bool") else ""
    if isinstance(expr, Unary):
        return number_kind(expr.operand)
    library, _, name = (dotted(expr.func) or "").rpartition(".") if isinstance(expr, Call) else ("", "", "")
    if not isinstance(expr, Call) or library not in ("jnp", "jax.numpy", "np", "numpy"):
        return ""
    keywords = {a.keyword: a.value for a in expr.args if a.keyword is not None}
    given = [Leaf(number_kind(value), None) for value in expr.positional]
    found = called(f"jax.numpy.{name}", given, expr.positional, keywords)
    return found.kind if isinstance(found, Leaf) else ""


def gives_floats(name: str) -> bool:
    """Whether a function of a library gives floats for any real number."""
    head, _, last = name.rpartition(".")
    return head in ("jax.numpy", "numpy", "jax.nn", "jax.lax") and last in _TO_FLOAT


def is_key(expr: Expr) -> bool:
    """Whether an expression certainly makes a key of jax.random, by its usual names."""
    name = dotted(expr.func) if isinstance(expr, Call) else None
    return name in ("jax.random.PRNGKey", "jax.random.key", "jrandom.PRNGKey", "random.PRNGKey", "jax.random.split")


def dtype_kind(expr: Expr | None) -> str:
    """The kind of numbers that a dtype stands for; empty if that is not known."""
    return "" if expr is None else _DTYPES.get(last_name(expr), "")


def called(name: str, given: Sequence[Form], positional: Sequence[Expr], keywords: Mapping[str, Expr]) -> Form:
    """What the function `name` of a library returns; `given` is what its arguments are."""
    head, _, last = name.rpartition(".")
    if given and name == "jax.lax.stop_gradient":
        return given[0]
    if given and head == "jax.lax" and last in _OVER_DEVICES:
        return _without_numbers(given[0])
    if (State in map(type, given) or last in _CHOOSING) and head in _OF_JAX and _may_refuse(last, given):
        return SOMETHING
    if head in ("jax.numpy", "numpy", "jax.nn", "jax.lax"):
        found = _of_numbers(last, given, positional, keywords)
        if found is not None:
            return found if head != "numpy" or found.kind == "" else Leaf(found.kind, False)
    if head == "jax.random":
        return Leaf(_RANDOM.get(last, "") if "dtype" not in keywords else "", False)
    if returned_library(name) is not None:
        return Leaf("inexact" if name in _INEXACT else "")
    if name in ("builtins.int", "builtins.float", "builtins.bool"):
        return Leaf(last, weak=True)
    return SOMETHING if head in ("jax.numpy", "numpy", "jax.nn") else UNKNOWN


def _may_refuse(last: str, given: Sequence[Form]) -> bool:
    """Whether a function of arrays is given a whole instance, or chooses from what may be trees: an error (JAX518)."""
    if last in _CHOOSING and len(given) == 3:
        return not any(isinstance(form, Leaf) or form == DECLARED_ARRAY for form in given[1:])
    return State in map(type, given)


def _of_numbers(
    last: str, given: Sequence[Form], positional: Sequence[Expr], keywords: Mapping[str, Expr]
) -> Leaf | None:
    """What a function of jax.numpy returns, where the kind of its numbers may be known."""
    dtype = keywords.get("dtype")
    first = given[0] if given else UNKNOWN
    if last in _DTYPES:
        return Leaf(_DTYPES[last], False)
    if last in _FILLED:
        if dtype is None and len(positional) > _FILLED[last]:
            dtype = positional[_FILLED[last]]
        return Leaf("float" if dtype is None else dtype_kind(dtype), False)
    if last in ("array", "asarray", "full") or last in _LIKE:
        return _converted(last, first, given, positional, dtype)
    if dtype is not None:
        return Leaf(dtype_kind(dtype), False)
    if last in _TO_BOOLEAN:
        return Leaf("bool", False)
    if last in _TO_INTEGER:
        return Leaf("int", False)
    if last == "where" and len(given) == 3:
        return _number(promoted(given[1:]))
    if last == "select" and len(given) == 3 and isinstance(given[1], Leaf) and isinstance(given[2], Leaf):
        return _number(promoted(given[1:])) if given[1].kind == given[2].kind else Leaf()
    if last in _TO_FLOAT:
        is_real = isinstance(first, Leaf) and first.kind in ("bool", "int", "float")
        return Leaf("float", first.weak) if isinstance(first, Leaf) and is_real else Leaf("inexact")
    if last in _KEEPING:
        return _number(promoted(given[:2] if last in ("maximum", "minimum", "add", "subtract") else given[:1]))
    if last in _SUMS:
        return first if isinstance(first, Leaf) and first.kind in ("int", "float", "inexact") else Leaf()
    return None


def _converted(last: str, first: Form, given: Sequence[Form], positional: Sequence[Expr], dtype: Expr | None) -> Leaf:
    """What a function makes that takes the type of its argument, unless another one is passed."""
    position = 2 if last == "full" or last == "full_like" else 1
    if dtype is None and len(positional) > position:
        dtype = positional[position]
    if dtype is not None:
        return Leaf(dtype_kind(dtype), False)
    source = given[1] if last == "full" and len(given) > 1 else first
    if isinstance(source, Held) and last in ("array", "asarray"):
        return Leaf(_number(promoted(list(source.entries.values()))).kind, False)
    if not isinstance(source, Leaf):
        return Leaf()
    return Leaf(source.kind, False if source.weak is False else None)  # of a Python number it is weak, as the number is


def _without_numbers(form: Form) -> Form:
    """What has the structure of a tree, for all that is known."""
    match form:
        case State():
            return replace(form, fields={})
        case Leaf():
            return Leaf()
    return UNKNOWN


def _number(form: Form) -> Leaf:
    return Leaf(form.kind, form.weak) if isinstance(form, Leaf) else Leaf()


def method(leaf: Leaf, name: str, given: Sequence[Form], positional: Sequence[Expr]) -> Form:
    """What the method of an array returns."""
    if not leaf.sure:
        found = method(Leaf(leaf.kind, leaf.weak), name, given, positional)
        return replace(found, sure=False) if isinstance(found, Leaf) else found
    if name == "astype":
        return Leaf(dtype_kind(positional[0]) if positional else "", False)
    if name in _TO_BOOLEAN:
        return Leaf("bool", False)
    if name in _TO_INTEGER:
        return Leaf("int", False)
    if name in ("mean", "std", "var"):
        return Leaf("float", leaf.weak) if leaf.kind in ("bool", "int", "float") else Leaf("inexact")
    if name in _SUMS:
        return leaf if leaf.kind in ("int", "float", "inexact") else Leaf()
    if name in ("max", "min") or name in ARRAY_METHODS:
        return leaf if name not in ("view", "argsort") else Leaf()
    return UNKNOWN


def placed_at(where: Expr, tree: State, put: Thing | None) -> State:
    """What `eqx.tree_at` makes of an instance."""
    _, items = selected_by(where) or ("", ())
    form = UNKNOWN if put is None else form_of(put)
    values = unpacked(form, len(items)) if isinstance(where, Lambda) and isinstance(where.body, Display) else [form]
    fields = dict(tree.fields)
    for index, item in enumerate(items):
        chain = item
        while isinstance(chain, (Attribute, Subscript)) and not isinstance(chain.value, Name):
            chain = chain.value
        if not isinstance(chain, Attribute):
            return State(tree.cls, {}, tree.exact)
        fields[chain.attr] = values[index] if chain is item and values is not None else UNKNOWN
    return State(tree.cls, fields if items else {}, tree.exact)


def without_step(state: State) -> State:
    """What is known of a `TrainState` but for what each step changes."""
    return replace(state, fields={n: f for n, f in state.fields.items() if n not in BY_GRADIENTS})
