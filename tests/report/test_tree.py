"""The forms of `jaxlint tree`."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from jaxlint.config.configuration import Configuration
from jaxlint.linter.draw import Target, draw
from jaxlint.report import DRAWINGS, drawer
from jaxlint.report.drawing import FLATTENED, UNSEEN

PROGRAM = """
from flax import struct
import jax

@struct.dataclass
class Log:
    loss: jax.Array
    tag: str = struct.field(pytree_node=False, default="</script><b>&")

@struct.dataclass
class State:
    x: dict[str, jax.Array]
    log: Log
    table: jax.Array = struct.field(pytree_node=False)

@jax.tree_util.register_pytree_node_class
class Node:
    def __init__(self, y):
        self.y = y

    def tree_flatten(self):
        return (self.y,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

@jax.jit
def step(state: State):
    return state.replace(x=state.x)
"""


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The program in all forms."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.py").write_text(PROGRAM)
    drawing = draw([Target("main.py")], Configuration(isolated=True), sources=True)
    texts = {}
    for form in DRAWINGS:
        stream = io.StringIO()
        drawer(form)(drawing, stream)
        texts[form] = stream.getvalue()
    return texts


def test_json_has_all_that_is_drawn(drawn: dict[str, str]) -> None:
    made = json.loads(drawn["json"])
    assert made["chosen"] == ["main.py::Log", "main.py::State", "main.py::Node"]
    state = made["classes"]["main.py::State"]
    assert (state["frozen"], state["rebuilt"]) == (True, "calls the constructor")
    assert [(f["name"], f["role"], f["kind"], f["holds"]) for f in state["fields"]] == [
        ("x", "leaf", "subtree", ""),
        ("log", "leaf", "subtree", "main.py::Log"),
        ("table", "static", "static", ""),
    ]
    assert [finding["code"] for finding in state["fields"][2]["findings"]] == ["JAX201"]
    assert "sources" not in made


def test_mermaid_tells_roles_by_shape_too(drawn: dict[str, str]) -> None:
    lines = drawn["mermaid"].splitlines()
    assert lines[0] == "flowchart LR"
    assert any(line.endswith('(["leaf loss: jax.Array"]):::leaf') for line in lines)
    assert any('[["static table: jax.Array<br/>! JAX201"]]:::static' in line for line in lines)
    assert any(line.endswith('(["subtree log: Log"]):::leaf') for line in lines)
    labels = re.findall(r'"([^"]*)"', drawn["mermaid"])
    assert labels and not any(set(label.replace("<br/>", "")) & set("<>&[](){}|") for label in labels)


def test_svg_holds_no_markup_of_the_program(drawn: dict[str, str]) -> None:
    picture = ElementTree.fromstring(drawn["svg"])
    texts = ["".join(one.itertext()) for one in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert 'tag = "</script><b>&"' in [text.replace(": str", "") for text in texts]
    assert [text for text in texts if text.startswith("! JAX201")]
    assert texts[-3:] == ["leaf: traced", "subtree: a pytree of its own", "static: part of the treedef"]
    assert texts.count("loss: jax.Array") == 2, "the class of its own, and within `State`"


def test_why_there_may_be_more_is_the_same_in_all_forms(drawn: dict[str, str]) -> None:
    assert json.loads(drawn["json"])["classes"]["main.py::Node"]["missing"] == FLATTENED
    assert drawn["text"].endswith(f"  └─ leaf     y\n  ({FLATTENED})\n")
    assert [form for form in ("svg", "html") if drawn[form].count(FLATTENED) != 1] == []
    assert not [form for form in drawn if UNSEEN in drawn[form]]


def test_html_is_one_page_that_loads_nothing(drawn: dict[str, str]) -> None:
    page = drawn["html"]
    assert not re.search(r"(?:src|href)=|@import|url\(", page)
    assert "default-src 'none'" in page
    text = page.partition('id="data">')[2].partition("</script>")[0]
    data = json.loads(text)
    assert data["classes"]["main.py::Log"]["fields"][1]["default"] == '"</script><b>&"'
    assert data["sources"]["main.py"]["11"] == "class State:"
