"""Functional updates: the calls that make a copy with changes and leave the original as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from jaxlint.libraries.packages import usual_name
from jaxlint.libraries.transforms import TRANSFORMS
from jaxlint.libraries.transforms import Kind as TransformKind
from jaxlint.libraries.updates import (
    AT,
    REPLACE_FUNCTIONS,
    TRAIN_STATE,
    TREE_AT,
    UPDATE_METHODS,
)
from jaxlint.project.index import Accepted, VisibleUpdates
from jaxlint.project.resolution import ClassSymbol, External, Resolver, Symbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.made_of_fields import takes_fields
from jaxlint.pytrees.model import Kind, PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.symbols.outline import Function, Parameter
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Call,
    Display,
    Expr,
    Name,
    is_none,
    is_variable,
    last_name,
    without_call,
)
from jaxlint.syntax.statements import parts

if TYPE_CHECKING:
    from jaxlint.project.modules import Module

#: Decorators that compile a function, which returns the same then.
_COMPILERS = frozenset(name for name, transform in TRANSFORMS.items() if transform.kind is TransformKind.JIT)
#: What compiles a function, or runs it for each of several arguments.
_COMPILERS_AND_MAPS = _COMPILERS | {
    name for name, one in TRANSFORMS.items() if one.kind is TransformKind.MAP and not one.propagates
}
#: What may set attributes whose names are not seen: they are computed, or something else gets the instance.
_SETS_OTHERWISE = re.compile(
    r"setattr|__dict__|\bvars\(|\bcopy\b|[(,=]\s*(?:self|cls)\s*(?:[,)]|$)|\bself\.__\w*[^_\W]\b", re.M
)
#: Through how many methods of one's own that call each other a copy is followed.
_DEEPEST = 3


def is_train_state(cls: PytreeClass) -> bool:
    """Whether a class is flax's `TrainState` or inherits from it."""
    return any(c.symbol.full_name == TRAIN_STATE for c in cls.mro)


def accepted_keywords(cls: PytreeClass) -> frozenset[str] | None:
    """The keywords that an update of an instance may pass, or None if that cannot be determined."""
    is_dataclass = any(c.is_dataclass for c in cls.mro)
    if cls.framework.fields_in_init and not is_dataclass:
        return _assigned_by_methods(cls)
    if not cls.members_known or cls.unknown_decorator or not is_dataclass:
        return None
    if cls.registered is None and not cls.is_dataclass:
        return None  # what registers it elsewhere may make fields of its annotations
    names = {f.name for f in cls.members if f.kind is not Kind.CLASS_VAR}
    custom = cls.custom_init()
    if custom is not None:
        if any(p.kind == "**" for p in custom.parameters):
            return None
        names |= {p.name for p in custom.parameters[1:] if p.kind != "*"}
    return frozenset(names)


def _assigned_by_methods(cls: PytreeClass) -> frozenset[str] | None:
    """What methods of a class assign to `self`, which makes its fields; None if something else may make some."""
    if not cls.bases_known or cls.unknown_decorator or not any(map(_has_init, cls.mro)):
        return None
    found = {member.name for member in cls.members}
    for one in cls.mro:
        for qualnames in one.symbol.declaration.methods.values():
            function = one.module.outline.functions[qualnames[-1]]
            text = one.module.source.rows(*function.body_rows)
            if function.body_rows[0] == function.at.row:  # `def set(self, x): self.x = x`
                text = text.replace(f"({function.self_name}", "(", 1)
            if is_stub(one.module) or _SETS_OTHERWISE.search(text):
                return None
            found |= {assigned.attr for assigned in function.self_assignments}
    return frozenset(found)


def _has_init(cls: PytreeClass) -> bool:
    return "__init__" in cls.symbol.declaration.methods


