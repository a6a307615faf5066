"""A page that finds the rule for an error: all texts that fixtures were seen to raise, sorted by what is pasted."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from html import escape
from pathlib import Path

from jaxlint.rules import all_rules
from jaxlint.rules.base import Rule
from tools.site.executed import Executed

_RAISED = re.compile(r"^\w*(?:Error|Exception|Warning): \S.*$", re.MULTILINE)
_INLINE = re.compile(r"`([^`]+)`")
#: Less than that says too little to find anything by.
_FEWEST_WORDS = 3
_MOST_CHARACTERS = 240
_SCRIPT = Path(__file__).with_name("errors.js")


def errors_page(executed: Executed) -> str:
    """The page: a field to paste into, the table, and the script that sorts it."""
    rules: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for rule in all_rules():
        for text in error_texts(rule, executed):
            rules[text][rule.name] = rule.code
    rows = []
    for text, names in sorted(rules.items(), key=lambda row: row[0].lower()):
        links = ", ".join(f'<a href="rules/{name}/">{name}</a> ({code})' for name, code in names.items())
        rows.append(f"<tr><td><code>{escape(text)}</code></td><td>{links}</td></tr>")
    return "\n".join(
        [
            "# Which rule is this error?",
            "",
            "Paste what Python said, a whole traceback if you like; names of your own do not matter.",
            "",
            '<p><textarea id="pasted" rows="5" aria-label="The error"',
            ' style="width: 100%; padding: 0.5em; border: 1px solid; font-family: monospace; color: inherit;',
            ' background: transparent"',
            " placeholder=\"FrozenInstanceError: cannot assign to field 'params'\"></textarea></p>",
            "",
            '<p id="said" role="status"></p>',
            "",
            '<table id="errors"><thead><tr><th>error</th><th>rule</th></tr></thead><tbody>',
            *rows,
            "</tbody></table>",
            "",
            f"<script>\n{_SCRIPT.read_text(encoding='utf-8')}</script>",
            "",
        ]
    )


def error_texts(rule: type[Rule], executed: Executed) -> Iterator[str]:
    """What is seen in a program with the mistake: by the fixture of the rule, and by its page."""
    shown = executed.rules.get(rule.name)
    seen = [line for text in (shown.frameworks.values() if shown else ()) for line in _RAISED.findall(text)]
    section = rule.page().partition("## What you will see")[2].partition("\n## ")[0]
    for code in _INLINE.findall(section):
        text = " ".join(code.split()).removeprefix("dataclasses.")
        if len(re.findall(r"[A-Za-z]{2,}", text)) > _FEWEST_WORDS and "(" not in text.partition(" ")[0]:
            seen.append(text)
    if rule.group != "tool":
        yield from dict.fromkeys(text[:_MOST_CHARACTERS] for text in seen)
