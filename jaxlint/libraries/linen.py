"""What is known of flax.linen: modules, whose parameters are no part of them."""

from __future__ import annotations

from collections.abc import Iterable

#: The base class of modules.
MODULE = "flax.linen.Module"
#: Its methods that are called from outside, and are given the parameters or make them.
METHODS = frozenset({"apply", "init"})
#: The method in which, and below which, attributes may be assigned of a module that has its parameters.
SETUP = "setup"
#: The attribute that is None in a module without parameters.
SCOPE = "scope"
#: The decorator of methods that run with parameters alone; without any, a module is not frozen.
COMPACT = "flax.linen.compact"
#: What an assignment raises elsewhere, and that of a field in `setup`.
FROZEN_ERROR = "flax.errors.SetAttributeFrozenModuleError"
FIELD_ERROR = "flax.errors.SetAttributeInModuleSetupError"
#: What a module makes of a list or a dict that is assigned to an attribute.
MADE_OF = {"list": "tuple", "dict": "FrozenDict"}
#: How the names of bases begin beside which a class is a module and no more: other modules, and what says what it has.
HARMLESS_BASES = ("flax.linen.", "typing.", "abc.", "builtins.")


def is_imported(modules: Iterable[str]) -> bool:
    """Whether one of the modules that a file imports is this library, or the package as a whole: `import flax`."""
    names = [name for name in modules if name.partition(".")[0] == "flax"]
    return names == ["flax"] or any(name.startswith("flax.linen") for name in names)
