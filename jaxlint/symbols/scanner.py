"""What expressions and targets tell an outline: calls, discards, changes in place, what is bound."""

from __future__ import annotations

import ast
from typing import Any

from jaxlint.libraries.arrays import ARRAY_TRAITS
from jaxlint.symbols.collected import START, Context, FunctionContent, UnitContent
from jaxlint.symbols.nodes import (
    asks_attribute,
    chooses_objects,
    collects_objects,
    compares_objects,
    hashes_objects,
    item_of,
    last_name,
    looks_up_object,
    stores_by_object,
    updated_array,
    updated_by,
    variables_of,
)
from jaxlint.symbols.outline import (
    CHOOSES,
    COMPARES,
    LOOKUPS,
    MUTATING,
    UPDATING,
    Applying,
    Assignment,
    Binding,
    Class,
    Function,
    Import,
    Scope,
    SelfAssignment,
    Unit,
)
from jaxlint.syntax.ast_expressions import from_ast, span_of
from jaxlint.syntax.expressions import Call, Expr, Span

#: What is imported from these is a module, a function or a class.
_LIBRARIES = frozenset({"jax", "numpy"})
#: Functions that return a value and make the program fail when that is computed.
_FAILING = frozenset({"error_if", "branched_error_if"})
#: Expressions that have variables of their own.
_BINDING = frozenset({ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp})


