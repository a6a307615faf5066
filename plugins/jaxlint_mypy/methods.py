"""The methods that frameworks generate, put on mypy's classes with their signatures, so that they are real wherever
they are reached from: `self.replace` in a method, `partial(state.replace, ...)`, a protocol, an editor."""

from __future__ import annotations

from itertools import count

from mypy import nodes
from mypy.nodes import MDEF, Argument, Block, FuncDef, PassStmt, SymbolTableNode, TypeInfo, TypeVarExpr, Var
from mypy.plugin import SemanticAnalyzerPluginInterface
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    NoneType,
    TupleType,
    Type,
    TypeOfAny,
    TypeType,
    TypeVarId,
    TypeVarType,
    UninhabitedType,
    get_proper_type,
)
from mypy.typevars import fill_typevars_with_any

from jaxlint.libraries.updates import TRAIN_STATE
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.updating import is_train_state
from jaxlint_mypy.abstract import left_open, with_open
from jaxlint_mypy.codes import STRICT_REPLACE
from jaxlint_mypy.fields import converted, note_converters
from jaxlint_mypy.focused import is_known_package
from jaxlint_mypy.front import FrontEnd
from jaxlint_mypy.internals import has_unseen_base, is_daemon, pass_for
from jaxlint_mypy.parameters import (
    ANY,
    Parameters,
    field_type,
    filled,
    is_exact,
    kind_replaced,
    of_create,
    of_gradients,
    replaced,
    widened,
)

#: The type variable of the generated methods, found among the names of the class.
_SELF = "_JaxlintSelf"
#: What the second name of a method begins with, by which mypy finds it in the daemon.
_AGAIN = "_Jaxlint_"
#: The kinds of parameters, by whether they are keywords and have a default.
_KINDS = {
    (False, False): nodes.ARG_POS,
    (False, True): nodes.ARG_OPT,
    (True, False): nodes.ARG_NAMED,
    (True, True): nodes.ARG_NAMED_OPT,
}
#: Methods of a metaclass that make a class, or an instance of it.
_MAKING = frozenset({"__new__", "__init__", "__call__"})
_OMITTED = TypeOfAny.from_omitted_generics


