"""The fix of two instances that are compared as a whole: they are compared leaf by leaf."""

from __future__ import annotations

from jaxlint.cst.changes import Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import NONE, Container, Instance, options, plain
from jaxlint.infer.transforms.applied import ABSTRACTING
from jaxlint.libraries.transforms import Kind
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.syntax.expressions import Compare, is_none

#: The operators, and whether each asks for the opposite.
OPPOSITE = {"==": False, "!=": True}
#: Transformations in whose functions Python cannot ask whether an array is true.
_TRACING = frozenset({*ABSTRACTING, Kind.MAP, Kind.ABSTRACT, Kind.KERNEL})


@proposing
def comparing_leaves(
    part: Compare, instance: Instance | None, is_tested: bool, code: CodeRead, evaluator: Evaluator
) -> Proposal | None:
    """The fix that compares leaf by leaf; all have to be equal. Python cannot test that while it is traced."""
    if instance is None or any(f.role is not Role.LEAF for f in instance.cls.fields):
        return None  # what is static and differs cannot be mapped over
    if any(_may_differ(field, instance.cls, evaluator) for field in instance.cls.fields):
        return None
    is_traced = _is_traced(code)
    if is_traced and is_tested:
        return None
    names = ["jax.tree", "jax.numpy.array_equal"]
    names += ["jax.numpy.logical_and", "jax.numpy.logical_not"] if is_traced else []
    written = [spelled(name, code.place.module, evaluator.model.resolver, code.scope) for name in names]
    known = [one for one in written if one is not None]
    if len(known) < len(names):
        return None
    tree, equal, *logical = [name for name, _ in known]
    leaves = f"{tree}.map({equal}, {{0}}, {{1}})"
    template = f"{tree}.reduce({logical[0]}, {leaves})" if is_traced else f"{tree}.all({leaves})"
    if OPPOSITE[part.ops[0]]:
        template = f"{logical[1]}({template})" if is_traced else f"not {template}"
    change = Rewrite(part.at, template, (part.left.at, part.comparators[0].at))
    imports = dict.fromkeys(needed for _, some in known for needed in some)
    return Proposal("Compare the leaves", Applicability.UNSAFE, (change,), tuple(imports))


def _is_traced(code: CodeRead) -> bool:
    """Whether a function around some code, or its own, is certainly traced."""
    around = code.place.functions if code.function is None else (*code.place.functions, code.function)
    return any(a.transform.kind in _TRACING for function in around for a in code.place.applied(function))


def _may_differ(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a leaf may be None, or a list or a dict: in two instances it may be another structure."""
    held = options(plain(evaluator.promises.field(field, cls)))
    is_empty = field.default is not None and is_none(field.default.expr)
    return is_empty or any(one == NONE or isinstance(one, Container) for one in held)
