"""The `junit` format: a test suite per file and a failed test per finding, as Jenkins and GitLab read them."""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TextIO
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from jaxlint.finding import Finding
from jaxlint.report.base import Report, by_file, headline, message, notes, repository_path

#: What XML 1.0 has no way to write.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(report: Report, stream: TextIO) -> None:
    """Write an XML document; without findings and errors it holds one test that passed."""
    failures, errors = len(report.findings), len(report.errors)
    root = _element(None, "testsuites", name="jaxlint", tests=failures + errors or 1, failures=failures, errors=errors)
    for path, findings in by_file(report.findings).items():
        suite = _suite(root, repository_path(path), failures=len(findings))
        suite.set("file", suite.attrib["name"])
        names: Counter[str] = Counter()
        for finding in findings:
            name = f"{finding.code} {finding.name} (line {finding.row}, column {finding.column})"
            names[name] += 1
            _add_failure(suite, f"{name} {names[name]}" if names[name] > 1 else name, finding)
    if report.errors:
        suite = _suite(root, "jaxlint", errors=errors)
        for number, error in enumerate(report.errors, start=1):
            case = _element(suite, "testcase", name=f"internal error {number}", classname="jaxlint")
            _element(case, "error", message=error, type="internal error")
    if not len(root):
        _element(_suite(root, "jaxlint"), "testcase", name="no findings", classname="jaxlint")
    indent(root)
    document = tostring(root, "us-ascii").decode("ascii")  # the same in whatever encoding the stream has
    stream.write(f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n')


def _suite(root: Element, name: str, failures: int = 0, errors: int = 0) -> Element:
    tests = failures + errors or 1
    return _element(root, "testsuite", name=name, tests=tests, failures=failures, errors=errors, skipped=0)


def _add_failure(suite: Element, name: str, finding: Finding) -> None:
    """Add a test that failed; GitLab and Jenkins want its name to differ from all others of the file."""
    classname = os.path.splitext(suite.attrib["name"])[0].strip("/").replace("/", ".")
    case = _element(suite, "testcase", name=name, classname=classname)
    failure = _element(case, "failure", message=message(finding), type=finding.severity.value)
    failure.text = _xml("\n".join([headline(finding), *(f"{title}: {text}" for title, text in notes(finding))]))


def _element(parent: Element | None, tag: str, **attributes: str | int) -> Element:
    texts = {key: _xml(str(value)) for key, value in attributes.items()}
    return Element(tag, texts) if parent is None else SubElement(parent, tag, texts)


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
