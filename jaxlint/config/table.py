"""The table of all keys: reading, messages, the JSON schema and the documentation come from it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jaxlint.pytrees.target import ExtraField

#: Selectors, by the key that holds them.
SELECTING = ("select", "ignore", "extend-select", "extend-ignore")
#: Selectors of the rules whose fixes are meant.
FIXING = ("fixable", "unfixable", "extend-safe-fixes", "extend-unsafe-fixes")
#: The keys of which the command line adds to the file. Any other value takes the place of that in the file.
ADDING = frozenset(
    "ignore extend-select extend-ignore extend-exclude unfixable extend-safe-fixes extend-unsafe-fixes".split()
)
ADDING_TABLES = frozenset({"per-file-ignores", "extra-decorators", "extra-bases", "extra-fields", "target-versions"})


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
            "The rules to leave out, named as in `select`. That a file could not be checked (JAX001) is always"
            " reported, unless just this rule is named.",
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
            " directories that hold no sources of one's own (`.venv`, `build`, `node_modules`, …) or templates"
            " (`{{ name }}`): patterns as in a `.gitignore`, relative to the directory of the configuration. `!build`"
            " takes `build` in. A path that is named on the command line is always checked, though not by"
            " flake8, whose own `exclude` leaves out what is named, too.",
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
            " of the configuration. Without it the activated environment is read; if there is none, `.venv` beside the"
            " configuration, or in the current directory. Nothing in it is run.",
            must="a string",
            example='python = ".venv"',
        ),
    ] = UNSET
    target_version: Annotated[
        str | UnsetType,
        _key(
            "The version of Python that the code runs on. Without it that of the environment counts (see `python`),"
            " or what `requires-python` in `pyproject.toml` says, or what is there for poetry; rules tell what"
            " holds for some of them only.",
            must='a string like "3.11"',
            example='target-version = "3.11"',
        ),
    ] = UNSET
    target_jax: Annotated[
        str | UnsetType,
        _key(
            "The version of jax that the code runs with, or bounds of versions; short for an entry in"
            " `target-versions`.",
            must='a string like "0.4.35"',
            example='target-jax = "0.4.35"',
        ),
    ] = UNSET
    target_versions: Annotated[
        dict[str, str] | UnsetType,
        _key(
            "The versions of jax and of the frameworks that the code runs with. Without an entry the version that the"
            " environment holds counts (see `python`), or the bounds among the dependencies in `pyproject.toml`"
            " (poetry's, too) or in `requirements.txt` and the files that it names by `-r` and `-c`, or in `setup.cfg`"
            " and `setup.py` (which is not run), or in the `environment.yml` of conda, or else the newest, which is"
            " also what is installed where there is a lower bound alone. What such a file in a folder inside of the"
            " project bounds above counts for that folder. Rules tell what holds for some of them only. `jaxlint"
            " config` shows what was taken, and from where.",
            must='a table of strings like flax = ">=0.10,<0.12"',
            example='[tool.jaxlint.target-versions]\njax = ">=0.4.35"\nflax = "0.10.2"',
            default={},
        ),
    ] = UNSET
    min_confidence: Annotated[
        Literal["low", "medium", "high"] | UnsetType,
        _key(
            "How sure a finding must be to be reported: `high` means certain from the text, `medium` that another"
            " reading is possible (the README counts how many are true); `low` is a guess, and only shown when it is"
            " asked for.",
            must='"low", "medium" or "high"',
            example='min-confidence = "low"',
            default="medium",
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
    fix: Annotated[
        bool | UnsetType,
        _key(
            "Whether `jaxlint check` applies fixes, as with `--fix`.",
            must="true or false",
            example="fix = true",
            default=False,
        ),
    ] = UNSET
    unsafe_fixes: Annotated[
        bool | UnsetType,
        _key(
            "Whether fixes that may change what the program does are applied, too, as with `--unsafe-fixes`.",
            must="true or false",
            example="unsafe-fixes = true",
            default=False,
        ),
    ] = UNSET
    fixable: Annotated[
        list[str] | UnsetType,
        _key(
            "The rules whose fixes are offered and applied, named as in `select`.",
            must=_STRINGS,
            example='fixable = ["JAX4"]',
            default=["ALL"],
        ),
    ] = UNSET
    unfixable: Annotated[
        list[str] | UnsetType,
        _key(
            "The rules of those of `fixable` whose fixes are not offered and not applied.",
            must=_STRINGS,
            example='unfixable = ["discarded-update"]',
            default=[],
        ),
    ] = UNSET
    extend_safe_fixes: Annotated[
        list[str] | UnsetType,
        _key(
            "The rules whose unsafe fixes count as safe. Of this and `extend-unsafe-fixes` the more specific selector"
            " decides, and the latter wins where both are equally specific.",
            must=_STRINGS,
            example='extend-safe-fixes = ["JAX403"]',
            default=[],
        ),
    ] = UNSET
    extend_unsafe_fixes: Annotated[
        list[str] | UnsetType,
        _key(
            "The rules whose safe fixes count as unsafe.",
            must=_STRINGS,
            example='extend-unsafe-fixes = ["JAX401"]',
            default=[],
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
    plugins: Annotated[
        list[str] | UnsetType,
        _key(
            "Packages with rules of your own, by the names of their entry points in the group `jaxlint.rules`. They"
            " have to be installed beside jaxlint; nothing is imported from the code that is checked. See"
            " [Rules of your own](own-rules.md).",
            must=_STRINGS,
            example='plugins = ["physics"]',
            default=[],
        ),
    ] = UNSET
    extra_decorators: Annotated[
        dict[str, str] | UnsetType,
        _key(
            "Class decorators that jaxlint cannot see through, and the known decorator that each stands for. The check"
            " of a folder warns of names that are neither found nor imported, here and in the tables of bases and"
            " fields.",
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
