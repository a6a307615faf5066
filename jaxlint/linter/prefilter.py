"""Files in which nothing can be found, determined by their bytes: they name no framework and import nothing that does.

Parsing all of a large package without JAX costs ten times as much as reading it.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Collection, Iterable, Sequence

from jaxlint.cache.digests import digest
from jaxlint.config.settings import Settings
from jaxlint.libraries.packages import DISTRIBUTION_OF
from jaxlint.project.files import SUFFIXES, holds_no_sources
from jaxlint.project.modules import Module, Project
from jaxlint.syntax.paths import stamp

#: Less than that (bytes) is parsed in any case, so that syntax errors are reported.
_WORTH_A_LOOK = 500_000
#: In a larger folder it is not looked which files have to do with JAX.
_MAX_FOLDERS = 4000
#: If more than this share of the files names a framework, the others most likely import one of them.
_MOST_NAMING = 0.25
#: The rest of an import from that word on, over continued lines. What begins with letters is found much faster.
_IMPORT = re.compile(rb"import\b(?:[^\n(\\]|\\\r?\n?|\([^)]*\))*")
_CONTINUED = (b"\\\n", b"\\\r\n")
_WORD = re.compile(rb"\w+")
#: Letters that are rare in programs.
_RARE = "xjzq"
#: How a comment begins that may suppress a finding.
_COMMENT = re.compile(rb"#\s*(?i:noqa|jaxlint)")

#: Importing one of these packages, directly or through other modules, makes a module worth a look.
#: They are those of `jaxlint.pytrees.frameworks`, which takes twice as long to load as Python to start.
FRAMEWORK_PACKAGES = frozenset(DISTRIBUTION_OF)


def framework_packages(settings: Settings) -> frozenset[str]:
    """The packages of the built-in frameworks and of those that the settings name."""
    extra = (*settings.extra_decorators, *settings.extra_bases, *settings.extra_fields)
    return FRAMEWORK_PACKAGES | {name.partition(".")[0] for name in extra}


def mark_irrelevant_files(modules: Sequence[Module], project: Project, settings: Settings, *, digests: bool) -> None:
    """Tell the modules in which nothing can be found, if that is easily seen: they need not be parsed.

    `digests` says whether those of their contents are wanted, which only later runs need.
    """
    by_path = {module.path: module for module in modules}
    for path, raw in irrelevant_files(list(by_path), project, framework_packages(settings)).items():
        by_path[path].mark_irrelevant(digest(raw) if digests else None)


def irrelevant_files(files: Sequence[str], project: Project, packages: Collection[str]) -> dict[str, bytes]:
    """Those of the `files` of a project in which nothing can be found, with their contents.

    `packages` are those of the frameworks. None are irrelevant where packages of an environment are seen, in small
    projects, and in those that use JAX all over. A file that cannot be read is not irrelevant.
    """
    below = None if project.site_packages else _python_files_below(project.roots)
    if below is None:
        return {}
    everything = sorted(below.union(files))
    if not _worth_a_look(everything):
        return {}
    names = _Names(packages)
    asked = set(files)
    irrelevant: dict[str, bytes] = {}
    telling: set[str] = set()
    relevant: list[str] = []
    for path in everything:
        raw = _read(path)
        if raw is not None and not names.are_in(raw):
            irrelevant[path] = raw
            if path in asked and _is_telling(raw):
                telling.add(path)
            continue
        relevant.append(path)
        if len(relevant) > len(everything) * _MOST_NAMING:
            return {}
    _drop_importers(irrelevant, set(map(_stem, relevant)))
    return {path: raw for path, raw in irrelevant.items() if path in asked and path not in telling}


class _Names:
    """The names of packages, to be found as words in files.

    A regular expression that begins with a rare letter and then looks around is several times as fast as one that
    begins with any of the names, or as a search for each of them.
    """

    def __init__(self, names: Collection[str]) -> None:
        by_end: dict[str, dict[str, list[str]]] = {}
        self._common: list[bytes] = []
        for name in sorted(names):
            letter = next((letter for letter in _RARE if letter in name), None)
            if letter is None:
                self._common.append(name.encode())
                continue
            by_end.setdefault(letter, {}).setdefault(name.partition(letter)[2], []).append(name)
        self._rare = [_pattern(letter, names_by_end) for letter, names_by_end in by_end.items()]
        self._words = re.compile(rb"(?<!\w)(?:%s)(?!\w)" % b"|".join(map(re.escape, self._common)))

    def are_in(self, raw: bytes) -> bool:
        """Whether one of the names is in a text."""
        for pattern in self._rare:
            if pattern.search(raw):
                return True
        return any(name in raw for name in self._common) and self._words.search(raw) is not None


def _pattern(letter: str, by_end: dict[str, list[str]]) -> re.Pattern[bytes]:
    """What finds words by a letter in them; they are given by what follows the letter."""
    ends = []
    for end, words in by_end.items():
        whole = "|".join(rf"(?<=(?<!\w){re.escape(word)})" for word in words)
        ends.append(rf"{re.escape(end)}(?!\w)(?:{whole})")
    return re.compile(f"{letter}(?:{'|'.join(ends)})".encode())


def _drop_importers(irrelevant: dict[str, bytes], stems: set[bytes]) -> None:
    """Drop from `irrelevant` all files that may import a module with one of the `stems`, directly or through others."""
    importers: dict[bytes, list[str]] = {}
    for path, raw in irrelevant.items():
        for word in _imported(raw):
            importers.setdefault(word, []).append(path)
    pending = [*stems]
    while pending:
        for path in importers.pop(pending.pop(), ()):
            if irrelevant.pop(path, None) is not None:
                pending.append(_stem(path))


def _imported(raw: bytes) -> set[bytes]:
    """The words of the lines in which a text imports something: the names of all that it may import are among them."""
    found: list[bytes] = []
    start = raw.find(b"import")
    while start >= 0:
        first = raw.rfind(b"\n", 0, start) + 1
        while raw.endswith(_CONTINUED, 0, first):
            first = raw.rfind(b"\n", 0, first - 1) + 1
        rest = _IMPORT.match(raw, start)
        end = start + len(b"import") if rest is None else rest.end()
        found.append(raw[first:end])
        start = raw.find(b"import", end)
    return set(_WORD.findall(b"\n".join(found)))


def _is_telling(raw: bytes) -> bool:
    """Whether there is something to say of a file itself: it may suppress findings, or not be decodable."""
    second_line_end = raw.find(b"\n", raw.find(b"\n") + 1)
    head = raw if second_line_end < 0 else raw[:second_line_end]
    if b"\0" in raw or b"coding" in head:
        return True
    if raw.isascii() and not _COMMENT.search(raw):
        return False
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return True
    from jaxlint.suppression.comments import mentions_jaxlint

    return mentions_jaxlint(text)


def _stem(path: str) -> bytes:
    """The last part of the name of a module."""
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    return os.fsencode(os.path.basename(folder) if stem == "__init__" else stem)


def _python_files_below(roots: Iterable[str]) -> set[str] | None:
    """The Python files below some folders; None if there are very many folders below one of them."""
    found: set[str] = set()
    seen: set[str] = set()
    for root in roots:
        pending = [root]
        number = 0
        while pending:
            folder = pending.pop()
            if folder in seen:
                continue
            seen.add(folder)
            number += 1
            if number > _MAX_FOLDERS:
                return None
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if not holds_no_sources(entry.name):
                            pending.append(entry.path)
                    elif entry.name.endswith(SUFFIXES):
                        found.add(entry.path)
    return found


def _worth_a_look(files: Iterable[str]) -> bool:
    """Whether the files are large together."""
    total = 0
    for path in files:
        total += stamp(path)[1]
        if total >= _WORTH_A_LOOK:
            return True
    return False


def _read(path: str) -> bytes | None:
    """The content of a regular file, read at once: without a buffer that takes a third of the time."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(file)
        raw = os.read(file, status.st_size + 1) if stat.S_ISREG(status.st_mode) else None
    except (OSError, OverflowError, MemoryError):
        return None
    finally:
        os.close(file)
    return raw if raw is not None and len(raw) == status.st_size else None
