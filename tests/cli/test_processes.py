"""The command as processes run it: its streams, terminals, colours, and what it imports."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jaxlint import __version__
from tests.patience import PATIENCE

PROJECT = str(Path(__file__).parents[2])

STUBBED = """
import os, sys, time, types
sys.path.insert(0, sys.argv[1])
from jaxlint.finding import Confidence, Finding, Severity
def check_paths(paths, settings, *, jobs=1, progress=None, **rest):
    {action}
    one = Finding("/d\\udcff/日.py", 1, 1, 1, 2, "JAX401", "frozen-assignment", "日", Severity.ERROR, Confidence.HIGH)
    return types.SimpleNamespace(findings=[one] * {count}, files=1, errors=[], suppressed=[], stale=[], checked={{}})
sys.modules["jaxlint.linter.engine"] = types.SimpleNamespace(check_paths=check_paths, check_content=check_paths)
from jaxlint.cli.main import main
sys.exit(main(["check", "--isolated", "--output-format", {format!r}]))
"""


def command(action: str = "pass", count: int = 1, format: str = "concise") -> list[str]:
    return [sys.executable, "-c", STUBBED.format(action=action, count=count, format=format), PROJECT]


def test_a_reader_that_goes_away_is_no_error() -> None:
    process = subprocess.Popen(command(count=100_000), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 1)
    process.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_reported() -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(command(), stdout=full, stderr=subprocess.PIPE, text=True)
    assert (result.returncode, result.stderr) == (
        2,
        "jaxlint: error: cannot write the output: No space left on device\n",
    )


def test_a_closed_output_is_reported() -> None:
    shell = ["sh", "-c", 'exec "$@" >&-', "sh", *command()]
    result = subprocess.run(shell, stderr=subprocess.PIPE, text=True)
    assert (result.returncode, result.stderr) == (2, "jaxlint: error: the standard output is closed\n")


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("concise", b"/d\\udcff/\\u65e5.py:1:1: JAX401 \\u65e5\nFound 1 error.\n"),
        ("json", b'    "filename": "/d\\udcff/\\u65e5.py",\n'),
    ],
)
def test_output_that_the_terminal_cannot_show(format: str, expected: bytes) -> None:
    environ = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(command(format=format), capture_output=True, env=environ)
    assert (result.returncode, result.stderr) == (1, b"")
    assert expected in result.stdout


def test_interrupt_leaves_no_traceback() -> None:
    # a shell that starts the tests in the background turns the signal off
    action = 'import signal; signal.signal(signal.SIGINT, signal.default_int_handler); print("started", flush=True)'
    process = subprocess.Popen(command(f"{action}; time.sleep(60)"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (out, err.strip(), process.returncode) == (b"", b"", 130)


def in_terminal(arguments: list[str], **environ: str) -> tuple[int, str]:
    """The exit code and the output, stdout and stderr alike, of a command that runs in a terminal."""
    master, slave = pty.openpty()
    variables = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "CI")}
    process = subprocess.Popen(
        arguments, stdin=slave, stdout=slave, stderr=slave, env={**variables, "TERM": "xterm", **environ}
    )
    os.close(slave)
    output = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            break
        if not chunk:
            break
        output += chunk
    os.close(master)
    return process.wait(timeout=PATIENCE), output.decode()


def test_color_on_a_terminal_only() -> None:
    code, output = in_terminal(command())
    assert (code, "\x1b[1;31mJAX401\x1b[0m" in output) == (1, True)
    code, output = in_terminal(command(), NO_COLOR="1")
    assert (code, "\x1b" in output) == (1, False)
    environ = {**os.environ, "FORCE_COLOR": "1"}
    piped = subprocess.run(command(), capture_output=True, env=environ)
    assert b"\x1b[1;31mJAX401\x1b[0m" in piped.stdout
    assert b"\x1b" not in subprocess.run(command(format="json"), capture_output=True, env=environ).stdout


@pytest.mark.parametrize("against", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_the_option_for_colors_wins(against: dict[str, str]) -> None:
    always = [part.replace('"--isolated"', '"--isolated", "--color", "always"') for part in command()]
    piped = subprocess.run(always, capture_output=True, env={**os.environ, **against})
    assert b"\x1b[1;31mJAX401\x1b[0m" in piped.stdout


def test_progress_bar_appears_after_a_second() -> None:
    slow = "progress(1, 4); time.sleep(1.1); progress(2, 4)"
    code, output = in_terminal(command(slow))
    assert (code, "Checking" in output, " 50%" in output) == (1, True, True)
    assert output.index("Checking") < output.index("JAX401")
    code, output = in_terminal(command("progress(1, 4); progress(2, 4)"))
    assert (code, "Checking" in output) == (1, False)


def test_no_progress_bar_without_a_terminal() -> None:
    result = subprocess.run(command("assert progress is None"), capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (1, "")


IMPORTED = """
import sys
sys.path.insert(0, sys.argv[1])
from jaxlint.cli.main import main
code = main(sys.argv[2:])
heavy = {"libcst", "rich", "msgspec", "pathspec", "tomllib", "jaxlint.linter.engine", "jaxlint.config.settings"}
print(*sorted(heavy & set(sys.modules)))
sys.exit(code)
"""


@pytest.mark.parametrize("arguments", ["--version", "rule", "check --exit-zero ."])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams(tmp_path: Path, arguments: str, closed: str) -> None:
    """One line instead of a traceback, and no success where nothing could be said."""
    (tmp_path / "a.py").write_text("x = 1\n")
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        f"{sys.executable} -c 'from jaxlint.cli.entry import run; run()' {arguments} {closed}",
        shell=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert "Traceback" not in done.stderr
    is_lost = ">&-" in closed.split() or closed.startswith(">")
    assert done.returncode == (2 if is_lost else 0), done.stderr


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["check", "--help"], ["rule", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    result = subprocess.run([sys.executable, "-c", IMPORTED, PROJECT, *arguments], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith("\n\n")  # none of them


def test_plain_output_imports_no_rich() -> None:
    script = STUBBED.format(action="pass", count=1, format="full").replace(
        "sys.exit(main(", "sys.exit('rich' in sys.modules or -main("
    )
    result = subprocess.run([sys.executable, "-c", script, PROJECT], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (255, "")  # exit code -1: main returned 1 and rich was not there


def test_module_can_be_run() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "jaxlint", "--version"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": PROJECT},
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, f"jaxlint {__version__}\n", "")
