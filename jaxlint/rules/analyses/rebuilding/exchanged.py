"""What becomes of the attributes of a class that is taken apart by one function and rebuilt by another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import own_methods, run_by
from jaxlint.rules.analyses.rebuilding.flattening import Flattened, Rebuilt, Routine, flattened, rebuilt
from jaxlint.rules.analyses.rebuilding.read_elsewhere import read_when_rebuilt
from jaxlint.symbols.outline import Function, names_by_position
from jaxlint.syntax.expressions import Attribute, Call, Name, dotted, is_none
from jaxlint.syntax.statements import Body, all_parts

#: How code asks whether an instance has an attribute, or does without.
_ASKING = ("hasattr(", "getattr(", "except AttributeError")
#: Methods that show an instance to people: a default does no harm there.
SHOWING = frozenset({"__repr__", "__str__", "__format__"})
#: The methods that make an instance or take it apart.
_MAKING = frozenset({"__init__", "__new__", "tree_flatten", "tree_unflatten"})
#: How the parameters of what makes an instance again are called.
_CHILDREN = frozenset({"children", "leaves", "childs", "dynamic", "arrays"})
_AUX = frozenset({"aux", "aux_data", "auxiliary", "metadata", "meta", "static", "aux_values", "treedef"})


class Mismatch(msgspec.Struct, frozen=True):
    """Children that end up in each other's attributes, or an attribute that no instance has any more."""

    #: The attributes that the children are, and those in which they end up, by their positions.
    sent: dict[int, str]
    into: dict[int, str]
    #: The first child that ends up in the attribute of another one.
    wrong: int | None = None
    left: str | None = None
    #: Whether that has its default again, which the constructor gives it.
    is_reset: bool = False
    #: Whether it is in the aux data all the same, from which nobody takes it.
    is_sent: bool = False
    #: Whether functions outside of the class read it of what seems to be an instance, by its name.
    by_name: bool = False


def takes_children_first(names: Sequence[str]) -> bool:
    """Whether two parameters are named as if jax passed the children first."""
    return names[0] in _CHILDREN and names[1] in _AUX


def takes_children_last(names: Sequence[str]) -> bool:
    """Whether two parameters are named after what jax passes."""
    return takes_children_first(names[::-1])


def is_misnamed(cls: PytreeClass, method: Function, evaluator: Evaluator) -> bool:
    """Whether `tree_unflatten`, named as if jax passed the children first, uses all the same what it passes."""
    pair = _pair_of_methods(cls, method, evaluator)
    return pair is not None and _puts_back(cls, *pair, evaluator)


def is_turned_round(names: Sequence[str], cls: PytreeClass, method: Function, evaluator: Evaluator) -> bool:
    """Whether `tree_unflatten` calls what jax passes first the children, and puts each in its place if it were so."""
    pair = _pair_of_methods(cls, method, evaluator) if names[0] in _CHILDREN and names[1] not in _CHILDREN else None
    if pair is None or len(pair[1].parameters) != 3:
        return False
    given, second = pair
    own, aux, children = second.parameters
    turned = replace(second, parameters=(own, children, aux))
    return _puts_back(cls, given, turned, evaluator) and not _puts_back(cls, given, second, evaluator)


def _pair_of_methods(cls: PytreeClass, method: Function, evaluator: Evaluator) -> tuple[Flattened, Routine] | None:
    """What `tree_flatten` gives, and what takes it."""
    found = cls.method("tree_flatten")
    first = None if found is None else Routine.of(FunctionSymbol(found[0].module, found[1]), evaluator)
    second = Routine.of(FunctionSymbol(cls.module, method), evaluator)
    given = None if first is None else flattened(first, cls)
    return None if given is None or second is None else (given, second)


def _puts_back(cls: PytreeClass, given: Flattened, second: Routine, evaluator: Evaluator) -> bool:
    """Whether each child is seen to end up in the attribute that it was taken from."""
    back = rebuilt(second, {second.parameters[0], cls.name}, given)
    if back is None or not _uses_all(back, given):
        return False
    return _attributes_of(cls, back, evaluator) == dict(enumerate(given.children))


