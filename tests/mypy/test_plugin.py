"""Error codes, settings, and what happens if something goes wrong inside the plugin."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jaxlint_mypy
import pytest
from jaxlint_mypy.hooks import Hooks
from jaxlint_mypy.plugin import JaxlintPlugin
from mypy import api

from jaxlint import __version__
from tests.mypy.run import ROOT, SMALL_CONFIG, environment, mypy, reports
from tests.patience import PATIENCE

sys.path.insert(0, str(ROOT / "plugins"))

PROGRAM = """
import jax
from flax import struct

@struct.dataclass
class S:
    x: jax.Array
    n: int = 0
    many: list[int] = []

def f(s: S) -> S:
    s.n = 1
    s.n = 2
    return s.replace(n=s.x)
"""
COMPARED = """
import jax
from flax import struct

@struct.dataclass
class S:
    n: int
    x: jax.Array

def f(s: S, t: S) -> object:
    assert not s == t
    while s.n and s == t:
        return 1 if s != t else 2
    if s == t:
        return 3
    return s == t
"""
#: Something for most of what mypy asks, and an error of mypy's own behind it.
EVERYTHING = """
import dataclasses
import jax
from flax import struct
from typing import NamedTuple, Protocol

class HasN(Protocol):
    n: int

@struct.dataclass
class S:
    x: jax.Array
    n: int = 0
    many: list[int] = []
    k: int = struct.field(pytree_node=False, default="a")
    table: dict[str, int] = struct.field(pytree_node=False, nope=1)

class T(NamedTuple):
    x: jax.Array

@dataclasses.dataclass(frozen=True)
class D:
    x: jax.Array
    y: jax.Array = dataclasses.field(init=False)

def f(s: S, t: T, d: D) -> S:
    s.n = 1
    s.x[0] = 1
    del s.n
    setattr(s, "n", 2)
    s.many.append(1)
    s.table["a"] = 1
    object.__setattr__(s, "n", 2)
    print(s == s.replace(n=3), hash(s), {s: 1}, {t}, s in [s], [s].index(s), set([s]))
    s.replace(n=1)
    s.replace(**{"nope": 1})
    dataclasses.replace(s, n=s.k + 1)
    dataclasses.replace(d, y=1)
    changed = s.replace
    changed(nope=1)
    S(x=1, n="a")
    h: HasN = s
    for s.n in range(3):
        print(h)
    return s.replace(n=s.x, k=s.k + 1)

