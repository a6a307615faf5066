"""Bytes become text as Python reads them, and columns are converted exactly."""

from __future__ import annotations

import ast
import io
import os
import socket
import subprocess
import sys
import tempfile
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxlint.syntax.source import Source, Unreadable

BOM = b"\xef\xbb\xbf"


def problem(raw: bytes) -> tuple[str, int | None, int | None]:
    with pytest.raises(Unreadable) as caught:
        Source.from_bytes("/f.py", raw)
    return caught.value.message, caught.value.row, caught.value.column


@pytest.mark.parametrize(
    ("raw", "text", "encoding", "bom"),
    [
        (b"", "", "utf-8", False),
        (b"x = 1\n", "x = 1\n", "utf-8", False),
        (BOM + b"x = 1\r\n", "x = 1\r\n", "utf-8", True),
        ("x = 'é日'\n".encode(), "x = 'é日'\n", "utf-8", False),
        (b"# coding: latin-1\nx = '\xe9'\n", "# coding: latin-1\nx = 'é'\n", "iso-8859-1", False),
        (b"# -*- coding: latin-1-unix -*-\n'\xe9'", "# -*- coding: latin-1-unix -*-\n'é'", "iso-8859-1", False),
        (
            b"#!/bin/sh\n# vim: set fileencoding=cp1252 :\n'\x80'\n",
            "#!/bin/sh\n# vim: set fileencoding=cp1252 :\n'€'\n",
            "cp1252",
            False,
        ),
        (b"\x0c# coding: latin-1\ry = '\xe9'\r", "\x0c# coding: latin-1\ry = 'é'\r", "iso-8859-1", False),
        (BOM + b"# coding: UTF_8\n", "# coding: UTF_8\n", "utf-8", True),
        (b"# coding: utf-8-sig\n", "# coding: utf-8-sig\n", "utf-8", False),
        ("x = 1\n# coding: latin-1\n'é'\n".encode(), "x = 1\n# coding: latin-1\n'é'\n", "utf-8", False),
        ("\n\n# coding: latin-1\n'é'\n".encode(), "\n\n# coding: latin-1\n'é'\n", "utf-8", False),
    ],
)
def test_decodes(raw: bytes, text: str, encoding: str, bom: bool) -> None:
    source = Source.from_bytes("/f.py", raw)
    assert (source.text, source.encoding, source.bom, source.raw) == (text, encoding, bom, raw)
    assert (BOM if bom else b"") + text.encode(source.encoding) == raw
    compile(raw, "f.py", "exec")  # Python agrees that this is a source file


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            b"x = 1\ny = '\xe9'\n",
            ("byte 0xe9 is not valid utf-8: save the file as UTF-8 or declare its encoding", 2, 6),
        ),
        (
            "# é".encode() + b"\rz = '\xff",
            ("byte 0xff is not valid utf-8: save the file as UTF-8 or declare its encoding", 2, 6),
        ),
        (
            b"# coding: ascii\n'\xc3\xa9'\n",
            ("byte 0xc3 is not valid ascii: save the file as UTF-8 or declare its encoding", 2, 2),
        ),
        (b"# coding: klingon\n", ("declares `klingon`, which is no text encoding that Python knows", 1, 11)),
        (b"\n# coding: hex\n", ("declares `hex`, which is no text encoding that Python knows", 2, 11)),
        (
            BOM + b"# coding: latin-1\n",
            ("declares the encoding `latin-1` but has a UTF-8 byte order mark: remove one of them", 1, 11),
        ),
        (b"a = 1\r\nb\x00 = 2\r\n", ("contains a null byte: this is not Python source", 2, 2)),
        ("# é\n".encode() + b"'\xc3\xa9\x00'", ("contains a null byte: this is not Python source", 2, 3)),
        ("x = 1".encode("utf-16-le"), ("contains a null byte: this is not Python source", 1, 2)),
    ],
)
def test_refuses(raw: bytes, expected: tuple[str, int | None, int | None]) -> None:
    assert problem(raw) == expected
    with pytest.raises((SyntaxError, ValueError)):
        compile(raw, "f.py", "exec")  # and so does Python


def test_refuses_null_bytes_in_text() -> None:
    with pytest.raises(Unreadable) as caught:
        Source.from_text("/f.py", "x\n\ry\0")
    assert (caught.value.row, caught.value.column) == (3, 2)


def test_text_may_have_a_mark() -> None:
    source = Source.from_text("/f.py", "\ufeffx = 'é'\n")
    assert (source.bom, source.text, source.raw) == (True, "x = 'é'\n", BOM + b"x = '\xc3\xa9'\n")


def test_path_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\r\n")
    monkeypatch.chdir(tmp_path)
    source = Source.read("a.py")
    assert (source.path, source.text) == (os.path.join(os.getcwd(), "a.py"), "x = 1\r\n")


