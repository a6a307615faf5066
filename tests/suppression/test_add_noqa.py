"""Adding suppression comments: they hide the findings, and nothing else in the file changes."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxlint.finding import Confidence, Finding, Severity
from jaxlint.suppression.add_noqa import Refused, add_noqa, with_comments
from jaxlint.suppression.comments import Comments
from jaxlint.syntax.source import Source
from tests.command import run

HEAD = "import jax\nfrom flax import struct\n\n@struct.dataclass\nclass State:\n    x: jax.Array\n\n"
#: A program whose line 9 holds a finding of JAX401.
BAD = HEAD + "def f(s: State) -> State:\n    s.x = 1{}\n    return s\n"
#: The same with a line that is right.
GOOD = HEAD + "def f(s: State) -> State:\n    s = s.replace(x=1){}\n    return s\n"


def finding(row: int, code: str = "JAX401") -> Finding:
    return Finding("/f.py", row, 1, row, 2, code, "name", "message", Severity.ERROR, Confidence.HIGH)


def added(text: str, *findings: Finding, reason: str = "") -> str:
    """The text with comments."""
    return with_comments(Source.from_text("/f.py", text), findings, reason)[0]


def left(text: str, *findings: Finding) -> list[Finding]:
    """The findings that no comment in the text hides."""
    found = Comments(Source.from_text("/f.py", text), findings, ()).hide(())
    return [one for one in found if not one.suppressed]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1", "x = 1  # noqa: JAX401"),
        ("x = 1 \t", "x = 1  # noqa: JAX401 \t"),
        ("x = 1  # why", "x = 1  # why  # noqa: JAX401"),
        ("x = 1  # type: ignore", "x = 1  # type: ignore  # noqa: JAX401"),
        ("x = 1  # noqa: E501", "x = 1  # noqa: E501, JAX401"),
        ("x = 1  # noqa:E501,F401", "x = 1  # noqa:E501,F401, JAX401"),
        ("x = 1  # NoQA: E501 F401 # more", "x = 1  # NoQA: E501 F401, JAX401 # more"),
        ("x = 1  # noqa: E501 a long link", "x = 1  # noqa: E501, JAX401 a long link"),
        ("x = 1  # noqa: E501,", "x = 1  # noqa: E501, JAX401,"),
        ("x = 1  # noqa: JAX402 -- why", "x = 1  # noqa: JAX402, JAX401 -- why"),
        ("x = 1  # é # noqa: E501", "x = 1  # é # noqa: E501, JAX401"),
        ("x = 1  # jaxlint: ignore[JAX402] -- why", "x = 1  # jaxlint: ignore[JAX402] -- why  # noqa: JAX401"),
        ("x = '# noqa: E501'", "x = '# noqa: E501'  # noqa: JAX401"),
        ("x = 1; \\\ny = 2", "x = 1; \\\ny = 2  # noqa: JAX401"),
        ("x = 1 + \\\n    2 + \\\n    3  # why", "x = 1 + \\\n    2 + \\\n    3  # why  # noqa: JAX401"),
        ("x = '''\ntext\n'''", "x = '''\ntext\n'''  # noqa: JAX401"),
        ("x = '''\n# text''' + \\\n'''more\n'''", "x = '''\n# text''' + \\\n'''more\n'''  # noqa: JAX401"),
        ("x = 'a\\\nb'", "x = 'a\\\nb'  # noqa: JAX401"),
        ("x = f'''{1}\n{2}\n'''", "x = f'''{1}\n{2}\n'''  # noqa: JAX401"),
        ("f(\n    1,\n)", "f(  # noqa: JAX401\n    1,\n)"),
        ("f(  # noqa: E501\n    1,\n)", "f(  # noqa: E501, JAX401\n    1,\n)"),
        ("f('''\n''',\n    1,\n)", "f('''\n''',  # noqa: JAX401\n    1,\n)"),
        ("if x:\n    pass", "if x:  # noqa: JAX401\n    pass"),
        ("@f\nclass A: pass", "@f  # noqa: JAX401\nclass A: pass"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", ["", "\n", "\n\ny = 1\n"])
def test_adds_a_comment(before: str, after: str, newline: str, end: str) -> None:
    before, after = ((text + end).replace("\n", newline) for text in (before, after))
    assert added(before, finding(1)) == after
    assert left(after, finding(1)) == []


@pytest.mark.parametrize("text", ["x = 'a\n", "x = (\n", "x = \\", "  x\n y\n"])
def test_refuses_what_is_not_understood(text: str) -> None:
    with pytest.raises(Refused, match="cannot"):
        added(text, finding(1))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs the f-strings of Python 3.12")
def test_new_f_strings() -> None:
    text = 'x = f"""{\n  1  # comment\n}{f\'\'\'{2\n}\'\'\'}\n""" + f"{3}"\n'
    for row in range(1, 6):
        assert added(text, finding(row)) == text[:-1] + "  # noqa: JAX401\n"


def test_adds_one_comment_for_all_findings_of_a_line() -> None:
    found = [finding(1), finding(1, "JAX201"), finding(1), finding(2)]
    text = "x = [\n  1, '''\n''']\n"
    assert added(text, *found) == "x = [  # noqa: JAX201, JAX401\n  1, '''\n''']  # noqa: JAX401\n"


def test_adds_the_reason() -> None:
    assert added("x = 1", finding(1), reason="on purpose") == "x = 1  # noqa: JAX401 -- on purpose"
    assert added("x = 1  # noqa: E501", finding(1), reason="why") == "x = 1  # noqa: E501, JAX401 -- why"
    assert added("x = 1  # noqa: E501 link", finding(1), reason="why") == "x = 1  # noqa: E501, JAX401 link"
    assert added("x = 1  # noqa: E501 -- b", finding(1), reason="why") == "x = 1  # noqa: E501, JAX401 -- b"


# fmt: off
PIECES = (
    "x", " = ", "(", ")", "'''", "'", '"', "f'", "{", "}", "\\", "\n", "\r\n", "# noqa: E501", "# é", "  ", "\x0c", ";",
)
# fmt: on


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.sets(st.integers(1, 5), min_size=1))
def test_never_changes_the_program(text: str, rows: set[int]) -> None:
    """Whatever the text, the comments hide the findings and change nothing else, or nothing is written."""
    found = [finding(row) for row in sorted(rows)]
    try:
        changed = added(text, *found)
    except Refused:
        return
    assert left(changed, *found) == []
    try:
        before = ast.dump(ast.parse(text))
    except (SyntaxError, ValueError):
        return
    assert ast.dump(ast.parse(changed)) == before