def is_made_of_children_first(
    cls: PytreeClass, first: Routine, second: Routine, makers: set[str], evaluator: Evaluator
) -> bool:
    """Whether a function makes an instance as if jax passed the children first.

    The names of its parameters say so, or there is nothing in the aux data that it might take the children from. What
    fits the order of jax all the same is misnamed only, unless each child is in its own place only in the other order.
    """
    given = flattened(first)
    if given is None or len(second.parameters) != 2:
        return False
    names = second.parameters
    by_one_name = given.aux_count is None and names[0] not in _AUX and names[1] in _AUX
    holds_nothing = given.aux == frozenset() and not takes_children_last(names)
    if not (takes_children_first(names) or by_one_name or holds_nothing):
        return False
    turned = rebuilt(replace(second, parameters=second.parameters[::-1]), makers, given)
    back = rebuilt(second, makers, given)
    if turned is None or not _uses_all(turned, given):
        return False
    if back is None or not _uses_all(back, given):
        return True
    own = dict(enumerate(given.children))
    if not takes_children_first(names) or _attributes_of(cls, turned, evaluator) != own:
        return False
    return _attributes_of(cls, back, evaluator) not in (own, None)


def _uses_all(back: Rebuilt | None, given: Flattened) -> bool:
    """Whether an instance is seen to be made of all children."""
    return back is not None and {*back.targets, *back.set_behind} == set(range(len(given.children)))


def compared(
    cls: PytreeClass, first: Routine, second: Routine, makers: set[str], evaluator: Evaluator
) -> tuple[Flattened, Rebuilt, Mismatch] | None:
    """Compare child by child what takes a class apart and what rebuilds it, where both spell the children out.

    `makers` are the names of the class in the second; None where nothing is wrong, or nobody knows.
    """
    given = flattened(first, cls)
    back = None if given is None else rebuilt(second, makers, given)
    found = None if given is None or back is None else _mismatch(cls, given, back, evaluator)
    return None if given is None or back is None or found is None else (given, back, found)


def _mismatch(cls: PytreeClass, given: Flattened, back: Rebuilt, evaluator: Evaluator) -> Mismatch | None:
    into = (
        None
        if any(p >= len(given.children) for p in (*back.targets, *back.set_behind))
        else _attributes_of(cls, back, evaluator)
    )
    if into is None:
        return None
    read_by = _read_by_properties(cls, given.children, evaluator)
    into = {position: read_by.get(name, name) for position, name in into.items()}
    sent = {position: given.children[position] for position in into}
    wrong = next((position for position in sorted(sent) if sent[position] != into[position]), None)
    if wrong is not None:
        return Mismatch(sent, into, wrong) if set(sent.values()) == set(into.values()) else None
    if given.aux is None or back.others is None:
        return None
    if not back.bypasses:
        reset = _reset(cls, back, evaluator)
        return None if reset is None else Mismatch(sent, into, left=reset, is_reset=True, is_sent=reset in given.aux)
    known = {*into.values(), *back.others, *given.aux, *given.children}
    made = _only_made(cls)
    left = next((name for name in (*_needed(cls, evaluator), *_read(cls, made)) if name not in known), None)
    if left is not None:
        return Mismatch(sent, into, left=left)
    elsewhere = next(read_when_rebuilt(cls, made - _bound(cls) - known, evaluator), None)
    return None if elsewhere is None else Mismatch(sent, into, left=elsewhere, by_name=True)


def _read_by_properties(cls: PytreeClass, names: Iterable[str], evaluator: Evaluator) -> dict[str, str]:
    """The attributes that properties of some names do nothing but return, with these names."""
    found: dict[str, str] = {}
    for name in names:
        getter = evaluator.getter(cls, name)
        if getter is not None:
            match getter.declaration.return_values:
                case (Attribute(value=Name(id=own), attr=attr),) if own == getter.declaration.self_name:
                    found[attr] = name
    return found


def _attributes_of(cls: PytreeClass, back: Rebuilt, evaluator: Evaluator) -> dict[int, str] | None:
    """The attributes that the children end up in: those that are set, or that `__init__` stores parameters in."""
    if back.bypasses:
        return dict(back.targets)
    parameters = cls.constructor()
    if parameters is None or any(p.kind == "*" for p in parameters):
        return None
    if any("__new__" in c.symbol.declaration.methods for c in cls.mro):
        return None
    taken = names_by_position(parameters)
    stored = evaluator.calls.stored_parameters(cls)
    names: dict[int, str] = {}
    for position, target in back.targets.items():
        name = (taken[int(target)] if int(target) < len(taken) else "") if target.isdigit() else target
        if name not in stored:
            return None
        names[position] = stored[name]
    return names | back.set_behind


