"""The neutral spelling of a fixture, expanded into the ordinary program of one framework.

A fixture imports what it needs from `anyframework`:

* `@pytree` above a class declares a pytree class; a base that is such a class is inherited from;
* `name: annotation` and `name: annotation = default` are data fields;
* `name: annotation = field(default=..)` or `field(default_factory=..)` is a data field, spelt with a call;
* `name: annotation = static()`, `static(default=..)` is a static field;
* `replace(instance, name=..)` makes an updated copy;
* `Class(name=..)` constructs (for `TrainState` this becomes `Class.create(..)`).

Only these places change. All other text, the comments with expectations too, stays as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain

from tests.oracle.frameworks import Framework

NEUTRAL = "anyframework"
#: How a module in the neutral spelling is known before it is parsed.
IMPORTED = re.compile(rf"^ *from {NEUTRAL} import", re.MULTILINE)
MARKERS = ("pytree", "static", "field", "replace")


class SpellingError(Exception):
    """A neutral fixture says something that the framework cannot say."""


@dataclass
class Edits:
    """Replacements of text ranges, collected in any order; ranges are those of `ast` nodes."""

    text: str
    starts: list[int] = field(default_factory=list)
    changes: list[tuple[int, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Index the lines."""
        if not self.text.isascii():
            raise SpellingError("fixtures in the neutral spelling are ASCII")
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt) -> int:
        """The offset at which `node` begins."""
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        """The offset just after `node`."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def line_start(self, row: int) -> int:
        """The offset of the first character of the line `row` (from 1)."""
        return self.starts[row - 1]

    def change(self, start: int, end: int, text: str) -> None:
        """Replace the text between two offsets."""
        self.changes.append((start, end, text))

    def insert(self, position: int, text: str) -> None:
        """Put `text` in at an offset."""
        self.changes.append((position, position, text))

    def result(self) -> str:
        """The text with all changes made."""
        pieces: list[str] = []
        position = 0
        for start, end, text in sorted(self.changes, key=lambda change: change[:2]):
            if start < position:
                raise SpellingError(f"overlapping edits at {self.text[start:end]!r}")
            pieces += [self.text[position:start], text]
            position = end
        return "".join([*pieces, self.text[position:]])


@dataclass(frozen=True)
class FieldDeclaration:
    """One annotated statement in the body of a pytree class."""

    node: ast.AnnAssign
    name: str
    #: "data", "default" (data, `= value`), "field" (data, spelt with a call) or "static".
    kind: str
    #: The arguments of the marker's call, `{"default": value}` for a plain default.
    arguments: Mapping[str, ast.expr]


def declarations(node: ast.ClassDef) -> Iterator[FieldDeclaration]:
    """The fields declared in the body of `node`, in order."""
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if "ClassVar" in ast.unparse(statement.annotation):
            continue
        kind, arguments = "data", dict[str, ast.expr]()
        value = statement.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("static", "field"):
            kind = value.func.id
            if value.args:
                raise SpellingError(f"positional argument in {ast.unparse(value)}")
            arguments = {keyword.arg or "": keyword.value for keyword in value.keywords}
        elif value is not None:
            kind, arguments = "default", {"default": value}
        yield FieldDeclaration(statement, statement.target.id, kind, arguments)


@cache
def parsed(text: str, path: str) -> ast.Module:
    """The tree of a fixture, which nobody changes."""
    return ast.parse(text, path)


def is_pytree(node: ast.ClassDef) -> bool:
    """Whether a class is declared in the neutral spelling."""
    return any(isinstance(decorator, ast.Name) and decorator.id == "pytree" for decorator in node.decorator_list)


def is_neutral(tree: ast.Module) -> bool:
    """Whether a module imports from `anyframework`."""
    return any(isinstance(node, ast.ImportFrom) and node.module == NEUTRAL for node in ast.walk(tree))


class Neutral:
    """The modules of one case (path -> text), parsed once for all frameworks."""

    def __init__(self, files: Mapping[str, str]) -> None:
        """Find the modules in the neutral spelling and their classes."""
        self.files = files
        trees = {path: parsed(text, path) for path, text in files.items() if NEUTRAL in text}
        self.modules = {path: tree for path, tree in trees.items() if is_neutral(tree)}

    @cached_property
    def spelt(self) -> dict[str, list[ast.ClassDef | ast.Call]]:
        """What is spelt in each of the modules: pytree classes and calls."""
        return {
            path: [
                node
                for node in ast.walk(tree)
                if isinstance(node, ast.Call) or (isinstance(node, ast.ClassDef) and is_pytree(node))
            ]
            for path, tree in self.modules.items()
        }

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """All pytree classes of the case, by name."""
        found: dict[str, ast.ClassDef] = {}
        for node in chain.from_iterable(self.spelt.values()):
            if isinstance(node, ast.ClassDef):
                if node.name in found:
                    raise SpellingError(f"two pytree classes named {node.name} in one case")
                found[node.name] = node
        return found

    def expand(self, framework: Framework) -> dict[str, str]:
        """The modules (path -> text) in the spelling of `framework`."""
        return {
            path: Expansion(self, path, framework).result() if path in self.modules else text
            for path, text in self.files.items()
        }


class Expansion:
    """The expansion of one module."""

    def __init__(self, case: Neutral, path: str, framework: Framework) -> None:
        """Collect nothing yet."""
        self.edits = Edits(case.files[path])
        self.tree = case.modules[path]
        self.spelt = case.spelt[path]
        self.framework = framework
        #: The pytree classes of the whole case.
        self.classes = case.classes
        self.imports: set[str] = set()
        self.constructs = False

    def result(self) -> str:
        """The module's text in the spelling of the framework."""
        for node in self.spelt:
            if isinstance(node, ast.ClassDef):
                self.expand_class(node)
            else:
                self.expand_call(node)
        self.expand_imports()
        return self.edits.result()

    def expand_imports(self) -> None:
        """Replace the import from `anyframework` by the imports of the framework that are needed."""
        existing = {line.strip() for line in self.edits.text.splitlines() if line.startswith(("import ", "from "))}
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == NEUTRAL:
                unknown = {alias.name for alias in node.names} - set(MARKERS)
                if unknown or any(alias.asname for alias in node.names):
                    raise SpellingError(f"anyframework has no {', '.join(sorted(unknown)) or 'aliases'}")
                lines = sorted(self.imports - existing, key=lambda line: (line.startswith("from"), line))
                end = self.edits.end(node)
                self.edits.change(self.edits.start(node), end if lines else end + 1, "\n".join(lines))
        if self.constructs and self.framework.style == "train-state":
            self.imports.add("import optax")
            first = next(
                node
                for node in self.tree.body
                if not isinstance(node, (ast.Import, ast.ImportFrom, ast.Expr, ast.If, ast.Try))
            )
            row = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", []))])
            self.edits.insert(self.edits.line_start(row), "OPTIMIZER = optax.sgd(0.1)\n\n\n")

    def expand_class(self, node: ast.ClassDef) -> None:
        """Decorators, bases and fields of one class."""
        framework = self.framework
        self.imports.update(framework.imports if framework.style != "train-state" else framework.imports[2:])
        inherits = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id in self.classes]
        if framework.style == "namedtuple" and inherits:
            raise SpellingError("a NamedTuple cannot inherit fields")
        marker = next(d for d in node.decorator_list if isinstance(d, ast.Name) and d.id == "pytree")
        decorators = self.decorators(node, inherits)
        start = self.edits.start(marker) - 1
        if decorators:
            indent = " " * (start - self.edits.line_start(marker.lineno))
            self.edits.change(start, self.edits.end(marker), f"\n{indent}".join(decorators))
        else:
            self.edits.change(self.edits.line_start(marker.lineno), self.edits.line_start(marker.lineno + 1), "")
        bases = [framework.base] if framework.base and not inherits else []
        bases += [framework.class_keyword] if framework.class_keyword else []
        if bases:
            if node.bases or node.keywords:
                last = node.keywords[-1].value if node.keywords else node.bases[-1]
                self.edits.insert(self.edits.end(last), ", " + ", ".join(bases))
            else:
                name_end = self.edits.start(node) + len("class ") + len(node.name)
                empty = self.edits.text[name_end : name_end + 2] == "()"
                self.edits.change(name_end, name_end + 2 if empty else name_end, f"({', '.join(bases)})")
        for declaration in declarations(node):
            self.expand_field(declaration)

    def decorators(self, node: ast.ClassDef, inherits: list[str]) -> list[str]:
        """The decorator lines of `node`."""
        framework = self.framework
        if framework.style == "lists":
            fields = list(self.all_fields(node))
            static = [f for f in fields if f.kind == "static"]
            texts = [
                decorator.format(
                    data=", ".join(f'"{f.name}"' for f in fields if f.kind != "static"),
                    meta=", ".join(f'"{f.name}"' for f in static),
                )
                for decorator in framework.decorators
            ]
            own = [f for f in declarations(node) if f.kind == "static"]
            codes = {code for f in own for code in self.expected_codes(f.node)}
            if codes:
                texts[0] += f"  # maybe: {', '.join(sorted(codes))}"
            return texts
        if framework.style == "penzai" and inherits:
            return ["@pz.pytree_dataclass(has_implicitly_inherited_fields=True)"]
        return list(framework.decorators)

    def expected_codes(self, node: ast.AnnAssign) -> list[str]:
        """The codes of an `# expect:` or `# maybe:` comment in the line of `node`."""
        line = self.edits.text.splitlines()[(node.end_lineno or node.lineno) - 1]
        _, _, comment = line.partition("# ")
        if not comment.startswith(("expect: ", "maybe: ")):
            return []
        return [code.strip() for code in comment.partition(": ")[2].split("  ")[0].split(",")]

    def all_fields(self, node: ast.ClassDef) -> Iterator[FieldDeclaration]:
        """The fields of `node`, inherited ones first."""
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in self.classes:
                yield from self.all_fields(self.classes[base.id])
        yield from declarations(node)

    def expand_field(self, declaration: FieldDeclaration) -> None:
        """One field statement."""
        framework, node, kind = self.framework, declaration.node, declaration.kind
        annotation = self.edits.text[self.edits.start(node.annotation) : self.edits.end(node.annotation)]
        if kind == "static" and not framework.has_static:
            raise SpellingError(f"{framework.id} has no static fields")
        if framework.style == "jdc" and kind == "static":
            self.edits.change(
                self.edits.start(node.annotation), self.edits.end(node.annotation), f"jdc.Static[{annotation}]"
            )
            if declaration.arguments:
                self.plain_default(declaration, "jdc.field")
            else:
                self.edits.change(self.edits.end(node.annotation), self.edits.end(node), "")
        elif framework.style == "mjx" and kind == "static":
            if declaration.arguments:
                self.plain_default(declaration, "dataclasses.field")
                self.imports.add("import dataclasses")
            else:
                self.edits.change(self.edits.end(node.annotation), self.edits.end(node), "")
        elif framework.style == "namedtuple" and kind == "field":
            self.plain_default(declaration, None)
        elif framework.style == "nnx" and kind != "static":
            # always spelt out: an array that is a tracer when the field is set would be static (flax 0.12.8)
            self.call(declaration, "nnx.data", "")
        elif framework.style == "treex" and kind != "static":
            self.call(declaration, "tx.State.node", "")
        elif kind == "static":
            if framework.static.startswith("dataclasses."):
                self.imports.add("import dataclasses")
            if framework.style == "lists" and not declaration.arguments:
                self.edits.change(self.edits.end(node.annotation), self.edits.end(node), "")
            elif framework.style == "lists":
                self.plain_default(declaration, "dataclasses.field")
            else:
                self.call(declaration, framework.static, framework.static_arguments)
                if framework.style == "train-state":
                    self.imports.add(framework.field_import)
        elif kind == "field":
            self.imports.add(framework.field_import)
            self.call(declaration, framework.field, "")

    def call(self, declaration: FieldDeclaration, name: str, marker: str) -> None:
        """Spell the value as the call `name(marker, arguments)`."""
        node, value = declaration.node, declaration.node.value
        if value is None:
            self.edits.insert(self.edits.end(node.annotation), f" = {name}({marker})")
        elif declaration.kind == "default":
            self.edits.insert(self.edits.start(value), f"{name}({marker + ', ' if marker else ''}default=")
            self.edits.insert(self.edits.end(value), ")")
        else:
            assert isinstance(value, ast.Call)
            separator = ", " if marker and declaration.arguments else ""
            opening = self.edits.text.index("(", self.edits.end(value.func))
            self.edits.change(self.edits.start(value), opening + 1, f"{name}({marker}{separator}")

    def plain_default(self, declaration: FieldDeclaration, factory: str | None) -> None:
        """Spell `static(default=x)` as `x` and `static(default_factory=f)` as `factory(default_factory=f)`."""
        value = declaration.node.value
        assert isinstance(value, ast.Call)
        if set(declaration.arguments) == {"default"}:
            default = declaration.arguments["default"]
            self.edits.change(self.edits.start(value), self.edits.start(default), "")
            self.edits.change(self.edits.end(default), self.edits.end(value), "")
        elif factory is not None:
            self.call(declaration, factory, "")
        else:
            raise SpellingError(f"{self.framework.id} has no default factories")

    def expand_call(self, node: ast.Call) -> None:
        """One call: `replace(x, ..)` or a construction."""
        framework = self.framework
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if isinstance(node.func, ast.Name) and name == "replace":
            instance, rest = node.args[0], [*node.args[1:], *(keyword.value for keyword in node.keywords)]
            if framework.replace in ("method", "_replace"):
                method = "replace" if framework.replace == "method" else "_replace"
                simple = isinstance(instance, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
                after = self.edits.text.index(",", self.edits.end(instance)) + 1 if rest else self.edits.end(instance)
                while rest and self.edits.text[after] == " ":
                    after += 1
                self.edits.change(self.edits.start(node), self.edits.start(instance), "" if simple else "(")
                self.edits.change(self.edits.end(instance), after, f"{'' if simple else ')'}.{method}(")
            else:
                self.imports.add(framework.replace_import)
                self.edits.change(self.edits.start(node.func), self.edits.end(node.func), framework.replace)
        elif name in self.classes and framework.style == "train-state":
            self.constructs = True
            self.imports.add("import optax")
            opening = self.edits.text.index("(", self.edits.end(node.func))
            arguments = 'apply_fn=None, params={"w": 1.0}, tx=OPTIMIZER'
            separator = ", " if node.args or node.keywords else ""
            if node.args:
                raise SpellingError("TrainState is constructed by keyword")
            self.edits.change(opening, opening + 1, f".create({arguments}{separator}")
