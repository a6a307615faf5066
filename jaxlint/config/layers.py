"""What one place says: a configuration file, a line of TOML behind `--config`, or the options of the command line."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from jaxlint.config.settings import specificity
from jaxlint.config.table import FIXING, SELECTING, Table, all_keys
from jaxlint.config.versions import PROJECT_FILE, normalised
from jaxlint.errors import UserError
from jaxlint.project.files import is_pattern
from jaxlint.pytrees.target import DISTRIBUTIONS, ExtraField
from jaxlint.pytrees.versions import VersionRange
from jaxlint.syntax.paths import CONFIG_NAMES, shown_path
from jaxlint.syntax.spelling import did_you_mean

_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_PYTHON_VERSION = re.compile(r"(?:py)?3\.?(?P<minor>[7-9]|[1-9][0-9])")


class ConfigError(UserError):
    """A configuration that cannot be used; one line that names the file, the line where known, and the way out."""


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a setting comes from: `default`, the `command line` (an `option`), or a `file` (a path and a line)."""

    kind: Literal["default", "file", "command line"]
    file: str | None = None
    line: int | None = None
    option: str | None = None

    def __str__(self) -> str:
        if self.file is None:
            return self.option or self.kind
        return shown_path(self.file) + (f":{self.line}" if self.line else "")


class Layer:
    """What one place says: values by key, the directory that paths in them are relative to, and where they stand."""

    values: dict[str, Any]
    base: str
    #: The plugins that another place turns on.
    plugins: tuple[str, ...] = ()

    def place(self, key: str, word: str = "") -> str:
        """Where `word` behind the key `key` stands, for messages."""
        raise NotImplementedError

    def origin(self, key: str) -> Origin:
        """Where the value of `key` comes from."""
        raise NotImplementedError

    def error(self, key: str, problem: str, word: str = "") -> ConfigError:
        """The mistake that the value of `key` is."""
        return ConfigError(f"{self.place(key, word)}: `{key}` {problem}")

    def check(self) -> None:
        """Raise `ConfigError` for unknown keys, values of wrong types, and names of rules that there are not."""
        for key in self.values:
            if key not in all_keys():
                hint = did_you_mean(key, all_keys()) or "; `jaxlint config` shows all keys"
                raise ConfigError(f"{self.place(key)}: unknown key `{key}`{hint}")
        for key, value in self.values.items():
            self._check_type(key, value)
            self._check_value(key, value)

    def _check_type(self, key: str, value: object) -> None:
        try:
            msgspec.convert({key: value}, Table)
        except msgspec.ValidationError as error:
            unknown = re.match(r"Object contains unknown field `(.*?)`", str(error))
            if unknown:
                near = did_you_mean(unknown[1], ExtraField.__struct_fields__)
                place = self.place(key, unknown[1])
                raise ConfigError(f"{place}: unknown key `{unknown[1]}` in `{key}`{near}") from error
            raise self.error(key, f"must be {all_keys()[key].must}") from error

    def _check_value(self, key: str, value: Any) -> None:
        if key in SELECTING or key in FIXING:
            self._check_selectors(key, value)
        elif key in ("exclude", "extend-exclude"):
            for pattern in value:
                self._check_pattern(key, pattern)
        elif key == "per-file-ignores":
            for pattern, selectors in value.items():
                self._check_pattern(key, pattern, pattern.removeprefix("!"))
                self._check_selectors(key, selectors)
        elif key == "target-version" and not _PYTHON_VERSION.fullmatch(value):
            raise self.error(key, f'must be like "3.11", not "{value}"')
        elif key == "target-jax" and not _names_versions(value):
            raise self.error(key, f'must be like "0.4.35", not "{value}"')
        elif key == "target-versions":
            self._check_versions(key, value)
        elif key == "python" and not os.path.exists(self.path(value)):
            raise self.error(key, f"names {shown_path(self.path(value))}, which does not exist")
        elif key.startswith("extra-"):
            self._check_names(key, {name: extra_field(like).like for name, like in value.items()})

    def _check_versions(self, key: str, versions: Mapping[str, str]) -> None:
        """Raise `ConfigError` unless each is a version, or bounds, of a distribution whose versions matter."""
        for name, bounds in versions.items():
            if normalised(name) not in DISTRIBUTIONS:
                known = ", ".join(sorted(DISTRIBUTIONS))
                near = did_you_mean(normalised(name), DISTRIBUTIONS) or f"; known are {known}"
                raise self.error(key, f"names `{name}`, of which no version matters{near}", name)
            if not _names_versions(bounds):
                raise self.error(key, f'must be like "0.4.35" or ">=0.4.35,<0.7", not "{bounds}"', name)

    def _check_selectors(self, key: str, selectors: Iterable[str]) -> None:
        """Raise `ConfigError` unless each of the selectors means some rule."""
        from jaxlint.rules import all_rules
        from jaxlint.rules.plugins import rules_with

        plugins = (*self.values.get("plugins", ()), *self.plugins)
        rules = rules_with(plugins) if plugins else all_rules()
        for selector in selectors:
            if selector.upper() != "ALL" and not any(specificity(rule, [selector]) >= 0 for rule in rules):
                known = {"ALL", *(word for rule in rules for word in (rule.code, rule.name, rule.group))}
                hint = did_you_mean(selector, sorted(known)) or "; `jaxlint rule` lists all rules"
                hint = "; separate rules by commas" if len(selector.split()) > 1 else hint
                raise ConfigError(f"{self.place(key, selector)}: unknown rule `{selector}`{hint}")

    def _check_pattern(self, key: str, shown: str, pattern: str | None = None) -> None:
        """Raise `ConfigError` for a pattern that git would not accept in a .gitignore."""
        pattern = shown if pattern is None else pattern
        if not pattern.strip() or not is_pattern(pattern):
            raise ConfigError(f"{self.place(key, shown)}: `{shown}` is not a pattern as in a .gitignore")

    def _check_names(self, key: str, names: Mapping[str, str]) -> None:
        """Raise `ConfigError` unless the keys and values of the table `key` are dotted names."""
        for name in (name for pair in names.items() for name in pair):
            if not _DOTTED.fullmatch(name):
                raise self.error(key, f"names `{name}`, which is not a dotted name like `flax.struct.dataclass`", name)
        for name, target in names.items():
            problem = unknown_target(key, name, target)
            if problem is not None:
                raise ConfigError(f"{self.place(key, name)}: {problem}")

    def path(self, value: str) -> str:
        """The absolute path that `value` means."""
        return os.path.normpath(os.path.join(self.base, os.path.expanduser(value)))


