"""What ties a module to others, which a run knows of each file before it decides what to read."""

from typing import NamedTuple, TypeAlias

#: The modules that a module imports: how many dots, and the dotted name.
Imports: TypeAlias = tuple[tuple[int, str], ...]

#: What a name of a module means is said in the module itself.
HERE = "here"


class Links(NamedTuple):
    """The modules that a module imports, and the names of their classes that it may register."""

    imports: Imports
    #: Those that a call outside of functions is given; as they are declared.
    registers: tuple[str, ...]
