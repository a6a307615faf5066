"""The fix of an attribute that a compiled method reads and something changes: it is passed as an argument."""

from __future__ import annotations

import re

from jaxlint.cst.changes import AddParameter, Change, PassAttribute, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Instance, plain
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.bound_part import HeldPart
from jaxlint.rules.analyses.changes.returning import is_hidden, is_known_elsewhere, is_quoted, mentions
from jaxlint.rules.analyses.changes.stale import reading
from jaxlint.rules.analyses.fields.needed_numbers import need_of
from jaxlint.rules.analyses.instances.methods import run_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Binary, Call, Compare, Expr, Unary, dotted
from jaxlint.syntax.names_read import names_read
from jaxlint.syntax.statements import Body, all_parts, assigned_names, targets_of, walk

#: The comparisons of numbers: what is equal may be the name of a way to compute.
_ORDER = frozenset({"<", "<=", ">", ">="})
_COMPILER = "jit"
#: The options of a compiler with which a function takes nothing by name.
_REFUSING = frozenset({"in_shardings", "in_axis_resources"})
#: How often the name of a function stands in the one around it that only compiles it.
_DECLARED_AND_GIVEN = 2


@proposing
def passing_attribute(
    attr: str,
    compiled: Function,
    cls: PytreeClass,
    module: Module,
    evaluator: Evaluator,
    holder: str = "",
) -> Proposal | None:
    """The unsafe fix, if the module has all that calls what is compiled: a method, perhaps in a `holder` or a variable.

    The compiled function alone has to read the attribute, and to compute with it, whatever number it is.
    """
    if not _is_only_compiled(compiled, module, evaluator):
        return None
    found = list(reading(attr, run_by(compiled, cls), cls, evaluator))
    if len(found) != 1 or found[0][0].at != compiled.at or cls.module is not module:
        return None
    _, path, body = found[0]
    name, called = attr.strip("_"), _called(compiled, holder, module)
    taken = {parameter.name for parameter in compiled.parameters} | set(assigned_names(body)) | names_read(body)
    held = plain(evaluator.attribute_of(Instance(cls), attr))
    is_tree = isinstance(held, Instance) and held.cls.is_pytree and held.cls.registered is True
    is_used = _is_computed_with(path, body, compiled, module, evaluator, is_tree=is_tree)
    if name in taken or not is_used:
        return None
    if called is None or any(is_known_elsewhere(one, module, evaluator) for one in called):
        return None
    if is_quoted(called, module) or (compiled.owner is not None and is_hidden(compiled, module)):
        return None
    if holder and _is_held_by_others(holder, cls):
        return None
    if need_of(attr, cls, module, evaluator) is not None:
        return None
    changes: list[Change] = [AddParameter(compiled.at, name)]
    changes += [Rewrite(part.at, name) for part in all_parts(body) if dotted(part) == path]
    names = tuple(called)
    changes += [
        PassAttribute(at, name, attr, compiled.name, names) for one in called for at in mentions(one, module, r"\b")
    ]
    return Proposal(f"Pass `{attr}` as an argument", Applicability.UNSAFE, tuple(changes))


@proposing
def passing_part(
    call: Call, part: HeldPart, cls: PytreeClass, owner: PytreeClass, module: Module, evaluator: Evaluator
) -> Proposal | None:
    """The unsafe fix of a compiled method of an instance, of `cls`, that an attribute holds: that is passed first."""
    given = call.args[0].value if len(call.args) == 1 else None
    if not isinstance(given, Attribute) or part.inside or not cls.is_pytree or cls.registered is not True:
        return None
    assigned = [a for f in module.outline.functions.values() for a in f.self_assignments if a.attr == part.holder]
    is_only_one = (
        len(assigned) == 1 and assigned[0].value is not None and place_of(assigned[0].value.at) == place_of(call.at)
    )
    if not is_only_one or owner.module is not module or is_known_elsewhere(part.holder, module, evaluator):
        return None
    if _is_held_by_others(part.holder, owner) or is_quoted((part.holder,), module):
        return None
    name = part.attr.strip("_")
    function = f"lambda {name}, *args, **keywords: {name}.{given.attr}(*args, **keywords)"
    changes: list[Change] = [Rewrite(given.at, function)]
    changes += [PassAttribute(at, "", part.attr) for at in mentions(part.holder, module, r"\b")]
    return Proposal(f"Pass `{part.attr}` as an argument", Applicability.UNSAFE, tuple(changes))