def plugins_of(layer: Layer | None) -> tuple[str, ...]:
    """The plugins that a layer turns on; none if it does not say so as it should, which its own check tells."""
    value = layer.values.get("plugins", ()) if layer is not None else ()
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, list) else ()


class FileLayer(Layer):
    """One configuration file: its text, for line numbers, and its parsed content."""

    def __init__(self, path: str, base: str | None = None, raw: bytes | None = None) -> None:
        self._path = os.path.abspath(path)
        self._shown = shown_path(self._path)
        self.base = os.path.dirname(self._path) if base is None else base
        try:
            self._text = (_read(path) if raw is None else raw).decode("utf-8-sig")
        except OSError as error:
            raise ConfigError(f"{self._shown}: cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{self._shown}: is not UTF-8: {error.reason} at byte {error.start}") from error
        content = _parsed(self._text, self._shown)
        tool = content.get("tool")
        is_project = os.path.basename(path) == PROJECT_FILE
        #: What the project says of itself, if the file is that of a project, and what it says to poetry.
        self.project = content.get("project") if is_project else None
        self.poetry = tool.get("poetry") if is_project and isinstance(tool, dict) else None
        self.has_table = isinstance(tool, dict) and "jaxlint" in tool
        values: Any = content
        if self.has_table or is_project:
            values = content["tool"]["jaxlint"] if self.has_table else {}
        if not isinstance(values, dict):
            raise self.error("jaxlint", "must be a table: `[tool.jaxlint]`")
        self.values = values

    def is_at(self, path: str) -> bool:
        """Whether it is the file at an absolute path."""
        return path == self._path

    def place(self, key: str, word: str = "") -> str:
        """The file and, where it is found, the line of `word` behind the key `key`."""
        line = self._line(key, word)
        return f"{self._shown}:{line}" if line else self._shown

    def origin(self, key: str) -> Origin:
        """The file and the line."""
        return Origin("file", file=self._path, line=self._line(key))

    def _line(self, key: str, word: str = "") -> int | None:
        header = re.search(r"^\s*\[\s*tool\s*\.\s*jaxlint\b", self._text, re.MULTILINE)
        assignment = re.compile(rf"(?<![\w-]){re.escape(key)}[\"']?\s*[.=\]]")
        found = assignment.search(self._text, header.start() if header else 0)
        if not found:
            return None
        at = max(self._text.find(word, found.start()), found.start())
        return self._text.count("\n", 0, at) + 1


