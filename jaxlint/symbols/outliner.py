"""Making the outline of a file: one walk over its `ast` tree."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from jaxlint.libraries.transforms import LAST_NAMES
from jaxlint.suppression.comments import mentions_jaxlint
from jaxlint.symbols.collected import FunctionContent, UnitContent, referring, split_rows
from jaxlint.symbols.nodes import (
    TRY_STAR,
    class_body,
    expects_error,
    grouped,
    parameters_of,
    rows_of,
    starts_again,
    takes_class,
    type_checking_guards,
    type_parameters,
)
from jaxlint.symbols.outline import (
    MUTATING,
    Assignment,
    Class,
    Definition,
    Import,
    Outline,
    Scope,
    Unit,
)
from jaxlint.symbols.scanner import Scanner
from jaxlint.syntax.ast_expressions import from_ast, span_of
from jaxlint.syntax.expressions import Argument, Name, Span

#: Packages whose submodules an outline lists where they are imported by name.
_PARENTS = frozenset({"jax._src", "jax.experimental"})
#: Methods that make instances. One that is declared for type checkers only is not there: that of a base runs, or the
#: generated one. Any other method is declared to them so because somebody brings it.
_MAKING = frozenset({"__init__", "__new__", "__post_init__"})
#: What makes something of what it is given.
_PRODUCTS = (ast.Call, ast.BinOp)
#: `type X = …`, of Python 3.12.
_TypeAlias: Any = getattr(ast, "TypeAlias", ast.Assign)


def build_outline(tree: ast.Module, text: str) -> Outline:
    """The outline of a module that was parsed from `text`."""
    return OutlineBuilder(split_rows(text)).build(tree.body, mentions_jaxlint(text))


class OutlineBuilder(Scanner):
    """Makes the outline of statements of a module with these `lines`; those before them say `context`."""

    def build(self, body: list[ast.stmt], has_suppressions: bool) -> Outline:
        """The outline of all statements of a module."""
        units = [self.read_unit(*unit) for unit in grouped(body, self.lines)]
        functions = {q for q, f in self.functions.items() if f.scope == ""}
        return self.outline([referring(unit, functions) for unit in units], has_suppressions)

    def read_unit(self, first: int, last: int, kind: str, statements: list[ast.stmt]) -> Unit:
        """Read the statements of a unit; all names in it count as if they were functions."""
        self._start_unit()
        for statement in statements:
            self._statement(statement, self.scopes[""])
        return self._unit(first, last, kind)

    def outline(self, units: list[Unit], has_suppressions: bool) -> Outline:
        """The outline of all that was read."""
        return Outline(
            scopes=self.scopes,
            classes=self.classes,
            functions=self.functions,
            units=tuple(units),
            module_calls=tuple(self.module_calls),
            guarded_calls=frozenset(self.guarded_calls),
            star_imports=tuple(self.star_imports),
            all_names=None if self.all_names is None else tuple(self.all_names),
            future_annotations=self.future_annotations,
            imported_modules=tuple(self.imported),
            applying=tuple(self.applying),
            has_suppressions=has_suppressions,
            attributes_set=frozenset(self.attributes_set),
        )

    def _unit(self, first: int, last: int, kind: str) -> Unit:
        if len(self.pieces) < 2:
            for piece in self.pieces:
                self.rest.add(piece)
            return self.rest.unit(first, last, kind)
        pieces = (*self.pieces, self.rest.unit(first, last, "rest"))
        for piece in self.pieces:
            self.rest.add(piece)
        return self.rest.unit(first, last, kind, pieces)

    # -- statements -------------------------------------------------------------------------

    def _body(self, body: list[ast.stmt], scope: Scope) -> None:
        before: ast.Assign | None = None
        for statement in body:
            self._statement(statement, scope)
            if type(statement) is ast.Assign and type(statement.value) in _PRODUCTS and self.function is not None:
                if before is not None and starts_again(before, statement, self.modules):
                    self.content.repeats = True
                before = statement
            else:
                before = None

    def _guarded(self, guard: str, body: list[ast.stmt], scope: Scope) -> None:
        self.guards.append(guard)
        self._body(body, scope)
        self.guards.pop()

    def _statement(self, node: ast.stmt, scope: Scope) -> None:
        if self.function is not None:
            self.function.statements += 1
        self.scope = scope.qualname
        read = _READERS.get(type(node))
        if read is not None:
            read(self, node, scope)

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        self._scan(node.value)
        if len(node.targets) == 1 and type(node.value) is ast.Call:
            self._note_update(node.targets[0], node.value, scope)
        for target in node.targets:
            self._target(target, node.value, None, scope)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        self._scan(node.value)
        if type(node.value) is ast.Call:
            self._note_update(node.target, node.value, scope)
        self._target(node.target, node.value, node.annotation, scope)

    def _type_alias(self, node: Any, scope: Scope) -> None:
        self._target(node.name, node.value, None, scope)

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        self._scan(node.value)
        if isinstance(node.target, ast.Name) and node.target.id == "__all__":
            self._extend_all(node.value)
        self._target(node.target, None, None, scope)

    def _expression(self, node: ast.Expr, scope: Scope) -> None:
        value = node.value
        if scope.kind == "module" and isinstance(value, ast.Call):
            self._module_call(value)
        self._scan(value)
        self._note_discard(value)
        match value:
            case ast.Constant():
                return
            case ast.Call(func=ast.Attribute(value=receiver, attr=attr)) if attr in MUTATING and self._is_own(receiver):
                return
        self._note_act()

    def _module_call(self, call: ast.Call) -> None:
        """A call outside of functions; in a loop over names that are written out, one for each of them."""
        is_guarded = len(self.guards) > bool(self.turns) or self.expecting_error
        given = call.args[0] if call.args else None
        turns = self.turns.get(given.id, ()) if isinstance(given, ast.Name) else ()
        of_turns = [ast.Call(call.func, [first, *call.args[1:]], call.keywords) for first in turns]
        for turn in (ast.copy_location(one, call) for one in of_turns) if turns else (call,):
            self.module_calls.append(from_ast(turn))  # type: ignore[arg-type]
        if is_guarded:
            self.guarded_calls.add(span_of(call))
        self._extend_all_call(call)

    def _return(self, node: ast.Return, scope: Scope) -> None:
        self._scan(node.value)
        if type(node.value) is ast.Call:
            self._note_update(None, node.value, scope)
        if self.function is not None and node.value is not None:
            self.function.returns.append(node.value)

    def _try(self, node: ast.Try, scope: Scope) -> None:
        self._guarded("try", node.body, scope)
        for handler in node.handlers:
            self._scan(handler.type)
            self._guarded("except", handler.body, scope)
        self._guarded("try", node.orelse, scope)
        self._guarded("try", node.finalbody, scope)

    def _with(self, node: ast.With | ast.AsyncWith, scope: Scope) -> None:
        for item in node.items:
            self._scan(item.context_expr)
            if item.optional_vars is not None:
                self._target(item.optional_vars, None, None, scope)
        outer, expecting = self.expecting_error, expects_error(node.items)
        self.expecting_error = outer or expecting
        self._body(node.body, scope)
        self.expecting_error = outer
        if expecting and scope.kind == "function":
            self._meant_to_fail(node.body, scope)

    def _meant_to_fail(self, body: list[ast.stmt], scope: Scope) -> None:
        """Note the classes of a function that it declares for what it expects to fail."""
        names = {part.id for statement in body for part in ast.walk(statement) if isinstance(part, ast.Name)}
        for name in names & scope.bindings.keys():
            for binding in scope.bindings[name]:
                declared = self.classes.get(binding.qualname) if isinstance(binding, Definition) else None
                if declared is not None:
                    declared.expects_error = True

    def _for(self, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
        self._scan(node.iter)
        self._target(node.target, None, None, scope)
        if self.function is not None:
            self.function.go_through(node.target, node.iter)
        if scope.kind == "module" and not self.guards and isinstance(node.target, ast.Name):
            items = node.iter.elts if isinstance(node.iter, (ast.Tuple, ast.List)) else ()
            if items and all(isinstance(item, (ast.Name, ast.Attribute)) for item in items):
                self.turns = {node.target.id: tuple(items)}
        self._guarded("conditional", node.body, scope)
        self.turns = {}
        for statement in node.body:
            if isinstance(statement, ast.Assign) and type(statement.value) is ast.Call and len(statement.targets) == 1:
                self._note_update(statement.targets[0], statement.value, scope)  # as in the turn before
        self._guarded("conditional", node.orelse, scope)

    def _while(self, node: ast.While, scope: Scope) -> None:
        self._scan(node.test)
        self._guarded("conditional", node.body, scope)
        self._guarded("conditional", node.orelse, scope)

    def _match(self, node: ast.Match, scope: Scope) -> None:
        self._scan(node.subject)
        for case in node.cases:
            self._scan(case.guard)
            self._guarded("conditional", case.body, scope)

    def _delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            self._target(target, None, None, scope)

    def _outer_names(self, node: ast.Global | ast.Nonlocal, scope: Scope) -> None:
        scope.is_global.update(node.names)
        if isinstance(node, ast.Nonlocal):
            self.nonlocal_names.update((scope.qualname, name) for name in node.names)

    def _assert(self, node: ast.Assert, scope: Scope) -> None:
        self._scan(node.test)
        self._scan(node.msg)
        self._note_check()

    def _raise(self, node: ast.Raise, scope: Scope) -> None:
        self._scan(node.exc)
        self._scan(node.cause)
        self._note_check()

    def _if(self, node: ast.If, scope: Scope) -> None:
        """An if statement; a chain of elif is walked without recursion."""
        guard = ""
        while True:
            self._scan(node.test)
            here, below = type_checking_guards(node.test)
            self._guarded(here or guard or "conditional", node.body, scope)
            guard = below or guard
            if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
                node = node.orelse[0]
            else:
                self._guarded(guard or "conditional", node.orelse, scope)
                return

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.imported[(0, alias.name)] = None
                if alias.asname:
                    self._bind(scope, alias.asname, Import(alias.name, None, 0, self._guard))
                else:
                    root = alias.name.partition(".")[0]
                    self._bind(scope, root, Import(root, None, 0, self._guard))
            return
        module = node.module or ""
        if module == "__future__":
            self.future_annotations |= any(a.name == "annotations" for a in node.names)
            return
        self.imported[(node.level, module)] = None
        for alias in node.names:
            if alias.name == "*":
                self.star_imports.append(Import(module, "*", node.level, self._guard))
                continue
            if node.level or "." not in module or module in _PARENTS:
                self.imported[(node.level, f"{module}.{alias.name}" if module else alias.name)] = None
            self._bind(scope, alias.asname or alias.name, Import(module, alias.name, node.level, self._guard))
            if alias.asname and alias.name in LAST_NAMES:
                self.transforms.add(alias.asname)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        is_piece = self.content is self.rest
        if is_piece:
            self.content = UnitContent()
        qualname = self._qualname(scope, node.name)
        self._bind(scope, node.name, Definition("function", qualname, self._guard))
        for decorator in node.decorator_list:
            self._scan(decorator)
        parameters = tuple(parameters_of(node.args))
        for parameter in (*node.args.defaults, *node.args.kw_defaults):
            self._scan(parameter)
        holds_class = any(isinstance(s, ast.ClassDef) for s in node.body)
        keeps_values = "flatten" in node.name or holds_class or takes_class(node)
        inner = Scope("function", f"{qualname}.<locals>", scope.qualname, {}, set(), keeps_values)
        self.scopes[inner.qualname] = inner
        for declared in parameters:
            inner.bindings[declared.name] = [Assignment(None, declared.annotation, declared.at, "parameter")]
        is_method = scope.kind == "class"
        decorators = tuple(from_ast(d) for d in node.decorator_list)
        self_name = None
        if is_method and parameters and parameters[0].kind == "positional":
            if not any(isinstance(d, Name) and d.id == "staticmethod" for d in decorators):
                self_name = parameters[0].name
        elif not is_method and self.function is not None and self.function.self_name not in inner.bindings:
            self_name = self.function.self_name
        outer, outer_owner, outer_guards = self.function, self.owner, self.guards
        self.function = FunctionContent(inner, self_name, outer)
        self.function.made.update(dict.fromkeys(inner.bindings))
        if is_method:
            self.owner = scope.qualname
        self.guards = []
        self._body(node.body, inner)
        collected = self.function
        self.function, self.owner, self.guards = outer, outer_owner, outer_guards
        self.scope = scope.qualname
        if outer is not None and not is_method and collected.self_name is not None:
            outer.add(collected)
        self.functions[qualname] = collected.function(node, qualname, scope, parameters, decorators)
        if is_piece:
            self.pieces.append(self.content.unit(*rows_of(node, self.lines), "function"))
            self.content = self.rest

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        qualname = self._qualname(scope, node.name)
        self._bind(scope, node.name, Definition("class", qualname, self._guard))
        self.content.classes.add(qualname)
        expects_error = self.expecting_error or "type_checking" in self.guards
        for decorator in node.decorator_list:
            self._scan(decorator)
        inner = Scope("class", qualname, scope.qualname, {}, set())
        self.scopes[qualname] = inner
        outer, outer_owner, outer_guards = self.function, self.owner, self.guards
        self.function, self.owner, self.guards = None, None, []
        self._body(node.body, inner)
        self.function, self.owner, self.guards = outer, outer_owner, outer_guards
        self.scope = scope.qualname
        fields, assignments, conditional = class_body(node)
        methods: dict[str, list[str]] = {}
        for name, bindings in inner.bindings.items():
            hidden = "type_checking" if name in _MAKING else None
            names = [
                b.qualname for b in bindings if isinstance(b, Definition) and b.kind == "function" and b.guard != hidden
            ]
            if names:
                methods[name] = names
        arguments = [Argument(span_of(b), from_ast(b)) for b in node.bases]
        arguments += [
            Argument(span_of(k), from_ast(k.value), k.arg, "**" if k.arg is None else "") for k in node.keywords
        ]
        self.classes[qualname] = Class(
            name=node.name,
            qualname=qualname,
            scope=scope.qualname,
            bases=tuple(arguments),
            decorators=tuple(from_ast(d) for d in node.decorator_list),
            fields=tuple(fields),
            assignments=tuple(assignments),
            methods=methods,
            at=span_of(node),
            name_at=Span(
                node.lineno,
                node.col_offset + len("class "),
                node.lineno,
                node.col_offset + len("class ") + len(node.name.encode()),
            ),
            conditional_body=conditional,
            type_parameters=type_parameters(node),
            expects_error=expects_error,
        )

    def _qualname(self, scope: Scope, name: str) -> str:
        qualname = f"{scope.qualname}.{name}" if scope.qualname else name
        taken, count = qualname, 1
        while taken in self.functions or taken in self.classes or taken in self.scopes or taken in self.taken:
            count += 1
            taken = f"{qualname}#{count}"
        return taken


_READERS: dict[type[ast.stmt], Callable[[OutlineBuilder, Any, Scope], None]] = {
    TRY_STAR: OutlineBuilder._try,
    _TypeAlias: OutlineBuilder._type_alias,
    ast.FunctionDef: OutlineBuilder._function,
    ast.AsyncFunctionDef: OutlineBuilder._function,
    ast.ClassDef: OutlineBuilder._class,
    ast.Import: OutlineBuilder._import,
    ast.ImportFrom: OutlineBuilder._import,
    ast.Assign: OutlineBuilder._assign,
    ast.AnnAssign: OutlineBuilder._annotated,
    ast.AugAssign: OutlineBuilder._augmented,
    ast.Expr: OutlineBuilder._expression,
    ast.Return: OutlineBuilder._return,
    ast.If: OutlineBuilder._if,
    ast.Try: OutlineBuilder._try,
    ast.With: OutlineBuilder._with,
    ast.AsyncWith: OutlineBuilder._with,
    ast.For: OutlineBuilder._for,
    ast.AsyncFor: OutlineBuilder._for,
    ast.While: OutlineBuilder._while,
    ast.Match: OutlineBuilder._match,
    ast.Delete: OutlineBuilder._delete,
    ast.Global: OutlineBuilder._outer_names,
    ast.Nonlocal: OutlineBuilder._outer_names,
    ast.Assert: OutlineBuilder._assert,
    ast.Raise: OutlineBuilder._raise,
}
