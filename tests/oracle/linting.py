"""What jaxlint says of the programs of fixtures."""

from __future__ import annotations

import hashlib
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

import jaxlint
from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence, Finding
from jaxlint.pytrees.target import DISTRIBUTIONS
from jaxlint.rules import all_rules
from tests.once import once
from tests.oracle import cases
from tests.oracle.cases import Program
from tests.oracle.versions import here, target_versions


def linted_together(rule: str) -> tuple[str, ...]:
    """What is selected for the folder of a rule: the default rules, and the folder's own if it is none of them."""
    default = tuple(known.code for known in all_rules() if known.enabled)
    return default + tuple(known.code for known in all_rules() if known.name == rule and not known.enabled)


def lint(
    programs: Iterable[Program], root: Path, made: type[Settings] = Settings, **settings: Any
) -> dict[str, list[Finding]]:
    """The findings of programs by their ids, each program in a folder of its own below `root`.

    Their paths are made relative to the program. Each rule's folder is a project: subclasses of a library's class in
    one of them say nothing of the others. The settings are `made` of the class, and of `settings`; if
    they do not say so, fixes are not made.
    Raises AssertionError if a rule fails.
    """
    root = root.resolve()
    rules = set()
    for program in programs:
        if program.is_well_formed:
            program.write(root)
            rules.add(program.rule)
    found: dict[str, list[Finding]] = defaultdict(list)
    for rule in sorted(rules):
        own = {"select": linted_together(rule), "min_confidence": Confidence.LOW, "fixable": ()}
        chosen = made(**(own | settings))
        result = jaxlint.check_paths([str(root / rule)], chosen)
        assert not result.errors, "\n".join(result.errors)
        for finding in result.findings:
            _, case, framework, *rest = Path(finding.path).relative_to(root).parts
            found[f"{rule}/{case}/{framework}"].append(msgspec.structs.replace(finding, path="/".join(rest)))
    return dict(found)


def fingerprint() -> str:
    """A hash of all that the findings in fixtures depend on: sources, fixtures, versions."""
    versions = {name: here().get(name) for name in ("python", *DISTRIBUTIONS, "libcst")}
    digest = hashlib.sha256(repr(versions).encode())
    sources = [
        *Path(jaxlint.__file__).parent.rglob("*"),
        *Path(__file__).parent.glob("*.py"),
        *cases.FIXTURES.rglob("*"),
    ]
    for path in sorted(path for path in sources if path.suffix in (".py", ".pyi")):
        text = path.read_bytes()
        digest.update(f"{path} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:16]


def linted(some: Iterable[Program], stored: Path) -> dict[str, list[Finding]]:
    """The findings of programs by their ids, with these versions and with fixes.

    What several tests ask for is linted once, and `stored` in that folder.
    """
    by_rule: dict[str, list[Program]] = defaultdict(list)
    for program in some:
        by_rule[program.rule].append(program)
    found: dict[str, list[Finding]] = {}
    for rule, of_rule in sorted(by_rule.items()):
        digest = hashlib.sha256("\n".join(sorted(program.id for program in of_rule)).encode()).hexdigest()
        made = once(stored, f"{rule}_{digest[:16]}", partial(_with_fixes, of_rule))
        found |= msgspec.convert(made, dict[str, list[Finding]])
    return found


def _with_fixes(some: list[Program]) -> Any:
    with tempfile.TemporaryDirectory() as root:
        found = lint(some, Path(root), target_versions=target_versions(here()), fixable=("ALL",))
    return msgspec.to_builtins(found)


def counted(program: Program, found: Iterable[Finding]) -> list[Finding]:
    """The findings that are as sure as the program asks for."""
    return [finding for finding in found if program.confidence == "low" or finding.confidence is not Confidence.LOW]


def complaints(program: Program, found: Iterable[Finding]) -> list[str]:
    """How the findings of a program differ from its marks."""
    return cases.differences(program.marks, {(f.path, f.row, f.code) for f in counted(program, found)})
