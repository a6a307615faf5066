"""Expressions tried on numbers: a small arithmetic of numbers and arrays, for questions such as "is this idempotent?".

Nothing is proved by it but the opposite: two numbers that differ are a counterexample. None is what cannot be computed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec


class Items(msgspec.Struct, frozen=True):
    """A list or tuple of Python's."""

    items: tuple[Number, ...]


#: A number, an array (as a tuple), a list, or None.
Number: TypeAlias = "float | tuple[Number, ...] | Items | None"

#: Differences that are smaller, as parts of the values, do not count: nobody means anything by them
#: (`x / (norm(x) + 1e-6)`).
_TOLERANCE = 5e-3
#: Differences below that come from rounding (`(x - x.mean()).mean()`).
_ROUNDING = 1e-12

CONSTANTS = {
    f"{module}.{name}": getattr(math, name) for module in ("math", "numpy", "jax.numpy") for name in ("pi", "e")
}
CONSTANTS["math.tau"] = math.tau


def _modulo(a: float, b: float) -> float:
    return a % b


OPERATORS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": _modulo,
    "**": lambda a, b: float(a**b) if a >= 0 or b == int(b) else math.nan,
}
_BINARY: dict[str, Callable[[float, float], float]] = {
    "add": OPERATORS["+"],
    "subtract": OPERATORS["-"],
    "multiply": OPERATORS["*"],
    "divide": OPERATORS["/"],
    "true_divide": OPERATORS["/"],
    "floor_divide": OPERATORS["//"],
    "mod": _modulo,
    "remainder": _modulo,
    "fmod": math.fmod,
    "power": OPERATORS["**"],
    "pow": OPERATORS["**"],
    "maximum": max,
    "minimum": min,
    "arctan2": math.atan2,
    "hypot": math.hypot,
    "logaddexp": lambda a, b: math.log(math.exp(a) + math.exp(b)),
}
_UNARY: dict[str, Callable[[float], float]] = {
    **{name: getattr(math, name) for name in "exp expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh".split()},
    **{f"arc{name}": getattr(math, f"a{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: getattr(math, name) for name in ("radians", "degrees")},
    "deg2rad": math.radians,
    "rad2deg": math.degrees,
    "square": lambda a: a * a,
    "reciprocal": lambda a: 1 / a,
    "negative": lambda a: -a,
    "exp2": lambda a: float(2**a),
    "cbrt": lambda a: math.copysign(abs(a) ** (1 / 3), a),
    "abs": abs,
    "absolute": abs,
    "fabs": abs,
    "sign": lambda a: float((a > 0) - (a < 0)),
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "rint": round,
    "sigmoid": lambda a: 1 / (1 + math.exp(-a)),
    "softplus": lambda a: math.log1p(math.exp(a)),
    "relu": lambda a: max(a, 0.0),
    "silu": lambda a: a / (1 + math.exp(-a)),
}
#: Functions that leave numbers as they are.
_SAME = frozenset(
    """float32 float64 float16 bfloat16 float complex64 copy device_put stop_gradient block_until_ready nan_to_num
    astype real""".split()
)
#: Functions that leave an array of one axis as it is.
_SAME_VECTORS = frozenset("ravel reshape squeeze flatten".split())
_CONVERSIONS = frozenset({"array", "asarray"})
_INTEGERS = frozenset({"int", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))})


def elementwise(function: Callable[..., float], *operands: Number) -> Number:
    """The function applied to numbers, and to arrays element by element."""
    arrays = [o for o in operands if isinstance(o, tuple)]
    if any(o is None or isinstance(o, Items) for o in operands) or len({len(a) for a in arrays}) > 1:
        return None
    if arrays:
        size = len(arrays[0])
        parts = [o if isinstance(o, tuple) else (o,) * size for o in operands]
        return tuple(elementwise(function, *row) for row in zip(*parts, strict=True))
    try:
        return function(*operands)
    except (ArithmeticError, ValueError):
        return math.nan


