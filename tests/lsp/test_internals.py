"""What is used of pygls although pygls does not offer it: the versions in which it was tried; it stays in one file."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import jaxlint_lsp
from jaxlint_lsp.protocol import TRIED, Protocol
from pygls.protocol import LanguageServerProtocol

_PRIVATE = re.compile(r"\._(execute_handler|request_futures|send_response|shutdown)\b|\blsp_method\b|\.fm\b")
#: What is overridden, which pygls must go on calling.
OVERRIDDEN = ("_execute_handler", "structure_message", "lsp_text_document__did_change")


def test_versions() -> None:
    assert version("pygls") in TRIED


def test_one_file() -> None:
    modules = Path(jaxlint_lsp.__file__).parent.glob("*.py")
    reaching = {module.name for module in modules if _PRIVATE.search(module.read_text(encoding="utf-8"))}
    assert reaching == {"protocol.py"}


def test_what_is_overridden_is_there() -> None:
    for name in OVERRIDDEN:
        assert name in vars(Protocol) and callable(getattr(LanguageServerProtocol, name))
