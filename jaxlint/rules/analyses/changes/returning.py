"""What functions return; fixes that let one return the copy that it makes of an argument, and its callers take it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from jaxlint.cst.changes import Change, NeededImport, Proposal, ReturnAlso, ReturnLast, TakeAlso, TakeResult
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Place
from jaxlint.project.modules import Module
from jaxlint.rules.analyses.instances.callers_in_loops import compiled_names
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Display, Expr, Name, Span, last_name
from jaxlint.syntax.statements import Body, Return, assigned_names, walk

#: Decorators under which a method is no longer called like one.
_ATTRIBUTES = frozenset({"property", "cached_property", "setter", "getter", "deleter", "overload", "abstractmethod"})


@proposing
def returning(
    change: Change | None,
    name: str,
    place: Place,
    evaluator: Evaluator,
    imports: tuple[NeededImport, ...] = (),
) -> Proposal | None:
    """The unsafe fix of a copy of the parameter `name`, which `change` makes: it is returned.

    Where the file calls the function, and takes no result, what was passed is bound to it.
    """
    function = place.function
    if function is None or not _may_return(function, place.module, evaluator):
        return None
    if name not in _parameters(function):
        return None
    changes: list[Change] = [] if change is None else [change]
    changes += [ReturnLast(function.at, name), *_taken(function, name, place.module)]
    return Proposal(f"Return `{name}`, and let callers take it", Applicability.UNSAFE, tuple(changes), imports)


@proposing
def taking(change: Change, name: str, place: Place, imports: tuple[NeededImport, ...] = ()) -> Proposal | None:
    """The unsafe fix of a copy of the parameter `name`, which is returned already: calls that drop it take it."""
    function = place.function
    if function is None or not is_only_returned(name, function):
        return None
    if (
        name not in _parameters(function)
        or function.is_generator
        or function.is_async
        or is_hidden(function, place.module)
    ):
        return None
    changes = (change, *_taken(function, name, place.module))
    return Proposal(
        f"Bind `{name}` to an updated copy, and let callers take it", Applicability.UNSAFE, changes, imports
    )


def _parameters(function: Function) -> list[str]:
    """The parameters of a function that take one argument each."""
    return [parameter.name for parameter in function.parameters if parameter.kind in ("positional", "keyword")]


def _taken(function: Function, name: str, module: Module) -> Iterator[Change]:
    """What lets the calls of a function bind what they pass for a parameter to what it returns."""
    is_method = function.owner is not None and function.self_name is not None
    position = _parameters(function).index(name) - is_method
    attributes, owners = _set_attributes(module), _owners(function, module)
    for at in mentions(function.name, module, r"\b"):
        yield TakeResult(at, name, position, attributes, owners)


@proposing
def returning_also(
    name: str, place: Place, function: Function, body: Body, evaluator: Evaluator, *, is_rebound: bool = False
) -> Proposal | None:
    """The unsafe fix of a parameter that a function changes, or rebinds: it is returned, too, and callers take it.

    All that compile or call the function have to stand in the module.
    """
    module, outline = place.module, place.module.outline
    returns = [s for s in walk(body, nested=False) if isinstance(s, Return)]
    if not returns or (name in assigned_names(body) and not is_rebound) or _is_ambiguous(function.name, module):
        return None
    if function.name.startswith("__") or any(last_name(d) in _ATTRIBUTES for d in function.decorators):
        return None
    if is_known_elsewhere(function.name, module, evaluator):
        return None
    names = function.positional
    is_method = function.owner is not None and function.self_name is not None
    position = names.index(name) - is_method if name in names else len(names)
    texts = [function.name, *compiled_names(function.name, module)]
    if any(len(scope.bindings.get(text, ())) > 1 for text in texts for scope in outline.scopes.values()):
        return None
    found = [at for text in texts for at in mentions(text, module, r"\b")]
    is_nothing = all(s.value is None for s in returns)
    changes: list[Change] = [ReturnLast(function.at, name) if is_nothing else ReturnAlso(function.at, name)]
    take = TakeResult if is_nothing else TakeAlso
    attributes, owners = _set_attributes(module), _owners(function, module)
    changes += [take(at, name, position, attributes, owners) for at in found]
    return Proposal(f"Return `{name}`, and let callers take it", Applicability.UNSAFE, tuple(changes))


def _owners(function: Function, module: Module) -> tuple[str, ...]:
    """What a method of a module may be called on: `C()`, and variables that are said to be of the class `C`."""
    if function.owner is None:
        return ()
    classes = {function.owner.rpartition(".")[2]}
    declared = module.outline.classes.values()
    for _ in declared:
        classes |= {one.name for one in declared if any(last_name(base.value) in classes for base in one.bases)}
    functions = module.outline.functions.values()
    makers = {one.name for one in functions if one.returns is not None and last_name(one.returns) in classes}
    kind = "|".join(map(re.escape, sorted(classes)))
    made = "|".join(map(re.escape, sorted(classes | makers)))
    given = rf"(\w+)(?:\s*:[^=\n]*)?\s*=\s*(?:\w+\.)*(?:{made})\("
    annotated = rf"(\w+)\s*:\s*[\"']?(?:\w+\.)*(?:{kind})\b"
    found = {match[1] for pattern in (given, annotated) for match in re.finditer(pattern, module.source.text)}
    own = {one.self_name for one in functions if _is_of(one, classes)}
    written = {f"{name}()" for name in classes} | (classes if function.self_name is None else set())
    return tuple(sorted(written | found | {name for name in own if name is not None}))


def _is_of(method: Function, classes: set[str]) -> bool:
    return method.owner is not None and method.owner.rpartition(".")[2] in classes


def _set_attributes(module: Module) -> tuple[str, ...]:
    """The attributes that methods of a module assign: those of frozen instances are not among them."""
    functions = module.outline.functions.values()
    return tuple(sorted({one.attr for function in functions for one in function.self_assignments}))


def _may_return(function: Function, module: Module, evaluator: Evaluator) -> bool:
    """Whether a function may return something else, as far as the module and those that import it tell."""
    if function.return_values or function.is_generator or function.is_async or function.name.startswith("__"):
        return False
    if any(last_name(decorator) in _ATTRIBUTES for decorator in function.decorators):
        return False
    if evaluator.calls.transformed.is_wrapped(function, module) or evaluator.calls.transformed.of(function, module):
        return False
    if is_hidden(function, module):
        return False
    return not is_known_elsewhere(function.name, module, evaluator)


def is_known_elsewhere(name: str, module: Module, evaluator: Evaluator) -> bool:
    """Whether a module that imports this one speaks of a name."""
    spoken = re.compile(rf"\b{re.escape(name)}\b")
    return any(spoken.search(other.source.text) for other in evaluator.model.importers(module))


def _is_ambiguous(name: str, module: Module) -> bool:
    """Whether several functions of a module have the same name, so that calls do not tell which one is meant."""
    return len([one for one in module.outline.functions.values() if one.name == name]) > 1


def is_hidden(function: Function, module: Module) -> bool:
    """Whether calls do not tell that they mean a function: others have its name, or a string names the method."""
    is_named = function.owner is not None and is_quoted((function.name,), module)
    return is_named or _is_ambiguous(function.name, module)


def is_quoted(names: Iterable[str], module: Module) -> bool:
    """Whether a string of a module is one of some names: `getattr(model, "apply")`."""
    quoted = rf"""(["'])(?:{"|".join(map(re.escape, names))})\1"""
    return re.search(quoted, module.source.text) is not None


def is_only_returned(name: str, function: Function) -> bool:
    """Whether a function, which Python itself does not call, returns a variable, and nothing else anywhere."""
    values = function.return_values
    is_special = function.name.startswith("__")
    return bool(values) and not is_special and all(isinstance(value, Name) and value.id == name for value in values)


def mentions(name: str, module: Module, behind: str = r"(?=\s*\()") -> Iterator[Span]:
    """Where a name stands in front of brackets, or of something else."""
    source = module.source
    for match in re.finditer(rf"\b{re.escape(name)}{behind}", source.text):
        row, column = source.place(match.start())
        start = len(source.line(row)[:column].encode())
        yield Span(row, start, row, start + len(name.encode()))


def returned_variables(value: Expr | None) -> Iterator[Name]:
    """The variables that stand in what is returned: as the whole, or in a tuple."""
    if isinstance(value, Display) and value.kind == "tuple":
        for item in value.items:
            yield from returned_variables(item)
    elif isinstance(value, Name):
        yield value
