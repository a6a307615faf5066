"""Which versions the code runs with: what settings say, else the environment, else the dependencies of the project."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from jaxlint.config.setup_files import SETUP_FILES, asked_by_setup
from jaxlint.errors import UserError
from jaxlint.project.environment import site_packages
from jaxlint.pytrees.target import DISTRIBUTIONS
from jaxlint.pytrees.versions import VersionRange, version
from jaxlint.syntax.paths import ancestors, shown_path
from jaxlint.syntax.regular import read_regular

#: Where a project says what it depends on.
PROJECT_FILE = "pyproject.toml"
REQUIREMENTS_FILE = "requirements.txt"
#: Where an environment of conda says it.
ENVIRONMENT_FILES = ("environment.yml", "environment.yaml")
#: Where an unpacked wheel says it.
METADATA_FILE = "METADATA"

_METADATA = re.compile(r"(?P<name>[A-Za-z0-9][\w.]*)-(?P<version>[0-9][\w.+!]*)\.(?:dist|egg)-info")
_REQUIREMENT = re.compile(r"\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?(?P<bounds>[^;)@]*)")
#: A line of a conda environment: `- jax=0.4.30=pypi_0`, or below `- pip:` what pip takes.
_OF_CONDA = re.compile(
    r"\s+-\s+[\"']?(?:[\w-]+::)?(?P<name>[\w.-]+)\s*(?:=(?P<version>[0-9][\w.]*)(?:=.*)?|(?P<bounds>[=<>!~].*))"
)
_OF_POETRY = re.compile(r"(?P<op>[\^~])\s*(?P<version>[0-9]+(?:\.[0-9]+)*)[\w.+]*")
_NEEDED = "Requires-Dist:"
#: What pip-compile writes behind a requirement.
_HASHES = re.compile(r"(?:\s*--hash=\S*)+\s*$")
_CONTINUED = re.compile(r"\\\n")
#: A line that names a file with more requirements, or with constraints.
_NAMED_FILE = re.compile(r"(?:(?P<asked>-r|--requirement)|-c|--constraint)(?:\s*=\s*|\s*)(?P<path>\S.*)")
#: The marks by which pip knows the encoding of a file of requirements (PowerShell writes `pip freeze > …` as UTF-16).
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_PYTHON_FOLDER = re.compile(r"python(3\.[0-9]+)")


class Known(msgspec.Struct, frozen=True):
    """The versions of one distribution (or of Python) that are meant, and who says so."""

    versions: VersionRange
    origin: str


def installed(python: str) -> dict[str, Known]:
    """What the environment `python` (an interpreter, or its folder) holds, by the names of its metadata."""
    try:
        folders = site_packages(python)
    except UserError:
        return {}  # the run says so
    found: dict[str, Known] = {}
    for folder in folders:
        runs = _PYTHON_FOLDER.search(folder)
        if runs is not None:
            found.setdefault("python", Known(VersionRange.exactly(version(runs[1])), python))
        for name in _names_in(folder):
            match = _METADATA.fullmatch(name)
            if match is not None and (distribution := normalised(match["name"])) in DISTRIBUTIONS:
                found.setdefault(distribution, Known(VersionRange.exactly(version(match["version"])), python))
    return found


def required(project: object, path: str) -> dict[str, Known]:
    """What the table `[project]` of the file `path` asks for, where it sets a bound."""
    if not isinstance(project, dict):
        return {}
    extras, needed = project.get("optional-dependencies"), project.get("dependencies")
    lists = extras.values() if isinstance(extras, dict) else ()
    found = _bounds((word for words in lists if isinstance(words, list) for word in words), path)
    found |= _bounds(needed if isinstance(needed, list) else (), path)
    python = project.get("requires-python")
    versions = VersionRange.read(python) if isinstance(python, str) else None
    return found if versions is None else {**found, "python": Known(versions, path)}


def required_by_poetry(poetry: object, path: str) -> dict[str, Known]:
    """What the table `[tool.poetry.dependencies]` of the file `path` asks for, where it sets a bound."""
    needed = poetry.get("dependencies") if isinstance(poetry, dict) else None
    found: dict[str, Known] = {}
    for key, said in needed.items() if isinstance(needed, dict) else ():
        name = normalised(key)
        is_for_some = isinstance(said, dict) and not said.keys().isdisjoint(("markers", "platform", "python"))
        bounds = said.get("version") if isinstance(said, dict) else said
        if is_for_some or not isinstance(bounds, str) or name not in ("python", *DISTRIBUTIONS):
            continue
        versions = VersionRange.read(_OF_POETRY.sub(_as_bounds, bounds))
        if versions is not None and not versions.is_empty:
            found[name] = Known(versions, path)
    return found


def _as_bounds(match: re.Match[str]) -> str:
    """The bounds that `^0.4.28` or `~0.4.28` stands for: the first number but 0 counts up, or the second."""
    numbers = [int(part) for part in match["version"].split(".")]
    last = len(numbers) - 1
    counted = min(1, last) if match["op"] == "~" else next((at for at, one in enumerate(numbers) if one), last)
    below = [*numbers[:counted], numbers[counted] + 1]
    return f">={match['version']},<{'.'.join(map(str, below))}"


def listed(path: str) -> dict[str, Known]:
    """What a `requirements.txt` with the files that it names, a `setup.py` or the metadata of a wheel bounds.

    Nothing if it cannot be read. What constraints say is a bound too, whoever asks for the distribution.
    """
    if os.path.basename(path) in SETUP_FILES:
        return _bounds(asked_by_setup(path), path)
    if os.path.basename(path) in ENVIRONMENT_FILES:
        return _bounds(_by_conda(path), path)
    if os.path.basename(path) == METADATA_FILE:
        lines = _lines(path)
        return _bounds((line.removeprefix(_NEEDED) for line in lines if line.startswith(_NEEDED)), path)
    asked: list[_Line] = []
    constrained: list[_Line] = []
    _follow(path, asked, constrained, set())
    return _narrowed([*_said(asked), *_said(constrained)])


#: A requirement, and the file where it stands.
_Line: TypeAlias = tuple[object, str]


def _follow(path: str, asked: list[_Line], constrained: list[_Line], seen: set[str]) -> None:
    """Collect what a file of requirements says, and what the files say that it names."""
    if path in seen:
        return
    seen.add(path)
    for line in _logical_lines(path):
        named = _NAMED_FILE.fullmatch(line)
        if named is None:
            asked.append((line, path))
            continue
        other = os.path.normpath(os.path.join(os.path.dirname(path), named["path"].strip("\"'")))
        _follow(other, asked if named["asked"] else constrained, constrained, seen)


def _logical_lines(path: str) -> list[str]:
    """The lines of a file of requirements without comments; those that end with a backslash go on."""
    lines = _CONTINUED.sub(" ", "\n".join(_lines(path))).splitlines()
    return [_HASHES.sub("", line.partition("#")[0]).strip() for line in lines]


def _lines(path: str) -> list[str]:
    """The lines of a text; none if it cannot be read."""
    try:
        raw = read_regular(path)
        encoding = next((name for mark, name in _MARKS if raw.startswith(mark)), "utf-8")
        return raw.decode(encoding).splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _by_conda(path: str) -> Iterable[str]:
    """The requirements of a conda environment, as pip would have them: what is no list of such lines has none."""
    found = (_OF_CONDA.match(line.partition("#")[0].rstrip(" \"'")) for line in _lines(path))
    return [f"{m['name']}{m['bounds'] or '==' + m['version'] + '.*'}" for m in found if m is not None]


def _bounds(requirements: Iterable[object], path: str) -> dict[str, Known]:
    """The bounds that the requirements in one file set."""
    return _narrowed(_said((requirement, path) for requirement in requirements))


def _said(requirements: Iterable[_Line]) -> list[tuple[str, Known]]:
    """The version bounds of each library; none for one that is required differently on some system or Python."""
    asked: dict[str, dict[str, tuple[bool, str]]] = {}
    for requirement, path in requirements:
        match = _REQUIREMENT.match(requirement) if isinstance(requirement, str) else None
        if match is not None and (name := normalised(match["name"])) in DISTRIBUTIONS:
            asked.setdefault(name, {})[match["bounds"].strip()] = (";" in match.string, path)
    return [
        (name, Known(versions, path))
        for name, ways in asked.items()
        if len(ways) == 1 or not any(is_for_some for is_for_some, _ in ways.values())
        for bounds, (_, path) in ways.items()
        if (versions := VersionRange.read(bounds)) is not None
    ]


def _narrowed(said: Iterable[tuple[str, Known]]) -> dict[str, Known]:
    """What all that is said of a distribution leaves; none where that contradicts itself."""
    found: dict[str, Known] = {}
    for name, one in said:
        before = found.get(name)
        versions = one.versions if before is None else before.versions.narrowed_by(one.versions)
        says_less = before is not None and versions == before.versions
        found[name] = Known(versions, before.origin if before is not None and says_less else one.origin)
    return {name: one for name, one in found.items() if not one.versions.is_empty}


def normalised(name: str) -> str:
    """The name of a distribution as all its spellings are read."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _names_in(folder: str) -> Iterable[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return ()


