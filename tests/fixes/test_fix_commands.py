"""`jaxlint check --fix` and kin: what is written, said, and returned."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from jaxlint import fix_paths, fix_source
from jaxlint.cli.main import main
from jaxlint.config.settings import Settings
from jaxlint.fixes import rounds
from jaxlint.fixes.names import lost_names

HEADER = "import jax\nfrom flax import struct\n\n\n@struct.dataclass\nclass State:\n    step: jax.Array\n\n\n"
BODY = "def f(state: State):\n    state.step = 1{}\n    state.replace(step=2)\n    return state\n"
TEXT = HEADER + BODY.format("")
SAFE = TEXT.replace("state.step = 1", "state = state.replace(step=1)")
ALL = SAFE.replace("    state.replace(step=2)", "    state = state.replace(step=2)")

Said = tuple[int, str, str]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Said:
    code = main(["check", "--output-format", "concise", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_fix_writes_what_is_safe(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--fix", "--show-fixes")
    assert (project / "a.py").read_text() == SAFE
    assert code == 1
    assert out.splitlines()[-2:] == [
        "Found 2 errors (1 fixed, 1 remaining).",
        "1 unsafe fix available with `--fix --unsafe-fixes`.",
    ]
    assert err.splitlines() == ["Fixed 1 error:", "- a.py:", "    1 x JAX401 (frozen-assignment)"]
    assert run(capsys, "--fix", "-q") == (1, out.splitlines()[0] + "\n", "")
    assert (project / "a.py").read_text() == SAFE


def test_what_is_fixed_counts_by_its_severity(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "a.py").write_text(TEXT.replace("return state\n", "return state  # noqa: JAX401\n"))
    arguments = ("--extend-select", "JAX003", "--diff", "--show-fixes", "--unsafe-fixes")
    assert "Would fix 2 errors, 1 warning.\n" in run(capsys, *arguments)[2]
    _, out, err = run(capsys, "--fix", "--show-fixes", "--extend-select", "JAX003")
    assert out.splitlines()[-2] == "Found 2 errors, 1 warning (2 fixed, 1 remaining)."
    assert err.splitlines()[0] == "Fixed 1 error, 1 warning:"


def test_unsafe_fixes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(capsys)[1].splitlines()[-1]
        == "[*] 1 fixable with `--fix` (1 unsafe fix available with `--fix --unsafe-fixes`)."
    )
    assert run(capsys, "--fix", "--unsafe-fixes") == (0, "Found 2 errors (2 fixed, 0 remaining).\n", "")
    assert (project / "a.py").read_text() == ALL
    assert run(capsys, "--fix", "--unsafe-fixes") == (0, "All checks passed!\n", "")


def test_what_callers_alone_tell_is_unsafe(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    helper = (
        "def move(state):\n    state.step = 1\n    return state\n\n\ndef f(state: State):\n    return move(state)\n"
    )
    (project / "a.py").write_text(HEADER + helper)
    assert run(capsys, "--fix")[1].splitlines()[-1] == "1 unsafe fix available with `--fix --unsafe-fixes`."
    assert (project / "a.py").read_text() == HEADER + helper
    assert run(capsys, "--fix", "--unsafe-fixes")[0] == 0
    assert "state = state.replace(step=1)" in (project / "a.py").read_text()


@pytest.mark.parametrize("other", ["--add-noqa", "--write-baseline=known.json", "--shard=1/2"])
def test_fixes_and_what_excludes_them(project: Path, capsys: pytest.CaptureFixture[str], other: str) -> None:
    code, out, err = run(capsys, "--fix", other)
    assert (code, out) == (2, "") and "Error: --fix, " in err
    assert (project / "a.py").read_text() == TEXT
    assert run(capsys, "--config", "fix = true", other)[0] == 2
    (project / "jaxlint.toml").write_text("fix = true\n")
    assert "Error:" not in run(capsys, other)[2]


def test_two_updates_before_one_return(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line that two fixes add at one place is added once."""
    (project / "a.py").write_text(HEADER + "def f(state: State):\n    state.step = 1\n    state.replace(step=2)\n")
    assert run(capsys, "--fix", "--unsafe-fixes") == (0, "Found 2 errors (2 fixed, 0 remaining).\n", "")
    fixed = "    state = state.replace(step=1)\n    state = state.replace(step=2)\n    return state\n"
    assert (project / "a.py").read_text().partition("def f(state: State):\n")[2] == fixed