class Scanner:
    """Collects what a module with these `lines` holds; the statements before those that are read say `context`."""

    def __init__(self, lines: list[str], context: Context = START) -> None:
        self.lines = lines
        self.scopes: dict[str, Scope] = {"": Scope("module", "", None, {}, set())}
        self.classes: dict[str, Class] = {}
        self.functions: dict[str, Function] = {}
        self.module_calls: list[Call] = []
        self.attributes_set: set[str] = set()
        #: The scopes of functions, with the names that they say are of a function around.
        self.nonlocal_names: set[tuple[str, str]] = set()
        self.guarded_calls: set[Span] = set()
        self.star_imports: list[Import] = []
        self.all_names = None if context.all_names is None else list(context.all_names)
        self.future_annotations = False
        self.imported: dict[tuple[int, str], None] = {}
        self.applying: list[Applying] = []
        #: How many arguments are given, by position alone, to what a call makes: by the number of that call in memory.
        self._given: dict[int, int] = {}
        self.transforms = set(context.transforms)
        self.modules = set(context.modules)
        self.taken = context.taken
        self.scope = ""
        self.shadowed: tuple[str, ...] = ()
        self.guards: list[str] = []
        #: What the variable of a loop at module level stands for, if its items are names that are written out.
        self.turns: dict[str, tuple[ast.expr, ...]] = {}
        self.expecting_error = False
        self.function: FunctionContent | None = None
        self.owner: str | None = None
        self._start_unit()

    def _start_unit(self) -> None:
        self.content = self.rest = UnitContent()
        self.pieces: list[Unit] = []

    def _note_act(self) -> None:
        """Note that a function does more than to compute what it returns."""
        if self.function is not None:
            self.function.acts = True

    def _note_check(self) -> None:
        """Note that a function asserts or raises something."""
        self._note_act()
        if self.function is not None:
            self.function.checks = True

    def _bind(self, scope: Scope, name: str, binding: Binding) -> None:
        home = self._home(name, scope) if name in scope.is_global else scope
        home.bindings.setdefault(name, []).append(binding)
        if isinstance(binding, Import) and home.kind == "module":
            if binding.name is None or binding.module in _LIBRARIES:
                self.modules.add(name)

    def _home(self, name: str, scope: Scope) -> Scope:
        """The scope of a name that a function takes from around it."""
        around = self.scopes.get(scope.parent or "") if (scope.qualname, name) in self.nonlocal_names else None
        while around is not None and around.kind != "module":
            if around.kind == "function" and name in around.bindings:
                return around
            around = self.scopes.get(around.parent or "")
        return self.scopes[""]

    @property
    def _guard(self) -> str:
        return self.guards[-1] if self.guards else ""

    # -- targets and expressions ------------------------------------------------------------

    def _target(self, target: ast.expr, value: ast.expr | None, annotation: ast.expr | None, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                if name == "__all__" and scope.kind == "module" and value is not None:
                    self.all_names = []
                    self._extend_all(value)
                if self.function is not None:
                    self.function.assign(name, value, is_certain=not self.guards)
                keep = scope.keeps_values
                self._bind(
                    scope,
                    name,
                    Assignment(
                        from_ast(value) if keep and value is not None else None,
                        from_ast(annotation) if keep and annotation is not None else None,
                        span_of(target),
                        self._guard if value is not None or annotation is not None else "opaque",
                    ),
                )
            case ast.Attribute(value=receiver, attr=attr):
                self._attribute_target(target, receiver, attr, value, annotation)
                self._scan(receiver)
                self._note_act()
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                values: list[ast.expr | None] = [None] * len(elts)
                if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(elts):
                    values = list(value.elts)
                elif value is not None and not any(isinstance(e, ast.Starred) for e in elts):
                    values = [item_of(value, index) for index in range(len(elts))]
                for element, part in zip(elts, values, strict=True):
                    self._target(element, part, None, scope)
            case ast.Starred(value=inner):
                self._target(inner, None, None, scope)
            case ast.Subscript(value=inner, slice=index):
                self._note_mutation(inner)
                if not self._is_own(inner):
                    self.content.methods.add("[]")
                    self._note_act()
                if stores_by_object(index):
                    self.content.calls.add(COMPARES)
                self._scan(inner)
                self._scan(index)

    def _attribute_target(
        self,
        target: ast.Attribute,
        receiver: ast.expr,
        attr: str,
        value: ast.expr | None,
        annotation: ast.expr | None,
    ) -> None:
        self._note_mutation(receiver)
        function = self.function
        on_self = (
            function is not None
            and self.owner is not None
            and isinstance(receiver, ast.Name)
            and receiver.id == function.self_name
        )
        if not on_self:
            self.content.stores = True
            if function is None and isinstance(receiver, ast.Name):
                self.attributes_set.add(f"{receiver.id}.{attr}")
            return
        assert function is not None and self.owner is not None
        self.content.self_stores.add(self.owner)
        function.assignments.append(
            SelfAssignment(
                attr,
                from_ast(value) if value is not None else None,
                from_ast(annotation) if annotation is not None else None,
                span_of(target),
            )
        )

    def _note_mutation(self, held: ast.expr) -> None:
        """Note what holds what is changed in place: an attribute or a variable; and the variable that leads to it."""
        while isinstance(held, ast.Subscript):
            held = held.value
        if isinstance(held, ast.Name):
            is_own = self.function is not None and held.id in self.function.fresh
            self.content.mutations.add(f"={held.id}" if is_own else held.id)
            if self.function is not None:
                self.content.mutations |= self.function.held.get(held.id, set())
        elif isinstance(held, ast.Attribute):
            self.content.mutations.add(held.attr)
            function, receiver = self.function, held.value
            if function is not None and isinstance(receiver, ast.Name) and receiver.id == function.self_name:
                function.mutations.add(held.attr)
            while isinstance(receiver, (ast.Attribute, ast.Subscript)):
                receiver = receiver.value
            if isinstance(receiver, ast.Name) and (function is None or receiver.id != function.self_name):
                self.content.mutations.add(receiver.id)

    def _is_own(self, receiver: ast.expr) -> bool:
        """Whether what is changed is a container that the function has made, or no object but a module."""
        while isinstance(receiver, (ast.Attribute, ast.Subscript)):
            receiver = receiver.value
        if not isinstance(receiver, ast.Name):
            return False
        if self.function is not None and receiver.id in self.function.fresh:
            return True
        return receiver.id in self.modules

    def _note_discard(self, value: ast.expr) -> None:
        """Note the calls that stand alone."""
        match value:
            case ast.Call(func=ast.Attribute(value=receiver, attr=attr)):
                if not (attr in MUTATING and self._is_own(receiver)):
                    self.content.discards.add("at[]" if updated_array(value) is not None else attr)
            case ast.Call(func=ast.Name(id=name)):
                self.content.discards.add(name)
            case ast.Await(value=inner) | ast.ListComp(elt=inner) | ast.SetComp(elt=inner):
                self._note_discard(inner)
            case ast.IfExp(body=body, orelse=orelse):
                self._note_discard(body)
                self._note_discard(orelse)
            case ast.BoolOp(values=[*_, last]):
                self._note_discard(last)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                for item in elts:
                    self._note_discard(item)

    def _note_update(self, target: ast.expr | None, value: ast.Call, scope: Scope) -> None:
        """Note that a variable is given an update of something else, or that such an update is returned."""
        base = updated_by(value)
        if not isinstance(base, (ast.Name, ast.Attribute)) or not (target is None or isinstance(target, ast.Name)):
            return
        key, content = (scope.qualname, ast.dump(base)), self.content
        content.repeats = content.repeats or key in content.updated
        if target is not None and not (isinstance(base, ast.Name) and base.id == target.id):
            content.updated.add(key)

    def _scan(self, node: Any) -> None:
        """Note the calls and names inside an expression."""
        if node is None:
            return
        add_name = self.content.names.add
        function = self.function
        self_name = None if function is None else function.self_name
        stack: list[Any] = [node]
        pop, push, extend = stack.pop, stack.append, stack.extend
        while stack:
            current = pop()
            kind = type(current)
            if kind is ast.Name:
                add_name(current.id)
            elif kind is ast.Attribute:
                value = current.value
                if type(value) is ast.Name:
                    add_name(value.id)
                    if self_name is not None and value.id == self_name:
                        assert function is not None
                        function.reads.add(current.attr)
                elif function is not None and current.attr in ARRAY_TRAITS and self._note_trait(value, function):
                    pass
                else:
                    push(value)
            elif kind is ast.Call:
                self._note_call(current)
                push(current.func)
                extend(current.args)
                for keyword in current.keywords:
                    push(keyword.value)
            elif kind is ast.Constant:
                pass
            elif kind is ast.BinOp:
                push(current.left)
                push(current.right)
            elif kind is ast.Subscript:
                push(current.value)
                push(current.slice)
            elif kind is ast.Slice:
                if function is not None and asks_attribute(current):
                    function.asks = True
                extend(ast.iter_child_nodes(current))
            elif kind is ast.Tuple or kind is ast.List:
                extend(current.elts)
            elif kind in _BINDING:
                self._scan_binding(current)
            elif kind is ast.Compare:
                if compares_objects(current):
                    self.content.calls.add(COMPARES)
                push(current.left)
                extend(current.comparators)
            elif kind is ast.BoolOp or kind is ast.JoinedStr:
                extend(current.values)
            elif kind is ast.UnaryOp:
                push(current.operand)
            else:
                if (kind is ast.Set or kind is ast.Dict) and hashes_objects(current):
                    self.content.calls.add(COMPARES)
                if (kind is ast.Yield or kind is ast.YieldFrom) and function is not None:
                    function.is_generator = True
                extend(ast.iter_child_nodes(current))

    def _note_trait(self, value: ast.expr, function: FunctionContent) -> bool:
        """Note an attribute of `self` (or an item of one) that is asked for a trait; False if it is none."""
        while type(value) is ast.Subscript and type(value.slice) is ast.Constant:
            value = value.value
        if type(value) is not ast.Attribute or type(value.value) is not ast.Name:
            return False
        if function.self_name is None or value.value.id != function.self_name:
            return False
        self.content.names.add(function.self_name)
        function.traits.add(value.attr)
        return True

    def _note_call(self, call: ast.Call) -> None:
        func, calls = call.func, self.content.calls
        given = call.args[0] if call.args else None
        if type(given) is ast.Attribute and given.attr in UPDATING and last_name(func) == "partial":
            calls.add(given.attr)
        if chooses_objects(call):
            calls.add(CHOOSES)
        if self.function is not None and asks_attribute(call):
            self.function.asks = True
        if type(func) is ast.Attribute:
            attr = func.attr
            if attr != "replace" or call.keywords:
                calls.add(attr)  # str.replace has no keywords
            if attr in MUTATING:
                self._note_mutation(func.value)
            if attr in LOOKUPS and looks_up_object(call):
                calls.add(COMPARES)
            if updated_array(call) is None and not self._is_own(func.value):
                self.content.methods.add(attr)
            if attr in self.transforms:
                self._note_applying(call)
            if attr in _FAILING:
                self._note_act()
            function = self.function
            if function is not None and type(func.value) is ast.Name and func.value.id == function.self_name:
                function.calls.add(attr)
        elif type(func) is ast.Name:
            calls.add(func.id)
            if func.id in self.transforms:
                self._note_applying(call)
            if func.id in _FAILING:
                self._note_act()
        else:
            calls.add("")
            if type(func) is ast.Call:
                if any(last_name(a) in self.transforms for a in func.args[:1]):
                    self._note_applying(call)
                if not call.keywords and not any(type(a) is ast.Starred for a in call.args):
                    self._given[id(func)] = len(call.args)

    def _scan_binding(self, node: ast.AST) -> None:
        """Scan a lambda or a comprehension, whose variables are its own."""
        if collects_objects(node):
            self.content.calls.add(COMPARES)
        outer = self.shadowed
        self.shadowed = (*outer, *variables_of(node))
        for child in ast.iter_child_nodes(node):
            self._scan(child)
        self.shadowed = outer

    def _note_applying(self, call: ast.Call) -> None:
        """Note a call that may apply a transformation."""
        function = self.function
        self_name = function.self_name if function is not None else None
        owner = self.owner if self_name is not None else None
        given = self._given.get(id(call))
        makers = () if function is None else self._makers(call, function)
        applied = Applying(from_ast(call), self.scope, owner, self_name, self.shadowed, given, makers)  # type: ignore[arg-type]
        self.applying.append(applied)

    @staticmethod
    def _makers(call: ast.Call, function: FunctionContent) -> tuple[tuple[str, Expr], ...]:
        """What has made the objects in variables of the function whose methods a call is given."""
        found: dict[str, Expr] = {}
        for given in call.args:
            if type(given) is ast.Attribute and type(given.value) is ast.Name:
                maker = function.made.get(given.value.id)
                if maker is not None:
                    found[given.value.id] = from_ast(maker)
        return tuple(found.items())

    def _extend_all(self, value: ast.expr) -> None:
        """Add to `__all__`; what cannot be read makes it unknown."""
        parts = [value]
        while parts and self.all_names is not None:
            match parts.pop():
                case ast.BinOp(left=left, op=ast.Add(), right=right):
                    parts += [left, right]
                case ast.List(elts=elts) | ast.Tuple(elts=elts):
                    parts += elts
                case ast.Constant(value=str(name)):
                    self.all_names.append(name)
                case _:
                    self.all_names = None

    def _extend_all_call(self, call: ast.Call) -> None:
        func = call.func
        if (
            isinstance(func, ast.Attribute)
            and isinstance(func.value, ast.Name)
            and func.value.id == "__all__"
            and func.attr in ("extend", "append")
            and call.args
        ):
            self._extend_all(call.args[0])

    # -- functions and classes --------------------------------------------------------------