def operate(op: str, left: Number, right: Number) -> Number:
    """`left op right`."""
    if op == "+" and isinstance(left, Items) and isinstance(right, Items):
        return Items(left.items + right.items)
    return elementwise(OPERATORS[op], left, right) if op in OPERATORS else None


def apply(name: str, values: Sequence[Number], keywords: dict[str, Number]) -> Number:
    """The function `name` (the last part of its name) of some values; None for most functions and options."""
    first = values[0] if values else None
    if first is None:
        return None
    if name in _REDUCTIONS:
        return _reduced(name, first) if _whole(values, keywords) else None
    if name == "clip":
        return _clipped(values, keywords)
    if name in _JOINING and not set(keywords) - {"axis", "dtype"}:
        count, join = _JOINING[name]
        axis = [*values[count:], *(v for k, v in keywords.items() if k == "axis")]
        return None if None in axis else join(values[:count], axis[0] if axis else None)
    if keywords and set(keywords) - {"dtype"}:
        return None
    if name in _SAME:
        return first
    if name in _SAME_VECTORS:
        return None if _is_matrix(first) else first
    if name in _CONVERSIONS:
        return _array(first)
    if name in _FILLED:
        return _filled(first, _FILLED[name])
    if name in ("ones_like", "zeros_like"):
        return elementwise(lambda _: _FILLED[name.removesuffix("_like")], first)
    if name in _TRANSPOSING:
        return transposed(first) if name == "transpose" or _swaps(values[1:]) else None
    if name in _OF_MATRICES:
        return elementwise(_mixed, first, 1.0) if _is_matrix(first) else None
    if name in _INTEGERS:
        return elementwise(math.trunc, first)
    if name in ("round", "around"):
        digits = values[1] if len(values) > 1 else 0
        return elementwise(lambda a: round(a, int(digits)), first) if isinstance(digits, (int, float)) else None
    if name in _UNARY and len(values) == 1:
        return elementwise(_UNARY[name], first)
    if name in _BINARY and len(values) == 2:
        return elementwise(_BINARY[name], first, values[1])
    return _VECTORS[name](_floats(first)) if name in _VECTORS and len(values) == 1 and _floats(first) else None


def new_keys(name: str, values: Sequence[Number]) -> Number:
    """What the function `name` of jax.random makes of a key: other numbers, and no others when it runs again."""
    key = values[0] if values else None
    if name == "fold_in":
        data = values[1] if len(values) > 1 else None
        return elementwise(_mixed, key, 1.0 if data is None else data)
    count = values[1] if len(values) > 1 else 2
    if name != "split" or key is None or not isinstance(count, (int, float)):
        return None
    return Items(tuple(elementwise(_mixed, key, index) for index in range(int(count))))


def _mixed(key: float, data: float) -> float:
    return 2 + math.sin(12.9898 * key + 78.233 * data)


def transposed(value: Number) -> Number:
    """A matrix with its axes swapped; None for what has not two axes."""
    rows = value if isinstance(value, tuple) and _is_matrix(value) else ()
    vectors = [row for row in rows if isinstance(row, tuple)]
    same = len(vectors) == len(rows) and len({len(v) for v in vectors}) == 1
    return tuple(zip(*vectors, strict=True)) if same else None


def _is_matrix(value: Number) -> bool:
    """Whether an array has more than one axis."""
    return isinstance(value, tuple) and any(isinstance(row, tuple) for row in value)


def _swaps(axes: Sequence[Number]) -> bool:
    """Whether two axes are those of a matrix, the one and the other."""
    return {a % 2 for a in axes if isinstance(a, (int, float)) and -2 <= a < 2} == {0, 1} and len(axes) == 2


def _array(value: Number) -> Number:
    """The array that is made of a list."""
    return tuple(map(_array, value.items)) if isinstance(value, Items) else value


