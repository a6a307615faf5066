"""What jaxlint finds in the files of one run of flake8."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

from flake8.processor import FileProcessor
from flake8.violation import Violation

from jaxlint.cache.store import Cache, project_cache
from jaxlint.config.configuration import Configuration
from jaxlint.finding import Finding
from jaxlint.linter.engine import check_content, check_paths
from jaxlint.linter.result import Result
from jaxlint.project.files import is_excluded
from jaxlint.rules import all_rules
from jaxlint.rules.unreadable_file import UnreadableFile

#: How all codes begin by which flake8 knows this plugin.
_PLUGIN = "JAX"


class Findings:
    """The findings by file. `files` lists what flake8 is going to check.

    All files are checked together, when the first one is asked for: before flake8 starts its workers where those
    are forked, and in the process that needs them otherwise; the cache on disk keeps other processes from
    doing it again. Text that is in none of the files (standard input) is checked on its own. What the configuration
    excludes is left out even where it is named, as flake8's own `exclude` does.
    """

    def __init__(self, options: argparse.Namespace, files: Callable[[], list[str]]) -> None:
        self._files = files
        self._options = options
        given = {"python": options.jaxlint_python, "min-confidence": options.jaxlint_min_confidence}
        selected: dict[str, object] = {key: value for key, value in given.items() if value is not None}
        named = tuple(_more_than_plugin([*(options.select or ()), *(options.extend_select or ())]))
        selected["extend-select"] = [
            rule.code for rule in all_rules() if not rule.enabled and rule.code.startswith(named)
        ]
        config = [options.jaxlint_config] if options.jaxlint_config else []
        self._configuration = Configuration(config, options=selected, prefix="--jaxlint-")
        self._configuration.settings(os.getcwd())  # what is wrong there is said before anything is checked
        folder = options.jaxlint_cache_dir
        if folder is None and not os.environ.get("JAXLINT_NO_CACHE"):
            self._cache = project_cache(os.getcwd())
        else:
            self._cache = Cache(folder) if folder else None
        self._found: dict[str, list[Finding]] | None = None
        jobs = getattr(options.jobs, "n_cpus", 1)
        self._jobs = max(jobs, 1)
        if self._jobs > 1 and multiprocessing.parent_process() is None and "-" not in options.filenames:
            self._check_all()

    def of(self, filename: str, lines: Sequence[str]) -> list[Finding]:
        """The findings of a file whose text is `lines`.

        What a `noqa` comment hides from flake8, too, is left to flake8: flake8-noqa tells which comments hide nothing.
        """
        path = os.path.abspath(filename)
        if self._found is None and os.path.isfile(path):
            self._check_all()
        found = (self._found or {}).get(path)
        if found is None:
            if is_excluded(path, self._configuration.excludes(os.path.dirname(path))):
                return []
            result = check_content("".join(lines).encode("utf-8", "surrogateescape"), path, self._configuration)
            found = self._reported(result)
        if not any(finding.suppressed for finding in found) or self._options.disable_noqa:
            return found
        text = FileProcessor(filename, self._options, list(lines))
        return [f for f in found if not f.suppressed or _is_hidden(f, filename, text.noqa_line_for(f.row))]

    def _check_all(self) -> None:
        """Check all files, in as many processes as flake8 is going to use."""
        files = self._files()
        self._found = {path: [] for path in files}
        if not files:
            return
        forked = multiprocessing.parent_process() is None
        jobs = self._jobs if forked else 1
        result = check_paths(files, self._configuration, jobs=jobs, cache=self._cache, force_exclude=True)
        for finding in self._reported(result):
            self._found.setdefault(finding.path, []).append(finding)

    def _reported(self, result: Result) -> list[Finding]:
        """All but what cannot be parsed, which flake8's own parser reports; with what comments hide."""
        for error in result.errors:
            print(f"jaxlint: internal error: {error}", file=sys.stderr)
        return [f for f in (*result.findings, *result.suppressed) if f.code != UnreadableFile.code]


def _more_than_plugin(selected: Iterable[str]) -> Iterator[str]:
    """What flake8 selects that says more than "this plugin": `select = E,F,JAX` asks for no rule that is off.

    Whoever sets `select` has to name each plugin, or hears nothing of it; so does flake8-bugbear read its B9.
    """
    return (code for code in selected if code.removeprefix(_PLUGIN).isdecimal())


def _is_hidden(finding: Finding, filename: str, line: str | None) -> bool:
    """Whether flake8 finds a `noqa` comment for a finding in its line, which may be several rows long."""
    violation = Violation(finding.code, filename, finding.row, finding.column, finding.message, line)
    return line is not None and violation.is_inline_ignored(False)
