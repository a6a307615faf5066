"""Settings: `[tool.jaxlint]` of pyproject.toml, jaxlint.toml or options; strict, with one clear line per mistake.

All keys stand in one table, `Table`: reading, messages, the JSON schema and the documentation come from it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jaxlint.errors import UserError
from jaxlint.finding import Confidence
from jaxlint.project.files import Patterns, is_pattern, matches
from jaxlint.pytrees.target import ExtraField, Target
from jaxlint.syntax.paths import CONFIG_NAMES, ancestors, shown_path
from jaxlint.syntax.spelling import did_you_mean

if TYPE_CHECKING:
    from jaxlint.rules.base import Rule

_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_CODE_PREFIX = re.compile(r"JAX[0-9]{0,3}", re.IGNORECASE)
_PYTHON_VERSION = re.compile(r"(?:py)?3\.?(?P<minor>[0-9]{1,2})")
_JAX_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+){1,2}")
#: How specific a whole group of rules is: as much as the prefix `JAX4`.
_GROUP_SPECIFICITY = 4
_EXACT = 6
_UNREADABLE = "JAX001"


class ConfigError(UserError):
    """A configuration that cannot be used; one line that names the file, the line where known, and the way out."""


class PerFileIgnore(msgspec.Struct, frozen=True):
    """The rules to leave out in the files that a pattern, relative to the directory `base`, means."""

    base: str
    pattern: str
    selectors: tuple[str, ...]


class Settings(Target, frozen=True):
    """What a run is to do. Paths are absolute; `select` is None where the default rules are meant."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[PerFileIgnore, ...] = ()
    exclude: tuple[Patterns, ...] = ()
    src: tuple[str, ...] = ()
    python: str | None = None
    min_confidence: Confidence = Confidence.LOW
    preview: bool = False
    baseline: str | None = None


def _key(description: str, must: str, example: str, default: object = None) -> Meta:
    """What is to be known of a key: Markdown, what its value must be, a line of TOML, and its value if not given."""
    return Meta(description=description, extra={"must": must, "example": example, "default": default})


_STRINGS = "a list of strings"


