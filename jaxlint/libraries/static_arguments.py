"""Where functions of jax and numpy, and Python itself, need a value, and what a traced one raises (jax 0.10.2)."""

from __future__ import annotations

from collections.abc import Mapping

TRUTH, LOOP, CHECK = "in a condition", "in the condition of a loop", "in an assertion"
#: Operators of Python that ask for a truth value, where they make another one of it.
LOGICAL = {operator: f"for `{operator}`" for operator in ("and", "or", "not")}
COUNT, SHAPE, SLICE, INDEX, LENGTH, KEY, CONVERSION, NUMBER, AXIS, KEYS, LEAST, NUMPY, NUMPY_SHAPE = (
    "for the number of turns",
    "in a shape",
    "in a slice",
    "as an index",
    "for a number of elements",
    "as a key",
    "as a Python number",
    "as a fixed number",
    "as an axis",
    "for the number of keys",
    "in a comparison",
    "for a function of numpy",
    "in the shape of an array of numpy",
)
#: What is raised for each.
ERRORS: Mapping[str, str] = {
    **dict.fromkeys((TRUTH, LOOP, CHECK, *LOGICAL.values()), "TracerBoolConversionError"),
    COUNT: "TracerIntegerConversionError",
    SHAPE: "TypeError (Shapes must be 1D sequences of concrete values of integer type)",
    SLICE: "IndexError (Slice entries must be static integers)",
    INDEX: "TracerIntegerConversionError",
    LENGTH: "TracerIntegerConversionError",
    KEY: "TypeError (unhashable type)",
    CONVERSION: "ConcretizationTypeError",
    NUMBER: "ConcretizationTypeError",
    AXIS: "TypeError or ValueError (an axis must be a Python integer)",
    KEYS: "TypeError (it is part of a shape)",
    LEAST: "TracerBoolConversionError",
    NUMPY: "TracerArrayConversionError",
    NUMPY_SHAPE: "TracerIntegerConversionError or TypeError",
}
#: Functions of `jax.numpy` and `jax.random` that take a shape or a number of elements: where, and by which keywords.
SHAPED: Mapping[str, tuple[int, str]] = {
    **dict.fromkeys(("zeros", "ones", "empty", "full"), (0, "shape")),
    **dict.fromkeys(("eye", "identity", "arange"), (0, "N")),
    **dict.fromkeys(("reshape", "broadcast_to"), (1, "shape")),
    **dict.fromkeys(("normal", "uniform", "exponential", "gumbel", "laplace", "randint"), (1, "shape")),
    **dict.fromkeys(("rademacher", "cauchy", "bits"), (1, "shape")),
    **dict.fromkeys(("bernoulli", "gamma", "poisson"), (2, "shape")),
    **dict.fromkeys(("categorical", "truncated_normal"), (3, "shape")),
    "dynamic_slice": (2, "slice_sizes"),
    "tile": (1, "reps"),
    "tri": (0, "N"),
    "one_hot": (1, "num_classes"),
    "top_k": (1, "k"),
}
RANDOM = frozenset(
    """normal uniform exponential gumbel laplace randint bernoulli categorical rademacher cauchy bits gamma poisson
    truncated_normal""".split()
)
#: Those that numpy has, too.
SHAPED_BY_NUMPY = frozenset("zeros ones empty full eye identity".split())
#: Functions that convert an argument to a number of Python, or take it for the number of what they make: where, by
#: which keyword, and what for.
NEEDED_NUMBERS: Mapping[str, tuple[int, str, str]] = {
    **dict.fromkeys((f"jax.numpy.{name}" for name in ("linspace", "logspace", "geomspace")), (2, "num", NUMBER)),
    **dict.fromkeys((f"jax.numpy.{name}" for name in ("split", "array_split")), (1, "indices_or_sections", NUMBER)),
    **dict.fromkeys((f"jax.ops.segment_{n}" for n in ("sum", "max", "min", "prod")), (2, "num_segments", NUMBER)),
    **dict.fromkeys(
        (f"math.{n}" for n in "sqrt log log2 log10 exp sin cos tan ceil floor".split()), (0, "", CONVERSION)
    ),
    **dict.fromkeys(("jax.numpy.nonzero", "jax.numpy.argwhere"), (9, "size", NUMBER)),
    **dict.fromkeys((f"jax.numpy.{name}_indices" for name in ("triu", "tril", "diag")), (0, "n", NUMBER)),
    **dict.fromkeys((f"jax.numpy.fft.{name}" for name in ("fftfreq", "rfftfreq")), (0, "n", NUMBER)),
    **dict.fromkeys((f"jax.numpy.{name}" for name in ("hanning", "hamming", "blackman")), (0, "M", NUMBER)),
    "jax.numpy.pad": (1, "pad_width", NUMBER),
    "jax.numpy.repeat": (1, "repeats", NUMBER),
    **dict.fromkeys(
        (f"numpy.{n}" for n in "sqrt log log2 log10 exp sin cos tan ceil floor arange".split()), (0, "", NUMPY)
    ),
    **dict.fromkeys((f"numpy.{name}" for name in ("hanning", "hamming", "blackman")), (0, "M", NUMPY)),
    "numpy.linspace": (2, "num", LENGTH),
    "numpy.repeat": (1, "repeats", NUMPY),
    "jax.numpy.bincount": (9, "length", NUMBER),
    "jax.numpy.expand_dims": (1, "axis", AXIS),
    "jax.lax.iota": (1, "size", SHAPE),
    "jax.lax.dynamic_slice_in_dim": (2, "slice_size", LENGTH),
    "jax.lax.scan": (3, "length", COUNT),
    "jax.random.split": (1, "num", KEYS),
    "jax.random.permutation": (1, "x", NUMBER),
}
#: Of these, what takes an array of more dimensions, too.
TAKING_ARRAYS = frozenset({"jax.random.permutation"})
#: The libraries whose functions want the number of an axis.
WITH_AXIS = frozenset({"jax.numpy", "jax.numpy.linalg", "jax.nn"})
