"""jax_dataclasses (1.6.3): static by annotation, always frozen."""

from jaxlint.libraries.updates import COPY_AND_MUTATE
from jaxlint.pytrees.context import FieldContext
from jaxlint.pytrees.framework import DATACLASS_OPTIONS, FieldFunction, Framework, InitFalse, Role
from jaxlint.pytrees.versions import Fact
from jaxlint.syntax.expressions import Attribute, Constant, Display, Name, Subscript

STATIC = "jax_dataclasses.Static"
#: The base class that checks shapes and dtypes; it has no fields.
ENFORCED = "jax_dataclasses.EnforcedAnnotationsMixin"
STATIC_MARKER = "__jax_dataclasses_static_field__"


def _role(field: FieldContext) -> Role:
    """Static iff the top level of the annotation is `Annotated[..., marker]` (`Static[T]`, bare `Static`, aliases)."""
    expr = field.annotation
    scope = field.scope
    module = field.module
    for _ in range(8):
        named = expr.value if isinstance(expr, Subscript) else expr
        if module is field.module and isinstance(named, (Name, Attribute)) and not field.finds(named):
            return Role.LEAF if isinstance(named, Name) else Role.UNKNOWN  # flattening fails at `missing.name`
        if isinstance(expr, Subscript):
            head = field.resolve(expr.value, module, scope)
            if head == STATIC:
                return Role.STATIC
            if head == "typing.Annotated":
                items = expr.index.items if isinstance(expr.index, Display) else ()
                if any(isinstance(i, Constant) and i.value == STATIC_MARKER for i in items[1:]):
                    return Role.STATIC
                if not items:
                    return Role.UNKNOWN
                expr = items[0]
                continue
            return Role.LEAF if head is not None else Role.UNKNOWN
        if isinstance(expr, (Name, Attribute)):
            if field.resolve(expr, module, scope) == STATIC:
                return Role.STATIC
            alias = field.alias(expr, module, scope)
            if alias is None:
                return Role.LEAF
            expr, module, scope = alias
            continue
        return Role.LEAF
    return Role.UNKNOWN


def is_marked_static(parameter: FieldContext) -> bool:
    """Whether the annotation of a parameter of a compiled function says that it is static."""
    return _role(parameter) is Role.STATIC


TAKES_NUMBERS = Fact(
    "copy-and-mutate-numbers",
    of="jax-dataclasses",
    since=(1, 6, 2),
    says="inside of `copy_and_mutate` a number of Python may take the place of an array, and the other way round",
)

JAX_DATACLASSES = Framework(
    id="jax_dataclasses",
    title="jax_dataclasses.pytree_dataclass",
    decorators=frozenset({"jax_dataclasses.pytree_dataclass"}),
    aliases={
        "jax_dataclasses._dataclasses.pytree_dataclass": "jax_dataclasses.pytree_dataclass",
        "jax_dataclasses._dataclasses.Static": STATIC,
        "jax_dataclasses._dataclasses.static_field": "jax_dataclasses.static_field",
        "jax_dataclasses._enforced_annotations.EnforcedAnnotationsMixin": ENFORCED,
        "jax_dataclasses._dataclasses.field": "jax_dataclasses.field",
        "jax_dataclasses._copy_and_mutate.copy_and_mutate": COPY_AND_MUTATE,
    },
    options={"jax_dataclasses.pytree_dataclass": DATACLASS_OPTIONS},
    static_metadata=("__jax_dataclasses_static__", True),
    role=_role,
    field_functions={
        "jax_dataclasses.field": FieldFunction(),
        "jax_dataclasses.static_field": FieldFunction(
            fixed={"__jax_dataclasses_static__": True}, unmarked="jax_dataclasses.field"
        ),
    },
    static_spelling="jdc.Static[...]",
    static_annotation=STATIC,
    static_words=frozenset({STATIC}),
    copy_function="jax_dataclasses.replace",
    init_false=InitFalse.DROPPED,
    sets_plainly=True,
    for_records=True,
    must_be_frozen=True,
    mutable_copies=COPY_AND_MUTATE,
    mutability_switch="_mark_mutable",
    freezes_subclasses=True,
    neutral_bases=frozenset({ENFORCED}),
    known_names=frozenset({STATIC, ENFORCED, COPY_AND_MUTATE, "jax_dataclasses.replace", "jax_dataclasses.jit"}),
    facts=(TAKES_NUMBERS,),
)
