"""What the check of one module asks of the project as a whole, without the outlines that determine it.

It is the sum of the parts of all modules. The part of a module depends on its text, on the modules that it leads to
(`jaxlint.project.reached`), and on the import graph.
"""

from collections.abc import Iterable
from typing import TypeAlias

import msgspec  # which must compile annotations that are text: here they are none

from jaxlint.project.reached import Stored, closed_over
from jaxlint.symbols.links import Links

#: What identifies a class or a function: the path of its file and its qualified name.
Key: TypeAlias = tuple[str, str]


class TracedBy(msgspec.Struct, frozen=True, array_like=True):
    """A function that takes instances of a class, and the transformation that takes these apart.

    The name of the function is empty where the transformation runs it itself.
    """

    function: str
    transform: str
    #: The path of another module in which that was seen; empty where declarations tell, or the module at hand.
    home: str = ""


class NotIndexedYet(Exception):
    """Something was asked of the project as a whole before all of it was read."""


class ImportGraph(msgspec.Struct, array_like=True):
    """Who imports whom."""

    #: The paths of the modules that import a framework, directly or through other modules.
    relevant: set[str] = msgspec.field(default_factory=set)
    #: The paths of the modules that import a module, by its path.
    importers: dict[str, list[str]] = msgspec.field(default_factory=dict)
    #: The paths of the modules that import others than those that are indexed from.
    outward: set[str] = msgspec.field(default_factory=set)
    #: The paths of the modules that may register an imported class, by its name.
    registering: dict[str, list[str]] = msgspec.field(default_factory=dict)
    #: Whether all modules were read, and the names of the classes that were looked at before that.
    is_complete: bool = True
    seen_early: set[str] = msgspec.field(default_factory=set)

    def importing(self, paths: Iterable[str]) -> set[str]:
        """Some modules and those that import them, directly or through other modules."""
        return closed_over(paths, self.importers)

    def are_apart(self, path: str, others: Iterable[str]) -> bool:
        """Whether what a module makes cannot come into some others: nobody imports it, and it leads to none of them."""
        return self.is_complete and not self.importers.get(path) and path not in self.importing(others)


class Accepted(msgspec.Struct, frozen=True, array_like=True):
    """The keywords that a method can be called with; `any_other` if it takes all."""

    names: frozenset[str]
    any_other: bool


class VisibleUpdates(msgspec.Struct, array_like=True):
    """What `replace(...)` and kin may mean where the receiver is not known: what the visible classes make of them.

    Visible are the classes under the roots that a module sees.
    """

    #: By root and the method's name: the fields of the classes whose instances are copied by it.
    fields: dict[tuple[str, str], set[frozenset[str]]] = msgspec.field(default_factory=dict)
    #: By root and the method's name: what the methods accept that may do something else.
    others: dict[tuple[str, str], set[Accepted]] = msgspec.field(default_factory=dict)

    def add(self, other: "VisibleUpdates") -> None:
        """Add what other classes make of them."""
        for place, fields in other.fields.items():
            self.fields.setdefault(place, set()).update(fields)
        for place, accepted in other.others.items():
            self.others.setdefault(place, set()).update(accepted)

    def only_copies(self, roots: Iterable[str], method: str, keywords: frozenset[str], extra: frozenset[str]) -> bool:
        """Whether a call with these keywords fits a class whose instances it copies, and no method that may differ.

        `extra` are the fields of one more such class.
        """
        names = keywords - {"grads"} if method == "apply_gradients" else keywords
        others = [accepted for root in roots for accepted in self.others.get((root, method), ())]
        if not keywords or any(accepted.any_other or keywords <= accepted.names for accepted in others):
            return False
        copied = [fields for root in roots for fields in self.fields.get((root, method), ())]
        return any(names <= fields for fields in (*copied, extra) if fields)

    def roots_of_others(self, method: str) -> set[str]:
        """The roots below which a class has a method of that name which may do something else."""
        return {root for root, name in self.others if name == method}