z: int = "a"
"""
_CODE = re.compile(r"\[([\w-]+)\]$", re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program; the libraries are small, as it is not types that its tests are about."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "mypy.ini").write_text(SMALL_CONFIG)
    (folder / "program.py").write_text(PROGRAM)
    mypy(folder, "program.py")
    return folder


def codes(output: str) -> list[str]:
    return _CODE.findall(output)


def test_codes(folder: Path) -> None:
    found = codes(mypy(folder, "program.py"))
    assert found == ["jaxlint-mutable-default", "jaxlint-frozen-assignment", "jaxlint-frozen-assignment"]


def test_one_code_off(folder: Path) -> None:
    output = mypy(folder, "program.py", "--disable-error-code=jaxlint-frozen-assignment")
    assert codes(output) == ["jaxlint-mutable-default"]


def test_all_codes_off(folder: Path) -> None:
    assert codes(mypy(folder, "program.py", "--disable-error-code=jaxlint")) == []


def test_strict_values(folder: Path) -> None:
    output = mypy(folder, "program.py", "--enable-error-code=jaxlint-strict-replace")
    assert 'Argument "n" to "replace" of "S" has incompatible type "Array"; expected "int"' in output


def test_links(folder: Path) -> None:
    output = mypy(folder, "program.py", "--show-error-code-links")
    assert "note: See https://jaxlint-pytree.readthedocs.io/en/latest/rules/frozen-assignment/" in output


@pytest.mark.parametrize("version", ["3.12", "3.13", None])
def test_versions(folder: Path, version: str | None) -> None:
    """What is told depends on the Python that the code runs with: that of mypy, if no setting says which."""
    (folder / "compared.py").write_text(COMPARED)
    if version is not None:
        (folder / "jaxlint.toml").write_text(f'target-version = "{version}"\n')
    try:
        output = mypy(folder, "compared.py")
    finally:
        (folder / "jaxlint.toml").unlink(missing_ok=True)
    always_asks = version == "3.12" or (version is None and sys.version_info < (3, 13))
    rows = [int(row) for row in re.findall(r"^compared.py:(\d+): .*jaxlint-array-equality", output, re.MULTILINE)]
    assert rows == [11, 12, 13, 14, 16][: 5 if always_asks else 4]
    assert "before Python" not in output


def test_copy_replace_gives_self(folder: Path) -> None:
    """mypy itself says that `copy.replace(self, ...)` is of the class around it, and no `Self`."""
    body = "    def go(self) -> Self:\n        return copy.replace(self, n=1)\n"
    wrong = "    def bad(self) -> Self:\n        return copy.replace(self, m=1)\n"
    start = "import copy\nfrom typing import Self\nfrom flax import struct\n"
    (folder / "copied.py").write_text(f"{start}@struct.dataclass\nclass S:\n    n: int\n{body}{wrong}")
    output = mypy(folder, "copied.py", "--python-version=3.13")
    assert {report.row for report in reports(output) if report.kind == "error"} == {10}


def test_a_decorator_of_another_module(folder: Path) -> None:
    """Its name says nothing, and mypy sees no dataclass; another one leaves the class as it is."""
    (folder / "declaring.py").write_text(
        "from typing import TypeVar\nfrom flax import struct\nC = TypeVar('C', bound=type)\n"
        "def state(cls: C) -> C:\n    return struct.dataclass(cls)\ndef same(cls: C) -> C:\n    return cls\n"
    )
    (folder / "declared.py").write_text(
        "import jax\nfrom declaring import same, state\n\n@state\nclass S:\n    x: jax.Array\n    n: int = 0\n\n"
        "@same\nclass P:\n    n: int = 0\n\ndef f(s: S, x: jax.Array) -> S:\n    s = S(x, 1).replace(x=x)\n"
        "    s.n = 2\n    P().n = 2\n    return s.replace(m=1)\n"
    )
    output = mypy(folder, "declared.py")
    assert [one.row for one in reports(output) if one.kind == "error"] == [15, 17], output
    assert codes(output) == ["jaxlint-frozen-assignment", "call-arg"]


def test_did_you_mean(folder: Path) -> None:
    (folder / "other.py").write_text(PROGRAM.replace("n=s.x", "manyy=[]"))
    output = mypy(folder, "other.py")
    assert 'Unexpected keyword argument "manyy" for "replace" of "S"; did you mean "many"?' in output


def test_settings(folder: Path) -> None:
    (folder / "jaxlint.toml").write_text('ignore = ["JAX401"]\n')
    try:
        assert codes(mypy(folder, "program.py")) == ["jaxlint-mutable-default"]
    finally:
        (folder / "jaxlint.toml").unlink()
    assert len(codes(mypy(folder, "program.py"))) == 3


def test_bad_settings(folder: Path) -> None:
    (folder / "jaxlint.toml").write_text('ignoer = ["JAX401"]\n')
    try:
        output = mypy(folder, "program.py")
    finally:
        (folder / "jaxlint.toml").unlink()
    assert "note: jaxlint takes its default settings: jaxlint.toml:1: unknown key `ignoer`" in output
    assert len(codes(output)) == 3


#: What mypy may ask the plugin, by the names of the methods that answer.
#: What the plugin asks of its hooks; the program here has nothing of which two of them would be asked, and only the
#: daemon is told the MROs.
_ASKED = inspect.getsource(JaxlintPlugin)
QUESTIONS = [
    name
    for name in vars(Hooks)
    if name in _ASKED and not name.startswith("_")
    if name not in ("base_class", "function_signature", "class_mro")
]


@pytest.mark.comparisons
@pytest.mark.parametrize(
    ("broken", "left"),
    [
        ("jaxlint.rules.frozen_assignment.FrozenAssignment.check_event", ["jaxlint-mutable-default"]),
        ("jaxlint_mypy.front.FrontEnd.class_of", ["attr-defined"]),
        ("jaxlint_mypy.front.FrontEnd.info", ["jaxlint-mutable-default"]),
        ("jaxlint_mypy.classes.ClassTeller.transform", ["jaxlint-mutable-default"]),
        ("jaxlint_mypy.signatures.Signatures.replace", ["jaxlint-mutable-default"]),
        ("jaxlint_mypy.events.EventFeeder.attribute", ["jaxlint-mutable-default"]),
        ("jaxlint_mypy.hooks.fingerprint", ["jaxlint-mutable-default"]),
        ("jaxlint_mypy.report.place", []),
        *((f"jaxlint_mypy.{name}", []) for name in ("front.FrontEnd.__init__", "plugin.JaxlintPlugin._start")),
        *((f"jaxlint_mypy.hooks.Hooks.{name}", []) for name in ("see", "forget", "_refresh", *QUESTIONS)),
    ],
)
def test_a_failure_is_reported_once(
    folder: Path, broken: str, left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.chdir(folder)
    if broken == "jaxlint_mypy.plugin.JaxlintPlugin._start":  # a function is called like the module
        monkeypatch.setattr(JaxlintPlugin, "_start", fail)
    else:
        monkeypatch.setattr(broken, fail)
    name = f"broken_{broken.replace('.', '_')}.py"
    (folder / name).write_text(PROGRAM)
    output, errors, status = api.run([name, "--show-traceback"])
    assert (errors, status) in (("", 1), ("", 0))
    assert output.count("ZeroDivisionError") == 1
    (line,) = [line for line in output.splitlines() if "and goes on without it" in line]
    assert re.match(r"[\w/.]+\.pyi?:\d+: note: ", line), line
    assert set(left) <= set(codes(output))


@pytest.mark.parametrize(
    "broken",
    ["jaxlint.rules.analyses.fixes.rebinding.UpdateField", "jaxlint.rules.frozen_assignment.update_text"],
)
def test_a_fix_that_fails_takes_no_finding_with_it(folder: Path, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.chdir(folder)
    monkeypatch.setattr(broken, fail)
    name = f"unfixed_{broken.replace('.', '_')}.py"
    (folder / name).write_text(PROGRAM)
    output, errors, status = api.run([name, "--show-traceback"])
    assert (errors, status) == ("", 1)
    assert codes(output) == ["jaxlint-mutable-default", "jaxlint-frozen-assignment", "jaxlint-frozen-assignment"]
    (line,) = [line for line in output.splitlines() if "ZeroDivisionError" in line]
    assert f"note: jaxlint {__version__} failed at the fix of JAX401 and goes on without it" in line


def _shown() -> list[str]:
    """The functions behind the plugin, which catches what they raise, that are given something of mypy's to look at."""
    found = []
    for module in [one for one in pkgutil.iter_modules(jaxlint_mypy.__path__) if one.name != "plugin"]:
        name = f"jaxlint_mypy.{module.name}"
        for owner in [one for one in vars(importlib.import_module(name)).values() if inspect.isclass(one)]:
            methods = vars(owner).items() if owner.__module__ == name else ()
            for method in [key for key, value in methods if inspect.isfunction(value) and _is_shown(value)]:
                found.append(f"{name}.{owner.__name__}.{method}")
    return found


