"""What jaxlint reports: one `Finding` per problem, with its exact place in the source."""

from __future__ import annotations

from enum import Enum

import msgspec

#: Where the pages of the rules are published.
DOCS_URL = "https://jaxlint-pytree.readthedocs.io/en/latest/rules"


#: What the codes of rules begin with that have a page there; those of plugins begin otherwise.
_OURS = "JAX"


def page_url(code: str, name: str) -> str:
    """The address of the page of a rule; empty for a rule of a plugin, whose page `jaxlint rule` alone shows."""
    return f"{DOCS_URL}/{name}/" if code.startswith(_OURS) else ""


class Severity(str, Enum):
    """How bad the consequence is: `error` breaks or corrupts, `warning` hurts, `info` is advice."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Confidence(str, Enum):
    """How sure jaxlint is: `high` is certain from the text, `medium` inferred, `low` heuristic."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Edit(msgspec.Struct, frozen=True):
    """Replace the text between two offsets (code points in the decoded source) by `text`."""

    start: int
    end: int
    text: str


class Applicability(str, Enum):
    """Who may apply a fix: `safe` keeps the meaning, `unsafe` may change it, `display` is only shown."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


class Fix(msgspec.Struct, frozen=True):
    """A set of edits that removes a finding; `title` is an imperative sentence."""

    title: str
    applicability: Applicability
    edits: tuple[Edit, ...]


class Finding(msgspec.Struct, frozen=True, order=False):
    """One problem at one place.

    `path` is the absolute path of the file. Rows and columns count from 1, columns in code
    points; the end is exclusive. `message` is one sentence without a final stop; `reason` says
    why it matters at run time and `help` how to write it instead.
    """

    path: str
    row: int
    column: int
    end_row: int
    end_column: int
    code: str
    name: str
    message: str
    severity: Severity
    confidence: Confidence
    reason: str = ""
    help: str = ""
    #: What the finding is about, the same for all findings about it: `path::Class.field`. Never printed.
    subject: str = ""
    #: The comment that hides the finding, if one does.
    suppressed: str = ""
    fix: Fix | None = None

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Findings are shown in this order: path, row, column, code (then message)."""
        return (self.path, self.row, self.column, self.code, self.message)
