"""JAX213 string-annotations."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Instance, plain
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.frameworks.mjx import is_hidden_leaf
from jaxlint.pytrees.model import Field, Kind, PytreeClass
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.symbols.outline import Import
from jaxlint.syntax.ast_expressions import parse_annotation
from jaxlint.syntax.expressions import Constant, Expr, Subscript, last_name


class StringAnnotations(ClassRule):
    """
    ## What it does

    Finds array fields of mjx's PyTreeNode, submodules of treex modules, and class variables of any dataclass, that are
    taken for something else because their annotations are strings: quoted, or by `from __future__ import annotations`.

    ## Why is this bad?

    mjx and treex tell leaves by the annotations as Python stores them, and find nothing in a string. Every field is
    static: the pytree has no leaves, parameters are not trained, and jit fails for the second array. The dataclass
    machinery looks the name of a `ClassVar` up while the class is made: one that is imported for type checkers only is
    not there, and what was meant for the class is a field, and a leaf.

    ## What you will see

    `jax.tree.leaves` gives `[]`, and nothing is traced or differentiated. The second call of a jitted function raises
    `ValueError: The truth value of an array with more than one element is ambiguous`. A class variable that has become
    a field is traced: `TypeError: Shapes must be 1D sequences of concrete values of integer type`.

    ## Example

    ```python
    from __future__ import annotations

    import jax
    from mujoco.mjx._src.dataclasses import PyTreeNode

    class Contact(PyTreeNode):
        distance: jax.Array
    ```

    ## Use instead

    ```python
    import jax
    from mujoco.mjx._src.dataclasses import PyTreeNode

    class Contact(PyTreeNode):
        distance: jax.Array
    ```

    ## Frameworks

    mjx, and treex with treeo. All other frameworks resolve annotations, or do not look at them; of class variables all
    that are dataclasses.

    ## Fix safety

    The quotes around an annotation are taken away, where its names are bound above. The fix is unsafe: what was static
    becomes a leaf. The import is not removed, for other annotations may need it.

    ## When not to use it

    There is no reason: a field that is meant to be static is not annotated with `jax.Array`.

    ## References

    - [PEP 563](https://peps.python.org/pep-0563/)
    - [mujoco.mjx](https://github.com/google-deepmind/mujoco/blob/main/mjx/mujoco/mjx/_src/dataclasses.py)
    """

    code = "JAX213"
    name = "string-annotations"
    group = "roles"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the annotations of the class's own fields, as they are stored."""
        if cls.registered is not True:
            return
        yield from _class_variables(cls)
        future = cls.module.outline.future_annotations
        hidden = [f for f in cls.fields if f.owner == cls.symbol and _is_hidden(f, cls, evaluator)]
        for field in hidden[:1] if future else hidden:
            why = "`from __future__ import annotations` stores annotations as" if future else "its annotation is"
            others = f" and {len(hidden) - 1} more" if future and len(hidden) > 1 else ""
            kind = f"{cls.framework.id.rpartition('.')[2]} finds no {cls.framework.looks_for} in"
            yield Problem(
                at=field.at,
                message=(
                    f"field `{field.name}`{others} of `{cls.name}` is static and no leaf: {why}"
                    f" {'strings' if future else 'a string'}, and {kind} {'them' if future else 'it'};"
                    f" {'remove the import' if future else 'write it without quotes'}"
                ),
                reason="which fields are leaves is determined by the annotations as Python stores them",
                help=(
                    "remove `from __future__ import annotations` from this module"
                    if future
                    else "remove the quotes around the annotation"
                ),
                fix=None if future else _without_quotes(field),
            )


@proposing
def _without_quotes(field: Field) -> Proposal | None:
    """The fix: the annotation as an expression, if it names what is imported."""
    place = field.annotation
    if place is None or not isinstance(place.expr, Constant) or not isinstance(place.expr.value, str):
        return None
    names = place.expr.value.split(".")
    bindings = place.module.outline.module_scope.bindings.get(names[0], ())
    is_imported = bool(bindings) and all(isinstance(one, Import) and not one.guard for one in bindings)
    if not is_imported or not all(name.isidentifier() for name in names):
        return None
    change = Rewrite(place.expr.at, place.expr.value)
    return Proposal("Remove the quotes", Applicability.UNSAFE, (change,))


def _is_hidden(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a field would be a leaf if its annotation were no string."""
    place = field.annotation
    if place is None:
        return False
    if cls.framework.static_by_annotation:
        return is_hidden_leaf(evaluator.model.context(place.expr, place.module, place.scope, field.metadata))
    if not cls.framework.looks_for or "node" in field.metadata or field.role is Role.LEAF:
        return False
    is_string = place.module.outline.future_annotations or (
        isinstance(place.expr, Constant) and place.expr.kind == "str"
    )
    value = plain(evaluator.annotations.read(place, cls))
    return is_string and isinstance(value, Instance) and value.cls.framework is cls.framework


def _class_variables(cls: PytreeClass) -> Iterator[Problem]:
    """The fields that are meant as class variables, by a name that is not there when the class is made."""
    for field in cls.fields if cls.is_dataclass and not cls.framework.is_tuple else ():
        place = field.annotation
        if place is None or field.owner != cls.symbol or field.kind is not Kind.FIELD:
            continue
        if _head(place.expr) == "ClassVar":
            way_out = "import `ClassVar` outside of `if TYPE_CHECKING`"
            if isinstance(place.expr, Constant) and place.module.outline.future_annotations:
                way_out = "write the annotation without quotes"
            yield Problem(
                at=field.at,
                message=(
                    f"`{field.name}` of `{cls.name}` is a field and no class variable: the dataclass machinery does not"
                    f" find the `ClassVar` of an annotation that is a string; {way_out}"
                ),
                reason="an annotation that is a string is compared with the names of the module when the class is made",
                help=way_out,
            )


def _head(annotation: Expr) -> str:
    """The last part of the name of `X` in an annotation `X` or `X[...]`, quoted or not."""
    if isinstance(annotation, Constant) and annotation.kind == "str":
        annotation = parse_annotation(annotation.value, annotation.at) or annotation
    return last_name(annotation.value if isinstance(annotation, Subscript) else annotation)