def test_what_was_refused_is_not_offered_again(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a.py").write_text(TEXT.replace("    state.step = 1", "    state.step = [\n        1,\n    ]"))
    refused = "    state = state.replace(step=2)"
    monkeypatch.setattr(rounds, "lost_names", lambda before, after: ["it"] * (refused in after))
    code, out, err = run(capsys, "--fix", "--unsafe-fixes")
    text = (project / "a.py").read_text()
    row = next(n for n, line in enumerate(text.splitlines(), 1) if line == "    state.replace(step=2)")
    assert err == f"jaxlint: warning: a.py:{row}: JAX403 was not fixed: `it` would mean nothing\n"
    assert (code, "fixable" in out, "[*]" in out) == (1, False, False)


def test_configuration_decides(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = project / "jaxlint.toml"
    config.write_text('fix = true\nextend-safe-fixes = ["JAX403"]\nunfixable = ["frozen-assignment"]\n')
    assert run(capsys)[0] == 1
    assert (project / "a.py").read_text() == TEXT.replace("    state.replace", "    state = state.replace")
    config.write_text('extend-unsafe-fixes = ["JAX4"]\n')
    assert run(capsys, "--fix")[1].splitlines()[-1] == "1 unsafe fix available with `--fix --unsafe-fixes`."
    config.write_text('fixable = ["JAX002"]\n')
    assert run(capsys, "--fix", "--unsafe-fixes")[1].splitlines()[-1] == "Found 1 error."
    config.write_text("fix = true\nunsafe-fixes = true\n")
    assert run(capsys, "--no-fix")[0] == 1
    assert run(capsys)[0] == 0
    assert (project / "a.py").read_text() == ALL


def test_diff_writes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--diff")
    assert (code, err) == (1, "Would fix 1 error (1 more with `--unsafe-fixes`).\n")
    assert out.splitlines()[:2] == ["--- a.py", "+++ a.py"]
    assert [line for line in out.splitlines()[2:] if line[0] in "+-"] == [
        "-    state.step = 1",
        "+    state = state.replace(step=1)",
    ]
    assert (project / "a.py").read_text() == TEXT
    assert run(capsys, "--diff", "--exit-zero")[0] == 0
    listed = "Would fix 2 errors:\n- a.py:\n    1 x JAX401 (frozen-assignment)\n    1 x JAX403 (discarded-update)\n"
    assert run(capsys, "--diff", "--unsafe-fixes", "--show-fixes")[2] == listed + "Would fix 2 errors.\n"
    assert (project / "a.py").read_text() == TEXT
    run(capsys, "--fix")
    assert run(capsys, "--diff") == (0, "", "No errors would be fixed (1 more with `--unsafe-fixes`).\n")
    run(capsys, "--fix", "--unsafe-fixes")
    assert run(capsys, "--diff") == (0, "", "No errors would be fixed.\n")


def test_fix_only_reports_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = " (1 more with `--unsafe-fixes`).\n"
    assert run(capsys, "--fix-only") == (0, "", f"Fixed 1 error{more}")
    assert (project / "a.py").read_text() == SAFE
    assert run(capsys, "--fix-only") == (0, "", f"No errors fixed{more}")
    assert run(capsys, "--fix-only", "-q") == (0, "", "")
    assert run(capsys, "--fix-only", "--exit-zero", "--exit-non-zero-on-fix")[0] == 2
    assert run(capsys, "--fix-only", "--unsafe-fixes", "--exit-non-zero-on-fix") == (1, "", "Fixed 1 error.\n")
    assert (project / "a.py").read_text() == ALL


@pytest.mark.parametrize(("option", "code"), [("--fix", 1), ("--diff", 1), ("--fix-only", 0)])
def test_standard_input(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, option: str, code: int
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.replace("\n", "\r\n").encode()), newline=""))
    given, out, err = run(capsys, option, "--stdin-filename", "a.py")
    assert given == code
    if option == "--diff":
        assert "+    state = state.replace(step=1)\r\n" in out
    else:
        assert out == SAFE.replace("\n", "\r\n")
    assert ("Found 2 errors (1 fixed, 1 remaining)." in err) is (option == "--fix")
    assert (project / "a.py").read_text() == TEXT