def _reset(cls: PytreeClass, back: Rebuilt, evaluator: Evaluator) -> str | None:
    """An attribute that other methods read and that has its default whenever an instance is rebuilt."""
    parameters = cls.constructor()
    if back.passed is None or parameters is None:
        return None
    stored, needed = evaluator.calls.stored_parameters(cls), set(_needed(cls, evaluator))
    for index, parameter in enumerate(parameters):
        is_given = parameter.name in back.passed or (parameter.kind == "positional" and str(index) in back.passed)
        default = parameter.default
        if not is_given and stored.get(parameter.name) in needed and default is not None and not is_none(default):
            if stored[parameter.name] not in back.names_behind and not is_only_shown(stored[parameter.name], cls):
                return stored[parameter.name]
    return None


def is_only_shown(name: str, cls: PytreeClass) -> bool:
    """Whether an attribute is read by methods that show an instance to people, and by no other one of the class."""
    methods = (method for one in cls.mro for method in own_methods(one))
    readers = {method.name for method in methods if name in method.self_reads}
    return bool(readers) and readers <= SHOWING


def is_in_order(cls: PytreeClass, given: Flattened, evaluator: Evaluator) -> bool:
    """Whether the children are given in the order in which the constructor takes them."""
    stored = evaluator.calls.stored_parameters(cls)
    taken = [stored.get(p.name) for p in cls.constructor() or ()]
    return [name for name in taken if name in given.children] == list(given.children)


def _needed(cls: PytreeClass, evaluator: Evaluator) -> Iterator[str]:
    """The attributes that `__init__` sets to what it is given and that other methods read, and nothing else sets."""
    yield from _read(cls, set(evaluator.calls.stored_parameters(cls).values()))


def _only_made(cls: PytreeClass) -> set[str]:
    """The attributes that `__init__` sets, to whatever it works out, and no other method: who reads them misses them.

    Methods that ask whether there is one may do without.
    """
    init = cls.method("__init__")
    if init is None or any(cls.method(name) is not None for name in ("__new__", "__setattr__")):
        return set()
    made = {assignment.attr for assignment in init[1].self_assignments}
    methods = (method for one in cls.mro for method in own_methods(one) if method is not init[1])
    made -= {assignment.attr for method in methods for assignment in method.self_assignments}
    return set() if any(asking in one.module.source.text for one in cls.mro for asking in _ASKING) else made


def _read(cls: PytreeClass, names: set[str]) -> Iterator[str]:
    """Those of some attributes that methods read, and neither set themselves nor find in the class."""
    if not names or cls.method("__getattr__") is not None:
        return
    bound = _bound(cls)
    making = _only_run_by_init(cls)
    for function in own_methods(cls):
        if function.name in _MAKING or function.name in making:
            continue
        for name in sorted(function.self_reads & names - bound):
            if all(a.attr != name for a in function.self_assignments):
                yield name


def _bound(cls: PytreeClass) -> set[str]:
    """The names that the class itself gives to instances."""
    bound = {a.name for c in cls.mro for a in c.symbol.declaration.assignments}
    bound |= {n for c in cls.mro for n in c.symbol.declaration.methods}
    return bound | {f.name for c in cls.mro for f in c.symbol.declaration.fields if f.value is not None}


def _only_run_by_init(cls: PytreeClass) -> frozenset[str]:
    """The names of the methods that `__init__` runs, itself or through others, and no other method does."""
    init = cls.method("__init__")
    if init is None:
        return frozenset()
    run = run_by(init[1], cls).keys()
    others = (method for one in cls.mro for method in own_methods(one) if method.name not in run)
    return frozenset(run).difference(*(method.self_calls | method.self_reads for method in others))


def made_without_arguments(cls: PytreeClass, body: Body, makers: set[str]) -> tuple[Call, str] | None:
    """A call `Cls.__new__(Cls)` of the class's own `__new__`, and the parameter that it requires."""
    owner = next((c for c in cls.mro if "__new__" in c.symbol.declaration.methods), None)
    if owner is None:
        return None
    method = owner.module.outline.functions[owner.symbol.declaration.methods["__new__"][-1]]
    required = next((p for p in method.parameters[1:] if p.default is None and not p.kind.startswith("*")), None)
    if required is None or method.decorators:
        return None
    for part in all_parts(body):
        match part:
            case Call(func=Attribute(value=held, attr="__new__"), args=(argument,)) if not argument.star:
                if dotted(held) in makers and dotted(argument.value) in makers:
                    return part, required.name
    return None


def first_exchanged(given: Sequence[str], into: Sequence[str], stored: Mapping[str, str]) -> tuple[str, str] | None:
    """The first name that goes into another parameter, if these are the same names, and each is stored as itself."""
    if set(given) != set(into) or any(stored.get(name) != name for name in given):
        return None
    return next((pair for pair in zip(given, into, strict=False) if pair[0] != pair[1]), None)
