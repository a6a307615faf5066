"""`Framework`: how one framework makes pytrees out of classes, as `frameworks/` declares it for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

import msgspec

from jaxlint.finding import Severity
from jaxlint.pytrees.context import FieldContext
from jaxlint.pytrees.versions import Fact


class Role(Enum):
    """What flattening does with a field."""

    LEAF = "leaf"  #: a child of the pytree: arrays, or further pytrees
    STATIC = "static"  #: part of the treedef (meta field, aux data): compared with ==, never traced
    DROPPED = "dropped"  #: not in the pytree at all: reset whenever the instance is rebuilt
    UNKNOWN = "unknown"


class Unflatten(Enum):
    """How an instance is rebuilt from its leaves."""

    CONSTRUCTOR = "calls the constructor"
    POST_INIT = "sets the fields and calls __post_init__"
    BYPASS = "sets the fields, runs no user code"
    CUSTOM = "user-defined"


class LeafOrder(Enum):
    """The order in which `jax.tree.leaves` lists the fields."""

    DECLARATION = "declaration"
    ALPHABETICAL = "alphabetical"


class Subclasses(Enum):
    """What an undecorated subclass of a pytree class is."""

    AUTO = "registered by itself, with its own fields"
    OPAQUE = "not registered: one opaque leaf"
    FIELDS_IGNORED = "registered, but its new annotations are no fields"


class InitFalse(Enum):
    """What becomes of a field with `init=False`."""

    FLATTENED = "flattened like the others"
    WARNED = "flattened like the others, with a warning"
    DROPPED = "left out of the pytree"
    REFUSED = "the class cannot be registered"
    PASSED = "passed to the constructor, which does not take it"


class FieldFunction(msgspec.Struct, frozen=True):
    """A function that declares a field (`dataclasses.field` and kin), and the metadata it leaves behind."""

    #: Metadata that every call sets.
    fixed: Mapping[str, bool] = msgspec.field(default_factory=dict)
    #: Metadata that a call sets unless a keyword says otherwise.
    usual: Mapping[str, bool] = msgspec.field(default_factory=dict)
    #: Keyword parameters that become metadata of the named key.
    keywords: Mapping[str, str] = msgspec.field(default_factory=dict)
    #: Positional parameters, in order: `default`, one of `keywords`, or a name for what leaves nothing in a class body.
    positional: tuple[str, ...] = ()
    #: Whether a keyword parameter that is false leaves no metadata.
    drops_false: bool = False
    #: Whether metadata that the user passes wins over `fixed`.
    user_wins: bool = False
    #: What it takes besides what `dataclasses.field` does and what becomes metadata.
    further: frozenset[str] = frozenset()
    #: Whether its signature is its own.
    is_unlike_field: bool = False
    #: The function to call instead where the field is not to be marked, if this one always marks.
    unmarked: str = ""


class Caching(msgspec.Struct, frozen=True):
    """What a `functools.cached_property` leads to, where what it stores in the instance counts."""

    consequence: str
    reason: str
    #: Where it is neither an error nor harmless, there is none.
    severity: Severity | None = None
    #: Whether the value is asked for inside of jit as a rule, on an instance that was made there, and costs nothing.
    is_harmless: bool = False
    #: Whether only a value that is an array does harm.
    harms_by_arrays: bool = False
    #: Where it is so, if that depends on versions.
    fact: Fact | None = None


#: The options of `dataclasses.dataclass`.
DATACLASS_OPTIONS = frozenset("init repr eq order unsafe_hash frozen match_args kw_only slots weakref_slot".split())


class Framework(msgspec.Struct, frozen=True):
    """How one framework makes pytrees out of classes; the facts are those of semantics.md, section 1."""

    id: str
    title: str
    decorators: frozenset[str] = frozenset()
    bases: frozenset[str] = frozenset()
    #: Other dotted names of the same objects.
    aliases: Mapping[str, str] = msgspec.field(default_factory=dict)
    is_pytree: bool = True
    #: Whether instances are tuples: compared and unpacked like them, and made by a constructor that is not the user's.
    is_tuple: bool = False
    #: The option, on unless declared otherwise, that makes an instance a mapping from the names of its fields.
    mapping_option: str = ""
    #: Whether instances are modules that change in place, and often live outside of compiled functions.
    is_stateful: bool = False
    #: Whether one word turns any record into a pytree: some are pytrees only so that they can go along with others.
    for_records: bool = False
    #: Whether a statement of its own registers a class, which is for nothing else.
    registered_by_hand: bool = False
    #: Whether that statement lists the fields.
    lists_fields: bool = False
    #: Whether the class says in a method of its own what its leaves are.
    flattens_itself: bool = False
    #: Whether a class of a program that is run as a script is registered only when its first instance is made.
    registers_late: bool = False
    #: Whether the decorator (or base) turns the class into a dataclass itself.
    makes_dataclass: bool = True
    subclasses: Subclasses = Subclasses.OPAQUE
    #: Whether a subclass that is not decorated itself cannot be instantiated.
    refuses_undecorated: bool = False
    #: Whether its decorator returns a class as it is that is its own already.
    ignores_repeats: bool = False
    #: What the error of applying its decorator twice says, if that is refused in words of its own.
    refuses_repeats: str = ""
    #: Whether it registers a class without asking whether that is registered already.
    registers_anyway: bool = False
    #: Whether each subclass is frozen anew, and so may have no decorator that makes a subclass of it.
    freezes_each: bool = False
    #: Whether lists say which fields are leaves: those of a call, or what a decorator of the project was seen to list.
    by_lists: bool = False
    #: What the error says of a class statement that its own rules refuse.
    class_error: str = ""
    #: Frozen unless declared otherwise; None: whatever the `@dataclass` below says.
    frozen: bool | None = True
    #: Whether `frozen=False` is refused.
    must_be_frozen: bool = False
    #: Whether a mutable class may have no frozen base class, even beside another base class that is mutable.
    checks_each_base: bool = False
    #: Whether the `frozen=` option of the decorator (or class keyword) is honoured.
    frozen_option: bool = False
    #: The class keyword that makes instances mutable.
    mutable_keyword: str = ""
    #: Whether a frozen class refuses all assignments in subclasses as well, and not those to its own fields only.
    freezes_subclasses: bool = False
    #: Where the dataclass machinery does not take a class for frozen, because the framework freezes it otherwise.
    freezes_itself: Fact | None = None
    frozen_error: str = "dataclasses.FrozenInstanceError"
    #: Methods that run whenever an instance is made.
    constructing: frozenset[str] = frozenset({"__init__", "__post_init__"})
    #: Methods in which a frozen instance may be assigned to.
    assignable_in: frozenset[str] = frozenset()
    #: The context manager that gives out a copy that may be changed in place.
    mutable_copies: str = ""
    #: The function behind that, by which a project may make any instance mutable.
    mutability_switch: str = ""
    #: Whether what `copy.copy` makes of an instance may be assigned to, as if it were still being constructed.
    copies_are_open: bool = False
    #: What the deletion of an attribute does to a frozen instance, if it is not refused.
    deletion: str = ""
    #: Where it is not refused, if that depends on versions.
    deletion_fact: Fact | None = None
    #: Whether construction has to set every field.
    wants_all_fields: bool = False
    #: Whether construction has to set every field, and may set no other attribute.
    checks_fields: bool = False
    #: Whether construction may not put a method of the instance into one of its attributes: it would hold a copy.
    refuses_methods: bool = False
    #: Whether an inherited `__init__` that is written out is refused, as one would be made of the fields.
    refuses_inherited_init: bool = False
    #: Whether an inherited `__init__` that is written out is kept, and none is made of the fields.
    keeps_inherited_init: bool = False
    #: Whether a class has to list the fields that it inherits again.
    relists_fields: bool = False
    #: The annotations, by the last part of their names, that declare what subclasses have to declare.
    abstract_fields: frozenset[str] = frozenset()
    #: Whether the attributes that `__init__` sets are the fields of a class that is no dataclass.
    fields_in_init: bool = False
    #: Whether annotations declare fields although the class is no dataclass.
    fields_by_annotation: bool = False
    #: Whether fields have converters, which decide what the constructor takes.
    converters: bool = False
    #: Whether the generated `__init__` of a frozen class assigns with `object.__setattr__`.
    sets_plainly: bool = False
    unflatten: Unflatten = Unflatten.CONSTRUCTOR
    leaf_order: LeafOrder = LeafOrder.DECLARATION
    #: The method that copies with changes, if instances have one.
    replace_method: str | None = None
    #: Whether the framework overwrites a user-defined method of that name.
    replace_overwrites: bool = False
    #: The function that copies with changes, where instances have no method for it.
    copy_function: str = "dataclasses.replace"
    #: Whether that function replaces leaves only, which a function of the user's selects.
    copies_leaves: bool = False
    #: What the constructor, or that method, raises for a name that is no field.
    unknown_name_error: str = "TypeError"
    #: Further methods that the framework puts into every class, whatever the class has itself.
    added_methods: tuple[str, ...] = ()
    #: Further methods of the framework's base class.
    base_methods: frozenset[str] = frozenset()
    #: Names that no field may have.
    refused_names: frozenset[str] = frozenset()
    #: Class attributes that the framework sets, whatever field has that name.
    set_names: frozenset[str] = frozenset()
    #: Further methods that copy with changes (unless called with `inplace=True`).
    copying_methods: frozenset[str] = frozenset()
    #: Methods that select what a copy is to have changed.
    selecting_methods: frozenset[str] = frozenset()
    keyword_only: bool = False
    init_false: InitFalse = InitFalse.FLATTENED
    #: Whether fields are flattened from the instance's `__dict__`, where class attributes are not.
    reads_dict: bool = False
    #: Whether the framework's base class has `__eq__` and `__hash__` of its own.
    defines_eq: bool = False
    #: Whether the hash of an instance, where nobody else says so, is made of the hashes of its fields.
    hashes_fields: bool = False
    #: Whether it has transformations of its own that take any value and trace the arrays in it.
    filters: bool = False
    #: Whether a field that was marked once stays as it was marked in subclasses that declare it again.
    marks_stay: bool = False
    #: Whether a field that was static once stays static, whatever nearer classes say; else the nearest mark counts.
    static_stays: bool = False
    #: Whether the marks in plain dataclasses among the base classes count as well.
    counts_plain_marks: bool = False
    #: Whether a subclass that marks a field otherwise is refused.
    refuses_other_marks: bool = False
    #: Whether what a class attribute with a `__set__` of its own is given is not refused.
    obeys_setters: bool = False
    #: The class keyword that turns registration off.
    register_keyword: str = ""
    #: The class keywords that are accepted; None: whatever the base classes take.
    class_keywords: frozenset[str] | None = None
    #: Those of them that older versions refuse, at all or beside some base classes.
    young_keywords: Mapping[str, Fact] = msgspec.field(default_factory=dict)
    #: Those of them that a class statement fails with if they are true, and what the error says.
    refused_keywords: Mapping[str, str] = msgspec.field(default_factory=dict)
    #: What the error says of a class with slots, if it takes none.
    refuses_slots: str = ""
    #: Whether the fields of a class may not be slots already when its decorator runs.
    refuses_slots_below: bool = False
    #: The keywords that its decorators take, by the name of the decorator.
    options: Mapping[str, frozenset[str]] = msgspec.field(default_factory=dict)
    #: The metadata key that marks static fields, and the truth value that means static.
    static_metadata: tuple[str, bool] | None = None
    #: Decides the role of a field where metadata does not.
    role: Callable[[FieldContext], Role] | None = None
    field_functions: Mapping[str, FieldFunction] = msgspec.field(default_factory=dict)
    #: How a user marks a field static, as written in messages.
    static_spelling: str = ""
    #: The function that marks a field static, the keyword and its value, where a call of a function does.
    static_marking: tuple[str, str, str] | None = None
    #: What the annotation of a static field is put into, where that marks it.
    static_annotation: str = ""
    #: Annotations that say so to a reader, whether or not they mark the field.
    static_words: frozenset[str] = frozenset()
    #: Whether its metadata key is a common word, which means nothing where others set it.
    key_is_ambiguous: bool = False
    #: The function that usually declares fields.
    field_function: str = "dataclasses.field"
    #: Whether what an attribute is given decides whether it is data, as `libraries.nnx` says.
    data_by_value: bool = False
    #: The package of transformations of its own, through which what changes in an instance reaches the caller.
    transformations: str = ""
    #: Whether a field that nobody has marked may be static by its value or its annotation.
    static_by_value: bool = False
    #: What it looks for in annotations as they are stored: it does not see it in a string.
    looks_for: str = ""
    #: Whether nothing but the annotation of a field makes it static.
    static_by_annotation: bool = False
    #: Whether numpy arrays in static fields are compared by their content.
    compares_numpy: bool = False
    #: What an array of several elements in a static field leads to.
    static_array: str = "jit fails on the second instance (ValueError)"
    #: What a cached property leads to, if to anything.
    caching: Caching | None = None
    #: Whether an instance has no leaves, and is a part of the treedef as a whole.
    is_opaque: bool = False
    #: Whether `==` on instances compares the fields one by one (and so fails on arrays).
    compares_fields: bool = True
    #: Base classes of it that neither add fields nor change assignment.
    neutral_bases: frozenset[str] = frozenset()
    #: Further names of it that inference or a rule knows.
    known_names: frozenset[str] = frozenset()
    #: What holds for some versions only.
    facts: tuple[Fact, ...] = ()