@pytest.mark.parametrize("prefix", ["", "\ufeff", "# coding: latin-1\n# é\n", "# coding: utf-8\n# 日本\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_bytes_stay(project: Path, prefix: str, newline: str) -> None:
    encoding = "latin-1" if "latin" in prefix else "utf-8"
    before, after = ((prefix + text.rstrip("\n")).replace("\n", newline).encode(encoding) for text in (TEXT, ALL))
    (project / "a.py").write_bytes(before)
    done = fix_paths(["a.py"], unsafe=True)
    assert not done.problems
    assert (project / "a.py").read_bytes() == after


LAYOUTS = {
    "    state.step = 1  # why\n": "    state = state.replace(step=1)  # why\n",
    "    state.step += 1\n": "    state = state.replace(step=state.step + 1)\n",
    "    state.step -= a if b else c\n": "    state = state.replace(step=state.step - (a if b else c))\n",
    "    state.step = 1, 2\n": "    state = state.replace(step=(1, 2))\n",
    "    state.step = (yield)\n": "    state = state.replace(step=(yield))\n",
    "    if a: state.step = b; c()\n": "    if a: state = state.replace(step=b); c()\n",
    "    state.step = \\\n        a\n": "    state = state.replace(step=a)\n",
    "    state.step = f(\n        a,  # é\n        b)\n": ""
    "    state = state.replace(step=f(\n        a,  # é\n        b))\n",
    "    setattr(state, 'step', a)\n": "    state = state.replace(step=a)\n",
    "    (state).step = a\n": "    state = state.replace(step=a)\n",
    "    for i in a:\n    \tstate.step = i\n": "    for i in a:\n    \tstate = state.replace(step=i)\n",
    "    state.step: int = a\n": "    state = state.replace(step=a)\n",
    "    c = state.step = a  # why\n": "    c = step = a  # why\n    state = state.replace(step=step)\n",
    "    step, (c, *state.step) = a\n": "    step, (c, *new_step) = a\n    state = state.replace(step=new_step)\n",
    "    for state.step in a:\n        c()\n": ""
    "    for step in a:\n        state = state.replace(step=step)\n        c()\n",
    "    with a as state.step:\n        c()\n": ""
    "    with a as step:\n        state = state.replace(step=step)\n        c()\n",
    "    state . step=a ;\n": "    state = state.replace(step=a) ;\n",
}


@pytest.mark.parametrize("before", LAYOUTS)
def test_layouts(before: str) -> None:
    text, after = (
        HEADER + f"def f(state: State, a, b, c):\n{part}    return state\n" for part in (before, LAYOUTS[before])
    )
    assert fix_source(text, settings=Settings(select=("JAX401",)))[0] == after


RECEIVERS = {
    "s.replace(step=1)": "dataclasses.replace(s, step=1)",
    "s.replace(step=1,\n        other=2)": "dataclasses.replace(s, step=1,\n        other=2)",
    "s.replace(\n        step=1,  # é\n    )": "dataclasses.replace(\n        s,\n        step=1,  # é\n    )",
    "s.replace(\n        step=1, other=2\n    )": "dataclasses.replace(\n        s, step=1, other=2\n    )",
    "s.replace(  # a\n        # é\n        step=1\n    )": ""
    "dataclasses.replace(  # a\n        s,\n        # é\n        step=1\n    )",
}


@pytest.mark.parametrize("before", RECEIVERS)
def test_the_receiver_becomes_the_first_argument(before: str) -> None:
    header = (
        "import dataclasses\nimport equinox as eqx\n\n\nclass S(eqx.Module):\n    step: int\n    other: int = 0\n\n\n"
    )
    text, after = (header + f"def f(s: S):\n    return {part}\n" for part in (before, RECEIVERS[before]))
    assert fix_source(text, settings=Settings(select=("JAX404",)))[0] == after


UNWANTED = [
    "def f(state: State):\n    state.step = 1\n",
    "def f(state: State):\n    state.step = 1\n    print(state)\n",
    "def f(states: list[State]):\n    for state in states:\n        state.step = 1\n        print(state)\n",
    "def f(a):\n    a = State(step=1)\n    a = a.step = a\n    return a\n",
    "def f(state: State, step, new_step):\n    x = state.step = step\n    return state\n",
    "state = State(step=1)\ndef f():\n    state.step = 1\n    return state\n",
    "class T:\n    state: State\n    def f(self):\n        self.state.step = 1\n        return self\n",
    "def f(state: State):\n    for state.step in (1, 2): pass\n    return state\n",
    "def f(state: State):\n    del state.step\n    return state\n",
]


@pytest.mark.parametrize("text", UNWANTED)
def test_no_fix_where_the_copy_would_be_lost(text: str) -> None:
    after, left = fix_source(HEADER + text)
    assert after == HEADER + text
    assert [f.code for f in left if f.code == "JAX401"] == ["JAX401"]


def test_an_import_is_added() -> None:
    text = (
        '"""Doc."""\nfrom __future__ import annotations\n\nimport re\n\nimport equinox as eqx\nimport jax\n\n\n'
        "class M(eqx.Module):\n    n: int = eqx.field(static=True)\n\n\n"
        "def f(m: M):\n    m.n = 1\n    return m\n"
    )
    after, left = fix_source(text)
    assert not left
    expected = text.replace("import re\n", "import dataclasses\nimport re\n")
    assert after == expected.replace("m.n = 1", "m = dataclasses.replace(m, n=1)")


def test_names_that_are_lost() -> None:
    assert lost_names("x = 1\n", "x = y\n") == ["y"]
    assert lost_names("x = y\n", "x = y\n") == []
    assert lost_names("x = 1\ndef f():\n    return x\n", "x = 1\ndef f():\n    x = x + 1\n    return x\n") == ["x"]
    assert lost_names("import os\n", "import os\nos.path, int, __file__\n") == []
    assert lost_names("x = 1\n", "x = (\n") == []


def test_what_was_hidden_is_fixed_too() -> None:
    text = HEADER + "def f(state: State):\n    state.replace(stp=2)\n    return state\n"
    after, left = fix_source(text, unsafe=True)
    assert not left
    assert after == text.replace("state.replace(stp=2)", "state = state.replace(step=2)")


def test_what_was_hidden_is_fixed_too_where_the_same_is_found_elsewhere() -> None:
    two = "def f(state: State):\n    state.replace({}=2)\n    return state\n\n\n"
    two += "def g(state: State):\n    state.replace(step=2)\n    return state\n"
    after, left = fix_source(HEADER + two.format("stp"), unsafe=True)
    assert not left
    assert after == (HEADER + two.format("step")).replace("    state.replace", "    state = state.replace")


@pytest.mark.parametrize(
    ("assigned", "update"),
    [("step = 1", "step=1"), ("step[0] = 1", "step=r.s.step.at[0].set(1)")],
)
def test_what_holds_it_is_renewed(assigned: str, update: str) -> None:
    text = HEADER + (
        "@struct.dataclass\nclass Run:\n    s: State\n\n\n"
        f"def f(r: Run):\n    r.s.{assigned}\n    return r\n\n\n"
        f"class Runner:\n    def __init__(self, r: Run):\n        self.r = r\n\n"
        f"    def f(self):\n        self.r.s.{assigned}\n"
    )
    after, left = fix_source(text, unsafe=True)
    assert not left
    renewed = text.replace(f"    r.s.{assigned}", f"    r = r.replace(s=r.s.replace({update}))")
    kept = f"self.r = self.r.replace(s=self.r.s.replace({update.replace('r.', 'self.r.')}))"
    assert after == renewed.replace(f"self.r.s.{assigned}", kept)


ITEMS = {
    "    x[0] = a\n": "    x = x.at[0].set(a)\n",
    "    x[1:, 0] += a - 1  # é\n": "    x = x.at[1:, 0].add(a - 1)  # é\n",
    "    x[a] /= 2\n": "    x = x.at[a].set(x[a] / 2)\n",
    "    s.step[a] = 1\n": "    s = s.replace(step=s.step.at[a].set(1))\n",
    "    x[0] = (1, 2)\n": "    x[0] = (1, 2)\n",
    "    x[0][1] = a\n": "    x[0][1] = a\n",
}


@pytest.mark.parametrize("before", ITEMS)
def test_items(before: str) -> None:
    frame = HEADER + "def f(s: State, a: int):\n    x = jax.numpy.zeros((3, 3))\n{}    return x, s\n"
    assert fix_source(frame.format(before), unsafe=True)[0] == frame.format(ITEMS[before])


@pytest.mark.parametrize(("key", "is_fixed"), [("str", True), ("type[int]", False)])
def test_a_dict_that_cannot_be_sorted_stays_static(key: str, is_fixed: bool) -> None:
    text = (
        "import jax\nimport jax_dataclasses as jdc\n\n\n@jdc.pytree_dataclass\nclass A:\n    x: jax.Array\n"
        f"    y: jdc.Static[dict[{key}, jax.Array]]\n\n\n@jax.jit\ndef f(a: A):\n    return a.x\n"
    )
    after, left = fix_source(text, unsafe=True)
    assert (after != text) is is_fixed
    assert (not left) is is_fixed


def test_a_constructor_of_its_own_needs_a_way_to_rebuild() -> None:
    text = (
        "import jax\n\n\n@jax.tree_util.register_pytree_node_class\nclass A:\n"
        "    def __init__(self, x):\n        self.x = x\n\n"
        "    def tree_flatten(self):\n        return (self.x,), None\n\n"
        "    @classmethod\n    def tree_unflatten(cls, aux, children):\n        return cls(*children)\n\n\n"
        "class B(A):\n    def __init__(self, x, y):\n        super().__init__(x)\n        self.y = y\n\n\n"
        "@jax.jit\ndef f(b: B):\n    return b.x\n"
    )
    after, left = fix_source(text, unsafe=True)
    assert after == text
    assert [finding.code for finding in left] == ["JAX101"]


def test_what_goes_takes_no_comment_of_its_own_along() -> None:
    decorated = "@dataclass(\n    slots=True,{}\n    order=True,\n)\nclass A:\n    x: float\n"
    text = f"from tjax.dataclasses import dataclass\n\n\n{decorated}"
    settings = Settings(select=("JAX106",))
    assert fix_source(text.format("  # why"), settings=settings)[0] == text.format("").replace("    slots=True,\n", "")
    commented = text.format("\n    # of the next one")
    after, left = fix_source(commented, settings=settings)
    assert (after, [finding.code for finding in left]) == (commented, ["JAX106"])


SEVERAL = """import jax
import jax_dataclasses as jdc


@jdc.pytree_dataclass
class M:
    x: jax.Array
    y: jax.Array


def push(m: M, g: jax.Array) -> None:
    m = m.replace(x=g)
    m.y = g
    print(m)


def loop(ms: list[M], g: jax.Array) -> None:
    for m in ms:
        m = m.replace(x=g)
        m.y = g


def pull(m: M, g: jax.Array) -> M:
    n = m.replace(x=g)
    n.y = g
    return n


def lost(m: M, g: jax.Array) -> M:
    m.replace(x=g)
    return m
"""


def test_what_is_offered_is_done(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong copy hides no wrong assignment of it, and nobody who takes no copy is offered half of a fix."""
    (project / "a.py").write_text(SEVERAL)
    _, out, err = run(capsys)
    lines = out.splitlines()
    assert [(line.split(":")[1], "[*]" in line) for line in lines if line.startswith("a.py")] == [
        *(("12", True), ("13", False), ("19", True), ("20", False), ("24", True), ("25", True), ("30", False))
    ]
    assert lines[-1] == "[*] 4 fixable with `--fix` (2 unsafe fixes available with `--fix --unsafe-fixes`)."
    _, out, err = run(capsys, "--fix")
    assert (out.splitlines()[-2], err) == ("Found 7 errors (4 fixed, 3 remaining).", "")
    text = (project / "a.py").read_text()
    _, out, err = run(capsys, "--fix")
    assert (out.splitlines()[-2], err, (project / "a.py").read_text()) == ("Found 3 errors.", "", text)
    _, out, err = run(capsys, "--fix", "--unsafe-fixes")
    assert (out.splitlines()[-1], err) == ("Found 3 errors (2 fixed, 1 remaining).", "")


@pytest.mark.parametrize("option", ["--fix", "--diff"])
def test_a_refusal_is_reported_once_where_it_stands(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """Findings with the same words are told apart by their places, and what is refused stops none of the others."""
    body = (
        "def {}(m: M, g: jax.Array) -> M:\n    m.x = [\n        g,\n    ]\n    m = m.replace(x={})\n    return m\n\n\n"
    )
    head = SEVERAL.partition("def push")[0]
    text = head + body.format("one", "g") + body.format("two", "g + 1") + body.format("three", "g")
    (project / "a.py").write_text(text)
    monkeypatch.setattr(rounds, "lost_names", lambda before, after: ["it"] * ("jdc.replace(m, x=g + 1)" in after))
    _, out, err = run(capsys, option)
    now = (project / "a.py").read_text()
    row = next(n for n, line in enumerate(now.splitlines(), 1) if line == "    m = m.replace(x=g + 1)")
    assert err.splitlines()[0] == f"jaxlint: warning: a.py:{row}: JAX404 was not fixed: `it` would mean nothing"
    assert err.count("was not fixed") == 1
    assert (now == text, out.count("[*]")) == (option == "--diff", 0)


@pytest.mark.parametrize(
    ("lists", "after"),
    [
        ('["x"], ["y"]', '["x", "z"], ["y"]'),
        ('("x",), ("y",)', '("x", "z"), ("y",)'),
        ('[\n        "x",  # one\n    ], ["y"]', '[\n        "x",  # one\n        "z",\n    ], ["y"]'),
        ('[\n        "x"  # one\n    ], ["y"]', '[\n        "x",  # one\n        "z"\n    ], ["y"]'),
    ],
)
def test_lists_of_fields_keep_their_comments(lists: str, after: str) -> None:
    text = "import jax\nfrom dataclasses import dataclass\n\n\n@dataclass\nclass A:\n"
    text += "    x: jax.Array\n    y: int\n    z: jax.Array\n"
    call = "\n\njax.tree_util.register_dataclass(\n    A, {}\n)\n"
    fixed, left = fix_source(text + call.format(lists), unsafe=True)
    assert (fixed, left) == (text + call.format(after), [])


@pytest.mark.parametrize(("body", "added"), [("pass", ""), ("more: jax.Array", "@dataclass\n")])
def test_a_subclass_without_fields_keeps_how_its_base_is_compared(body: str, added: str) -> None:
    text = (
        "from dataclasses import dataclass\nimport jax\nfrom jax.tree_util import register_pytree_node_class\n\n\n"
        "@register_pytree_node_class\n@dataclass\nclass Gate:\n    angle: jax.Array\n\n"
        "    def __hash__(self):\n        return 1\n\n"
        "    def tree_flatten(self):\n        return tuple(vars(self).values()), None\n\n"
        "    @classmethod\n    def tree_unflatten(cls, aux, children):\n        return cls(*children)\n\n\n"
        f"class Phase(Gate):\n    {body}\n\n\n@jax.jit\ndef f(g: Phase):\n    return g.angle\n"
    )
    after, _ = fix_source(text, unsafe=True)
    assert after == text.replace("class Phase", f"@register_pytree_node_class\n{added}class Phase")


@pytest.mark.parametrize("target", ["tally", "(tally, last)", "tally.total"])
def test_nothing_is_returned_into_what_the_result_is_bound_to(target: str) -> None:
    text = f"""
import jax
from flax import struct

@struct.dataclass(frozen=False)
class Tally:
    total: jax.Array
    count: int

@jax.jit
def told(tally: Tally, x):
    tally.count = tally.count + 1
    return tally.total + x

def run(tally: Tally, last):
    {target} = told(tally, last)
    return tally, last
"""
    after, left = fix_source(text, unsafe=True)
    assert (after, [one.code for one in left]) == (text, ["JAX501"])
