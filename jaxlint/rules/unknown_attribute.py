"""JAX414 unknown-attribute."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from jaxlint.cst import libcst as cst
from jaxlint.cst.changes import Proposal, Rename
from jaxlint.cst.reading import FunctionNode
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.choosing.given import GivenClasses
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Construct, Replace
from jaxlint.infer.known.values import NONE, Choice, Container, Instance, Value, as_instance, plain
from jaxlint.libraries.arrays import OF_ARRAYS
from jaxlint.libraries.updates import UPDATE_METHODS
from jaxlint.project.modules import Module
from jaxlint.pytrees.missing_members import misses_attribute, set_by_name
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.pytrees.updating import is_train_state
from jaxlint.rules.analyses.instances.asked_classes import AskedClasses
from jaxlint.rules.analyses.instances.dict_fields import DictRead, read_of_dicts
from jaxlint.rules.analyses.instances.hopes import has_namesake, is_made_in
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.methods import text_of
from jaxlint.rules.base import NodeRule, Problem
from jaxlint.symbols.outline import Function, Import, Parameter
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Name, dotted, root
from jaxlint.syntax.spelling import nearest

#: What every object has, and what the machinery adds to a class.
_ANY_OBJECT = frozenset(dir(object())) | {"__dict__", "__annotations__", "__module__", "__weakref__", "__slots__"}
#: So many attributes that a class does not have show that an annotation stands for another one.
_TOO_MANY = 3
_ASKING = frozenset({"hasattr", "getattr", "type", "cast", "vars", "asdict", "fields"})
#: What is read of a name.
_READ = re.compile(r"(?<![\w.])(\w+)\.(\w+(?:\.\w+)*)")
#: What tells a type checker to pass over a line.
_PASSED_OVER = re.compile(r"#\s*(?:type|pyright|pyrefly|ty)\s*:\s*ignore\b")


class UnknownAttribute(NodeRule):
    """
    ## What it does

    Finds attributes that are read of an instance whose class certainly lacks them; of a union, all of its classes, or
    those that `isinstance` leaves; and of a field that holds a dict.

    ## Why is this bad?

    A field was renamed, belongs to another class, or was never annotated. Under `jit` the error comes with the first
    call, maybe hours after the start.

    ## What you will see

    `AttributeError: 'State' object has no attribute 'velocty'`

    ## Example

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class State:
        position: jax.Array
        velocity: jax.Array

    def start() -> State:
        return State(position=jnp.zeros(3), velocity=jnp.ones(3))

    def advance(state: State, dt: float) -> State:
        return state.replace(position=state.position + dt * state.velocty)
    ```

    ## Use instead

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class State:
        position: jax.Array
        velocity: jax.Array

    def start() -> State:
        return State(position=jnp.zeros(3), velocity=jnp.ones(3))

    def advance(state: State, dt: float) -> State:
        return state.replace(position=state.position + dt * state.velocity)
    ```

    ## Frameworks

    All. Type checkers find more of them, where they see the types.

    ## Fix safety

    A name becomes the field that is nearest. The fix is unsafe: the line can only raise, but another field may be
    meant.

    ## When not to use it

    If a type checker looks at the code already. Annotations may be meant loosely: a function that is annotated with a
    base class and reads a field of a visible subclass is not reported, nor is one that reads three or more attributes
    that the class does not have, nor are classes of which neither their own module nor those that import it make an
    instance. Where only an annotation names the class, no field is spelled like the attribute, and something else in
    sight has that name, or the line says `# type: ignore`, the finding is of low confidence.

    ## References

    - [rejax #9](https://github.com/keraJLi/rejax/issues/9)
    """

    code = "JAX414"
    name = "unknown-attribute"
    group = "updates"
    since = "0.1.0"
    confidence = Confidence.MEDIUM

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Functions whose text reads something else than fields of an instance that they are given."""
        return any(_names_another(f, candidate) for f in candidate.functions)

    everywhere = True

    def can_match(self, code: CodeRead) -> bool:
        """Ask for attributes of variables in code that does not ask for the class of an instance."""
        return next(_read_of_variables(code), None) is not None and code.contents.called.isdisjoint(_ASKING)

    def check_node(self, function: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a body reads of instances."""
        code = function.code
        instances = LocalInstances.of(code, evaluator)
        seen: dict[str, dict[str, tuple[Attribute, tuple[Instance, ...]]]] = {}
        method = code.place.method
        own = None if method is None or method.self_name == "self" else method.self_name
        asked = AskedClasses(code, instances, evaluator)
        for part in _read_of_variables(code):
            options = () if dotted(root(part)) == own else _options(instances, part, asked)
            if not options or not all(_lacks(one, part.attr, evaluator) for one in options):
                continue
            name = options[0].cls.name
            if part.attr in seen.get(name, ()) or not any(part is one for one in code.contents.expected_to_work):
                continue
            made = (one.exact or _is_made(one.cls, code, evaluator) for one in options)
            if not (any(made) if asked.concerns(part.value) else all(made)):
                continue  # an annotation may stand for another class that has the attribute
            if not _is_written(part, function) and not any(
                _may_be_set(part.attr, c.cls, code, evaluator) for c in options
            ):
                seen.setdefault(name, {})[part.attr] = part, options
        for read in read_of_dicts(code, instances, evaluator):
            if any(read.part is one for one in code.contents.expected_to_work) and not _is_written(read.part, function):
                yield _problem_of_dict(read)
        for missing in seen.values():
            for part, options in missing.values():
                if len(missing) < _TOO_MANY or all(one.exact for one in options):
                    others = not asked.concerns(part.value) and any(
                        one.declared and _may_be_of_another(part, one.cls, code, evaluator) for one in options
                    )
                    yield _problem(part, [one.cls for one in options], is_hoped=others)


def _options(instances: LocalInstances, part: Attribute, asked: AskedClasses) -> tuple[Instance, ...]:
    """The instances, one of which an attribute is read of; none if it may be read of something else."""
    if asked.concerns(part.value):
        return asked.instances(part.value)
    instance = instances.instance(part.value)
    if instance is not None:
        return (instance,)
    return _pytrees_of(instances.value(part.value) if isinstance(part.value, (Name, Attribute)) else None)


def _pytrees_of(value: Value | None) -> tuple[Instance, ...]:
    """The instances of pytree classes, one of which a value is; none if it may be something else, or is no union.

    Nobody reads an attribute of None.
    """
    options = tuple(map(plain, value.options)) if isinstance(value, Choice) else ()
    options = tuple(one for one in options if one != NONE)
    held = tuple(one for one in options if isinstance(one, Instance) and one.cls.is_pytree)
    return held if len(held) == len(options) else ()


def _read_of_variables(code: CodeRead) -> Iterator[Attribute]:
    """The attributes that a body reads of what is no module, and no instance of a class that is no pytree."""
    bindings = code.place.module.outline.module_scope.bindings
    owner, method = code.place.owner, code.place.method
    own = None if method is None or owner is None or owner.is_pytree else method.self_name
    of_modules: dict[str, bool] = {}
    for part in code.contents.of(Attribute):
        start = root(part)
        if isinstance(start, Name) and isinstance(part.value, (Name, Attribute)):
            name = start.id
            if name not in of_modules:
                of_modules[name] = name in bindings and all(isinstance(b, Import) for b in bindings[name])
            if of_modules[name] or (name == own and part.value is start):
                continue
            if name not in code.contents.bound:
                yield part
            elif part.attr not in OF_ARRAYS and part.attr not in _usual(code):
                yield part  # what a variable is takes longer to find out


def _usual(code: CodeRead) -> frozenset[str]:
    """The fields of the instances that a body is given, makes or copies."""
    found: frozenset[str] | None = code.shared.get(_usual)
    if found is None:
        classes = {value.cls for value in map(plain, code.parameters.values()) if isinstance(value, Instance)}
        classes |= {event.cls.cls for event in code.events if isinstance(event, Construct)}
        classes |= {event.receiver.cls for event in code.events if isinstance(event, Replace)}
        found = code.shared[_usual] = frozenset(field.name for cls in classes for field in cls.fields)
    return found


def _names_another(function: Function, candidate: Candidate) -> bool:
    """Whether the text of a function reads something of a parameter that its class does not have."""
    given = candidate.given
    text = ""
    for name, cls in given.instances(function, candidate.module):
        text = text or text_of(function, candidate.module)
        if any(_leads_astray(path.split("."), cls, given) for path in _read_of(text).get(name, ())):
            return True
    return any(_union_lacks(p, function, candidate) for p in function.parameters if p.annotation is not None)


@lru_cache(maxsize=8)
def _read_of(text: str) -> Mapping[str, frozenset[str]]:
    """What a text reads of each name: `a.b` of `x` for `x.a.b`. To compile a pattern for each takes longer."""
    found: dict[str, set[str]] = {}
    for name, path in _READ.findall(text):
        found.setdefault(name, set()).add(path)
    return {name: frozenset(paths) for name, paths in found.items()}


def _union_lacks(parameter: Parameter, function: Function, candidate: Candidate) -> bool:
    """Whether the text of a function reads something of a parameter that no class of its union has.

    Where it asks for the class, what one of them lacks is enough to read the function.
    """
    given, annotation = candidate.given, parameter.annotation
    if annotation is None:
        return False
    text = text_of(function, candidate.module)
    read = _read_of(text).get(parameter.name, frozenset()) - OF_ARRAYS
    value = given.annotations.read(Placed(annotation, candidate.module, function.scope)) if read else None
    classes = [one.cls for one in _pytrees_of(value)]
    enough = any if f"isinstance({parameter.name}," in text else all
    return any(enough(_leads_astray(path.split("."), cls, given) for cls in classes) for path in read if classes)


def _leads_astray(path: list[str], cls: PytreeClass, given: GivenClasses) -> bool:
    """Whether a path through fields that are annotated with pytree classes leads to what the last one does not have."""
    field = cls.field(path[0])
    if field is None:
        return misses_attribute(cls, path[0], given.model)
    if path[1:] and path[0] == "params" and is_train_state(cls):
        return not hasattr(dict, path[1])  # linen makes a dict of them
    held = plain(given.annotations.read(field.annotation)) if path[1:] and field.annotation is not None else None
    if isinstance(held, Container) and held.kind == "dict" and not hasattr(dict, path[1]):
        return True
    one = None if held is None else as_instance(held)
    options = _pytrees_of(held) if one is None else (one,)
    return bool(options) and all(o.cls.is_pytree and _leads_astray(path[1:], o.cls, given) for o in options)


def _is_written(part: Attribute, function: FunctionNode) -> bool:
    """Whether an attribute is assigned or deleted, or leads to one that is."""
    child: cst.CSTNode = function.node_at(part.at)
    for around in function.around(child):
        match around:
            case cst.AssignTarget() | cst.AsName() | cst.Del():
                return True
            case cst.AugAssign(target=target) | cst.AnnAssign(target=target) | cst.For(target=target):
                return target is child
            case cst.BaseSmallStatement() | cst.BaseCompoundStatement():
                return False
        child = around
    return False


def _is_made(cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether an instance is made in this module, that of the class, or another one that imports the class."""
    return is_made_in(cls, code.place.module, *evaluator.model.importers(cls.module))


def _lacks(instance: Instance, attr: str, evaluator: Evaluator) -> bool:
    """Whether no class that the instance may be of has the attribute."""
    if attr in _ANY_OBJECT or attr in UPDATE_METHODS or attr.startswith("__"):
        return False  # JAX404 tells of missing methods that copy
    if not instance.exact and (not instance.cls.fields or instance.cls.abstract_methods):
        return False  # an annotation that stands for whatever state there is
    if instance.cls.field(attr) is not None:
        return False
    family = evaluator.model.family(instance.cls, exact=instance.exact)
    return all(_is_known(cls) and misses_attribute(cls, attr, evaluator.model) for cls in family)


def _may_be_set(attr: str, cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether something gives instances of a class an attribute: the body, or a module that knows the class."""
    module = code.place.module
    body = module.source.text if code.function is None else text_of(code.function, module)
    named = set_by_name(body)
    assigned = rf"\.{attr}\s*(?::[^=\n]+)?=(?!=)"
    if named is None or attr in named or re.search(assigned, body):
        return True
    given = re.compile(
        rf"(?<!\bself){assigned}|setattr(?:__)?\([\w.]+\s*,\s*['\"]{attr}['\"]"
        rf"|setattr(?:__)?\(\s*(?:cls|{cls.name})\s*,\s*(?!['\"])"
    )
    return any(given.search(home.source.text) for home in _homes(cls, code, evaluator))


def _is_known(cls: PytreeClass) -> bool:
    known = cls.fields_known and cls.attributes_known and cls.is_dataclass and cls.registered is True
    if any("__init_subclass__" in c.symbol.declaration.methods for c in cls.mro[1:]):
        return False
    return known and not any(is_stub(c.module) and not is_train_state(c) for c in cls.mro)


def _may_be_of_another(part: Attribute, cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether what an annotation names may be of another class, which has the attribute: an array, a dict, a list, …

    Or something of that name is declared, given or set where the class or the function is known, or in another class
    that is called like it; or whoever wrote the line has told a type checker to pass over it.
    """
    attr = part.attr
    if _PASSED_OVER.search(code.place.module.source.line(place_of(part.at).row)):
        return True
    if attr in OF_ARRAYS or any(hasattr(kind, attr) for kind in (dict, list, tuple, set, str, float)):
        return True
    written = re.compile(rf"\bdef {attr}\b|(?<!\w){attr}\s*=(?!=)|(?<![\w.]){attr}\s*:|['\"]{attr}['\"]")
    if any(written.search(home.source.text) for home in _homes(cls, code, evaluator)):
        return True
    return has_namesake(cls, attr, code.place.module, evaluator)


def _homes(cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> Iterator[Module]:
    """The modules of a body, of a class and of its bases, and those that import one of these."""
    for module in {one.path: one for one in (code.place.module, *(c.module for c in cls.mro))}.values():
        yield from (module, *evaluator.model.importers(module))


def _problem_of_dict(read: DictRead) -> Problem:
    """What is wrong with an attribute of a dict; that the field holds one, perhaps only an annotation says."""
    attr = read.part.attr
    way_out = f'read `["{attr}"]`'
    what = f"`{read.field.name}` of `{read.cls.name}` is a dict, which has no attribute `{attr}`"
    return Problem(
        at=read.part.at,
        message=f"{what}: AttributeError; {way_out}",
        reason="what a dict holds are its items, and no attributes",
        help=way_out,
        confidence=None if read.is_seen else Confidence.LOW,
    )


def _problem(part: Attribute, classes: Sequence[PytreeClass], *, is_hoped: bool) -> Problem:
    """What is wrong; where nothing is spelled like it, what is annotated with a class may well be of another one."""
    names = [field.name for field in classes[0].fields if all(cls.field(field.name) for cls in classes)]
    close = nearest(part.attr, names)
    which = " and ".join(f"`{cls.name}`" for cls in classes)
    way_out = f"did you mean `{close}`?" if close else f"declare it, or read one of the fields of {which}"
    lacks = "have" if len(classes) > 1 else "has"
    return Problem(
        at=part.at,
        message=f"{which} {lacks} no attribute `{part.attr}`: AttributeError; {way_out}",
        reason="instances have the fields that the class and its bases declare, and no others",
        help=way_out,
        confidence=Confidence.LOW if is_hoped and not close else None,
        fix=Proposal(f"Read `{close}`", Applicability.UNSAFE, (Rename(part.at, close),)) if close else None,
    )
