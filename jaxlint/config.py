"""Settings: `[tool.jaxlint]` of pyproject.toml, or jaxlint.toml; strict, with one clear line per mistake."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from jaxlint.errors import UserError
from jaxlint.files import PathError, ancestors, is_pattern, shown_path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

if TYPE_CHECKING:
    from jaxlint.rules.base import Rule

_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_CODE_PREFIX = re.compile(r"JAX[0-9]{0,3}", re.IGNORECASE)
#: How specific a whole group of rules is: as much as the prefix `JAX4`.
_GROUP_SPECIFICITY = 4
_EXACT = 6
_UNREADABLE = "JAX001"


class ConfigError(UserError):
    """A configuration that cannot be used; one line that names the file, the line where known, and the way out."""


class ExtraField(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A field function of one's own: which known one it is `like`, and whether it always makes a static field."""

    like: str
    static: bool | None = None


class Settings(msgspec.Struct, frozen=True):
    """What a run is to do. Paths are absolute; `select` is None where the default rules are meant.

    `exclude` holds gitignore-style patterns relative to the directory `base`. `extra_decorators`,
    `extra_bases` and `extra_fields` map dotted names to the known names they stand for.
    """

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    base: str = ""
    src: tuple[str, ...] = ()
    python: str | None = None
    target_python: str | None = None
    extra_decorators: dict[str, str] = {}
    extra_bases: dict[str, str] = {}
    extra_fields: dict[str, ExtraField] = {}