def taken_by_method(cls: PytreeClass, name: str) -> frozenset[str]:
    """The parameters of the method `name` that a class itself has in the place of the one of its framework."""
    qualnames = cls.symbol.declaration.methods.get(name)
    if not qualnames or (name == cls.framework.replace_method and cls.has_framework_replace):
        return frozenset()
    return frozenset(p.name for p in cls.module.outline.functions[qualnames[-1]].parameters)


def update_text(cls: PytreeClass, name: str | None, field: str, named_by: str = "", *, is_empty: bool = False) -> str:
    """The expression that copies `name`, an instance of `cls`, with another `field`, as it is written.

    Without a field, it is the one that the expression `named_by` names. It may be None, or certainly `is_empty`.
    """
    function = update_function(cls, field)
    short = usual_name(function)
    given = name or ("" if function.startswith(".") else "...")
    template = update_template(short, field, is_empty=is_empty or may_be_empty(cls, field)).replace("{attr}", named_by)
    return template.replace("{base}", given).replace("{value}", "...")


def update_function(cls: PytreeClass, field: str) -> str:
    """What copies an instance with another `field`: a dotted name, or a method behind a point.

    `equinox.tree_at` replaces nothing but leaves. Without a field, it is what does so with any.
    """
    if cls.framework.replace_method is not None:
        return f".{cls.framework.replace_method}"
    function, known = cls.framework.copy_function, cls.field(field)
    is_static = not field or (known is not None and known.role is Role.STATIC)
    return "dataclasses.replace" if is_static and cls.framework.copies_leaves else function


def may_be_empty(cls: PytreeClass, attr: str) -> bool:
    """Whether a field is said to be None perhaps, or is so in the beginning."""
    field = cls.field(attr)
    if field is None:
        return False
    annotated = parts(field.annotation.expr) if field.annotation is not None else []
    init = cls.custom_init()
    unset = {one.name for one in init.parameters if is_none(one.default)} if init is not None else set()
    begun = [field.default, *cls.assigned.get(attr, [])]
    return any(is_none(part) or last_name(part) == "Optional" for part in annotated) or any(
        one is not None and (is_none(one.expr) or (isinstance(one.expr, Name) and one.expr.id in unset))
        for one in begun
    )


def update_template(function: str, *fields: str, is_empty: bool = False) -> str:
    """How a copy of `{base}` is made in which a field is `{value}`; the function is written as given.

    Of several fields, the values are `{value}`, `{value1}`, …. Without a name, the field is what `{attr}` names.
    `tree_at` finds one of several None only if it takes them for leaves.
    """
    if fields == ("",):
        return _called(function, "**{{attr}: {value}}")
    values = [f"{{value{number or ''}}}" for number in range(len(fields))]
    if function.endswith("tree_at"):
        where, value = ", ".join(f"m.{field}" for field in fields), ", ".join(values)
        is_leaf = ", is_leaf=lambda x: x is None" if is_empty else ""
        return f"{function}(lambda m: {_together(where, fields)}, {{base}}, {_together(value, fields)}{is_leaf})"
    return _called(function, ", ".join(f"{field}={value}" for field, value in zip(fields, values, strict=True)))


def _called(function: str, given: str) -> str:
    """The call that copies `{base}`, by a method behind a point or by a function."""
    return f"{{base}}{function}({given})" if function.startswith(".") else f"{function}({{base}}, {given})"


def _together(items: str, fields: Sequence[str]) -> str:
    """One expression of what there is for each field."""
    return items if len(fields) == 1 else f"({items})"


def is_updatable(cls: PytreeClass, attr: str) -> bool:
    """Whether a copy with another value of the attribute can certainly be made."""
    field = cls.field(attr)
    if field is None or not cls.fields_known or cls.unknown_decorator:
        return False
    if not is_copied_by_constructor(cls, attr):
        return not is_left_to_class(cls, attr)
    return field.init and takes_fields(cls) is True


def is_copied_by_constructor(cls: PytreeClass, attr: str) -> bool:
    """Whether what copies an instance with another value calls its constructor, as `dataclasses.replace` does."""
    by_leaf = update_function(cls, attr).endswith("tree_at")
    return not by_leaf and any(c.is_dataclass for c in cls.mro)


