"""Finding out the facts of files, without checking them: the part of the work that each file allows by itself."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlint.cache.packs import PackWriter
from jaxlint.errors import UserError
from jaxlint.project.modules import Module
from jaxlint.symbols.facts import FactsStore, facts_writer


def write_facts(files: Sequence[str], output: str) -> int:
    """Write the facts of the files to the file `output`, and return of how many there are any.

    The same contents in the same order make the same bytes, wherever the files are. What cannot be read has no
    facts; who checks it will say so. Raises `UserError` if `output` cannot be written.
    """
    writer = PackWriter(output, facts_writer())
    store = FactsStore((), writer, reproducible=True)
    count = 0
    with writer:
        writer.open()
        for path in files:
            module = Module(path, "", False, ())
            module.store = store
            _ = module.outline
            count += module.content is not None  # else it cannot be read
    if not writer.closed:
        raise UserError(f"--output: {output}: {writer.failure}")
    return count