class InlineLayer(Layer):
    """A line of TOML that stands behind `--config`."""

    def __init__(self, text: str, base: str) -> None:
        self.base = base
        self.values = _parsed(text, "--config")

    def place(self, key: str, word: str = "") -> str:
        """The option."""
        return "--config"

    def origin(self, key: str) -> Origin:
        """The option."""
        return Origin("command line", option="--config")


class OptionsLayer(Layer):
    """Options of the command line, or of what else calls jaxlint, each named like a key behind a `prefix`."""

    def __init__(self, values: Mapping[str, object], base: str, prefix: str = "--") -> None:
        self.base = base
        self.values = dict(values)
        self._prefix = prefix

    def place(self, key: str, word: str = "") -> str:
        """The option."""
        return f"{self._prefix}{key}"

    def error(self, key: str, problem: str, word: str = "") -> ConfigError:
        """The mistake that the value of the option is."""
        return ConfigError(f"{self._prefix}{key}: {problem}")

    def origin(self, key: str) -> Origin:
        """The option."""
        return Origin("command line", option=f"{self._prefix}{key}")


def file_in(directory: str) -> FileLayer | None:
    """The configuration file that stands in a directory."""
    for name in CONFIG_NAMES:
        path = os.path.join(directory, name)
        if not os.path.isfile(path):
            continue
        if name == "jaxlint.toml":
            return FileLayer(path)
        try:
            raw = _read(path)
        except OSError:
            continue  # the project file of somebody else, as far as it can be seen
        if b"jaxlint" in raw:
            file = FileLayer(path, raw=raw)
            if file.has_table:
                return file
    return None


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _parsed(text: str, shown: str) -> dict[str, Any]:
    """The content of a text in TOML. Raises `ConfigError`."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]
    try:
        content: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, _, end = str(error).partition(" (at ")
        place = re.match(r"line (\d+), column (\d+)", end)
        row, column = (place[1], place[2]) if place else _end(text)
        where = f"{shown}:{row}:{column}"
        quoted = """; write texts in quotes: `--config 'select = ["JAX4"]'`""" if shown == "--config" else ""
        raise ConfigError(f"{where}: broken TOML: {message}{quoted}") from error
    except RecursionError as error:
        raise ConfigError(f"{shown}: is nested too deeply") from error
    return content


def _end(text: str) -> tuple[int, int]:
    """The row and column behind the last letter of a text."""
    lines = text.rstrip().split("\n")
    return len(lines), len(lines[-1]) + 1


def unknown_target(key: str, name: str, target: str) -> str | None:
    """What is wrong with `name` standing for `target` in the table `key`; None if jaxlint knows the target."""
    from jaxlint.pytrees.frameworks import ALIASES, BY_BASE, BY_DECORATOR, FIELD_FUNCTIONS
    from jaxlint.pytrees.stubs import ALWAYS

    tables: dict[str, tuple[Mapping[str, object], str]] = {
        "extra-decorators": (BY_DECORATOR, "flax.struct.dataclass"),
        "extra-bases": (BY_BASE, "flax.struct.PyTreeNode"),
        "extra-fields": (FIELD_FUNCTIONS, "flax.struct.field"),
    }
    known, example = tables[key]
    if target in known or target in ALWAYS or target in ALIASES:
        return None
    hint = did_you_mean(target, known) or f"; one that it knows is `{example}`"
    return f"`{name}` stands for `{target}`, which jaxlint does not know{hint}"


def extra_field(like: str | Mapping[str, Any] | ExtraField) -> ExtraField:
    """What stands behind a name in `extra-fields`."""
    return ExtraField(like) if isinstance(like, str) else msgspec.convert(like, ExtraField)


def python_version(text: str) -> tuple[int, int]:
    """`3.11` and `py311` as numbers; the text has been checked."""
    match = _PYTHON_VERSION.fullmatch(text)
    assert match is not None
    return 3, int(match["minor"])


def _names_versions(text: str) -> bool:
    """Whether a text is a version of at least two numbers, or bounds of versions."""
    return "." in text and VersionRange.read(text) is not None
