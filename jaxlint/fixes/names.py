"""Which names a fix has left without a meaning, or without a use: what nothing binds, and what nobody reads."""

from __future__ import annotations

import builtins
import symtable
import warnings
from collections.abc import Iterator

_KNOWN = frozenset(dir(builtins)) | {
    *("__file__", "__path__", "__spec__", "__loader__", "__package__", "__builtins__", "__annotations__", "__class__"),
    *("__module__", "__qualname__", "WindowsError"),
}


def lost_names(before: str, after: str) -> list[str]:
    """The names that nothing binds in a text, though it was otherwise `before`; none if this Python cannot read it.

    Among them are the variables of a function that were those of the module before.
    """
    old, new = _tables(before), _tables(after)
    if old is None or new is None:
        return []
    unbound = _unbound(new) - _unbound(old)
    outer, inner = dict(_variables(old)), dict(_variables(new))
    shadowed = {
        name
        for function, (bound, _) in inner.items()
        for name in bound & outer.get(function, (frozenset(), frozenset()))[1]
    }
    return sorted(unbound | shadowed)


def no_longer_read(before: str, after: str) -> set[str]:
    """The names that a text imports and nobody reads in it, though they were read `before`."""
    old, new = _tables(before), _tables(after)
    if old is None or new is None:
        return set()
    imported = {s.get_name() for s in new.get_symbols() if s.is_imported() and not s.is_assigned()}
    return imported & _read(old) - _read(new)


def _tables(text: str) -> symtable.SymbolTable | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return symtable.symtable(text, "<fixed>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _unbound(module: symtable.SymbolTable) -> set[str]:
    """The names that are read somewhere as variables of the module, which it does not bind."""
    scopes = [scope for _, scope in _scopes(module)]
    bound = {s.get_name() for s in module.get_symbols() if s.is_assigned() or s.is_imported()}
    bound |= {s.get_name() for scope in scopes for s in scope.get_symbols() if s.is_declared_global()}
    return _read(module) - bound - _KNOWN


def _read(module: symtable.SymbolTable) -> set[str]:
    """The names that are read somewhere as variables of the module."""
    scopes = [scope for _, scope in _scopes(module)]
    asked = {s.get_name() for scope in scopes for s in scope.get_symbols() if s.is_global() and s.is_referenced()}
    return asked | {s.get_name() for s in module.get_symbols() if s.is_referenced()}


def _variables(module: symtable.SymbolTable) -> Iterator[tuple[str, tuple[frozenset[str], frozenset[str]]]]:
    """For each function its own variables, and those that it only reads."""
    for name, scope in _scopes(module):
        if scope.get_type() == "function":
            symbols = scope.get_symbols()
            own = frozenset(s.get_name() for s in symbols if s.is_local())
            yield name, (own, frozenset(s.get_name() for s in symbols if not s.is_local()))


def _scopes(table: symtable.SymbolTable, prefix: str = "") -> Iterator[tuple[str, symtable.SymbolTable]]:
    """All scopes inside of one, each under a name of its own."""
    counts: dict[str, int] = {}
    for child in table.get_children():
        name = child.get_name()
        counts[name] = counts.get(name, 0) + 1
        full = f"{prefix}.{name}#{counts[name]}"
        yield full, child
        yield from _scopes(child, full)