class _Table(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """The table as it stands in the file."""

    select: list[str] | None = None
    ignore: list[str] = []
    exclude: list[str] = []
    src: list[str] = []
    python: str | None = None
    target_python: str | None = None
    extra_decorators: dict[str, str] = {}
    extra_bases: dict[str, str] = {}
    extra_fields: dict[str, str | ExtraField] = {}


#: The keys, and what their values must be.
_EXPECTED = {
    "select": "a list of strings",
    "ignore": "a list of strings",
    "exclude": "a list of strings",
    "src": "a list of strings",
    "python": "a string",
    "target-python": 'a string like "3.11"',
    "extra-decorators": 'a table of strings like "mylib.dataclass" = "flax.struct.dataclass"',
    "extra-bases": 'a table of strings like "mylib.Node" = "flax.struct.PyTreeNode"',
    "extra-fields": 'a table like "mylib.static" = { like = "flax.struct.field", static = true }',
}


def find_config(paths: Sequence[str]) -> str | None:
    """The nearest jaxlint.toml, or pyproject.toml with a `[tool.jaxlint]`, at or above all of `paths`."""
    absolute = [os.path.abspath(path) for path in paths] or [os.getcwd()]
    try:
        common = os.path.commonpath(absolute)
    except ValueError:  # different drives
        return None
    for directory in ancestors(common if os.path.isdir(common) else os.path.dirname(common)):
        own = os.path.join(directory, "jaxlint.toml")
        if os.path.isfile(own):
            return own
        shared = os.path.join(directory, "pyproject.toml")
        if os.path.isfile(shared) and _File(shared).has_table():
            return shared
    return None


def read_config(path: str, base: str | None = None) -> Settings:
    """The settings in the file `path`; its paths are relative to `base`, by default the directory of the file.

    Raises `ConfigError`.
    """
    return _File(path).settings(os.path.dirname(os.path.abspath(path)) if base is None else base)


def load(paths: Sequence[str], config: str | None = None, isolated: bool = False) -> Settings:
    """The settings for checking `paths`: of the file `config`, else of the nearest one, else the defaults.

    The paths in an explicit `config` are relative to the current directory. Raises `ConfigError`.
    """
    if config is not None:
        return read_config(config, os.getcwd())
    found = None if isolated else find_config(paths)
    return Settings(base=os.getcwd()) if found is None else read_config(found)


def override(
    settings: Settings,
    *,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    python: str | None = None,
) -> Settings:
    """`settings` with what the command line says; None leaves a setting as it is.

    A given `select` replaces the configured one and its `ignore`; a given `ignore` alone adds to it.
    `exclude` replaces and is relative to the current directory. Raises `ConfigError`.
    """
    changes: dict[str, Any] = {}
    for selector in select or ():
        _check_selector(selector, "--select")
    for selector in ignore or ():
        _check_selector(selector, "--ignore")
    for pattern in exclude or ():
        _check_pattern(pattern, "--exclude")
    if select is not None:
        changes.update(select=tuple(select), ignore=tuple(ignore or ()))
    elif ignore is not None:
        changes.update(ignore=(*settings.ignore, *ignore))
    if exclude is not None:
        changes.update(exclude=tuple(exclude), base=os.getcwd())
    if python is not None:
        if not os.path.exists(python):
            raise PathError(f"--python: {python}: No such file or directory")
        changes["python"] = os.path.abspath(python)
    return msgspec.structs.replace(settings, **changes)


def rule_enabled(rule: type[Rule], settings: Settings) -> bool:
    """Whether `rule` runs: the most specific selector decides, and `ignore` wins over an equal `select`.

    That a file could not be checked (JAX001) is always told, unless just this rule is ignored.
    """
    by_default = 0 if rule.enabled else -1
    selected = by_default if settings.select is None else _specificity(rule, settings.select)
    if rule.code == _UNREADABLE:
        selected = _EXACT - 1
    return selected > _specificity(rule, settings.ignore)


def _specificity(rule: type[Rule], selectors: Iterable[str]) -> int:
    """How exactly the best of `selectors` means `rule`: 0 for `ALL`, 6 for its code or name, -1 for none."""
    best = -1
    for selector in selectors:
        if selector.upper() == "ALL":
            best = max(best, 0)
        elif selector.lower() == rule.name:
            best = _EXACT
        elif selector.lower() == rule.group.lower():
            best = max(best, _GROUP_SPECIFICITY)
        elif _CODE_PREFIX.fullmatch(selector) and rule.code.startswith(selector.upper()):
            best = max(best, len(selector))
    return best


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` with the nearest of `known`, or nothing if none is near."""
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.7)
    return f"; did you mean `{by_lower[near[0]]}`?" if near else ""


def _check_selector(selector: str, place: str) -> None:
    """Raise `ConfigError` unless `selector` means some rule."""
    from jaxlint.rules import all_rules

    rules = all_rules()
    if selector.upper() != "ALL" and not any(_specificity(rule, [selector]) >= 0 for rule in rules):
        known = {"ALL", *(word for rule in rules for word in (rule.code, rule.name, rule.group))}
        raise ConfigError(f"{place}: unknown rule `{selector}`{did_you_mean(selector, sorted(known))}")


def _check_pattern(pattern: str, place: str) -> None:
    """Raise `ConfigError` for a pattern that git would not accept in a .gitignore."""
    if not is_pattern(pattern):
        raise ConfigError(f"{place}: `{pattern}` is not a pattern as in a .gitignore")


class _File:
    """One configuration file: its text, for line numbers, and its parsed content."""

    def __init__(self, path: str) -> None:
        self.shown = shown_path(os.path.abspath(path))
        self.is_shared = os.path.basename(path) == "pyproject.toml"
        try:
            with open(path, "rb") as file:
                self.text = file.read().decode("utf-8-sig")
            self.content = tomllib.loads(self.text)
        except OSError as error:
            raise ConfigError(f"{self.shown}: cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{self.shown}: is not UTF-8: {error.reason} at byte {error.start}") from error
        except tomllib.TOMLDecodeError as error:
            message, _, end = str(error).partition(" (at ")
            place = re.match(r"line (\d+), column (\d+)", end)
            where = f"{self.shown}:{place[1]}:{place[2]}" if place else self.shown
            raise ConfigError(f"{where}: broken TOML: {message}") from error
        except RecursionError as error:
            raise ConfigError(f"{self.shown}: is nested too deeply") from error

    def has_table(self) -> bool:
        """Whether the file holds a `[tool.jaxlint]`."""
        tool = self.content.get("tool")
        return isinstance(tool, dict) and "jaxlint" in tool

    def settings(self, base: str) -> Settings:
        """The settings, with paths relative to `base`. Raises `ConfigError`."""
        table = self._table()
        for key, selectors in (("select", table.select), ("ignore", table.ignore)):
            for selector in selectors or ():
                _check_selector(selector, self._place(key, selector))
        for pattern in table.exclude:
            _check_pattern(pattern, self._place("exclude", pattern))
        if table.target_python is not None and not re.fullmatch(r"3\.[0-9]+", table.target_python):
            raise self._error("target-python", f'must be like "3.11", not "{table.target_python}"')
        python = table.python and os.path.normpath(os.path.join(base, os.path.expanduser(table.python)))
        if python and not os.path.exists(python):
            raise self._error("python", f"names {python}, which does not exist")
        fields = {
            name: like if isinstance(like, ExtraField) else ExtraField(like)
            for name, like in table.extra_fields.items()
        }
        self._check_names("extra-decorators", table.extra_decorators)
        self._check_names("extra-bases", table.extra_bases)
        self._check_names("extra-fields", {name: field.like for name, field in fields.items()})
        return Settings(
            select=None if table.select is None else tuple(table.select),
            ignore=tuple(table.ignore),
            exclude=tuple(table.exclude),
            base=base,
            src=tuple(os.path.normpath(os.path.join(base, root)) for root in table.src),
            python=python,
            target_python=table.target_python,
            extra_decorators=table.extra_decorators,
            extra_bases=table.extra_bases,
            extra_fields=fields,
        )

    def _table(self) -> _Table:
        """The table of jaxlint, with known keys and right types. Raises `ConfigError`."""
        content: Any = self.content
        if self.is_shared or self.has_table():
            content = content["tool"]["jaxlint"] if self.has_table() else {}
        if not isinstance(content, dict):
            raise self._error("jaxlint", "must be a table: `[tool.jaxlint]`")
        for key in content:
            if key not in _EXPECTED:
                raise ConfigError(f"{self._place(key)}: unknown key `{key}`{did_you_mean(key, _EXPECTED)}")
        for key, value in content.items():
            try:
                msgspec.convert({key: value}, _Table)
            except msgspec.ValidationError as error:
                unknown = re.match(r"Object contains unknown field `(.*?)`", str(error))
                if unknown:
                    near = did_you_mean(unknown[1], ExtraField.__struct_fields__)
                    place = self._place(key, unknown[1])
                    raise ConfigError(f"{place}: unknown key `{unknown[1]}` in `{key}`{near}") from error
                raise self._error(key, f"must be {_EXPECTED[key]}") from error
        return msgspec.convert(content, _Table)

    def _check_names(self, key: str, names: Mapping[str, str]) -> None:
        """Raise `ConfigError` unless the keys and values of the table `key` are dotted names."""
        for name in (name for pair in names.items() for name in pair):
            if not _DOTTED.fullmatch(name):
                raise self._error(key, f"names `{name}`, which is not a dotted name like `flax.struct.dataclass`", name)

    def _error(self, key: str, problem: str, word: str = "") -> ConfigError:
        return ConfigError(f"{self._place(key, word)}: `{key}` {problem}")

    def _place(self, key: str, word: str = "") -> str:
        """The file and, where it is found, the line of `word` behind the key `key`."""
        header = re.search(r"^\s*\[\s*tool\s*\.\s*jaxlint\b", self.text, re.MULTILINE)
        assignment = re.compile(rf"(?<![\w-]){re.escape(key)}[\"']?\s*[.=\]]")
        found = assignment.search(self.text, header.start() if header else 0)
        if not found:
            return self.shown
        at = max(self.text.find(word, found.start()), found.start())
        return f"{self.shown}:{self.text.count(chr(10), 0, at) + 1}"
