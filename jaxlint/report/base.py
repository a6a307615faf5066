"""What a report is made of, and how all formats name files and rules."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from jaxlint.finding import Applicability, Confidence, Finding, page_url
from jaxlint.syntax.paths import shown_path
from jaxlint.syntax.source import Source

#: Where CI systems say which directory holds the repository: paths in what they read are relative to it.
_CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
#: A help that gives code to write, and says nothing else.
_WRITE = r"write (?P<code>`[^`]+`)"


class Report(msgspec.Struct, frozen=True):
    """What there is to tell about a run.

    `errors` are internal errors, one line each. `read(path)` gives the text that was checked, or raises
    `Unreadable`. `color` and `summary` (how many findings there are) concern the formats for people. What was
    `fixed` before counts there, too; `unsafe_fixes` says which are fixable.
    """

    findings: Sequence[Finding]
    errors: Sequence[str] = ()
    read: Callable[[str], Source] = Source.read
    color: bool = False
    summary: bool = False
    fixed: Sequence[Finding] = ()
    unsafe_fixes: bool = False

    def is_fixable(self, finding: Finding) -> bool:
        """Whether `--fix` would fix it, with the `--unsafe-fixes` of the run."""
        fix = finding.fix
        if fix is None or fix.applicability is Applicability.DISPLAY:
            return False
        return self.unsafe_fixes or fix.applicability is Applicability.SAFE


def reader(path: str, raw: bytes) -> Callable[[str], Source]:
    """A `Report.read` for which the file `path` holds `raw`, whatever is on disk."""
    return partial(_read, os.path.abspath(path), raw)


def _read(given: str, raw: bytes, path: str) -> Source:
    return Source.from_bytes(path, raw) if os.path.abspath(path) == given else Source.read(path)


def checkout(environ: Mapping[str, str] = os.environ) -> str:
    """The directory that paths in CI reports are relative to: the repository that was checked out, else the current."""
    here = os.getcwd()
    for name in _CHECKOUTS:
        folder = os.path.normpath(environ.get(name) or os.curdir)
        if os.path.isabs(folder) and _is_below(here, folder):
            return folder
    return here


def repository_path(path: str) -> str:
    """`path` as CI systems want it: relative to the checkout, with slashes; absolute if it lies elsewhere."""
    folder = checkout()
    if _is_below(path, folder):
        path = os.path.relpath(path, folder)
    return path.replace(os.sep, "/")


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep) or path == folder


def url(finding: Finding) -> str:
    """The address of the page of the finding's rule; empty if it has none."""
    return page_url(finding.code, finding.name)


def message(finding: Finding) -> str:
    """The message of a finding, marked if it is a guess."""
    return f"{finding.message} (low confidence)" if finding.confidence is Confidence.LOW else finding.message


def headline(finding: Finding) -> str:
    """Place, code and message in one line, as compilers write them; the message may have more lines."""
    return f"{shown_path(finding.path)}:{finding.row}:{finding.column}: {finding.code} {message(finding)}"


def notes(finding: Finding) -> Iterator[tuple[str, str]]:
    """What there is to say about a finding behind its message, and is not said there: titles and texts."""
    for title, text in (("why", finding.reason), ("help", finding.help), ("see", url(finding))):
        if text and text not in finding.message and not (title == "help" and _is_said(text, finding.message)):
            yield title, text


def _is_said(help: str, message: str) -> bool:
    """Whether the way out at the end of a message has the code already that the help says to write."""
    match = re.fullmatch(_WRITE, help)
    return match is not None and match["code"] in message.rpartition("; ")[2].replace("(...)", "()")


def by_file(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """The findings of each file, in their order."""
    files: dict[str, list[Finding]] = {}
    for finding in findings:
        files.setdefault(finding.path, []).append(finding)
    return files