def _called(compiled: Function, holder: str, module: Module) -> list[str] | None:
    """The names by which what is compiled is called; None if a function inside of a method is, by its own."""
    names, text = [holder] if holder else [], module.source.text
    if compiled.owner is not None:
        method = rf"[\w.]+\.{re.escape(compiled.name)}\b(?![ \t]*\()"
        bound = rf"^[ \t]*(\w+)[ \t]*=[ \t]*(?:[\w.]*\b{_COMPILER}\([ \t]*)?{method}"
        variables = re.findall(bound, text, re.MULTILINE)
        again = (rf"^[ \t]*(\w+)[ \t]*=[ \t]*[\w.]*\b{_COMPILER}\([ \t]*{one}\b" for one in variables)
        variables += [two for pattern in again for two in re.findall(pattern, text, re.MULTILINE)]
        return list(dict.fromkeys([*names, *variables, compiled.name]))
    around = module.outline.function_of(compiled.scope)
    if not compiled.statements or around is None:
        return names
    rows = module.source.rows(around.at.row, around.body_rows[1])
    spoken = re.findall(rf"(?<![\w.]){re.escape(compiled.name)}\b", rows)
    return names if len(spoken) <= _DECLARED_AND_GIVEN else None


def _is_only_compiled(function: Function, module: Module, evaluator: Evaluator) -> bool:
    """Whether all that is applied to a function takes another argument by its name, and hands it on as it is.

    `jax.vmap` and `jax.pmap` would map over it, `in_shardings` refuses it, and nobody knows what else a decorator does.
    """
    transformed = evaluator.calls.transformed
    every = transformed.of(function, module)
    is_known = len(transformed.decorating(function, module)) == len(function.decorators)
    return is_known and all(
        one.transform.name.endswith(_COMPILER) and _REFUSING.isdisjoint(one.options) for one in every
    )


def _is_held_by_others(holder: str, cls: PytreeClass) -> bool:
    """Whether another class of the module has an attribute or a method of that name, too."""
    functions = cls.module.outline.functions.values()
    own = cls.symbol.declaration.qualname
    having = (f.owner for f in functions if f.name == holder or any(a.attr == holder for a in f.self_assignments))
    return any(owner != own for owner in having)


def _is_computed_with(
    path: str, body: Body, compiled: Function, module: Module, evaluator: Evaluator, *, is_tree: bool
) -> bool:
    """Whether a function computes with what is at a path, or gives it to jax, and never sets it.

    It only looks into what is a pytree.
    """
    if any(dotted(target) == path for statement in walk(body) for target in targets_of(statement)):
        return False

    def is_it(expr: Expr) -> bool:
        return dotted(expr) == path

    computed = False
    for part in all_parts(body):
        match part:
            case Attribute(value=value) if is_it(value):
                if not is_tree:
                    return False
                computed = True
            case Binary(left=left, right=right):
                computed |= is_it(left) or is_it(right)
            case Unary(operand=operand):
                computed |= is_it(operand)
            case Compare(left=left, ops=ops, comparators=comparators) if _ORDER.issuperset(ops):
                computed |= any(map(is_it, (left, *comparators)))
            case Call(func=func) if any(map(is_it, part.positional)):
                library = evaluator.model.resolver.library_name(func, module, compiled.inner_scope)
                computed |= library.startswith(("jax.numpy.", "jax.random."))
    return computed