def _filled(shape: Number, number: float) -> Number:
    """An array of a literal shape; None if there is nothing in it."""
    sizes = shape.items if isinstance(shape, Items) else (shape,)
    filled: Number = number
    for size in reversed(sizes):
        if not isinstance(size, (int, float)) or not 0 < size <= _MAX_SIZE:
            return None
        filled = (filled,) * int(size)
    return filled


def axes(value: Number) -> int:
    """How many axes an array has."""
    return 1 + (axes(value[0]) if value else 0) if isinstance(value, tuple) else 0


def _joined(parts: Sequence[Number], axis: Number) -> Number:
    """Arrays one after the other along an axis; None unless all have it and hold something."""
    arrays = [part for part in map(_array, parts) if isinstance(part, tuple) and part]
    ranks = {axes(array) for array in arrays}
    if len(arrays) < len(parts) or len(ranks) != 1 or not isinstance(axis, (int, float)):
        return None
    if axis % max(ranks) == 0:
        return tuple(v for array in arrays for v in array)
    if len({len(array) for array in arrays}) > 1:
        return None
    rows = tuple(_joined(row, axis - 1 if axis > 0 else axis) for row in zip(*arrays, strict=True))
    return None if None in rows else rows


def _concatenated(values: Sequence[Number], axis: Number) -> Number:
    """`concatenate([x, y], axis)`."""
    return _joined(values[0].items, 0 if axis is None else axis) if isinstance(values[0], Items) else None


def _hstacked(values: Sequence[Number], axis: Number) -> Number:
    parts = values[0].items if isinstance(values[0], Items) and axis is None else (None,)
    return _joined(parts, min(1, axes(_array(parts[0])) - 1)) if parts else None


def _appended(values: Sequence[Number], axis: Number) -> Number:
    """`append(x, v)`, which makes arrays of one axis of both if it is not said which one to use."""
    flat = [v if axis is not None else (v,) if isinstance(v, (int, float)) else v for v in values]
    matrices = axis is None and any(_is_matrix(v) for v in flat)
    return None if len(values) < 2 or matrices else _joined(flat, 0 if axis is None else axis)


def _tiled(values: Sequence[Number], axis: Number) -> Number:
    """`tile(x, 2)`, `repeat(x, 2)`."""
    array, times = values if len(values) == 2 else (None, None)
    if not isinstance(times, (int, float)) or not 1 <= times <= _MAX_SIZE or axes(array) != 1:
        return None
    return _joined([array] * int(times), 0)


#: Functions that put arrays together, and how many arguments stand before `axis`.
_JOINING: dict[str, tuple[int, Callable[[Sequence[Number], Number], Number]]] = {
    "concatenate": (1, _concatenated),
    "concat": (1, _concatenated),
    "hstack": (1, _hstacked),
    "append": (2, _appended),
    "tile": (2, _tiled),
    "repeat": (2, _tiled),
}
_FILLED = {"ones": 1.0, "zeros": 0.0}
#: Functions that make another matrix of a matrix, and again another one of that: which one does not matter here.
_OF_MATRICES = frozenset({"cholesky", "inv", "pinv", "expm"})
_TRANSPOSING = frozenset({"transpose", "swapaxes", "moveaxis", "matrix_transpose"})
#: Arrays are not made longer than that.
_MAX_SIZE = 64


def _floats(value: Number) -> tuple[float, ...]:
    """The elements of an array of one axis; none if it is none."""
    if isinstance(value, tuple) and all(isinstance(v, (int, float)) and math.isfinite(v) for v in value):
        return tuple(v for v in value if isinstance(v, (int, float)))
    return ()


def _softmax(values: tuple[float, ...]) -> tuple[Number, ...]:
    total = sum(math.exp(v) for v in values)
    return tuple(math.exp(v) / total for v in values)