def _is_shown(function: Callable[..., object]) -> bool:
    taken = [str(one.annotation) for one in inspect.signature(function).parameters.values()]
    return any(re.search(r"Context\b|Checker\b|TypeInfo|SemanticAnalyzer|MypyFile", one) for one in taken)


def _behind() -> list[str]:
    """All functions and methods behind the plugin."""
    found = []
    for module in [one.name for one in pkgutil.iter_modules(jaxlint_mypy.__path__) if one.name != "plugin"]:
        name = f"jaxlint_mypy.{module}"
        for key, value in vars(importlib.import_module(name)).items():
            if inspect.isfunction(value) and value.__module__ == name:
                found.append(f"{name}.{key}")
            elif inspect.isclass(value) and value.__module__ == name:
                found += [f"{name}.{key}.{one}" for one in vars(value) if inspect.isfunction(vars(value)[one])]
    return found


def _fail(*args: object, **kwargs: object) -> None:
    raise ZeroDivisionError("on purpose")


def _break(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a function or method fail wherever it is called."""
    owner, _, name = broken.rpartition(".")
    if owner in sys.modules:
        function = getattr(sys.modules[owner], name)
        for module in [one for key, one in sys.modules.items() if key.startswith("jaxlint_mypy")]:
            for key in [key for key, value in vars(module).items() if value is function]:
                monkeypatch.setattr(module, key, _fail)
        return
    module_name, _, cls = owner.rpartition(".")
    monkeypatch.setattr(getattr(sys.modules[module_name], cls), name, _fail)


def _goes_on(folder: Path, broken: str) -> None:
    """What mypy itself has to say is said, and the failure once."""
    program = f"everything_{broken.replace('.', '_')}.py"
    (folder / program).write_text(EVERYTHING)
    output, errors, status = api.run([program, "--show-traceback"])
    assert (errors, status) == ("", 1), broken
    assert output.count("ZeroDivisionError") <= 1, broken
    assert re.search(r'has type "str", variable has type "int"\)  \[assignment\]$', output, re.M), broken


@pytest.mark.comparisons
@pytest.mark.parametrize("broken", _shown())
def test_mypy_goes_on(folder: Path, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    _break(broken, monkeypatch)
    _goes_on(folder, broken)


@pytest.mark.comparisons
def test_mypy_goes_on_whatever_fails(folder: Path, is_thorough: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for functions that are given nothing of mypy's, one in twenty unless all are asked for."""
    monkeypatch.chdir(folder)
    for broken in sorted(set(_behind()) - set(_shown()))[:: 1 if is_thorough else 20]:
        with monkeypatch.context() as patches:
            _break(broken, patches)
            _goes_on(folder, broken)


@pytest.mark.parametrize("broken", ["is_daemon", "is_ignored"])
def test_mypy_goes_on_where_it_has_changed_itself(folder: Path, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the plugin asks of mypy before anything else."""

    def fail(*args: object) -> None:
        raise AttributeError("on purpose")

    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys.modules["jaxlint_mypy.plugin"], broken, fail)
    name = f"changed_{broken}.py"
    (folder / name).write_text(PROGRAM + "z: int = 'a'\n")
    output, errors, status = api.run([name, "--show-traceback"])
    assert (errors, status) == ("", 1)
    assert "assignment" in codes(output)
    assert output.count("on purpose") == 1


def test_works_without_frameworks(tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text(SMALL_CONFIG)
    (tmp_path / "plain.py").write_text("import os\n\nclass A:\n    x: int = 0\n\nA().x = 1\nprint(os.name)\n")
    assert mypy(tmp_path, "plain.py", f"--cache-dir={os.devnull}").startswith("Success")


def test_a_program_on_the_command_line(folder: Path) -> None:
    (folder / "declared.py").write_text(PROGRAM)
    text = "from declared import S\ndef f(s: S) -> S:\n    s.n = 1\n    s.replace(nope=1)\n    return s.replace(n=2)\n"
    output = mypy(folder, "-c", text)
    assert "failed" not in output
    assert codes("\n".join(line for line in output.splitlines() if line.startswith("<string>"))) == [
        "jaxlint-frozen-assignment",
        "call-arg",
    ]
    assert len(codes(mypy(folder, "-c", PROGRAM))) == 3


@pytest.mark.skipif(not os.path.exists("/dev/stdin"), reason="there is no such file")
def test_a_program_on_standard_input(folder: Path) -> None:
    """Its text cannot be read twice: what is done to instances of other modules' classes is checked."""
    (folder / "declared.py").write_text(PROGRAM)
    text = (
        "from declared import S\ndef f(s: S) -> S:\n    s.n = 1\n    s.replace(n=2)\n    return s.replace(nope=1)\n"
        "z: int = 'a'\n"
    )
    command = [sys.executable, "-m", "mypy", "/dev/stdin"]
    done = subprocess.run(
        command, cwd=folder, env=environment(), input=text, capture_output=True, text=True, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (1, "")
    found = [line for line in done.stdout.splitlines() if line.startswith("/dev/stdin")]
    assert codes("\n".join(found)) == ["jaxlint-frozen-assignment", "call-arg", "assignment"]
    assert "failed" not in done.stdout


def test_what_mypy_shows_of_a_method(folder: Path) -> None:
    (folder / "shown.py").write_text("from program import S\ndef f(s: S) -> None:\n    reveal_type(s.replace)\n")
    output = mypy(folder, "shown.py")
    assert re.search(r'Revealed type is "def \(\*, x: [\w.]*Array \| complex =', output), output
    assert "many: list[Any] =) -> program.S" in output


@pytest.mark.comparisons
def test_what_the_readme_shows(folder: Path) -> None:
    """Of its first program, without the plugin and with it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    program = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    sentence = r"says of the program above only `(.*?)`, which is wrong. With it:\n\n```\n(train\.py:.*?)\n```"
    shown = re.search(sentence, text, re.DOTALL)
    assert program is not None and shown is not None
    (folder / "train.py").write_text(program[1])
    (folder / "plain.ini").write_text(SMALL_CONFIG.replace("plugins = jaxlint_mypy\n", ""))
    for config, expected in (("plain.ini", f"train.py:16: error: {shown[1]}"), ("mypy.ini", shown[2])):
        found = mypy(folder, f"--config-file={config}", f"--cache-dir={os.devnull}", "train.py").splitlines()[:-1]
        small = [line for line in found if "Module has no attribute" in line]  # the jax of these tests has no `jit`
        assert [line for line in found if line not in small] == expected.splitlines()
