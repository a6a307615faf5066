"""Files in which nothing can be found, told by their bytes: they name no framework and import nothing that does.

Parsing all of a large package without JAX costs ten times as much as reading it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence

from jaxlint.config import Settings
from jaxlint.files import DEFAULT_EXCLUDES, SUFFIXES, stamp
from jaxlint.packs import digest
from jaxlint.project import Module, Project

#: Less than that (bytes) is parsed in any case, so that syntax errors are told.
_WORTH_A_LOOK = 500_000
#: In a larger folder it is not looked which files have to do with JAX.
_MAX_FOLDERS = 4000
#: If more than this share of the files names a framework, the others most likely import one of them.
_MOST_NAMING = 0.25
_IMPORT = re.compile(rb"\b(?:from\b[^\n(]*\([^)]*\)|(?:from|import)\b(?:[^\n\\]|\\\r?\n?)*)")
_WORD = re.compile(rb"\w+")

#: Importing one of these packages, directly or through other modules, makes a module worth a look.
#: They are those of `jaxlint.pytrees.frameworks`, which takes twice as long to load as Python to start.
FRAMEWORK_PACKAGES = frozenset(
    ["chex", "equinox", "flax", "jax", "jax_dataclasses", "mujoco", "penzai", "simple_pytree", "tjax", "treeo", "treex"]
)


def framework_packages(settings: Settings) -> frozenset[str]:
    """The packages of the built-in frameworks and of those that the settings name."""
    extra = (*settings.extra_decorators, *settings.extra_bases, *settings.extra_fields)
    return FRAMEWORK_PACKAGES | {name.partition(".")[0] for name in extra}


def mark_silent(modules: Sequence[Module], project: Project, settings: Settings) -> None:
    """Tell the modules in which nothing can be found, if that is easily seen: they need not be parsed."""
    by_path = {module.path: module for module in modules}
    for path, content in silent_files(list(by_path), project, framework_packages(settings)).items():
        by_path[path].be_silent(content)


def silent_files(files: Sequence[str], project: Project, packages: Collection[str]) -> dict[str, bytes]:
    """Those of the `files` of a project in which nothing can be found, with the digests of their contents.

    `packages` are those of the frameworks. None are silent where packages of an environment are seen, in small
    projects, and in those that use JAX all over. A file that cannot be read is not silent.
    """
    below = [_python_files_below(root) for root in project.roots]
    if project.site_packages or None in below:
        return {}
    everything = sorted({*files, *(path for found in below if found is not None for path in found)})
    if sum(stamp(path)[1] for path in everything) < _WORTH_A_LOOK:
        return {}
    words = sorted(name.encode() for name in packages)
    naming = re.compile(rb"\b(?:%s)\b" % b"|".join(map(re.escape, words)))
    shortest = [word for word in words if not any(other in word for other in words if other != word)]
    quiet: dict[str, bytes] = {}
    loud: list[str] = []
    for path in everything:
        raw = _read(path)
        if raw is not None and not (any(word in raw for word in shortest) and naming.search(raw)):
            quiet[path] = raw
            continue
        loud.append(path)
        if len(loud) > len(everything) * _MOST_NAMING:
            return {}
    stems = set(map(_stem, loud))
    _drop_importers(quiet, stems)
    asked = set(files)
    return {path: digest(raw) for path, raw in quiet.items() if path in asked and not _is_telling(raw)}


def _drop_importers(quiet: dict[str, bytes], stems: set[bytes]) -> None:
    """Drop from `quiet` all files that may import a module with one of the `stems`, directly or through others."""
    imported: dict[str, frozenset[bytes]] = {}
    known: set[bytes] = set()
    while stems:
        known |= stems
        found: set[bytes] = set()
        for path, raw in list(quiet.items()):
            if not any(stem in raw for stem in stems):
                continue
            if path not in imported:
                imported[path] = frozenset(word for text in _IMPORT.findall(raw) for word in _WORD.findall(text))
            if not stems.isdisjoint(imported[path]):
                del quiet[path]
                found.add(_stem(path))
        stems = found - known


def _is_telling(raw: bytes) -> bool:
    """Whether there is something to say of a file itself: it may suppress findings, or not be decodable."""
    if b"\0" in raw or b"coding" in b"".join(raw.split(b"\n", 2)[:2]):
        return True
    may_mention = any(word in raw for word in (b"noqa", b"jaxlint"))
    if raw.isascii() and not may_mention:
        return False
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return True
    if not may_mention:
        return False
    from jaxlint.suppress import mentions_jaxlint

    return mentions_jaxlint(text)


def _stem(path: str) -> bytes:
    """The last part of the name of a module."""
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    return os.fsencode(os.path.basename(folder) if stem == "__init__" else stem)


def _python_files_below(root: str) -> list[str] | None:
    """The Python files below a folder; None if there are very many folders."""
    found: list[str] = []
    for number, (folder, folders, names) in enumerate(os.walk(root)):
        if number > _MAX_FOLDERS:
            return None
        folders[:] = [name for name in folders if name not in DEFAULT_EXCLUDES]
        found += [os.path.join(folder, name) for name in names if name.endswith(SUFFIXES)]
    return found


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError):
        return None
