"""Which names are array types, and which functions return arrays (jax 0.10.2, numpy 2.4, chex 0.1.92)."""

from __future__ import annotations

from jaxlint.libraries.optimizers import RETURNING_ARRAYS
from jaxlint.syntax.expressions import Attribute, Binary, Call, Constant, Display, Expr, Subscript, is_none

#: Attributes of `math`, `numpy` and `jax.numpy` that are Python numbers.
NUMBER_CONSTANTS = frozenset({"inf", "nan", "pi", "e"})
#: What `numpy` and `jax.numpy` hold that is no function and is indexed: to make an array, or a grid or slice.
INDEXED_INTO_ARRAYS = frozenset({"c_", "r_", "mgrid"})
INDEXED = INDEXED_INTO_ARRAYS | {"ogrid", "s_", "index_exp"}
#: What stands in the place of the library for a tree of arrays of whatever make.
TREE = "tree"
#: Annotations that mean an array, and its library; "array" is an array of either.
ARRAY_TYPES: dict[str, str] = {
    "jax.Array": "jax",
    "jax.numpy.ndarray": "jax",
    "jax.random.KeyArray": "jax",
    "jax.random.PRNGKeyArray": "jax",
    "jax.typing.ArrayLike": "array",
    "numpy.ndarray": "numpy",
    "numpy.array": "numpy",
    # a function, and no type: what it promises has never been checked, nor which of the two libraries is meant
    "jax.numpy.array": "array",
    "numpy.typing.NDArray": "numpy",
    "numpy.typing.ArrayLike": "array",
    "chex.Array": "array",
    "chex.ArrayDevice": "jax",
    "chex.ArrayNumpy": "numpy",
    "chex.ArraySharded": "jax",
    "chex.ArrayBatched": "jax",
    "chex.PRNGKey": "jax",
    "chex.Numeric": "array",
    "chex.ArrayDType": "",
    "jaxtyping.Array": "jax",
    "jaxtyping.ArrayLike": "array",
    "jaxtyping.Scalar": "jax",
    "jaxtyping.ScalarLike": "array",
    "jaxtyping.PRNGKeyArray": "jax",
    "flax.typing.Array": "array",
    "flax.typing.PRNGKey": "jax",
    "distrax.Array": "array",
    # trees of arrays: what is said of an array in a static field holds for them; they may be lists and dicts
    "chex.ArrayTree": TREE,
    "optax.Params": TREE,
    "optax.Updates": TREE,
    "optax.OptState": TREE,
    "optax.Array": "array",
    **{f"tjax.{kind}Array": "jax" for kind in ("Real", "Complex", "Integral", "Boolean", "Jax", "JaxReal")},
    "tjax.JaxComplexArray": "jax",
    **{f"tjax.{kind}Array": "numpy" for kind in ("Numpy", "NumpyReal", "NumpyComplex", "NumpyIntegral")},
    **{f"tjax.{kind}Array": "jax" for kind in ("JaxIntegral", "JaxBoolean", "Key")},
}
ARRAY_TYPES = {name: library for name, library in ARRAY_TYPES.items() if library}

#: Those of them that a number fits, too.
NUMBERS_TOO = frozenset(
    {"jax.typing.ArrayLike", "numpy.typing.ArrayLike", "jaxtyping.ArrayLike", "jaxtyping.ScalarLike", "chex.Numeric"}
)

#: jaxtyping's dtype classes: `Float[Array, "n 3"]`.
JAXTYPING_DTYPES = frozenset(
    """Shaped Bool Key Num Inexact Float BFloat16 Float16 Float32 Float64 Complex Complex64 Complex128 Integer Int
    UInt Int2 Int4 Int8 Int16 Int32 Int64 UInt2 UInt4 UInt8 UInt16 UInt32 UInt64 Real""".split()
)

