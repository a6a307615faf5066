"""What is drawn of pytree classes: plain data that every form of `jaxlint tree` is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

#: What the kinds of fields mean, in the order of a legend.
MEANING = {
    "leaf": "traced",
    "subtree": "a pytree of its own",
    "static": "part of the treedef",
    "dropped": "no part of the pytree",
    "unknown": "depends on what an instance sets it to, if it sets it",
}
#: How far classes are drawn inside of each other.
DEPTH = 6
#: Why a class may have more than what is drawn of it.
UNSEEN = "there may be more fields: a base class or a part of the class cannot be seen"
FLATTENED = "its own code flattens instances: what that computes is not drawn"
ASSIGNED = "there may be more fields: whatever is assigned to an instance is one"
_FROZEN = {True: "frozen", False: "mutable", None: "frozen or not: unknown"}


class Place(msgspec.Struct, frozen=True):
    """Rows of a file, counted from 1; `row` is 0 for a class that a stub of ours describes, and `path` its module."""

    path: str
    row: int
    end_row: int

    def __str__(self) -> str:
        return f"{self.path}:{self.row}" if self.row else self.path


class DrawnFinding(msgspec.Struct, frozen=True):
    """One finding, pinned on what it is about."""

    code: str
    name: str
    message: str
    severity: str
    url: str
    at: Place


class DrawnField(msgspec.Struct, frozen=True):
    """One field: what flattening does with it, how it is written, and what pytree class it holds."""

    name: str
    #: "leaf", "static", "dropped" or "unknown".
    role: str
    #: What it is called: "subtree" if it is a pytree class of its own or a container, else its role.
    kind: str
    annotation: str
    default: str
    at: Place
    #: The class that declares it, if it is inherited.
    owner: str
    #: The key of the pytree class that a leaf holds.
    holds: str
    findings: tuple[DrawnFinding, ...]

    @property
    def written(self) -> str:
        """The field as one would declare it."""
        text = self.name
        if self.annotation:
            text += f": {self.annotation}"
        return f"{text} = {self.default}" if self.default else text


class DrawnClass(msgspec.Struct, frozen=True):
    """One class; `None` stands for what is unknown."""

    key: str
    name: str
    framework: str
    at: Place
    is_pytree: bool
    registered: bool | None
    frozen: bool | None
    rebuilt: str
    leaf_order: str
    #: The method that copies with changes.
    replace: str
    #: Whether all fields are known.
    complete: bool
    #: What may be missing, and why; empty if nothing is.
    missing: str
    fields: tuple[DrawnField, ...]
    #: What is found about the class as a whole.
    findings: tuple[DrawnFinding, ...]

    def facts(self) -> list[str]:
        """What there is to say of the class as a whole."""
        facts = [_FROZEN[self.frozen]]
        if not self.is_pytree:
            return [*facts, "no pytree: jax takes an instance for one opaque leaf"]
        if self.registered is False:
            facts.append("not registered: one opaque leaf (decorate the class too)")
        elif self.registered is None:
            facts.append("registered or not: unknown")
        facts.append(f"rebuilding {self.rebuilt}")
        facts.append(f"leaves in {self.leaf_order} order")
        if self.replace:
            facts.append(f"copied with changes by .{self.replace}()")
        return facts


class Drawing(msgspec.Struct, frozen=True):
    """Classes to draw: those that were asked for, and all that their leaves hold."""

    #: The keys of the classes that were asked for, in their order.
    chosen: tuple[str, ...]
    classes: Mapping[str, DrawnClass]
    #: What is found in the files that is about none of the classes.
    elsewhere: tuple[DrawnFinding, ...] = ()
    #: The rows of files that a page may show, by path and row.
    sources: Mapping[str, Mapping[int, str]] = msgspec.field(default_factory=dict)
    #: Internal errors, one line each.
    errors: tuple[str, ...] = ()

    def drawn(self) -> Iterator[DrawnClass]:
        """The classes that were asked for."""
        return (self.classes[key] for key in self.chosen)

    def held(self, field: DrawnField, path: tuple[str, ...]) -> DrawnClass | None:
        """The class to draw inside of a field, if `path` are the keys of the classes around it."""
        if not field.holds or field.holds in path or len(path) >= DEPTH:
            return None
        return self.classes.get(field.holds)
