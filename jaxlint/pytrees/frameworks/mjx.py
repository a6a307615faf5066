"""mujoco.mjx (3.17.0) `PyTreeNode`: a field is a leaf iff its resolved annotation contains `jax.Array`."""

from jaxlint.expr import Attribute, Constant, Display, Expr, Name, Subscript
from jaxlint.pytrees.context import FieldContext
from jaxlint.pytrees.model import Framework, Role, Subclasses


def _role(field: FieldContext) -> Role:
    if field.annotation is None:
        return Role.UNKNOWN
    if field.module.outline.future_annotations:
        return Role.STATIC
    found = _contains_array(field.annotation, field, 0)
    return Role.UNKNOWN if found is None else Role.LEAF if found else Role.STATIC


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
            if head == "typing.Annotated":
                return False
            items = index.items if isinstance(index, Display) else (index,)
            found = [_contains_array(i, field, depth + 1) for i in items]
            return True if True in found else None if None in found else False
        case Name() | Attribute():
            head = field.resolve(expr, field.module, field.scope)
            if head in {"jax.Array", "jax.typing.ArrayLike"}:
                return True
            if head is not None:
                return False
            cls = field.class_of(expr)
            if cls is None:
                return None
            if not cls.is_dataclass:
                return False
            roles = {f.role for f in cls.fields}
            return True if Role.LEAF in roles else None if Role.UNKNOWN in roles else False
    return False


MJX = Framework(
    id="mujoco.mjx",
    title="mujoco.mjx PyTreeNode",
    bases=frozenset({"mujoco.mjx._src.dataclasses.PyTreeNode"}),
    subclasses=Subclasses.AUTO,
    replace_method="replace",
    role=_role,
    static_spelling="an annotation without jax.Array",
)