class ProjectIndex(msgspec.Struct, array_like=True):
    """What is known of the modules of a project that are worth a look."""

    imports: ImportGraph = msgspec.field(default_factory=ImportGraph)
    #: The paths of these modules.
    indexed: set[str] = msgspec.field(default_factory=set)
    #: The classes that inherit from a class, directly or not, in the order of the modules and of their text.
    subclasses: dict[Key, list[Key]] = msgspec.field(default_factory=dict)
    #: The classes that were being built when a class was found to depend on itself, or the chain to be too long: what
    #: becomes of classes in such a cycle depends on which is built first.
    cycles: list[Key] = msgspec.field(default_factory=list)
    #: The names of all static fields.
    static_field_names: set[str] = msgspec.field(default_factory=set)
    #: The names of the fields that may hold an array, by their annotations.
    array_field_names: set[str] = msgspec.field(default_factory=set)
    #: The simple names of all pytree classes.
    pytree_class_names: set[str] = msgspec.field(default_factory=set)
    #: The names of all methods that return a copy with changes.
    updating_method_names: set[str] = msgspec.field(default_factory=set)
    #: The names of those of them, and of such functions, that hand their `**changes` on as they are.
    handing_names: set[str] = msgspec.field(default_factory=set)
    #: The names of all methods that change a pytree in place, or (once all is known) call one that does.
    changing_method_names: set[str] = msgspec.field(default_factory=set)
    #: The names of all functions that may change in place what they are given.
    changing_function_names: set[str] = msgspec.field(default_factory=set)
    #: The names of all methods of pytrees that are not frozen, with those of the methods of `self` that they call.
    method_calls: dict[str, set[str]] = msgspec.field(default_factory=dict)
    #: The names of all functions that hold an argument static other than `self`.
    names_with_static_arguments: set[str] = msgspec.field(default_factory=set)
    #: The names of all functions with a decorator that is a transformation.
    transformed_names: set[str] = msgspec.field(default_factory=set)
    #: The names of all classes that put into an attribute what a transformation returns: `self.f = jit(self.g)`.
    transforming_class_names: set[str] = msgspec.field(default_factory=set)
    #: The paths of the modules that declare a pytree class, or may name one that we describe; and (once all is known)
    #: of all that may know of one, because they import one of these or what was not indexed from, directly or not.
    seeing: set[str] = msgspec.field(default_factory=set)
    #: What methods make of `replace(...)` and kin.
    visible_updates: VisibleUpdates = msgspec.field(default_factory=VisibleUpdates)
    #: What other modules apply to a function, encoded (`Applied`): not where they do, which moves with each edit.
    applied: dict[Key, list[bytes]] = msgspec.field(default_factory=dict)
    #: The classes whose instances go into transformed functions, as far as declarations tell.
    traced: dict[Key, TracedBy] = msgspec.field(default_factory=dict)
    #: The paths of the modules that send them there.
    sending: dict[Key, list[str]] = msgspec.field(default_factory=dict)

    def add(self, other: "ProjectIndex") -> None:
        """Add what is known of the modules that come next; that of the imports is none of it."""
        self.indexed |= other.indexed
        for ancestor, classes in other.subclasses.items():
            self.subclasses.setdefault(ancestor, []).extend(classes)
        self.cycles += other.cycles
        self.static_field_names |= other.static_field_names
        self.array_field_names |= other.array_field_names
        self.pytree_class_names |= other.pytree_class_names
        self.updating_method_names |= other.updating_method_names
        self.handing_names |= other.handing_names
        self.changing_method_names |= other.changing_method_names
        self.changing_function_names |= other.changing_function_names
        for name, called in other.method_calls.items():
            self.method_calls.setdefault(name, set()).update(called)
        self.names_with_static_arguments |= other.names_with_static_arguments
        self.transformed_names |= other.transformed_names
        self.transforming_class_names |= other.transforming_class_names
        self.seeing |= other.seeing
        self.visible_updates.add(other.visible_updates)
        for function, applied in other.applied.items():
            known = self.applied.setdefault(function, [])
            known += [one for one in applied if one not in known]
        for cls, by in other.traced.items():
            self.traced.setdefault(cls, by)
        for cls, paths in other.sending.items():
            self.sending.setdefault(cls, []).extend(paths)

    def close(self) -> None:
        """Draw the conclusions, once all is known."""
        changing = self.changing_method_names
        while True:
            calling = {name for name, called in self.method_calls.items() if not changing.isdisjoint(called)}
            if calling <= changing:
                break
            changing |= calling
        self.method_calls = {}
        # the modules of mixins need not import a framework, nor do those that are given instances by who imports them
        relevant = self.imports.relevant | self.seeing
        self.seeing = self.imports.importing(self.seeing | self.imports.outward)
        used = {path for path, by in self.imports.importers.items() if not self.seeing.isdisjoint(by)}
        self.imports = msgspec.structs.replace(self.imports, relevant=relevant | used)


class IndexedModule(msgspec.Struct, frozen=True, array_like=True):
    """What a module has to do with the index of its project."""

    #: What ties it to other modules.
    links: Links
    #: Its part, encoded; empty if it has none.
    part: bytes


class StoredIndex(msgspec.Struct, frozen=True, array_like=True):
    """What a run stores beside its findings, of which a later run needs little: encoded parts are read one by one."""

    #: The `ProjectIndex`.
    encoded: msgspec.Raw
    #: The `IndexedModule` of each module.
    modules: dict[str, msgspec.Raw]
    #: What leads to what.
    leading: Stored = Stored()

    @property
    def index(self) -> ProjectIndex:
        """The index of the project."""
        return msgspec.msgpack.decode(self.encoded, type=ProjectIndex)

    def module(self, path: str) -> IndexedModule | None:
        """What is known of the module of a file."""
        found = self.modules.get(path)
        return None if found is None else msgspec.msgpack.decode(found, type=IndexedModule)
