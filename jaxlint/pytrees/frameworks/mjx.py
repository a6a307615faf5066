"""mujoco.mjx (3.17.0) `PyTreeNode`: a field is a leaf iff its resolved annotation contains `jax.Array`."""

from jaxlint.pytrees.context import FieldContext
from jaxlint.pytrees.framework import Framework, InitFalse, Role, Subclasses
from jaxlint.pytrees.versions import Fact
from jaxlint.syntax.expressions import Attribute, Constant, Expr, Name, Subscript, items_of

_ARRAYS = frozenset(
    {
        "jax.Array",
        "jax.numpy.ndarray",
        "jax.typing.ArrayLike",
        "jaxtyping.Array",
        "chex.Array",
        "chex.ArrayDevice",
        "chex.ArrayTree",
        "chex.Numeric",
        "chex.PRNGKey",
    }
)
_CONTAINERS = frozenset(
    {f"typing.{name}" for name in ("Tuple", "List", "Dict", "Set", "Union", "Optional")}
    | {f"builtins.{name}" for name in ("tuple", "list", "dict", "set")}
)


def _role(field: FieldContext) -> Role:
    found = _is_leaf(field, 0)
    return Role.UNKNOWN if found is None else Role.LEAF if found else Role.STATIC


def _is_leaf(field: FieldContext, depth: int) -> bool | None:
    """mjx looks at the annotation as it is stored: one that is a string holds no array."""
    if field.annotation is None:
        return None
    if field.quoted or field.module.outline.future_annotations:
        return False
    return _contains_array(field.annotation, field, depth)


def is_hidden_leaf(field: FieldContext) -> bool:
    """Whether an annotation with `jax.Array` is stored as a string, in which mjx does not look."""
    if field.annotation is None or not (field.quoted or field.module.outline.future_annotations):
        return False
    return _contains_array(field.annotation, field, 0) is True


def _contains_array(expr: Expr, field: FieldContext, depth: int) -> bool | None:
    """Whether `typing.get_args` finds `jax.Array` somewhere in the annotation, as mjx looks for it."""
    if depth > 8:
        return None
    match expr:
        case Constant():
            return False
        case Subscript(value=value, index=index):
            head = field.resolve(value, field.module, field.scope)
            if head is None:
                return None
            if head not in _CONTAINERS:
                return False
            items = items_of(index)
            found = [_contains_array(i, field, depth + 1) for i in items]
            return True if True in found else None if None in found else False
        case Name() | Attribute():
            head = field.resolve(expr, field.module, field.scope)
            if head in _ARRAYS:
                return True
            if head is not None:
                return False
            nested = field.fields_of(expr)
            if nested is None:
                return None
            fields, complete = nested
            found = [_is_leaf(one, depth + 1) for one in fields]
            return True if True in found else None if None in found or not complete else False
    return False


TAKES_KEYWORD = Fact(
    "mjx-register-keyword",
    of="mujoco-mjx",
    since=(3, 3),
    says="`PyTreeNode` takes the class keyword `register_as_pytree`",
)

MJX = Framework(
    id="mujoco.mjx",
    title="mujoco.mjx PyTreeNode",
    bases=frozenset({"mujoco.mjx._src.dataclasses.PyTreeNode"}),
    subclasses=Subclasses.AUTO,
    replace_method="replace",
    replace_overwrites=True,
    copying_methods=frozenset({"tree_replace"}),
    register_keyword="register_as_pytree",
    class_keywords=frozenset({"register_as_pytree"}),
    young_keywords={"register_as_pytree": TAKES_KEYWORD},
    init_false=InitFalse.PASSED,
    sets_plainly=True,
    static_by_value=True,
    compares_numpy=True,
    role=_role,
    static_spelling="an annotation without jax.Array",
    static_by_annotation=True,
    looks_for="array",
    for_records=True,
    freezes_each=True,
    facts=(TAKES_KEYWORD,),
)