@pytest.mark.parametrize(
    ("text", "lines", "offsets"),
    [
        ("", [], []),
        ("\n", [""], [0]),
        ("a", ["a"], [0]),
        ("a\n", ["a"], [0]),
        ("a\n\n", ["a", ""], [0, 2]),
        ("a\r\nb\rc\nd", ["a", "b", "c", "d"], [0, 3, 5, 7]),
        ("\r\n\r", ["", ""], [0, 2]),
        ("a\x0cb\x0b\x1c\x1d\x1e\x85\u2028\u2029c\nd\n", ["a\x0cb\x0b\x1c\x1d\x1e\x85\u2028\u2029c", "d"], [0, 12]),
    ],
)
def test_lines(text: str, lines: list[str], offsets: list[int]) -> None:
    source = Source.from_text("/f.py", text)
    assert (source.lines, source.line_offsets) == (lines, offsets)


@given(st.text(alphabet="a\n\r\x0c\x0b\x1c\x85\u2028é😀 "))
def test_lines_and_offsets_are_those_of_io(text: str) -> None:
    source = Source.from_text("/f.py", text)
    stored = list(io.StringIO(text, newline=""))
    assert source.lines == [line.rstrip("\r\n") for line in stored]
    for row, line in enumerate(stored, start=1):
        start = source.offset(row, 0)
        assert text[start : start + len(line)] == line
        assert source.place(start + len(line) - 1) == (row, len(line) - 1)
    assert source.offset(len(stored) + 1, 0) == len(text)
    at_end = (len(stored), len(stored[-1])) if stored and stored[-1][-1] not in "\r\n" else (len(stored) + 1, 0)
    assert source.place(len(text)) == at_end


def test_columns() -> None:
    source = Source.from_text("/f.py", "ascii = 1\nx = 'é日😀'; y\n")
    line = "x = 'é日😀'; y"
    column = line.index("y")
    assert source.codepoint_column(1, 6) == 6
    assert source.codepoint_column(2, len(line[:column].encode())) == column
    assert source.codepoint_column(2, 5) == 5
    assert source.codepoint_column(2, 7) == 6
    assert source.offset(2, column) == source.text.index("y")


def test_columns_of_ast_and_tokenize_agree() -> None:
    text = "a = 1\r\rif a:\n\té日 = '😀', a; b = [é日,\x0ca]\n"
    source = Source.from_text("/f.py", text)
    names = {
        (node.lineno, source.codepoint_column(node.lineno, node.col_offset), node.id)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Name)
    }
    lines = io.StringIO("\n".join(source.lines) + "\n")
    tokens = {
        (*token.start, token.string)
        for token in tokenize.generate_tokens(lines.readline)
        if token.type == tokenize.NAME and token.string != "if"
    }
    assert names == tokens
    assert (4, 1, "é日") in names
    for row, column, name in names:
        assert source.text[source.offset(row, column) :].startswith(name)


def refusal(path: Path) -> str:
    with pytest.raises(Unreadable) as caught:
        Source.read(str(path))
    assert (caught.value.row, caught.value.column) == (None, None)
    return str(caught.value)


def test_read_refuses_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "dangling.py").symlink_to("nowhere.py")
    assert refusal(tmp_path / "gone.py") == "cannot be read: No such file or directory"
    assert refusal(tmp_path / "dangling.py") == "cannot be read: No such file or directory"
    assert refusal(tmp_path / "loop.py") == "cannot be read: Too many levels of symbolic links"
    assert refusal(tmp_path) == "is a directory, not a file"
    assert refusal(tmp_path / ("x" * 300)) == "cannot be read: File name too long"
    assert refusal(Path("/dev/zero")) == "is a device, not a regular file"
    os.mkfifo(tmp_path / "pipe.py")
    assert refusal(tmp_path / "pipe.py") == "is a named pipe, not a regular file"


def test_read_refuses_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.py")
        assert refusal(Path("s.py")) == "is a socket, not a regular file"


def test_read_refuses_file_that_vanishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    status = os.stat

    def stat_and_remove(name: str) -> os.stat_result:
        result = status(name)
        os.unlink(name)
        return result

    monkeypatch.setattr(os, "stat", stat_and_remove)
    assert refusal(path) == "cannot be read: No such file or directory"


READ_AS_NOBODY = """
import os, sys
sys.path.insert(0, sys.argv[1])
from jaxlint.syntax.source import Source, Unreadable
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for path in sys.argv[2:]:
    try:
        Source.read(path)
    except Unreadable as error:
        print(error)
"""


def test_read_refuses_without_permission() -> None:
    with tempfile.TemporaryDirectory() as name:  # other users may not enter pytest's own directories
        directory = Path(name)
        directory.chmod(0o755)
        (directory / "a.py").write_text("x = 1\n")
        (directory / "a.py").chmod(0)
        (directory / "closed").mkdir(mode=0)
        project = str(Path(__file__).parents[2])
        paths = [str(directory / "a.py"), str(directory / "closed")]
        arguments = [sys.executable, "-c", READ_AS_NOBODY, project, *paths]
        result = subprocess.run(arguments, capture_output=True, text=True)
    assert (result.stdout, result.stderr) == (
        "cannot be read: Permission denied\nthe directory cannot be listed: Permission denied\n",
        "",
    )
