"""A transformation as it is applied to a function: its options, and what becomes of the parameters."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jaxlint.libraries.transforms import CARRIED, Kind, Transform
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import span_of
from jaxlint.syntax.expressions import Span

#: Transformations in whose functions numbers are abstract, too: they have no value that Python could ask for.
ABSTRACTING = (Kind.JIT, Kind.LOOP, Kind.BRANCH, Kind.CHECKPOINT)
#: The options that give buffers away.
_DONATIONS = frozenset({"donate_argnums", "donate_argnames", "donate"})
_ENCODER = msgspec.msgpack.Encoder(order="deterministic")


class Applied(msgspec.Struct, frozen=True, omit_defaults=True):
    """A transformation applied to a function, with its options.

    The lists of parameters are None where they are given and cannot be read.
    """

    transform: Transform
    #: The decorator or the call, for a finding to point at.
    at: object
    static_argnums: tuple[int, ...] | None = ()
    static_argnames: tuple[str, ...] | None = ()
    #: What is differentiated; None if that cannot be read.
    argnums: tuple[int, ...] | None = (0,)
    has_aux: bool | None = False
    is_decorator: bool = False
    #: How many positional parameters are given already (the receiver of a bound method, what a partial holds).
    bound: int = 0
    #: The names of the parameters that a partial gives by keyword.
    given: frozenset[str] = frozenset()
    #: The names of all options that are given.
    options: frozenset[str] = frozenset()
    #: The parameters whose buffers are given away, by position and by name; None where that cannot be read.
    donate_argnums: tuple[int, ...] | None = ()
    donate_argnames: tuple[str, ...] | None = ()
    #: What `equinox.filter_jit` donates: "all", "all-except-first", ….
    donate: str = ""
    #: Which arguments `in_axes` of `jax.vmap` takes slices of, by position; None if it is not given, or cannot be read.
    mapped: tuple[int, ...] | None = None

    def encoded(self) -> bytes:
        """The same without its place, as it is stored."""
        return _ENCODER.encode(msgspec.structs.replace(self, at=None))

    @classmethod
    def decoded(cls, stored: bytes, at: object) -> Applied:
        """What was stored, placed somewhere."""
        return msgspec.structs.replace(msgspec.msgpack.decode(stored, type=cls), at=at)

    @property
    def refuses_non_arrays(self) -> bool:
        """Whether leaves that are neither arrays nor numbers are certainly refused.

        equinox's filtered transformations hold them static, and what is not mapped over goes through `jax.vmap`.
        """
        mapped_in_part = self.transform.kind is Kind.MAP and not self.options.isdisjoint({"in_axes", "in_specs"})
        return self.transform.rebuilds and not self.transform.filters and not mapped_in_part

    @property
    def refuses_results(self) -> bool:
        """Whether a result with such leaves is refused, too. Derivatives hand an `aux` on, whatever it is.

        What `jax.vmap` maps over a part of its arguments alone, it stacks the results of nevertheless.
        """
        is_traced = self.transform.kind in (Kind.JIT, Kind.MAP, Kind.LOOP, Kind.BRANCH)
        refuses = is_traced and self.transform.rebuilds and not self.transform.filters
        return refuses and self.options.isdisjoint({"out_axes", "out_specs"})

    @property
    def singles_out_arguments(self) -> bool:
        """Whether some of the arguments are static, or donated."""
        return self.holds_some_static or not self.options.isdisjoint(_DONATIONS)

    @property
    def holds_some_static(self) -> bool:
        """Whether some of the arguments are, or may be, static."""
        return self.static_argnums != () or self.static_argnames != () or self.transform.reads_static_annotations

    def mapped_parameters(self, function: Function) -> frozenset[str]:
        """The parameters of `function` of which `in_axes` takes slices: all of their leaves must be arrays."""
        if not self.mapped:
            return frozenset()
        free = function.positional[self.bound :]
        return self.rebuilt_parameters(function).intersection(free[n] for n in self.mapped if n < len(free))

    def static_parameters(self, function: Function) -> frozenset[str] | None:
        """The names of the parameters of `function` that are static; None if they cannot be determined."""
        if self.static_argnums is None or self.static_argnames is None:
            return None
        if not self.static_argnums and not self.static_argnames:
            return frozenset()
        positional = function.positional[self.bound :]
        chosen = [positional[n] for n in self.static_argnums if -len(positional) <= n < len(positional)]
        return frozenset({*chosen, *self.static_argnames})

    def donated_parameters(self, function: Function) -> frozenset[str]:
        """The parameters of `function` whose buffers may be used again for the results."""
        numbers, names = self.donate_argnums or (), self.donate_argnames or ()
        if not (self.donate or numbers or names):
            return frozenset()
        positional = function.positional[self.bound :]
        if self.donate:
            first = 1 if self.donate.endswith("-except-first") else 0
            return frozenset(positional[first:]) if self.donate.startswith(("all", "warn")) else frozenset()
        return frozenset(positional[n] for n in numbers if -len(positional) <= n < len(positional)).union(names)

    def rebuilt_parameters(self, function: Function) -> frozenset[str]:
        """The parameters of `function` that certainly receive copies of what the caller passes."""
        static = self.static_parameters(function) if self.transform.rebuilds else None
        if static is None:
            return frozenset()
        positional = function.positional
        free = positional[self.bound :]
        if self.transform.kind is Kind.GRAD:
            numbers = self.argnums or ()
            return frozenset(free[n] for n in numbers if -len(free) <= n < len(free)) - self.given
        # which of the further arguments are static cannot be seen from the name that they share
        takes_more = not self.static_argnums and self.bound <= len(positional)
        free += [p.name for p in function.parameters if p.kind == "keyword" or (p.kind == "*" and takes_more)]
        return frozenset(free) - static - self.given

    def carried_parameter(self, function: Function) -> str | None:
        """The parameter of `function` to which a loop gives, from turn to turn, what the function returns for it."""
        index = CARRIED.get(self.transform.name)
        free = function.positional[self.bound :]
        return free[index] if index is not None and index < len(free) else None

    def is_around(self, other: Applied) -> bool:
        """Whether this is applied to what another transformation of the same function returns: `jit(grad(f))`."""
        if self.is_decorator or other.is_decorator or isinstance(self.at, Span) or isinstance(other.at, Span):
            return self.is_decorator  # of what other modules apply only the function itself is said
        outer, inner = span_of(self.at), span_of(other.at)
        return outer != inner and outer[:2] <= inner[:2] and inner[2:] <= outer[2:]

    def given_parameters(self, function: Function) -> frozenset[str]:
        """The parameters of `function` that were given before it was transformed."""
        return self.given.union(function.positional[: self.bound])


def rebuilt_parameters(function: Function, applied: Iterable[Applied]) -> frozenset[str]:
    """The parameters that receive copies, whichever of the transformations is taken."""
    rebuilding = [one for one in applied if one.transform.rebuilds]
    own = {one.rebuilt_parameters(function) for one in rebuilding}
    if len(own) == 1:
        return own.pop()
    sets = [
        frozenset().union(*(o.rebuilt_parameters(function) for o in rebuilding if o is one or o.is_around(one)))
        for one in rebuilding
    ]
    return frozenset.intersection(*sets) if sets else frozenset()


def abstracting(applied: Iterable[Applied]) -> list[Applied]:
    """The transformations of JAX itself that trace numbers like arrays."""
    found = [a for a in applied if a.transform.kind in ABSTRACTING and not a.transform.filters]
    return [a for a in found if a.transform.is_of_jax]


def tracing_arrays(applied: Iterable[Applied]) -> list[Applied]:
    """The transformations that compile a function, and trace of what it is given the arrays alone."""
    return [a for a in applied if a.transform.kind is Kind.JIT and a.transform.filters]