#: Functions of chex that raise unless arrays are as expected: what each looks at.
ARRAY_ASSERTIONS = {
    **{
        f"chex.assert_{name}": "shape"
        for name in """shape rank equal_shape equal_rank equal_size equal_shape_prefix equal_shape_suffix size
        axis_dimension axis_dimension_gt axis_dimension_gteq axis_dimension_lt axis_dimension_lteq
        is_broadcastable is_divisible tree_shape_prefix""".split()
    },
    "chex.assert_type": "dtype",
}
#: Creation functions of jax.numpy and numpy whose first argument is the shape.
_SHAPED = frozenset("zeros ones empty full".split())
#: Creation functions that take a value or a range.
_CREATION = frozenset(
    """array asarray arange linspace logspace geomspace eye identity tri tril triu diag diagflat zeros_like ones_like
    empty_like full_like fromfunction tile repeat stack concatenate vstack hstack dstack column_stack copy ravel
    reshape frombuffer broadcast_to atleast_1d atleast_2d atleast_3d block kron vander hamming hanning bartlett
    blackman kaiser indices pad roll flip fliplr flipud transpose moveaxis swapaxes expand_dims squeeze""".split()
)
#: Functions of jax.numpy that make one array of those in a list or tuple, and raise where they are something else.
JOINING = frozenset("jax.numpy." + name for name in "stack concatenate vstack hstack dstack array asarray".split())
#: Functions of jax.numpy that return an array whatever they are given.
_ELEMENTWISE = frozenset(
    """abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt ceil clip conj cos cosh
    cross cumprod cumsum argsort argwhere searchsorted bincount flatnonzero where select deg2rad degrees
    diff divide dot einsum equal exp exp2 expm1 floor floor_divide fmod greater greater_equal hypot
    inner interp invert isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and
    logical_not logical_or logical_xor matmul maximum minimum mod multiply nan_to_num negative not_equal
    outer power rad2deg radians reciprocal remainder rint round sign sin sinc sinh sort sqrt square
    subtract take take_along_axis tan tanh tensordot trace true_divide trunc vdot""".split()
)
_CONTRACTIONS = frozenset(
    """argsort argwhere searchsorted bincount flatnonzero where select dot einsum inner matmul tensordot
    trace vdot cross outer take take_along_axis diff""".split()
)
#: Functions of numpy and jax.numpy that return arrays of as many elements as there are, whatever they are given.
_LISTING = frozenset(
    """append argpartition argsort argwhere bincount convolve correlate cumprod cumsum delete diff ediff1d flatnonzero
    insert intersect1d lexsort outer partition setdiff1d setxor1d sort union1d unique""".split()
)
#: Parts of jax whose functions return one array, whatever they are given, but for those below (jax 0.10.2).
_OF_ARRAYS = frozenset(
    {
        "jax.nn",
        "jax.numpy",
        "jax.numpy.fft",
        "jax.numpy.linalg",
        "jax.scipy.fft",
        "jax.scipy.linalg",
        "jax.scipy.signal",
        "jax.scipy.special",
    }
)
#: Functions of jax.lax that return one array of jax, whatever they are given (jax 0.10.2).
OF_LAX = frozenset(
    """abs acos acosh add argmax argmin asin asinh atan atan2 atanh batch_matmul bessel_i0e bessel_i1e betainc
    bitcast_convert_type bitwise_and bitwise_not bitwise_or bitwise_xor broadcast broadcast_in_dim broadcast_to_rank
    broadcasted_iota cbrt ceil clamp clz collapse complex concatenate conj convert_element_type cos cosh
    cumlogsumexp cummax cummin cumprod cumsum digamma div dot dot_general dynamic_index_in_dim dynamic_slice
    dynamic_slice_in_dim dynamic_update_index_in_dim dynamic_update_slice dynamic_update_slice_in_dim eq erf erf_inv
    erfc exp exp2 expand_dims expm1 fft floor full full_like ge gt igamma igammac imag index_in_dim integer_pow iota
    is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter pad polygamma population_count pow real
    reciprocal reduce_precision rem reshape rev round rsqrt select select_n shift_left shift_right_arithmetic
    shift_right_logical sign sin sinh slice slice_in_dim sqrt square squeeze sub tan tanh tile transpose zeta""".split()
)
#: Functions of these that return several arrays, at least in some cases, or something else, and their classes.
_OTHERS = frozenset(
    """array_repr array_split array_str average broadcast_arrays broadcast_shapes can_cast diag_indices
    diag_indices_from divmod dsplit einsum_path frexp frompyfunc get_printoptions gradient histogram histogram2d
    histogramdd hsplit iscomplexobj isdtype isrealobj isscalar issubdtype iterable ix_ mask_indices meshgrid modf ndim
    nonzero polydiv polyfit printoptions promote_types result_type save savez set_printoptions shape size split
    tril_indices tril_indices_from triu_indices triu_indices_from unique_all unique_counts unique_inverse unravel_index
    unstack vectorize vsplit
    dtype finfo iinfo generic number object_ ufunc
    cond eig eigh lstsq qr slogdet svd
    dot_product_attention get_scaled_dot_general_config logsumexp scaled_dot_general initializers
    cho_factor eigh_tridiagonal expm_frechet funm hessenberg lu lu_factor polar qr_multiply rsf2csf schur
    fresnel sici csd istft stft welch""".split()
)
#: Functions of jax.numpy and numpy that look at what their argument is and not at its numbers: tracers have that, too.
ASKING_KIND = frozenset("iscomplexobj isrealobj isscalar iterable result_type".split())
#: Functions of numpy that read an array from somewhere.
_READING = frozenset("fromfile fromiter fromstring genfromtxt load loadtxt memmap".split())
#: What numpy.fft, scipy.fft and their kin in jax are made of.
_FFT = frozenset(
    f"{inverse}{kind}fft{axes}" for inverse in ("", "i") for kind in ("", "r", "h") for axes in ("", "2", "n")
) | {"fftfreq", "rfftfreq", "fftshift", "ifftshift"}
#: Functions that return a tuple of arrays.
_TUPLES = frozenset("nonzero tril_indices triu_indices diag_indices".split())
_LINEAR_ALGEBRA = frozenset("cholesky eigvals eigvalsh inv matrix_power pinv solve".split())
#: Functions of linear algebra that return several arrays; not so with the argument of this name or at this place.
_DECOMPOSITIONS = {"svd": ("compute_uv", 2), "qr": ("mode", 1), "eigh": ("", 99), "eig": ("", 99)}
#: Annotations of keys of random numbers, which are arrays of integers.
KEY_TYPES = frozenset(
    {"chex.PRNGKey", "jaxtyping.PRNGKeyArray", "jax.random.PRNGKeyArray", "jax.random.KeyArray", "flax.typing.PRNGKey"}
)
_RANGES = frozenset("""arange linspace logspace geomspace hamming hanning bartlett blackman kaiser PRNGKey""".split())
#: Reductions of jax.numpy: one element unless an axis is given.
_REDUCTIONS = frozenset(
    """all any argmax argmin max amax mean median min amin nanmax nanmean nanmin nansum prod ptp std sum var
    count_nonzero""".split()
)
#: Scalar types of jax.numpy, which return 0-d arrays when called.
_JAX_SCALARS = frozenset(
    """float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64
    complex128 bool_""".split()
)
#: The last parts of the names of dtypes.
DTYPES = _JAX_SCALARS | {"float8_e4m3fn", "float8_e5m2", "int4", "uint4", "bool", "floating", "integer", "inexact"}
_RANDOM = frozenset(
    """PRNGKey key split fold_in normal uniform bernoulli randint categorical choice permutation truncated_normal gamma
    beta exponential gumbel laplace bits poisson rademacher multivariate_normal orthogonal dirichlet cauchy t
    wrap_key_data""".split()
)
#: Those that make one number if no shape is given, and where the shape stands (jax 0.10).
_RANDOM_SHAPES = {
    "uniform": 1,
    "normal": 1,
    "exponential": 1,
    "gumbel": 1,
    "laplace": 1,
    "cauchy": 1,
    "rademacher": 1,
    "bits": 1,
}
#: Functions of numpy.random that return one number unless they are given a size, and its position.
_NUMPY_RANDOM = {
    **dict.fromkeys(("random", "random_sample", "standard_normal", "standard_exponential"), 0),
    **dict.fromkeys(("choice", "exponential", "geometric", "poisson", "rayleigh", "standard_gamma"), 1),
    **dict.fromkeys("beta binomial gamma gumbel integers laplace logistic normal randint uniform".split(), 2),
}
#: Those that are given the size in parts, and those that always return an array.
_NUMPY_RANDOM_SHAPED = frozenset({"rand", "randn"})
_NUMPY_RANDOM_ARRAYS = frozenset({"permutation", "permuted", "dirichlet", "multivariate_normal"})

