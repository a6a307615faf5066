"""Grammar of Python 3.11 to 3.14 on older versions: everything is read, and every name stays where it is."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest

from jaxlint import check_paths
from jaxlint.symbols.parsing import parse, read_statements
from jaxlint.syntax.grammar import rewrite
from jaxlint.syntax.source import Source

#: Programs, and names whose places are looked up in them; `§` marks where each stands.
PROGRAMS = {
    # PEP 695, 696: type parameters
    "def": "def f[T](x: §T) -> T: ...",
    "async def": "async def f[T](x: §T): ...",
    "bound": "def f[T: int](§x): ...",
    "constraints": "def f[T: (int, str)](§x): ...",
    "default": "def f[T = int](§x): ...",
    "bound and default": "def f[T: (int, str) = str](§x): ...",
    "all kinds": "def f[T, *Ts, **P](§x): ...",
    "defaults of all kinds": "def f[T = int, *Ts = *tuple[int, ...], **P = [int, str]](§x): ...",
    "nested brackets": "def f[T: dict[str, list[int]]](§x): ...",
    "rows of def": "def f[\n    T: int,  # one\n    *Ts,\n\n](\n    §x,\n): ...\n§y = 1",
    "class": "class G[T]:\n    §x: T",
    "class with bases": "class G[T](§object):\n    §x: T",
    "rows of class": "class G[\n    A: int,\n](§object):\n    §x: int\n\n    def §f(self): ...",
    "rows of class without bases": "class G[\n    A: int,\n    B\n]:\n    §x: int",
    "space behind": "class G [T] (§object): ...",
    "decorated": "@§decorate\nclass G[T](§object): ...",
    "in class": "class A:\n    def f[T](self, §x: T): ...\n    class B[T]: §y = 1",
    "non-ASCII": "class G[ß: 'ä'](§object): ...",
    "type alias": "type §X = list[§int]",
    "generic type alias": "type §X[T] = list[§T]",
    "rows of type alias": "type §X[\n    T: int,\n    *Ts = *tuple[int],\n] = list[§T]\n§y = 1",
    "type alias in brackets": "type §X = (\n    §int\n    | str\n)\n§y = 1",
    "type alias in a function": "def f():\n    type X[T] = (\n        T | int\n    )\n    §y = 1",
    "type alias in a class": "class A:\n    type X = int\n    §y: X",
    "type alias on one row": "x = 1; type X = int; §y = 2",
    "type is a name": "type = 3\n§type + 1\ntype[§int]\ntype X = §type",
    # PEP 701: f-strings
    "same quotes": 'x = f"{a["b"]}" + §y',
    "nested": "x = f'{f'{f'{1 + §y}'}'}' + §z",
    "backslash": 'x = f"{"\\n".join(§names)}"',
    "comment": 'x = f"{\n    §a  # why\n    + b\n}"',
    "rows": 'x = f"{\n    §a\n}" + §b',
    "rows of three quotes": "x = f'''{\n    §a['k']  # x\n}\n'''\n§y = 1",
    "format specification": 'x = f"{§a:{§b:{§c}}}" + §d',
    "conversion": 'x = f"{a["k"]!r:>{§width}}" + §d',
    "debug": "x = f'{a['k']=}{§b = !r}'",
    "walrus": "x = f'{(y := d['k'])}{§z}'",
    "comparison": "x = f'{a['k'] != b}{c == d:=3}{§z}'",
    "two beside each other": "x = 'a' f'{a['k']}' 'b' f'{§b}' 'c' + §d",
    "in brackets": "g('a'\n  f'{a['k']}'  # c\n  'b', §x)",
    "braces": "x = f'{{{a['k']}}}' + f'{{}}' + §y",
    "escapes": "x = f'\\N{DASH}\\'\\{a['k']}' + §y",
    "raw": "x = rf'\\{a['k']}\\d' + §y",
    "dict in field": "x = f'{ {'a': 1}['a'] }' + §y",
    "lambda in field": "x = f'{(lambda x: f'{x}')(1)}' + §y",
    "non-ASCII f-string": "x = f'ä{a['ö']}' + §y",
    "yield in field": "def f():\n    x = f'{(yield a['k'])}' + §y",
    "comprehension in field": "x = f'{[i for i in d['k']]}' + §y",
    # PEP 750: template strings
    "template": 't"a{§b}c" + §x',
    "empty template": 't"" + §x',
    "raw template": "rt'{§x!r:>{§w}}' + Rt'' + tR'a'",
    "template beside template": "t'a' t'{§x}' + §y",
    "template of three rows": 't"""a\n{§x}\n""" + §y',
    "empty template of rows": 'x = t"""\n\n""" + §y',
    # PEP 646, 654, 758: stars and except
    "star in index": "x[*§a], y[1, *§b], z[(*a, 1)]",
    "star in a list": "x = [*§a, *b]; return_ = [*§c]",
    "star in annotation": "def f(*args: *§Ts): ...",
    "except star": "try: pass\nexcept* §A as e: §x = 1",
    "except without parentheses": "try: pass\nexcept §A, §B:\n    §x = 1",
    "except on one row": "try: pass\nexcept §A, §B.C: §x = 1",
    "except star without parentheses": "try: pass\nexcept* §A, §B:\n    §x = 1",
    "except of three": "try: pass\nexcept §A, f(1, 2), §C:  # why\n    §x = 1",
    "except with parentheses": "def f[T](): ...\ntry: pass\nexcept (§A, §B) as e: §x = 1",
    "finally that returns": "def f[T]():\n    try: pass\n    finally: return §x",
    # what newer versions share with older ones, beside what they do not
    "with in parentheses": "type X = int\nwith (open(§a) as b, open(§c) as d,): pass",
    "match": "type X = int\nmatch §x:\n    case {'a': 1, **r}: §y = 1\n    case [§A(b), *_]: pass",
    "strings of all kinds": "type X = int\nx = b'a' rb'\\'' + u'b' + r'\\' ' + '''\n'\n''' + §y",
    "rows that go on": "type X = \\\n    §int\nx = 1 + \\\n    §y",
    "numbers": "type X = int\nx = 1_000 + 1e-3 + .5 + 0xff + 1j + 1 .real + §y",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_names_stay_in_their_places(name: str) -> None:
    marked = PROGRAMS[name]
    text = marked.replace("§", "")
    rewritten = rewrite(text)
    assert rewritten is not None
    tree = ast.parse(rewritten)
    assert rewritten.count("\n") == text.count("\n")
    places = {(node.lineno, node.col_offset) for node in ast.walk(tree) if isinstance(node, (ast.expr, ast.arg))}
    places |= {(n.lineno, n.col_offset + 4) for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    before = ""
    for part in marked.split("§")[:-1]:
        before += part
        row, column = before.count("\n") + 1, len(before.rpartition("\n")[2].encode())
        assert (row, column) in places, (before, rewritten)


@pytest.mark.parametrize("name", PROGRAMS)
def test_pieces_are_read(name: str) -> None:
    """What is read of a piece far down in a file stands where it stands."""
    text = PROGRAMS[name].replace("§", "")
    here, there = read_statements(text, 1), read_statements(text, 10_000)
    assert here is not None
    assert there is not None
    assert [s.lineno + 9_999 for s in here] == [s.lineno for s in there]


@pytest.mark.parametrize("name", PROGRAMS)
def test_files_are_checked(name: str, tmp_path: Path) -> None:
    text = PROGRAMS[name].replace("§", "")
    head = "from flax import struct\n@struct.dataclass\nclass State:\n    x: int\n\n"
    path, step = tmp_path / "main.py", "def step(state: State):\n    state.x = 1\n"
    path.write_text(f"{head}{step}\n{text}\n\n{step}", encoding="utf-8")
    result = check_paths([str(path)])
    assert result.errors == []
    rows = [7, 7 + text.count("\n") + 1 + 4]
    assert [(f.code, f.row) for f in result.findings] == [("JAX401", row) for row in rows]


@pytest.mark.parametrize(
    "text", ["def f[T(x): ...", "x = f'{a", "x = t'", "x = f'{a!}'", "x = f'}'", "x = '", "type X[T = int", "f'{" * 99]
)
def test_what_is_no_python(text: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import jax\n" + text + "\n")
    assert [f.code for f in check_paths([str(tmp_path / "main.py")]).findings] == ["JAX001"]


def test_findings_inside_of_newer_grammar(tmp_path: Path) -> None:
    text = (
        "from flax import struct\n@struct.dataclass\nclass State[\n    T: int,\n](object):\n    x: T\n\n"
        "    def go[S](self, y: S):\n        self.x = f'{y['k']}'\n"
    )
    (tmp_path / "main.py").write_text(text)
    assert [(f.code, f.row, f.column) for f in check_paths([str(tmp_path)]).findings] == [("JAX401", 9, 9)]


def test_large_files_of_newer_grammar(tmp_path: Path) -> None:
    pieces = [
        f"class C{i}[\n    T: int,\n](Base):\n    def f[S](self, x: S): return f'{{x['k{i}']}}'\n" for i in range(3000)
    ]
    text = "import jax\n" + "\n".join(pieces)
    start = time.process_time()
    assert rewrite(text) is not None
    (tmp_path / "main.py").write_text(text)
    assert check_paths([str(tmp_path)]).findings == []
    assert time.process_time() - start < 20


#: Texts with one class, and its type parameters.
PARAMETERS = {
    "class G[T]: ...": ("T",),
    "# class X[Y]\n@decorate\nclass G[\n    A: (int, str),\n    B = dict[str, int],\n](object):\n    x: A": ("A", "B"),
    "def f[T](x): ...\n\nclass G[T: list[int]](Base[T]): ...": ("T",),
    "class G[T, *Ts]: ...": (),
    "class G[**P]: ...": (),
    "class G(Base[T]): ...": (),
}


@pytest.mark.parametrize("text", PARAMETERS)
def test_classes_keep_their_type_parameters(text: str) -> None:
    outline, problem = parse(Source.from_text("/g.py", text))
    assert problem is None
    assert outline.classes["G"].type_parameters == PARAMETERS[text]