# -- the command ---------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(BAD.format(""))
    Path("b.py").write_text(BAD.format("  # noqa: E501"))
    Path("good.py").write_text(GOOD.format(""))
    return tmp_path


def test_command_adds_comments(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "check", "-q")[0] == 1
    before = Path("good.py").stat()
    os.chmod("a.py", 0o640)
    said = "jaxlint: added 2 suppression comments in 2 files\n"
    assert run(capsys, "check", "--add-noqa", "--reason", "later") == (0, "", said)
    assert Path("a.py").read_text() == BAD.format("  # noqa: JAX401 -- later")
    assert Path("b.py").read_text() == BAD.format("  # noqa: E501, JAX401 -- later")
    assert os.stat("a.py").st_mode & 0o777 == 0o640
    assert Path("good.py").stat().st_mtime_ns == before.st_mtime_ns
    assert run(capsys, "check", "-q") == (0, "", "")
    texts = [Path(name).read_bytes() for name in ("a.py", "b.py")]
    assert run(capsys, "check", "--add-noqa") == (0, "", "jaxlint: added 0 suppression comments in 0 files\n")
    assert [Path(name).read_bytes() for name in ("a.py", "b.py")] == texts
    assert sorted(os.listdir()) == ["a.py", "b.py", "good.py"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "utf-8", "cp1252"])