#: Functions of jax.numpy that return several arrays: in a tuple or a list.
_ARRAYS = {
    **dict.fromkeys(("nonzero", "unravel_index", "divmod", "modf", "frexp"), "tuple"),
    **dict.fromkeys(("split", "array_split", "hsplit", "vsplit", "dsplit", "meshgrid"), "list"),
}

#: Methods of arrays that return arrays.
ARRAY_METHODS = frozenset(
    """astype reshape ravel flatten transpose copy squeeze swapaxes repeat round clip conj cumsum cumprod argsort sort
    take view block_until_ready""".split()
)
#: Methods of jax arrays that reduce to one element unless an axis is given.
ARRAY_REDUCTIONS = frozenset("sum mean min max prod all any std var argmax argmin".split())
#: What methods of the same names take that are those of tensors: such a call says that the receiver is no array.
TENSOR_OPTIONS = frozenset("dim dims keepdim unbiased memory_format non_blocking".split())
#: What an array says of itself without its values.
ARRAY_TRAITS = frozenset({"shape", "ndim", "size", "dtype"})
#: Methods by which numpy and jax take an object for an array.
ARRAY_PROTOCOLS = ("__jax_array__", "__array__")
#: Attributes of arrays that are arrays.
ARRAY_ATTRIBUTES = frozenset({"T", "mT", "real", "imag"})
#: What an array computes of its numbers, or shows of them.
OF_NUMBERS = ARRAY_METHODS | ARRAY_REDUCTIONS | ARRAY_ATTRIBUTES | {"at", "item", "tolist", "dot"}
#: What every array has: that, and what it says of itself.
OF_ARRAYS = OF_NUMBERS | ARRAY_TRAITS | frozenset("nbytes itemsize weak_type sharding aval device devices".split())
#: Functions that ask their first argument for nothing but its shape and dtype.
OF_TRAITS = frozenset({"zeros_like", "ones_like", "empty_like", "full_like", "shape", "ndim", "result_type"})
#: `x.at[...]` methods.
AT_METHODS = frozenset("set add subtract multiply mul divide div power min max apply get".split())


