"""What search shows: results name their page, and an error leads to the rule that is about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.site.errors_page import errors

_ERRORS = "Which rule is this error?"


def name_results(index: Path) -> None:
    """Rewrite the index of the built site.

    Sections of rule pages have the same headings, so that they are named by their rules. The errors of the table are
    entries of their own, for a match in a title counts more than one in a text.
    """
    content: dict[str, Any] = json.loads(index.read_text(encoding="utf-8"))
    for item in content["items"]:
        if item["location"].startswith("rules/") and item["level"] > 1 and item["path"]:
            item["title"] = f"{item['path'][-1]}: {item['title']}"
    content["items"] += [
        _entry(number, text, rules[0].name, rules[0].code) for number, (text, rules) in enumerate(errors().items())
    ]
    index.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def _entry(number: int, text: str, name: str, code: str) -> dict[str, Any]:
    return {
        "location": f"rules/{name}/?error={number}",
        "level": 1,
        "title": f"{text} → {name} ({code})",
        "text": "",
        "path": [_ERRORS],
        "tags": [],
    }
