"""From the paths a user names to the files to check: excludes, .gitignore, links, project roots."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from jaxlint.errors import UserError
from jaxlint.project.pattern_names import PatternNames
from jaxlint.syntax.paths import CONFIG_NAMES, ancestors
from jaxlint.syntax.regular import read_regular

SUFFIXES = (".py", ".pyi")

# fmt: off
#: Directories that are not walked into unless they are named: not sources, or not one's own.
DEFAULT_EXCLUDES = frozenset((
    ".bzr", ".conda", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".hypothesis", ".ipynb_checkpoints",
    ".jaxlint_cache", ".jj", ".mypy_cache", ".nox", ".pants.d", ".pixi", ".pyenv", ".pyre", ".pytest_cache",
    ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".virtual_documents", ".vscode", "__pycache__",
    "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv",
))
# fmt: on


class PathError(UserError):
    """A path that does not exist, or names nothing that can be checked."""


class Patterns(NamedTuple):
    """Patterns as in a .gitignore that stands in the directory `base`."""

    base: str
    lines: tuple[str, ...]


def discover(
    paths: Sequence[str],
    excludes: Callable[[str], Sequence[Patterns]] = lambda directory: (),
    *,
    force: bool = False,
    visit: Callable[[str], None] = lambda directory: None,
) -> list[str]:
    """The absolute paths of all files to check, sorted, each real file once.

    A file in `paths` is always taken, unless `force` makes `excludes` hold for it too. A directory is walked
    for `*.py` and `*.pyi`. Left out are folders that `holds_no_sources` names, virtual environments, what a .gitignore
    lists, and what `excludes` lists for the directories `paths` and for those with a configuration; `!build` takes
    `build` in. Links to directories are followed once. The result may hold paths that cannot be read (a directory
    that cannot be listed, a link to nowhere): `Source.read` says why. `visit` is called with each directory. Raises
    `PathError` for a path that does not exist, and for a notebook.
    """
    found: dict[str, str] = {}
    for path in paths:
        try:
            os.lstat(path)
        except OSError as error:
            raise PathError(f"{path or repr(path)}: {error.strerror or error}") from error
        except ValueError as error:
            raise PathError(f"{path!r}: is not a path: {error}") from error
        if not os.path.isdir(path):
            refuse_notebook(path)
        absolute = os.path.abspath(path)
        if force and is_excluded(absolute, excludes(os.path.dirname(absolute))):
            continue
        files = _walk(absolute, excludes, visit) if os.path.isdir(path) else [(os.path.realpath(absolute), absolute)]
        for real, file in files:
            known = found.setdefault(real, file)
            if known is not file:
                found[real] = min(known, file, key=lambda name: (name != real, name))
    return sorted(found.values())


def refuse_notebook(path: str) -> None:
    """Raise `PathError` for the path of a notebook: nothing would be found in it."""
    if path.endswith(".ipynb"):
        raise PathError(f"{path}: is a notebook, of which no code is read; convert it with `jupytext --to py:percent`")


def is_excluded(path: str, excluded: Sequence[Patterns]) -> bool:
    """Whether the last of the patterns that means `path` (or a directory above it) leaves it out."""
    verdict = False
    for patterns in excluded:
        for line in patterns.lines:
            if matches(line.removeprefix("!"), patterns.base, path):
                verdict = not line.startswith("!")
    return verdict


def would_discover(root: str, path: str, excludes: Callable[[str], Sequence[Patterns]]) -> bool:
    """Whether `discover([root], excludes)` takes the file `path` below `root`, once it is there."""
    layers, excluded = _layers_above(root), _layers(excludes(root))
    directory = root
    *parts, name = os.path.relpath(path, root).split(os.sep)
    for part in (None, *parts):
        if part is not None:
            directory = os.path.join(directory, part)
            if _is_left_out(part, directory + os.sep, layers, excluded):
                return False
            if os.path.exists(os.path.join(directory, "pyvenv.cfg")):
                return False
            if any(os.path.exists(os.path.join(directory, config)) for config in CONFIG_NAMES):
                excluded = _layers(excludes(directory))
        layers = [*layers, *_gitignore(directory)]
    return _is_python(name) and not _is_left_out("", path, layers, excluded)


def is_pattern(line: str) -> bool:
    """Whether git accepts `line` in a .gitignore."""
    try:
        _compiled([line])
    except ValueError:
        return False
    return True


def matches(pattern: str, base: str, path: str) -> bool:
    """Whether a pattern as in a .gitignore in the directory `base` means the absolute `path`, or a directory above it.

    With a `!` in front it means all other files below `base`.
    """
    prefix = base.rstrip(os.sep) + os.sep
    if not path.startswith(prefix):
        return False
    layer = _layer_of(base, pattern.removeprefix("!"))
    ends = [end for end in range(len(prefix), len(path)) if path[end] == os.sep]
    is_meant = any(layer.verdict(path[: end + 1]) for end in ends) or bool(layer.verdict(path))
    return is_meant is not pattern.startswith("!")


@lru_cache(maxsize=256)
def _layer_of(base: str, pattern: str) -> _Layer:
    return _Layer(base, (pattern,))


class _Layer:
    """Gitignore patterns that are relative to one directory; those that git would refuse do not count."""

    def __init__(self, base: str, lines: Sequence[str]) -> None:
        self._prefix = base.rstrip(os.sep) + os.sep
        self._lines = [line for line in lines if line.strip() and not line.startswith("#")]
        self._names = PatternNames(self._lines)

    def verdict(self, path: str) -> bool | None:
        """Whether to leave `path` out; a directory ends in a separator. None if no pattern speaks of it itself."""
        name = path.rstrip(os.sep).rpartition(os.sep)[2]
        if not self._names.may_mean(name) or not path.startswith(self._prefix):
            return None
        relative = path[len(self._prefix) :].replace(os.sep, "/")
        # One search for all patterns: of the others, too, nearly every path matches none.
        if self._any.search(relative):
            for regex, is_out in self._patterns:
                if _means(regex, relative):
                    return is_out
        return None

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], bool]]:
        """The patterns, the last first, and whether each leaves out what it means."""
        try:
            return _compiled(self._lines)
        except ValueError:
            return _compiled([line for line in self._lines if is_pattern(line)])

    @cached_property
    def _any(self) -> re.Pattern[str]:
        return re.compile("|".join(re.sub(r"\(\?P<\w+>", "(?:", regex.pattern) for regex, _ in self._patterns))


class _Above:
    """The layers above a directory, in whose repository it is; they count unless they ignore it."""

    def __init__(self, layers: Sequence[_Layer], inside: Sequence[str]) -> None:
        self._layers = layers
        self._inside = inside

    def verdict(self, path: str) -> bool | None:
        """What the layers say of a path below the directory."""
        verdict = _verdict(path, self._layers)
        return None if verdict is None or self._ignore_it else verdict

    @cached_property
    def _ignore_it(self) -> bool:
        return any(_verdict(part + os.sep, self._layers) for part in self._inside)


def _compiled(lines: Sequence[str]) -> list[tuple[re.Pattern[str], bool]]:
    """The patterns of a .gitignore, the last first. Raises ValueError for one that git would refuse."""
    from pathspec import GitIgnoreSpec, RegexPattern  # takes as long as two starts of Python

    try:
        patterns = reversed(list(GitIgnoreSpec.from_lines(lines).patterns))
    except re.error as error:  # a range like [b-a]
        raise ValueError(str(error)) from error
    return [(p.regex, p.include) for p in patterns if isinstance(p, RegexPattern) and p.regex and p.include is not None]


def _means(regex: re.Pattern[str], path: str) -> bool:
    """Whether the regex that pathspec makes of a pattern means `path` itself, not only a directory above it.

    Git never looks into a directory that is left out, and so asks for each path by itself; pathspec
    asks once for the whole path and marks the end of a matched directory as the group `ps_d`.
    """
    for match in regex.finditer(path):
        if match.groupdict().get("ps_d") is None:
            return regex.search(path.rstrip("/")) is not None
        if match.end() == len(path):
            return True
    return False


def _gitignore(directory: str, file: str = ".gitignore") -> list[_Layer]:
    """The layer of the .gitignore in `directory`, if there is one with patterns that git accepts."""
    try:
        lines = os.fsdecode(read_regular(os.path.join(directory, file))).splitlines()
    except OSError:
        return []
    return [_Layer(directory, lines)]


def _layers_above(directory: str) -> list[_Layer | _Above]:
    """The .gitignore files between the repository that holds `directory` and it."""
    above: list[_Layer] = []
    inside: list[str] = []
    for parent in ancestors(directory):
        if parent != directory:
            above[:0] = _gitignore(parent)
        if os.path.exists(os.path.join(parent, ".git")):
            above[:0] = _gitignore(parent, os.path.join(".git", "info", "exclude"))
            return [_Above(above, inside)]
        inside.append(parent)
    return []


def _walk(
    root: str, excludes: Callable[[str], Sequence[Patterns]], visit: Callable[[str], None]
) -> Iterator[tuple[str, str]]:
    """The real path and the path of each file to check below the directory `root`, and of what cannot be listed."""
    real_root = os.path.realpath(root)
    walked: set[str] = set()
    pending = [(root, real_root, _layers_above(root), _layers(excludes(root)))]
    links: list[tuple[str, str, list[_Layer | _Above], list[_Layer]]] = []
    while pending or links:
        directory, real, layers, excluded = pending.pop() if pending else links.pop(0)
        if real in walked or (directory != root and _contains(real, real_root)):
            continue
        walked.add(real)
        visit(directory)
        try:
            with os.scandir(directory) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            yield real, directory
            continue
        names = {entry.name for entry in entries}
        if "pyvenv.cfg" in names and directory != root:
            continue
        if ".gitignore" in names:
            layers = [*layers, *_gitignore(directory)]
        if directory != root and not names.isdisjoint(CONFIG_NAMES):
            excluded = _layers(excludes(directory))
        for entry in entries:
            is_link = entry.is_symlink()
            if os.path.isdir(entry.path) if is_link else entry.is_dir():
                if not _is_left_out(entry.name, entry.path + os.sep, layers, excluded):
                    target = os.path.realpath(entry.path) if is_link else os.path.join(real, entry.name)
                    (links if is_link else pending).append((entry.path, target, layers, excluded))
            elif _is_python(entry.name) and not _is_left_out("", entry.path, layers, excluded):
                yield (os.path.realpath(entry.path) if is_link else os.path.join(real, entry.name)), entry.path


def holds_no_sources(directory_name: str) -> bool:
    """Whether a directory is not walked into by its name: one of `DEFAULT_EXCLUDES`, or of templates, `{{ name }}`."""
    return directory_name in DEFAULT_EXCLUDES or ("{{" in directory_name and "}}" in directory_name)


def _is_python(name: str) -> bool:
    """Whether a file of this name is checked; `.#name.py` is the lock of an editor, a link to nowhere."""
    return name.endswith(SUFFIXES) and not name.startswith(".#")


def _is_left_out(directory_name: str, path: str, layers: Sequence[_Layer | _Above], excluded: Sequence[_Layer]) -> bool:
    """Whether the excludes of the user, the default ones or else the nearest .gitignore leave `path` out."""
    verdict = _verdict(path, excluded) if excluded else None
    if verdict is not None:
        return verdict
    return holds_no_sources(directory_name) or (bool(layers) and _is_ignored(path, layers))


def _is_ignored(path: str, layers: Sequence[_Layer | _Above]) -> bool:
    """Whether the last layer that speaks of `path` leaves it out."""
    return _verdict(path, layers) or False


def _verdict(path: str, layers: Sequence[_Layer | _Above]) -> bool | None:
    """What the last layer that speaks of `path` says."""
    for layer in reversed(layers):
        verdict = layer.verdict(path)
        if verdict is not None:
            return verdict
    return None


def _layers(patterns: Sequence[Patterns]) -> list[_Layer]:
    return [_Layer(base, lines) for base, lines in patterns]


def _contains(directory: str, path: str) -> bool:
    """Whether `path` is `directory` or lies below it."""
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)