def dependency_files(directory: str) -> list[str]:
    """Where the nearest project at or above a directory says what it depends on: what counts more stands first."""
    for above in ancestors(directory):
        found = dependencies_in(above) or _of_wheel(above)
        if found:
            return found
    return []


def dependencies_in(folder: str) -> list[str]:
    """The files of a folder in which a project says what it depends on: what counts more stands first.

    One of setuptools or conda only if it says something of what we know: what stands above may say more.
    """
    asked = (*SETUP_FILES, *ENVIRONMENT_FILES)
    paths = [os.path.join(folder, name) for name in (PROJECT_FILE, REQUIREMENTS_FILE, *asked)]
    found = [path for path in paths if os.path.isfile(path)]
    return [path for path in found if os.path.basename(path) not in asked or listed(path)]


def _of_wheel(directory: str) -> list[str]:
    """The metadata of the one wheel that is unpacked in a directory."""
    found = [name for name in _names_in(directory) if name.endswith(".dist-info")]
    path = os.path.join(directory, found[0], METADATA_FILE) if len(found) == 1 else ""
    return [path] if os.path.isfile(path) else []


def shown_versions(versions: Mapping[str, Known]) -> list[str]:
    """Which versions were taken, and from where, line by line."""
    lines = [f"{name} {one.versions} ({shown_path(one.origin)})" for name, one in sorted(versions.items())]
    rest = "the newest of everything else" if versions else "the newest of everything"
    return [*lines, rest if "python" in versions else f"any Python from 3.10 on, and {rest}"]