def _cumulated(values: tuple[float, ...], function: Callable[[float, float], float]) -> tuple[Number, ...]:
    out = [values[0]]
    for value in values[1:]:
        out.append(function(out[-1], value))
    return tuple(out)


_VECTORS: dict[str, Callable[[tuple[float, ...]], Number]] = {
    "softmax": _softmax,
    "log_softmax": lambda v: elementwise(math.log, _softmax(v)),
    "sort": lambda v: tuple(sorted(v)),
    "cumsum": lambda v: _cumulated(v, OPERATORS["+"]),
    "cumprod": lambda v: _cumulated(v, OPERATORS["*"]),
    "flip": lambda v: v[::-1],
    "diff": lambda v: tuple(b - a for a, b in itertools.pairwise(v)),
}
_REDUCTIONS: dict[str, Callable[[tuple[float, ...]], float]] = {
    "sum": sum,
    "prod": math.prod,
    "mean": lambda v: sum(v) / len(v),
    "max": max,
    "min": min,
    "norm": lambda v: math.sqrt(sum(x * x for x in v)),
    "std": lambda v: math.sqrt(_variance(v)),
    "var": lambda v: _variance(v),
}


def _variance(values: tuple[float, ...]) -> float:
    mean = sum(values) / len(values)
    return sum((v - mean) ** 2 for v in values) / len(values)


def _whole(values: Sequence[Number], keywords: dict[str, Number]) -> bool:
    """Whether a reduction is over the only axis that the arrays here have."""
    axes = [*values[1:], *(v for k, v in keywords.items() if k == "axis")]
    return len(values) <= 2 and set(keywords) <= {"axis", "keepdims"} and all(axis in (0, -1) for axis in axes)


def _reduced(name: str, value: Number) -> Number:
    if isinstance(value, (int, float)):
        return abs(value) if name == "norm" else 0.0 if name in ("std", "var") else value
    floats = _floats(value)
    return _REDUCTIONS[name](floats) if floats else None


def _clipped(values: Sequence[Number], keywords: dict[str, Number]) -> Number:
    low = [*values[1:2], *(v for k, v in keywords.items() if k in ("min", "a_min"))]
    high = [*values[2:3], *(v for k, v in keywords.items() if k in ("max", "a_max"))]
    if len(low) + len(high) != len(values) - 1 + len(keywords):
        return None
    result = values[0]
    for bound in low:
        result = elementwise(max, result, bound)
    for bound in high:
        result = elementwise(min, result, bound)
    return result


def differ(a: Number, b: Number) -> bool:
    """Whether two values certainly differ.

    By how much is asked relative to them, for `x * 1e-3` makes small numbers of all; and to the largest one of an
    array, so that `x + 1e-8` leaves an array as it is which has a zero among its elements.
    """
    if isinstance(a, Items) or isinstance(b, Items):
        if not isinstance(a, Items) or not isinstance(b, Items):
            return False
        return len(a.items) != len(b.items) or any(map(differ, a.items, b.items))
    return _differ(a, b, _TOLERANCE * max(_largest(a), _largest(b)) + _ROUNDING)


def _differ(a: Number, b: Number, allowed: float) -> bool:
    """Whether numbers, or elements of arrays in the same place, are further apart than is allowed."""
    if a is None or b is None or isinstance(a, Items) or isinstance(b, Items):
        return False
    if isinstance(a, tuple) or isinstance(b, tuple):
        if not isinstance(a, tuple) or not isinstance(b, tuple) or len(a) != len(b):
            return True
        return any(_differ(one, other, allowed) for one, other in zip(a, b, strict=True))
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) > allowed


def _largest(value: Number) -> float:
    """The largest absolute value in an array, or that of a number; what is not known or not finite is left out."""
    if isinstance(value, tuple):
        return max(map(_largest, value), default=0.0)
    return abs(value) if isinstance(value, (int, float)) and math.isfinite(value) else 0.0
