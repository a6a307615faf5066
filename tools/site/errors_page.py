"""A page that finds the rule for an error: all texts that fixtures were seen to raise, sorted by what is pasted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import Path

from jaxlint.rules import all_rules
from jaxlint.rules.base import Rule
from tools.site.executed import shown_of

_RAISED = re.compile(r"^\w*(?:Error|Exception|Warning): \S.*$", re.MULTILINE)
#: Code between as many backticks as it needs; what Python says may hold some.
_INLINE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
#: A text that can be read alone begins with the name of an error, or as a sentence does.
_BEGINNING = re.compile(r"\w+(?:Error|Exception|Warning): |[A-Z]")
_MODULE = re.compile(r"^(?:\w+\.)+(?=\w+(?:Error|Exception|Warning): )")
#: What Python quotes is a name of the user's, but for `replace`; the apostrophe of "can't" quotes nothing.
_QUOTED = re.compile(r"(?<!\w)'(?!replace')[^']*'")
#: Less than that says too little to find anything by.
_FEWEST_WORDS = 3
_MOST_CHARACTERS = 240
_SCRIPT = Path(__file__).with_name("errors.js")


def errors_page() -> str:
    """The page: a field to paste into, the table, and the script that sorts it."""
    rows = []
    for text, rules in sorted(errors().items(), key=lambda row: row[0].lower()):
        links = ", ".join(f'<a href="rules/{rule.name}/">{rule.name}</a> ({rule.code})' for rule in rules)
        rows.append(f"<tr><td><code>{escape(text)}</code></td><td>{links}</td></tr>")
    return "\n".join(
        [
            "# Which rule is this error?",
            "",
            "Paste what Python said, a whole traceback if you like; names of your own do not matter.",
            "",
            '<p><textarea id="pasted" rows="5" aria-label="The error"',
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


def errors() -> dict[str, list[type[Rule]]]:
    """All texts, but once where only names differ, and their rules.

    First those that are on by default, and of these whose mistake shows the text in most frameworks.
    """
    seen: dict[str, Counter[type[Rule]]] = {}
    texts: dict[str, str] = {}
    for rule in all_rules():
        for text in error_texts(rule):
            same = texts.setdefault(_QUOTED.sub("''", text), text)
            seen.setdefault(same, Counter())[rule] += 1
    return {
        text: sorted((rule for rule, _ in rules.most_common()), key=lambda rule: not rule.enabled)
        for text, rules in seen.items()
    }


def error_texts(rule: type[Rule]) -> Iterator[str]:
    """What is seen in a program with the mistake: by its page, and by the fixture of the rule in each framework."""
    shown = shown_of(rule.name)
    seen = [line for text in (shown.frameworks.values() if shown else ()) for line in _RAISED.findall(text)]
    section = rule.page().partition("## What you will see")[2].partition("\n## ")[0]
    for _, code in _INLINE.findall(section):
        text = _MODULE.sub("", " ".join(code.split()))
        many = len(re.findall(r"[A-Za-z]{2,}", text)) > _FEWEST_WORDS
        if many and _BEGINNING.match(text) and "(" not in text.partition(" ")[0]:
            seen.append(text)
    if rule.group != "tool":
        yield from (text[:_MOST_CHARACTERS] for text in seen)