class MethodMaker:
    """Puts methods on classes."""

    def __init__(self, front: FrontEnd) -> None:
        self.front = front
        self._counter = count()

    def add(self, api: SemanticAnalyzerPluginInterface, info: TypeInfo, cls: PytreeClass) -> None:
        """The methods that the framework gives a class. What mypy does not know yet takes anything until it does."""
        name = cls.framework.replace_method
        if name is not None and cls.has_framework_replace:
            overwrites = cls.framework.replace_overwrites and cls.registered is not False
            self._put_update(api, info, cls, name, overwrites=overwrites)
        if is_train_state(cls) and info.fullname != TRAIN_STATE:
            self._put_train_state(api, info, cls)
        if cls.framework.converters:
            note_converters(api, info.defn)
            taken = converted(api, info)
            # mypy's dataclasses give no constructor to a class without fields, which would inherit an open one
            opened = [info] if cls.fields else info.mro
            is_open = bool(cls.framework.abstract_fields) and any(map(left_open, opened))
            if (taken or is_open) and cls.custom_init() is None and not _is_made_otherwise(info):
                self._put_constructor(api, info, cls, taken)
        elif has_unseen_base(info) and _is_made_unseen(cls):
            self._put_constructor(api, info, cls, None)
        if cls.framework.added_methods and (cls.registered is not False or len(info.bases) > 1):
            self._put_chex(api, info, cls)

    def _put_update(
        self, api: SemanticAnalyzerPluginInterface, info: TypeInfo, cls: PytreeClass, name: str, *, overwrites: bool
    ) -> None:
        if not overwrites and _is_own(info, name):
            return
        named = self.named(info, cls)
        owner = _self_of(info, name)
        parameters = _anything("changes") if named is None else _with_others(named)
        self._put(api, info, name, _Method(owner, parameters, owner, is_shown=True))

    def _put_train_state(self, api: SemanticAnalyzerPluginInterface, info: TypeInfo, cls: PytreeClass) -> None:
        named = self.named(info, cls)
        for name in ("create", "apply_gradients"):
            if named is None or _is_own(info, name) or not is_flax_method(info, name):
                continue
            owner = _self_of(info, name)
            if name == "create":
                self._put(api, info, name, _Method(TypeType(owner), of_create(named, cls), owner, is_class=True))
            else:
                self._put(api, info, name, _Method(owner, of_gradients(named), owner))

    def _put_constructor(
        self, api: SemanticAnalyzerPluginInterface, info: TypeInfo, cls: PytreeClass, types: dict[str, Type] | None
    ) -> None:
        """The constructor: it takes what `types` says, or is of the type of the field.

        Without `types` nobody else says what it takes, so that arrays and numbers stand for each other.
        """
        receiver, parameters = filled(info), cls.constructor()
        if receiver is None or parameters is None:
            return
        named: Parameters = []
        for one in parameters:
            field, taken = cls.field(one.name), field_type(receiver, one.name)
            optional = one.default is not None or (field is not None and (field.has_default or field.opaque))
            wanted = self._wide(taken) if types is None else types.get(one.name) or taken
            named.append((one.name, _KINDS[one.kind == "keyword", optional], wanted))
        if cls.framework.abstract_fields:
            named = with_open(named, receiver)
        self._put(api, info, "__init__", _Method(receiver, named, NoneType()), generated=False)

    def _put_chex(self, api: SemanticAnalyzerPluginInterface, info: TypeInfo, cls: PytreeClass) -> None:
        """`to_tuple` and `from_tuple`, and the methods of a mapping unless an option says that it is none."""
        owner = filled(info)
        if owner is None:
            return
        values: Type = ANY
        if cls.fields_known and cls.registered is not False:
            items = [field_type(owner, field.name) for field in cls.fields]
            values = TupleType(items, api.named_type("builtins.tuple", [ANY]))
        self._put_new(api, info, "to_tuple", _Method(owner, [], values))
        given: Parameters = [("args", nodes.ARG_POS, self._generic(api, "typing.Iterable", ANY))]
        made = _self_of(info, "from_tuple")
        self._put_new(api, info, "from_tuple", _Method(TypeType(made), given, made, is_class=True))
        if cls.is_mapping is False:
            return
        mapping = api.named_type_or_none("typing.Mapping", [api.named_type("builtins.str"), ANY])
        if mapping is not None:
            pass_for(info, mapping)
        text, number, truth = (api.named_type(f"builtins.{name}") for name in ("str", "int", "bool"))
        key: Parameters = [("key", nodes.ARG_POS, text)]
        anything: Parameters = [("key", nodes.ARG_POS, api.named_type("builtins.object"))]
        default: Parameters = [("default", nodes.ARG_OPT, ANY)]
        for name, parameters, returned in (
            ("__getitem__", key, ANY),
            ("__iter__", [], self._generic(api, "typing.Iterator", text)),
            ("__len__", [], number),
            ("__contains__", anything, truth),
            ("keys", [], self._generic(api, "typing.KeysView", text)),
            ("values", [], self._generic(api, "typing.ValuesView", ANY)),
            ("items", [], self._generic(api, "typing.ItemsView", text, ANY)),
            ("get", [*key, *default], ANY),
        ):
            self._put_new(api, info, name, _Method(owner, parameters, returned))

    def _put(
        self,
        api: SemanticAnalyzerPluginInterface,
        info: TypeInfo,
        name: str,
        method: _Method,
        *,
        generated: bool = True,
    ) -> None:
        """Put a method on a class: into its symbols only, as there is no body for mypy's checker to look at.

        What is not `generated` is left alone when mypy itself makes a dataclass of the class. In the daemon the class
        may become another one, of which its variables are told, and the functions in its body.
        """
        first = ("cls" if method.is_class else "self", nodes.ARG_POS, method.owner)
        parameters = [first, *method.parameters]
        typ = CallableType(
            [one for _, _, one in parameters],
            [kind for _, kind, _ in parameters],
            [text for text, _, _ in parameters],
            method.returned,
            api.named_type("builtins.function"),
            name=name,
            variables=_variables(method.owner),
        )
        arguments = [Argument(Var(text, one), one, None, kind) for text, kind, one in parameters]
        function = FuncDef(name, arguments, Block([PassStmt()]), typ)
        function.info = info
        function.is_class = method.is_class
        function._fullname = f"{info.fullname}.{name}"
        function.line = info.line
        typ.definition = function
        node: nodes.SymbolNode = function
        is_read_again = is_daemon(self.front.options)
        if method.is_class or method.is_shown or (is_read_again and generated):
            function.is_decorated = True
            variable = Var(name, typ)
            variable.info = info
            variable._fullname = function._fullname
            variable.is_classmethod = method.is_class
            variable.is_initialized_in_class = True
            node = nodes.Decorator(function, [], variable)
            node.line = info.line
            if is_read_again:  # by a name that it had not before: what has one becomes what had it
                again = SymbolTableNode(MDEF, variable, plugin_generated=True, no_serialize=True)
                info.names[f"{_AGAIN}{name}_{next(self._counter)}"] = again
        elif is_read_again:
            _found_in_body(info, function)
        info.names[name] = SymbolTableNode(MDEF, node, plugin_generated=generated)

    def _put_new(self, api: SemanticAnalyzerPluginInterface, info: TypeInfo, name: str, method: _Method) -> None:
        if not _is_own(info, name):
            self._put(api, info, name, method)

    def _generic(self, api: SemanticAnalyzerPluginInterface, name: str, *arguments: Type) -> Type:
        return api.named_type_or_none(name, list(arguments)) or ANY

    def named(self, info: TypeInfo, cls: PytreeClass) -> Parameters | None:
        """The fields as keywords, which may be left out; None if they are not known."""
        names, receiver = replaced(cls), filled(info)
        if names is None or receiver is None:
            return None
        return [(name, kind_replaced(cls, name), self._type(receiver, cls, name)) for name in names]

    def _type(self, receiver: Instance, cls: PytreeClass, name: str) -> Type:
        typ = field_type(receiver, name)
        return typ if is_exact(cls, name, typ) else self._wide(typ)

    def _wide(self, typ: Type) -> Type:
        return typ if STRICT_REPLACE in self.front.options.enabled_error_codes else widened(self.front, typ)