def returned_library(name: str) -> str | None:
    """The library of the array that the function `name` certainly returns, or None.

    numpy's element-wise functions and reductions are left out: they return scalars for scalars.
    """
    if name in RETURNING_ARRAYS:
        return "jax"
    head, _, last = name.rpartition(".")
    if head in _OF_ARRAYS:
        return None if last in _OTHERS or not last.islower() else "jax"
    if head == "numpy":
        return "numpy" if last in _SHAPED or last in _CREATION or last in _LISTING or last in _READING else None
    if head in ("numpy.fft", "scipy.fft"):
        return "numpy" if last in _FFT else None
    if head == "numpy.linalg":
        return "numpy" if last in _LINEAR_ALGEBRA else None
    if head == "jax.random":
        return "jax" if last in _RANDOM else None
    if head == "numpy.random":
        return "numpy" if last in _NUMPY_RANDOM_ARRAYS else None
    return "jax" if head == "jax.lax" and last in OF_LAX else None


def indexed_library(name: str) -> str | None:
    """The library of the array that indexing the thing `name` makes (`np.c_[x, y]`), or None."""
    head, _, last = name.rpartition(".")
    return {"numpy": "numpy", "jax.numpy": "jax"}.get(head) if last in INDEXED_INTO_ARRAYS else None


def returned_container(name: str, call: Call) -> tuple[str, str] | None:
    """The kind of container with which the function returns several arrays, if it does, and their library."""
    head, _, last = name.rpartition(".")
    if head in ("numpy.linalg", "jax.numpy.linalg") and last in _DECOMPOSITIONS:
        option, position = _DECOMPOSITIONS[last]
        is_plain = not call.has_star and call.keyword(option) is None and len(call.positional) <= position
        return ("tuple", "jax" if head.startswith("jax") else "numpy") if is_plain else None
    library = {"numpy": "numpy", "jax.numpy": "jax"}.get(head)
    if library is None:
        return None
    # with a condition alone `where` is `nonzero`
    places = last == "where" and len(call.positional) == 1 and not call.has_star and call.keyword("x") is None
    counted = last == "unique" and any((a.keyword or "").startswith("return_") for a in call.args)
    kind = "tuple" if places or counted or last in _TUPLES else _ARRAYS.get(last) if library == "jax" else None
    return None if kind is None else (kind, library)