def test_command_keeps_all_other_bytes(project: Path, capsys: pytest.CaptureFixture[str], encoding: str) -> None:
    cookie = "" if encoding == "utf-8-sig" else f"# coding: {encoding}\r\n"
    text = cookie + "# é\r\n" + BAD.format("\t\x0c") + "\r\ry = 'é'"
    Path("a.py").write_bytes(text.encode(encoding))
    assert run(capsys, "check", "a.py", "--add-noqa")[0] == 0
    assert Path("a.py").read_bytes() == text.replace("s.x = 1", "s.x = 1  # noqa: JAX401").encode(encoding)


def test_command_writes_through_links(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("links").mkdir()
    Path("links/c.py").symlink_to("../a.py")
    assert run(capsys, "check", "links", "--add-noqa")[0] == 0
    assert Path("links/c.py").is_symlink()
    assert Path("a.py").read_text() == BAD.format("  # noqa: JAX401")


def test_command_leaves_what_cannot_be_suppressed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that cannot be parsed stays a finding, and so does a comment that is good for nothing."""
    Path("b.py").write_text(GOOD.format("  # noqa: JAX402"))
    Path("c.py").write_text("x = (\n")
    code, out, err = run(capsys, "check", "--add-noqa", "--output-format", "concise")
    assert (code, err) == (1, "jaxlint: added 1 suppression comment in 1 file\n")
    assert [line.split()[:2] for line in out.splitlines()[:2]] == [["b.py:9:33:", "JAX002"], ["c.py:1:5:", "JAX001"]]
    assert Path("b.py").read_text() == GOOD.format("  # noqa: JAX402")
    assert Path("c.py").read_text() == "x = (\n"


def test_command_refuses_what_the_encoding_cannot_say(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    latin = b"# coding: latin-1\n" + BAD.format("").encode()
    Path("a.py").write_bytes(latin)
    code, out, err = run(capsys, "check", "a.py", "--add-noqa", "--reason", "日", "--output-format", "concise")
    assert (code, out.partition(" `")[0]) == (1, "a.py:10:5: JAX401 [*]")
    assert err.splitlines() == [
        "jaxlint: warning: a.py: no comments were added: some of it cannot be written in its encoding iso-8859-1",
        "jaxlint: added 0 suppression comments in 0 files",
    ]
    assert Path("a.py").read_bytes() == latin


@pytest.mark.parametrize("reason", ["a\nb", "see # noqa"])
def test_command_refuses_reasons(project: Path, capsys: pytest.CaptureFixture[str], reason: str) -> None:
    message = "jaxlint: error: --reason: must be one line without `#`\n"
    assert run(capsys, "check", "--add-noqa", "--reason", reason) == (2, "", message)
    assert Path("a.py").read_text() == BAD.format("")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reason", "x"], "--reason goes with --add-noqa."),
        (["--add-noqa", "--write-baseline", "x"], "--add-noqa and --write-baseline exclude each other."),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    code, out, err = run(capsys, "check", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_command_tells_that_it_cannot_write(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.replace", fail)
    message = "jaxlint: error: a.py: cannot be written: Permission denied\n"
    assert run(capsys, "check", "a.py", "--add-noqa") == (2, "", message)
    assert Path("a.py").read_text() == BAD.format("")
    assert sorted(os.listdir()) == ["a.py", "b.py", "good.py"]


def test_files_that_are_gone(project: Path) -> None:
    gone = msgspec.structs.replace(finding(1), path=str(project / "gone.py"))
    result = add_noqa([gone])
    assert (result.comments, result.left) == (0, [gone])
    assert result.refusals == ["gone.py: no comments were added: cannot be read: No such file or directory"]


# -- ruff ----------------------------------------------------------------------------------------

WARNING = (
    "jaxlint: warning: {}: `ruff --fix` removes `# noqa: JAX...` comments (RUF100, RUF102);"
    ' add `external = ["JAX"]` to {}\n'
)


@pytest.mark.parametrize(
    ("name", "text", "warns"),
    [
        ("pyproject.toml", "[tool.ruff.lint]\nselect = ['RUF']\n", True),
        ("pyproject.toml", "[tool.ruff.lint]\nextend-select = ['RUF100']\n", True),
        ("pyproject.toml", "[tool.ruff]\nselect = ['ALL']\n", True),
        ("pyproject.toml", "[tool.ruff.lint]\nselect = ['RUF']\nexternal = ['JAX']\n", False),
        ("pyproject.toml", "[tool.ruff.lint]\nselect = ['RUF']\nexternal = ['ABC', 'J']\n", False),
        ("pyproject.toml", "[tool.ruff.lint]\nselect = ['RUF']\nignore = ['RUF10']\n", False),
        ("pyproject.toml", "[tool.ruff.lint]\nselect = ['RUF']\nignore = ['RUF100']\n", True),
        ("pyproject.toml", "[tool.ruff.lint]\nselect = ['E', 'F']\n", False),
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n", False),
        ("pyproject.toml", "[project]\nname = 'x'\n", False),
        ("ruff.toml", "[lint]\nselect = ['RUF102']\n", True),
        (".ruff.toml", "lint.select = ['RUF1']\n", True),
        ("ruff.toml", "broken", False),
        ("ruff.toml", "select = 3\nlint = 4\n", False),
    ],
)
def test_warns_of_ruff(project: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, warns: bool) -> None:
    """Once, if comments with our codes are in use or were added; never without."""
    Path(name).write_text(text)
    warning = WARNING.format(name, "[tool.ruff.lint]" if name == "pyproject.toml" else "[lint]") if warns else ""
    assert run(capsys, "check", "good.py") == (0, "All checks passed!\n", "")
    said = "jaxlint: added 2 suppression comments in 2 files\n"
    assert run(capsys, "check", "--add-noqa") == (0, "", said + warning)
    assert run(capsys, "check") == (0, "All checks passed!\n", warning)
    assert run(capsys, "check", "-q") == (0, "", "")
    assert run(capsys, "check", "good.py") == (0, "All checks passed!\n", "")


def test_warns_of_ruff_that_is_configured_elsewhere(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("sub").mkdir()
    Path("sub/c.py").write_text(BAD.format("  # noqa: JAX401"))
    Path("pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['ALL']\n")
    assert run(capsys, "check", "sub")[2] == WARNING.format("pyproject.toml", "[tool.ruff.lint]")
    Path("sub/ruff.toml").write_text("extend = '../pyproject.toml'\n[lint]\nexternal = ['JAX']\n")
    assert run(capsys, "check", "sub")[2] == ""
    Path("sub/ruff.toml").write_text("extend = '../pyproject.toml'\n[lint]\nexternal = []\n")
    assert run(capsys, "check", "sub")[2] == WARNING.format("sub/ruff.toml", "[lint]")


@pytest.mark.parametrize("comment", ["  # jaxlint: ignore[JAX401]", "  # noqa"])
def test_other_comments_do_not_concern_ruff(project: Path, capsys: pytest.CaptureFixture[str], comment: str) -> None:
    Path("pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['ALL']\n")
    Path("a.py").write_text(BAD.format(comment))
    assert run(capsys, "check", "a.py") == (0, "All checks passed!\n", "")


@pytest.mark.parametrize("external", [False, True])
def test_ruff_does_what_is_said(project: Path, external: bool) -> None:
    Path("a.py").write_text("x = 1  # noqa: JAX401 -- why\n")
    Path("ruff.toml").write_text("[lint]\nselect = ['RUF']\n" + ("external = ['JAX']\n" if external else ""))
    ruff = os.path.join(os.path.dirname(sys.executable), "ruff")
    subprocess.run([ruff, "check", "--no-cache", "--fix", "-q", "a.py"], check=False)
    assert ("JAX401" in Path("a.py").read_text()) is external