class _Method:
    """A method that is to be put on a class."""

    def __init__(
        self, owner: Type, parameters: Parameters, returned: Type, *, is_class: bool = False, is_shown: bool = False
    ) -> None:
        self.owner = owner
        self.parameters = parameters
        self.returned = returned
        self.is_class = is_class
        #: Whether mypy is to show to the plugin where the method is reached for, as it does with variables.
        self.is_shown = is_shown


def is_flax_method(info: TypeInfo, name: str) -> bool:
    """Whether a method of `TrainState` is that of flax, and no override of the user's."""
    owner = info.get_containing_type_info(name)
    return owner is not None and (owner.fullname == TRAIN_STATE or owner.names[name].plugin_generated)


def _is_made_unseen(cls: PytreeClass) -> bool:
    """Whether a base that mypy cannot see generates the constructor, or keeps mypy from saying what it takes."""
    if cls.framework.makes_dataclass and cls.framework.decorators:
        return False  # mypy makes a dataclass of it
    if not cls.is_dataclass or cls.custom_init() is not None or not cls.fields_known:
        return False
    from jaxlint.rules.analyses.instances.constructor_calls import is_constructor_known

    return is_constructor_known(cls)


def _is_made_otherwise(info: TypeInfo) -> bool:
    """Whether a metaclass of the user's makes or calls the class: it may convert what the constructor is given."""
    metaclasses = info.metaclass_type.type.mro if info.metaclass_type is not None else []
    own = (one for one in metaclasses if not is_known_package(one.module_name))
    return any(not _MAKING.isdisjoint(one.names) for one in own)


def _is_own(info: TypeInfo, name: str) -> bool:
    own = info.names.get(name)
    return own is not None and not own.plugin_generated


def _anything(name: str) -> Parameters:
    return [(name, nodes.ARG_STAR2, ANY)]


def _with_others(named: Parameters) -> Parameters:
    """The keywords and any others, whose values nothing fits, so that a protocol with `**changes: Any` is fulfilled."""
    name = "_" * (1 + max((len(one) for one, _, _ in named), default=0))
    return [*named, (name, nodes.ARG_STAR2, UninhabitedType())]


def without_others(typ: Type) -> Type:
    """What `_with_others` has made, without these others: the signature for those who call the method."""
    proper = get_proper_type(typ)
    if not isinstance(proper, CallableType) or proper.arg_kinds[-1:] != [nodes.ARG_STAR2]:
        return typ
    if not isinstance(get_proper_type(proper.arg_types[-1]), UninhabitedType):
        return typ
    return proper.copy_modified(
        arg_types=proper.arg_types[:-1], arg_kinds=proper.arg_kinds[:-1], arg_names=proper.arg_names[:-1]
    )


def _self_of(info: TypeInfo, method: str) -> TypeVarType:
    """The type of the receiver, whatever subclass it is of."""
    full_name, bound, default = f"{info.fullname}.{_SELF}", fill_typevars_with_any(info), AnyType(_OMITTED)
    declared = TypeVarExpr(_SELF, full_name, [], bound, default)
    info.names[_SELF] = SymbolTableNode(MDEF, declared, plugin_generated=True)
    identity = TypeVarId(-1, namespace=f"{info.fullname}.{method}")
    return TypeVarType(_SELF, full_name, id=identity, values=[], upper_bound=bound, default=default)


def _found_in_body(info: TypeInfo, function: FuncDef) -> None:
    """Have the daemon find a constructor in the body of its class.

    When it reads a class again, it copies what it finds into the class that it had before, and tells so to the
    functions in the body: of any other constructor it does not know whose it is, and crashes. Before that it takes
    those of a plugin out of the body.
    """
    name, body = f"{_AGAIN}{function.name}", info.defn.defs.body
    before = info.names.get(name)
    if before is not None and isinstance(before.node, FuncDef) and before.node in body:
        body.remove(before.node)
    info.names[name] = SymbolTableNode(MDEF, function, plugin_generated=True, no_serialize=True)
    body.append(function)


def _variables(owner: Type) -> list[TypeVarType]:
    item = owner.item if isinstance(owner, TypeType) else owner
    return [item] if isinstance(item, TypeVarType) else []