def is_shaped(name: str) -> bool:
    """Whether the first argument of the creation function is a shape."""
    return name.rpartition(".")[2] in _SHAPED


def takes_size_for_dtype(name: str, call: Call) -> bool:
    """Whether the creation function, which raises TypeError then, is given a size in the place of the dtype.

    That is `zeros(len(x), x.shape[1] + 1)`: sizes are given together.
    """
    index = 2 if name.rpartition(".")[2] == "full" else 1
    if call.has_star or len(call.positional) <= index:
        return False
    given = call.positional[index]
    if isinstance(given, Subscript):
        return isinstance(given.value, Attribute) and given.value.attr == "shape"
    return isinstance(given, Binary) or (isinstance(given, Constant) and type(given.value) is int)


def takes_no_list(name: str) -> bool:
    """Whether the function computes with arrays alone: one of jax.numpy raises TypeError for a list or a tuple."""
    head, _, last = name.rpartition(".")
    return head == "jax.numpy" and (last == "copy" or is_elementwise(name) or is_reduction(name))


def random_shape_position(name: str) -> int | None:
    """Where the shape stands among the arguments of a function of jax.random that makes one number without it."""
    head, _, last = name.rpartition(".")
    return _RANDOM_SHAPES.get(last) if head == "jax.random" else None


def is_conversion(name: str) -> bool:
    """Whether the function makes an array of its first argument (`array`, `asarray`, `jnp.float32`)."""
    last = name.rpartition(".")[2]
    return last in ("array", "asarray") or last in _JAX_SCALARS


def numpy_random_size(name: str, call: Call) -> Expr | None:
    """What tells how many numbers a function of numpy.random returns; None if it returns one, or is not known."""
    last = name.removeprefix("numpy.random.")
    given, size = call.positional, call.keyword("size")
    if last in _NUMPY_RANDOM_SHAPED:
        return Display(call.at, "tuple", given) if given else None
    if size is None and last in _NUMPY_RANDOM and not call.has_star:
        size = given[_NUMPY_RANDOM[last]] if len(given) > _NUMPY_RANDOM[last] else None
    return None if last not in _NUMPY_RANDOM or is_none(size) else size


def maps_numpy(name: str) -> bool:
    """Whether the function of numpy returns an array if one of its arguments is one, and a number for numbers."""
    head, _, last = name.rpartition(".")
    return head == "numpy" and (last in _ELEMENTWISE - _CONTRACTIONS - {"interp"} or last == "where")


def is_elementwise(name: str) -> bool:
    """Whether the jax.numpy function returns as many elements as its largest argument has."""
    return name.startswith("jax.numpy.") and name.rpartition(".")[2] in _ELEMENTWISE - _CONTRACTIONS


def is_range(name: str) -> bool:
    """Whether the function makes several elements of a few numbers."""
    return name.rpartition(".")[2] in _RANGES


def is_reduction(name: str) -> bool:
    """Whether the jax.numpy function reduces to one element unless an axis is given."""
    head, _, last = name.rpartition(".")
    return (head == "jax.numpy" and last in _REDUCTIONS) or name == "jax.numpy.linalg.norm"


def is_verdict(name: str) -> bool:
    """Whether the function says of two arrays whether they are the same."""
    head, _, last = name.rpartition(".")
    return head in ("jax.numpy", "numpy") and last in ("allclose", "array_equal", "array_equiv")


def is_question(name: str) -> bool:
    """Whether the function says of an array how it is made, and makes nothing of its numbers."""
    head, _, last = name.rpartition(".")
    return head in ("jax.numpy", "numpy") and (last in ASKING_KIND or last in ("ndim", "shape", "size"))


def is_at_update(func: Attribute) -> bool:
    """Whether a method is that of an array update: `x.at[i].set`."""
    place = func.value
    indexed = isinstance(place, Subscript) and isinstance(place.value, Attribute) and place.value.attr == "at"
    return indexed and func.attr in AT_METHODS and func.attr != "get"