class Table(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """The keys of `[tool.jaxlint]`."""

    select: Annotated[
        list[str] | UnsetType,
        _key(
            "The rules to run: codes (`JAX401`), prefixes (`JAX4`), names (`frozen-assignment`), groups (`updates`) or"
            " `ALL`. Without it the rules that are on by default run. Of `select` and `ignore` the more specific"
            " selector decides, and `ignore` wins where both are equally specific.",
            must=_STRINGS,
            example='select = ["JAX2", "frozen-assignment"]',
        ),
    ] = UNSET
    ignore: Annotated[
        list[str] | UnsetType,
        _key(
            "The rules to leave out, named as in `select`. That a file could not be checked (JAX001) is always told,"
            " unless just this rule is named.",
            must=_STRINGS,
            example='ignore = ["static-counter"]',
            default=[],
        ),
    ] = UNSET
    extend_select: Annotated[
        list[str] | UnsetType,
        _key(
            "Rules to run in addition to those of `select`, or to those that are on by default.",
            must=_STRINGS,
            example='extend-select = ["local-pytree-class"]',
            default=[],
        ),
    ] = UNSET
    extend_ignore: Annotated[
        list[str] | UnsetType,
        _key(
            "Rules to leave out in addition to those of `ignore`.",
            must=_STRINGS,
            example='extend-ignore = ["JAX3"]',
            default=[],
        ),
    ] = UNSET
    per_file_ignores: Annotated[
        dict[str, list[str]] | UnsetType,
        _key(
            "Rules to leave out in the files that a pattern means. Patterns are those of a `.gitignore`, relative to"
            " the directory of the configuration; one that begins with `!` means all other files.",
            must='a table of lists of strings like "tests/" = ["JAX3"]',
            example='[tool.jaxlint.per-file-ignores]\n"tests/" = ["JAX3"]\n"!src/" = ["static-counter"]',
            default={},
        ),
    ] = UNSET
    exclude: Annotated[
        list[str] | UnsetType,
        _key(
            "What a walk through a directory leaves out, in addition to what `.gitignore` files name and to"
            " directories that hold no sources of one's own (`.venv`, `build`, `node_modules`, …): patterns as in a"
            " `.gitignore`, relative to the directory of the configuration. `!build` takes `build` in. A path that"
            " is named on the command line is always checked.",
            must=_STRINGS,
            example='exclude = ["third_party/", "*_pb2.py"]',
            default=[],
        ),
    ] = UNSET
    extend_exclude: Annotated[
        list[str] | UnsetType,
        _key(
            "Patterns in addition to those of `exclude`.",
            must=_STRINGS,
            example='extend-exclude = ["experiments/"]',
            default=[],
        ),
    ] = UNSET
    src: Annotated[
        list[str] | UnsetType,
        _key(
            "The directories in which absolute imports start, relative to the directory of the configuration, for"
            " where the folders with `__init__.py` do not tell.",
            must=_STRINGS,
            example='src = ["src", "tools"]',
            default=[],
        ),
    ] = UNSET
    python: Annotated[
        str | UnsetType,
        _key(
            "The interpreter or the environment whose installed packages the code imports, relative to the directory"
            " of the configuration. Without it the activated environment is read, if there is one. Nothing in it is"
            " run.",
            must="a string",
            example='python = ".venv"',
        ),
    ] = UNSET
    target_version: Annotated[
        str | UnsetType,
        _key(
            "The version of Python that the code runs on. Rules then say what holds for this version; without it they"
            " say what holds for which version.",
            must='a string like "3.11"',
            example='target-version = "3.11"',
        ),
    ] = UNSET
    target_jax: Annotated[
        str | UnsetType,
        _key(
            "The version of jax that the code runs with. Rules then also report what this version does not have yet;"
            " without it a recent one is meant.",
            must='a string like "0.4.35"',
            example='target-jax = "0.4.35"',
        ),
    ] = UNSET
    min_confidence: Annotated[
        Literal["low", "medium", "high"] | UnsetType,
        _key(
            "How sure a finding must be to be reported: `high` is certain from the text, `medium` inferred, `low` a"
            " guess by name and type.",
            must='"low", "medium" or "high"',
            example='min-confidence = "medium"',
            default="low",
        ),
    ] = UNSET
    preview: Annotated[
        bool | UnsetType,
        _key(
            "Whether `ALL`, groups and prefixes mean rules in preview too. A rule that is selected by its code or name"
            " runs in any case.",
            must="true or false",
            example="preview = true",
            default=False,
        ),
    ] = UNSET
    baseline: Annotated[
        str | UnsetType,
        _key(
            "A file with findings that are not to be reported, made with `--write-baseline`, relative to the directory"
            " of the configuration; an empty string means none. See [Suppressing findings](suppressing.md#baseline).",
            must="a string",
            example='baseline = "jaxlint-baseline.json"',
        ),
    ] = UNSET
    extra_decorators: Annotated[
        dict[str, str] | UnsetType,
        _key(
            "Class decorators that jaxlint cannot see through, and the known decorator that each stands for.",
            must='a table of strings like "mylib.dataclass" = "flax.struct.dataclass"',
            example='[tool.jaxlint.extra-decorators]\n"mylib.pytree" = "flax.struct.dataclass"',
            default={},
        ),
    ] = UNSET
    extra_bases: Annotated[
        dict[str, str] | UnsetType,
        _key(
            "Base classes that jaxlint cannot see through, and the known base that each stands for.",
            must='a table of strings like "mylib.Node" = "flax.struct.PyTreeNode"',
            example='[tool.jaxlint.extra-bases]\n"mylib.Node" = "flax.struct.PyTreeNode"',
            default={},
        ),
    ] = UNSET
    extra_fields: Annotated[
        dict[str, str | ExtraField] | UnsetType,
        _key(
            "Field functions that jaxlint cannot see through: the known one that each is `like`, and whether it always"
            " makes a `static` field.",
            must='a table like "mylib.static" = { like = "flax.struct.field", static = true }',
            example=(
                "[tool.jaxlint.extra-fields]\n"
                '"mylib.field" = "flax.struct.field"\n'
                '"mylib.static" = { like = "flax.struct.field", static = true }'
            ),
            default={},
        ),
    ] = UNSET


class Key(msgspec.Struct, frozen=True):
    """One key of the table: its name, and what `_key` says of it."""

    name: str
    description: str
    must: str
    example: str
    default: Any


@cache
def all_keys() -> Mapping[str, Key]:
    """All keys, by name; few runs need to know."""
    hints = get_type_hints(Table, include_extras=True)
    found = {}
    for field in msgspec.structs.fields(Table):
        meta: Meta = hints[field.name].__metadata__[0]
        found[field.encode_name] = Key(field.encode_name, str(meta.description), **(meta.extra or {}))
    return found


#: Selectors, by the key that holds them.
SELECTING = ("select", "ignore", "extend-select", "extend-ignore")
#: The keys of which the command line adds to the file. Any other value takes the place of that in the file.
_ADDING = frozenset({"ignore", "extend-select", "extend-ignore", "extend-exclude"})
_ADDING_TABLES = frozenset({"per-file-ignores", "extra-decorators", "extra-bases", "extra-fields"})


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


class Setting(msgspec.Struct, frozen=True):
    """The effective value of a key as it would stand in a file (None: nothing), and where it comes from."""

    key: str
    value: Any
    origins: tuple[Origin, ...]


class Configuration:
    """Which settings hold for which file: those of the nearest configuration file, changed by options.

    A `config` is a file to use for all paths instead, with its paths relative to the current directory, or a line
    of TOML such as `min-confidence = "high"`, which counts as an option. With `isolated` no file is read.
    `options` are values by key, as in a file. Raises `ConfigError` for what cannot be used.
    """

    def __init__(
        self,
        config: Sequence[str] = (),
        isolated: bool = False,
        options: Mapping[str, object] | None = None,
    ) -> None:
        here = os.getcwd()
        files = [text for text in config if "=" not in text or os.path.exists(text)]
        if len(files) > 1:
            raise ConfigError(f"--config: {files[0]} and {files[1]} are two files; give one")
        self._options: list[_Layer] = [_Inline(text, here) for text in config if text not in files]
        if options:
            self._options.append(_Options(options, here))
        self._reads_files = not isolated and not files
        self._given = _File(files[0], here) if files else None
        self._files: dict[str, _File | None] = {}
        self._settings: dict[_File | None, Settings] = {}
        for layer in [self._given, *self._options]:
            if layer is not None:
                layer.check()

    def use_no_baseline(self) -> None:
        """Leave out no findings because a baseline holds them."""
        self._options.append(_Options({"baseline": ""}, os.getcwd()))

    def settings(self, path: str) -> Settings:
        """The settings for the file or directory `path`. Raises `ConfigError`."""
        file = self._file(path)
        if file not in self._settings:
            if file is not None:
                file.check()
            self._settings[file] = _settings(self._layers(file))
        return self._settings[file]

    def excludes(self, directory: str) -> Sequence[Patterns]:
        """What a walk leaves out below `directory`."""
        return self.settings(directory).exclude

    def groups(self, paths: Iterable[str]) -> list[tuple[Settings, list[str]]]:
        """`paths` by the settings that hold for them, in the order in which they come first."""
        found: dict[_File | None, tuple[Settings, list[str]]] = {}
        for path in paths:
            found.setdefault(self._file(path), (self.settings(path), []))[1].append(path)
        return list(found.values())

    def explain(self, path: str) -> list[Setting]:
        """The value of every key for `path`, and where it comes from."""
        self.settings(path)
        said = _said(self._layers(self._file(path)))
        return [_setting(key, said.get(key.name, [])) for key in all_keys().values()]

    def _layers(self, file: _File | None) -> list[_Layer]:
        return [*([] if file is None else [file]), *self._options]

    def _file(self, path: str) -> _File | None:
        """The configuration file for `path`."""
        if not self._reads_files:
            return self._given
        path = os.path.abspath(path)
        return self._nearest(path if os.path.isdir(path) else os.path.dirname(path))

    def _nearest(self, directory: str) -> _File | None:
        """The nearest configuration file at or above a directory."""
        passed = []
        found: _File | None = None
        for above in ancestors(directory):
            if above in self._files:
                found = self._files[above]
                break
            passed.append(above)
            found = _file_in(above)
            if found is not None:
                break
        self._files.update(dict.fromkeys(passed, found))
        return found


def read_config(path: str) -> Settings:
    """The settings in the file `path`, with paths relative to its directory. Raises `ConfigError`."""
    file = _File(path)
    file.check()
    return _settings([file])


def rule_enabled(rule: type[Rule], settings: Settings, path: str | None = None) -> bool:
    """Whether `rule` runs (in the file `path`): the most specific selector decides, `ignore` before `select`.

    That a file could not be checked (JAX001) is always told, unless just this rule is ignored.
    """
    selected = 0 if rule.enabled else -1
    if settings.select is not None:
        selected = _specificity(rule, settings.select)
    selected = max(selected, _specificity(rule, settings.extend_select))
    if rule.preview and not settings.preview and selected < _EXACT:
        return False
    if rule.code == _UNREADABLE:
        selected = _EXACT - 1
    if selected <= _specificity(rule, settings.ignore):
        return False
    least = _EXACT if rule.code == _UNREADABLE else 0
    return path is None or not any(
        _specificity(rule, one.selectors) >= least and matches(one.pattern, one.base, path)
        for one in settings.per_file_ignores
    )


class EnabledRules:
    """Those of some rules that settings enable: everywhere (`rules`, in the given order), or in a file."""

    def __init__(self, rules: Iterable[type[Rule]], settings: Settings) -> None:
        self.rules = [rule for rule in rules if rule_enabled(rule, settings)]
        self._everywhere = frozenset(self.rules)
        self._codes = frozenset(rule.code for rule in self.rules)
        self._settings = settings

    def at(self, path: str) -> frozenset[type[Rule]]:
        """The rules that run in the file `path`."""
        if not self._settings.per_file_ignores:
            return self._everywhere
        return frozenset(rule for rule in self.rules if rule_enabled(rule, self._settings, path))

    def codes_at(self, path: str) -> frozenset[str]:
        """The codes of the rules that run in the file `path`."""
        return frozenset(rule.code for rule in self.at(path)) if self._settings.per_file_ignores else self._codes


def is_sure_enough(confidence: Confidence, settings: Settings) -> bool:
    """Whether the settings ask for findings that are no surer than that."""
    order = tuple(Confidence)
    return order.index(confidence) <= order.index(settings.min_confidence)


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


# -- layers --------------------------------------------------------------------------------------


class _Layer:
    """What one place says: values by key, the directory that paths in them are relative to, and where they stand."""

    values: dict[str, Any]
    base: str

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
        if key in SELECTING:
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
        elif key == "target-jax" and not _JAX_VERSION.fullmatch(value):
            raise self.error(key, f'must be like "0.4.35", not "{value}"')
        elif key == "python" and not os.path.exists(self.path(value)):
            raise self.error(key, f"names {shown_path(self.path(value))}, which does not exist")
        elif key.startswith("extra-"):
            self._check_names(key, {name: _extra_field(like).like for name, like in value.items()})

    def _check_selectors(self, key: str, selectors: Iterable[str]) -> None:
        """Raise `ConfigError` unless each of the selectors means some rule."""
        from jaxlint.rules import all_rules

        rules = all_rules()
        for selector in selectors:
            if selector.upper() != "ALL" and not any(_specificity(rule, [selector]) >= 0 for rule in rules):
                known = {"ALL", *(word for rule in rules for word in (rule.code, rule.name, rule.group))}
                hint = did_you_mean(selector, sorted(known)) or "; `jaxlint rule --all` shows all rules"
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


class _File(_Layer):
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
        self.has_table = isinstance(tool, dict) and "jaxlint" in tool
        values: Any = content
        if self.has_table or os.path.basename(path) == "pyproject.toml":
            values = content["tool"]["jaxlint"] if self.has_table else {}
        if not isinstance(values, dict):
            raise self.error("jaxlint", "must be a table: `[tool.jaxlint]`")
        self.values = values

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


class _Inline(_Layer):
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


class _Options(_Layer):
    """Options of the command line, each named like a key."""

    def __init__(self, values: Mapping[str, object], base: str) -> None:
        self.base = base
        self.values = dict(values)

    def place(self, key: str, word: str = "") -> str:
        """The option."""
        return f"--{key}"

    def error(self, key: str, problem: str, word: str = "") -> ConfigError:
        """The mistake that the value of the option is."""
        return ConfigError(f"--{key}: {problem}")

    def origin(self, key: str) -> Origin:
        """The option."""
        return Origin("command line", option=f"--{key}")


def _file_in(directory: str) -> _File | None:
    """The configuration file that stands in a directory."""
    for name in CONFIG_NAMES:
        path = os.path.join(directory, name)
        if not os.path.isfile(path):
            continue
        if name == "jaxlint.toml":
            return _File(path)
        try:
            raw = _read(path)
        except OSError:
            continue  # the project file of somebody else, as far as it can be seen
        if b"jaxlint" in raw:
            file = _File(path, raw=raw)
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
        where = f"{shown}:{place[1]}:{place[2]}" if place else shown
        raise ConfigError(f"{where}: broken TOML: {message}") from error
    except RecursionError as error:
        raise ConfigError(f"{shown}: is nested too deeply") from error
    return content


# -- from layers to settings ---------------------------------------------------------------------


_Said = dict[str, list[tuple[Any, _Layer]]]


def _said(layers: Iterable[_Layer]) -> _Said:
    """What counts of all that the layers say, by key, the later behind the earlier.

    A later layer that selects rules starts afresh: it takes the place of all that the earlier ones say of rules.
    """
    said: _Said = {}
    for layer in layers:
        if "select" in layer.values:
            for key in SELECTING:
                said.pop(key, None)
        for key, value in layer.values.items():
            if key in _ADDING or key in _ADDING_TABLES:
                said.setdefault(key, []).append((value, layer))
            else:
                said[key] = [(value, layer)]
    return said


def _settings(layers: Iterable[_Layer]) -> Settings:
    """The settings that the layers make, all of them checked."""
    said = _said(layers)

    def words(*keys: str) -> tuple[str, ...]:
        return tuple(word for key in keys for value, _ in said.get(key, ()) for word in value)

    def paths(key: str) -> tuple[str, ...]:
        return tuple(layer.path(path) for value, layer in said.get(key, ()) for path in _listed(value))

    def table(key: str) -> dict[str, Any]:
        return {name: like for value, _ in said.get(key, ()) for name, like in value.items()}

    def last(key: str) -> Any:
        return said[key][-1][0] if key in said else None

    return Settings(
        select=words("select") if "select" in said else None,
        ignore=words("ignore", "extend-ignore"),
        extend_select=words("extend-select"),
        per_file_ignores=tuple(
            PerFileIgnore(layer.base, pattern, tuple(selectors))
            for value, layer in said.get("per-file-ignores", ())
            for pattern, selectors in value.items()
        ),
        exclude=tuple(
            Patterns(layer.base, tuple(value))
            for key in ("exclude", "extend-exclude")
            for value, layer in said.get(key, ())
        ),
        src=paths("src"),
        python=next(iter(paths("python")), None),
        target_version=_python_version(last("target-version")),
        target_jax=_numbers(last("target-jax")),
        min_confidence=Confidence(last("min-confidence") or Confidence.LOW),
        preview=bool(last("preview")),
        baseline=next(iter(paths("baseline")), None) if last("baseline") else None,
        extra_decorators=table("extra-decorators"),
        extra_bases=table("extra-bases"),
        extra_fields={name: _extra_field(like) for name, like in table("extra-fields").items()},
    )


def _setting(key: Key, said: list[tuple[Any, _Layer]]) -> Setting:
    """The value of a key as it would stand in a file; paths are absolute there."""
    if not said:
        return Setting(key.name, key.default, (Origin("default"),))
    origins = tuple(layer.origin(key.name) for _, layer in said)
    value, layer = said[-1]
    if key.name in ("python", "baseline"):
        value = layer.path(value) if value else None
    elif key.name == "src":
        value = [layer.path(path) for path in value]
    elif key.name in _ADDING:
        value = [word for words, _ in said for word in words]
    elif key.name in _ADDING_TABLES:
        value = {name: like for table, _ in said for name, like in table.items()}
    return Setting(key.name, value, origins)


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _extra_field(like: str | Mapping[str, Any] | ExtraField) -> ExtraField:
    return ExtraField(like) if isinstance(like, str) else msgspec.convert(like, ExtraField)


def _python_version(text: str | None) -> tuple[int, ...] | None:
    """`3.11` and `py311` as numbers."""
    match = _PYTHON_VERSION.fullmatch(text or "")
    return (3, int(match["minor"])) if match else None


def _numbers(version: str | None) -> tuple[int, ...] | None:
    return tuple(int(part) for part in version.split(".")) if version else None