def is_not_updatable(cls: PytreeClass, attr: str) -> bool:
    """Whether the constructor certainly refuses what a copy with another value of the attribute would pass it."""
    field = cls.field(attr)
    refused = (field is not None and not field.init) or takes_fields(cls) is False
    return refused and is_copied_by_constructor(cls, attr)


def is_left_to_class(cls: PytreeClass, attr: str) -> bool:
    """Whether `tree_at` may not find a field: no leaf is what only the class has as its default (equinox 0.13.8)."""
    field = cls.field(attr)
    by_leaf = cls.framework.copies_leaves and cls.custom_init() is not None
    return by_leaf and field is not None and field.role is Role.UNKNOWN and field.default is not None


class UpdatingMethods:
    """Knows which methods of the user's return a copy of their receiver with changes, and are called for that alone."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        #: The methods that are being asked for.
        self._asked: set[tuple[object, str]] = set()

    def updates(self, cls: PytreeClass, function: Function, module: Module) -> bool:
        """Whether `function`, a method that instances of `cls` have, is such a method."""
        if not cls.is_pytree or function.self_name is None or function.is_generator or function.is_async:
            return False
        refused = cls.frozen is True and cls.frozen_names is None
        if not (refused or function.only_returns) or not _is_only_copied(function.self_name, function, module):
            return False
        returned = function.return_values
        copies = [self._copies(value, cls, function, module, function.self_name) for value in returned]
        others = [value for value, copied in zip(returned, copies, strict=True) if not copied]
        if not any(copies) or not all(_is_original(value, function, function.self_name) for value in others):
            return False
        # it may be called for its side effects and not for the copy, unless the copy holds an argument
        return not function.acts or any(_keeps_argument(value, function) for value in returned)

    def changes(self, function: Function) -> str | None:
        """The parameter `**changes` of an updating method or function that is handed on to an update as it is."""
        rest, made = function.rest, [*function.return_values, *(call for _, call in function.copies)]
        if rest is None or len(function.return_values) != 1:
            return None
        calls = [call for call in made if isinstance(call, Call)]
        handed = [argument.value for call in calls for argument in call.args if argument.star == "**"]
        return rest if any(isinstance(value, Name) and value.id == rest for value in handed) else None

    def constructs(self, cls: PytreeClass, function: Function, module: Module) -> bool:
        """Whether `function`, a method that instances of `cls` have, reads `self` and returns another such instance.

        What its calls do besides, and the constructor, is not looked at.
        """
        if not (cls.is_pytree and function.only_returns and function.self_name and function.self_reads):
            return False
        if function.decorators or function.is_async or not function.return_values:
            return False
        return all(
            isinstance(value, Call) and self._is_own_class(value.func, cls, function, module)
            for value in function.return_values
        )

    def _is_own_class(self, expr: Expr, cls: PytreeClass, function: Function, module: Module) -> bool:
        """Whether an expression in a method of `cls` is that class: by its name, `type(self)` or `self.__class__`."""
        match expr:
            case Call(func=Name(id="type"), args=(Argument(value=held),)):
                return _is_original(held, function, function.self_name)
            case Attribute(value=held, attr="__class__"):
                return _is_original(held, function, function.self_name)
            case Name(id=name) if name == cls.name:
                symbol = self.resolver.resolve(expr, module, function.inner_scope)
                return isinstance(symbol, ClassSymbol) and symbol.key == cls.symbol.key
        return False

    def copied_parameter(
        self,
        function: Function,
        module: Module,
        class_of: Callable[[Symbol], PytreeClass | None],
        passed: Mapping[str, PytreeClass],
    ) -> tuple[Parameter, PytreeClass] | None:
        """The parameter of which a function returns copies with changes, alone or beside something, and its class.

        That is what it is annotated with, or what is `passed` for it. What its calls do besides is not looked at.
        """
        for parameter in self._parameters_copied(function, module):
            cls = passed.get(parameter.name) if parameter.annotation is None else None
            if isinstance(parameter.annotation, (Name, Attribute)):
                cls = class_of(self.resolver.resolve(parameter.annotation, module, function.scope))
            if cls is not None and cls.is_pytree and self._returns_copies(function, module, parameter, cls):
                return parameter, cls
        return None

    def may_copy_parameter(
        self, function: Function, module: Module, class_of: Callable[[Symbol], PytreeClass | None]
    ) -> bool:
        """Whether it may be that a function returns copies of a parameter, whatever its callers pass."""
        bare = (p for p in self._parameters_copied(function, module) if p.annotation is None)
        return (
            any(self._returns_copies(function, module, parameter, None) for parameter in bare)
            or self.copied_parameter(function, module, class_of, {}) is not None
        )

    def _parameters_copied(self, function: Function, module: Module) -> list[Parameter]:
        """The parameters of which a function may return copies, and do nothing else."""
        if not function.may_only_copy or function.is_async:
            return []
        if not self.only_compiles(function, module):
            return []
        own = function.parameters[1:] if function.self_name is not None else function.parameters
        return [p for p in own if p.kind == "positional" and _is_only_copied(p.name, function, module)]

    def _returns_copies(
        self, function: Function, module: Module, parameter: Parameter, cls: PytreeClass | None
    ) -> bool:
        """Whether all that a function returns is a copy of a parameter, of class `cls`, alone or beside something."""
        returned = (_beside(value) for value in function.return_values)
        return all(any(self._copies(v, cls, function, module, parameter.name) for v in vs) for vs in returned)

    def is_compiled(self, function: Function, module: Module) -> bool:
        """Whether a decorator compiles a function."""
        return any(self._compiles(decorator, function, module) for decorator in function.decorators)

    def only_compiles(self, function: Function, module: Module) -> bool:
        """Whether the decorators of a function, if it has any, do nothing but to compile it."""
        return all(self._compiles(decorator, function, module) for decorator in function.decorators)

    def only_compiles_or_maps(self, function: Function, module: Module) -> bool:
        """Whether the decorators of a function, if it has any, only compile it or run it for several arguments."""
        return all(self._compiles(one, function, module, _COMPILERS_AND_MAPS) for one in function.decorators)

    def _compiles(
        self, decorator: Expr, function: Function, module: Module, names_of: frozenset[str] = _COMPILERS
    ) -> bool:
        """Whether a decorator does nothing but to compile the function, which makes the same copies then."""
        names = [self.resolver.library_name(without_call(decorator), module, function.scope)]
        if names == ["functools.partial"] and isinstance(decorator, Call) and decorator.positional:
            names = [self.resolver.library_name(decorator.positional[0], module, function.scope)]
        return names[0] in names_of

    def _copies(
        self,
        expr: Expr,
        cls: PytreeClass | None,
        function: Function,
        module: Module,
        original: str,
        within: frozenset[str] = frozenset(),
    ) -> bool:
        """Whether an expression is a copy with changes of a parameter, of class `cls`, or a copy of such a copy.

        So is a variable that is given such copies, perhaps of what it was (as those `within` are), and nothing else.
        """
        if isinstance(expr, Name):
            if expr.id in within or (expr.id != original and function.takes(expr.id)):
                return False
            within |= {expr.id}
            bases = [self._copied(call, cls, function, module) for name, call in function.copies if name == expr.id]
        else:
            bases = [self._copied(expr, cls, function, module)]
        copies = [
            base is not None
            and (_is_original(base, function, original) or self._copies(base, cls, function, module, original, within))
            for base in bases
        ]
        return any(copies) and all(
            copied or (isinstance(base, Name) and base.id in within) for copied, base in zip(copies, bases, strict=True)
        )

    def _copied(self, expr: Expr, cls: PytreeClass | None, function: Function, module: Module) -> Expr | None:
        """What an expression makes a copy of with changes, if it is an update of an instance of `cls`."""
        if not isinstance(expr, Call):
            return None
        symbol = self.resolver.resolve(expr.func, module, function.inner_scope)
        name = symbol.name if isinstance(symbol, External) else ""
        position = 0 if name in REPLACE_FUNCTIONS else 1 if name == TREE_AT else None
        if position is not None:
            return expr.positional[position] if len(expr.positional) > position else None
        if not isinstance(expr.func, Attribute):
            return None
        by_framework = not expr.positional and self._is_copying_method(expr.func.attr, cls)
        return expr.func.value if by_framework or self._is_own_update(expr.func.attr, cls) else None

    def _is_own_update(self, name: str, cls: PytreeClass | None) -> bool:
        """Whether a class has a method of its own of that name that returns a copy with changes."""
        found = None if cls is None else cls.method(name)
        if cls is None or found is None or (cls.symbol.key, name) in self._asked or len(self._asked) >= _DEEPEST:
            return False
        self._asked.add((cls.symbol.key, name))
        try:
            return self.updates(cls, found[1], found[0].module)
        finally:
            self._asked.discard((cls.symbol.key, name))

    def _is_copying_method(self, name: str, cls: PytreeClass | None) -> bool:
        if cls is None:
            return name in UPDATE_METHODS
        if name == cls.framework.replace_method and cls.has_framework_replace:
            return True
        return name in UPDATE_METHODS and cls.frozen is True


def _is_only_copied(name: str, function: Function, module: Module) -> bool:
    """Whether a parameter is given nothing else in a function but copies of variables."""
    bindings = module.outline.scopes[function.inner_scope].bindings[name]
    return len(bindings) == 1 + sum(variable == name for variable, _ in function.copies)


def _keeps_argument(copy: Expr, function: Function) -> bool:
    """Whether a copy that a method returns is made with one of its arguments."""
    given = {parameter.name for parameter in function.parameters} - {function.self_name}
    return any(isinstance(part, Name) and part.id in given for part in parts(copy))


def _beside(returned: Expr) -> tuple[Expr, ...]:
    """What a function returns, or the items of the tuple that it is."""
    return returned.items if isinstance(returned, Display) and returned.kind == "tuple" else (returned,)


def _is_original(expr: Expr, function: Function, name: str | None) -> bool:
    """Whether an expression is the parameter `name` of a function; of `self`, `super()` is the same instance."""
    if isinstance(expr, Call):
        is_super = isinstance(expr.func, Name) and expr.func.id == "super" and not expr.args
        return is_super and name == function.self_name
    return is_variable(name, expr)


def see_updates(visible: VisibleUpdates, root: str, cls: PytreeClass, updating: UpdatingMethods) -> None:
    """Sort the methods of a class under a root."""
    for name in (*UPDATE_METHODS, AT):
        _see(visible, root, name, cls, updating)


def _see(visible: VisibleUpdates, root: str, name: str, cls: PytreeClass, updating: UpdatingMethods) -> None:
    framework = cls.framework
    own = cls.symbol.declaration.methods.get(name)
    copies = (name == framework.replace_method and cls.has_framework_replace) or name in framework.copying_methods
    if cls.is_pytree and (copies or (name == "apply_gradients" and is_train_state(cls))):
        fields = frozenset((*(f.name for f in cls.fields), *cls.init_vars))
        visible.fields.setdefault((root, name), set()).add(fields)
    elif own:
        function = cls.module.outline.functions[own[-1]]
        if not updating.updates(cls, function, cls.module) and cls.frozen is not True:
            visible.others.setdefault((root, name), set()).add(_accepted(function))


def _accepted(function: Function) -> Accepted:
    """The keywords that a method may be called with."""
    names = frozenset(p.name for p in function.parameters)
    return Accepted(names, any(p.kind == "**" for p in function.parameters))
