"""Parts of a run for the jobs of a CI matrix: which files each part checks."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from jaxlint.cache.digests import blake2b


class Shard(NamedTuple):
    """The part `number`, from 1, of `parts`, that each file belongs to by its path alone.

    Paths count as relative to the current directory, so that every machine splits a checkout in the same way.
    """

    number: int
    parts: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The shard that `K/N` means. Raises ValueError."""
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise ValueError("is not K/N with K from 1 to N, like 2/4")
        return cls(int(match[1]), int(match[2]))

    def holds(self, path: str) -> bool:
        """Whether the file `path` (absolute) belongs to this part."""
        name = os.path.relpath(path).replace(os.sep, "/").encode("utf-8", "surrogateescape")
        return int.from_bytes(blake2b(name, digest_size=8).digest(), "big") % self.parts == self.number - 1
