"""Rules of one's own: packages that are installed beside jaxlint offer them, and settings turn them on by name.

Nothing is imported that lies only in the folder in which jaxlint runs: what is checked is never run.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jaxlint import rules
from jaxlint.errors import UserError
from jaxlint.rules.base import API, BodyRule, ClassRule, EventRule, NodeRule, Rule

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: The group of entry points: each is a rule, or a module with rules.
GROUP = "jaxlint.rules"
_CODE = re.compile(r"[A-Z]{2,9}[0-9]{3}")
_KINDS = (ClassRule, EventRule, BodyRule)
#: The methods that a rule of a kind writes itself.
_OWN_METHODS: dict[type[Rule], tuple[str, ...]] = {
    ClassRule: ("check_class",),
    EventRule: ("check_event",),
    BodyRule: ("check_body",),
    NodeRule: ("can_match", "check_node"),
}
#: The rules of the plugins that were asked for in this process.
_loaded: dict[str, tuple[type[Rule], ...]] = {}


def rules_with(plugins: tuple[str, ...]) -> tuple[type[Rule], ...]:
    """The rules of jaxlint and of some plugins, sorted by code. Raises `UserError` for what cannot be used."""
    if not plugins:
        return rules.all_rules()
    found = [*rules.all_rules()]
    for name in plugins:
        for rule in plugin_rules(name):
            taken = next((one for one in found if rule.code == one.code or rule.name == one.name), None)
            if taken is not None and taken is not rule:
                raise UserError(f"plugin `{name}`: {rule.code} ({rule.name}) is {taken.code} ({taken.name}) already")
            found += [rule] if taken is None else []
    return tuple(sorted(found, key=lambda rule: rule.code))


def known_rules() -> tuple[type[Rule], ...]:
    """The rules of jaxlint and of all plugins that were asked for in this process."""
    return rules_with(tuple(sorted(_loaded)))


def plugin_rules(name: str) -> tuple[type[Rule], ...]:
    """The rules of the entry point `name`. Raises `UserError` if there is none, or if it cannot be used."""
    if name not in _loaded:
        with _without_current_folder():
            point = _entry_point(name)
            try:
                target = point.load()
            except Exception as error:
                text = " ".join(str(error).split())
                raise UserError(
                    f"plugin `{name}`: {point.value} cannot be loaded: {type(error).__name__}: {text}"
                ) from error
        _loaded[name] = tuple(_checked(rule, name) for rule in _rules_in(target))
        if not _loaded[name]:
            raise UserError(f"plugin `{name}`: {point.value} holds no rule")
    return _loaded[name]


def plugin_versions(plugins: tuple[str, ...]) -> list[tuple[str, str, list[tuple[str, int, int]]]]:
    """What tells the code of some plugins from other code: their versions, and the files of their rules."""
    found = []
    for name in plugins:
        files = sorted({inspect.getfile(rule) for rule in plugin_rules(name)})
        states = [(file, os.stat(file).st_mtime_ns, os.stat(file).st_size) for file in files]
        with _without_current_folder():
            distribution = _entry_point(name).dist
        found.append((name, distribution.version if distribution is not None else "", states))
    return found


def _entry_point(name: str) -> EntryPoint:
    from importlib import metadata  # which loads slowly, and is seldom needed

    points = metadata.entry_points(group=GROUP)
    point = next((one for one in points if one.name == name), None)
    if point is None:
        offered = ", ".join(sorted(f"`{one.name}`" for one in points)) or "none"
        raise UserError(f"plugin `{name}` is not installed beside jaxlint; those that are: {offered}")
    return point


@contextmanager
def _without_current_folder() -> Iterator[None]:
    """Look nowhere in the folder from which `python -m jaxlint` was started."""
    before = list(sys.path)
    if sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]
    try:
        yield
    finally:
        sys.path[:] = before


def _rules_in(target: object) -> list[type[Rule]]:
    """The rule that an entry point names, or those that are declared in the module that it names."""
    if isinstance(target, type):
        return [target] if issubclass(target, Rule) else []
    values = vars(target).values() if inspect.ismodule(target) else ()
    return [v for v in values if isinstance(v, type) and issubclass(v, Rule) and v.__module__ == target.__name__]  # type: ignore[attr-defined]


def _checked(rule: type[Rule], plugin: str) -> type[Rule]:
    """A rule that says all that it has to. Raises `UserError` otherwise."""
    wrong = ""
    missing = [word for word in ("code", "name", "group", "since") if not isinstance(getattr(rule, word, None), str)]
    if missing:
        wrong = f"does not say its `{missing[0]}`"
    elif not _CODE.fullmatch(rule.code) or rule.code.startswith("JAX"):
        wrong = f"has the code {rule.code}: it needs a prefix of its own in front of three digits, like ABC101"
    elif not issubclass(rule, _KINDS):
        wrong = "is no ClassRule, EventRule or BodyRule"
    elif rule.api != API:
        wrong = f"was written for version {rule.api} of the rules' API; this jaxlint has {API}"
    elif issubclass(rule, EventRule) and not _are_types(getattr(rule, "events", ())):
        wrong = "does not say its `events`: a tuple of classes, like (Replace,)"
    else:
        unwritten = next(_unwritten(rule), "")
        wrong = f"has no method `{unwritten}`" if unwritten else ""
    if wrong:
        raise UserError(f"plugin `{plugin}`: the rule {rule.__name__} {wrong}")
    return rule


def _are_types(events: object) -> bool:
    """Whether `events` is a tuple of classes, and not an empty one."""
    return isinstance(events, tuple) and events != () and all(isinstance(one, type) for one in events)


def _unwritten(rule: type[Rule]) -> Iterator[str]:
    """The methods that a rule has to write and leaves as its kind has them."""
    for kind, names in _OWN_METHODS.items():
        if issubclass(rule, kind):
            yield from (name for name in names if getattr(rule, name) is getattr(kind, name))


def own_place(rule: type[Rule], error: Exception) -> str | None:
    """Where a rule of another package has failed: a file and a line, or nothing; None for our own rules."""
    if rule.url():
        return None
    written = inspect.getfile(rule)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == written]
    return f" ({os.path.basename(written)}, line {lines[-1]})" if lines else ""
