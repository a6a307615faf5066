"""The pytree made visible: hovers, inlay hints, code lenses and the drawing, through the protocol."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from jaxlint.config.configuration import Configuration
from jaxlint.linter.draw import Target, draw
from jaxlint.report.tree_text import text
from tests.lsp.client import PUSH, Client
from tests.lsp.test_actions import ALL, opened
from tests.lsp.test_diagnostics import EMOJI, place

Start = Callable[[], Client]
CLASSES = (
    "import equinox as eqx\r\n"
    "import jax\r\n"
    "from flax import struct\r\n"
    "from simple_pytree import Pytree, static_field\r\n"
    "\r\n"
    "@struct.dataclass\r\n"
    "class Tür:  # 😀\r\n"
    "    größe: jax.Array = '😀'  # a comment\r\n"
    "    name: str = struct.field(\r\n"
    "        pytree_node=False, default='😀'\r\n"
    "    )\r\n"
    "\r\n"
    "    def weiter(self):\r\n"
    "        '😀'; return self.größe\r\n"
    "\r\n"
    "def f(tür: Tür, eqx):\r\n"
    "    return eqx.Module, [Tür]\r\n"
    "\r\n"
    "@jax.tree_util.register_dataclass\r\n"
    "class Plain: ...\r\n"
)


def at(row: int, piece: str, text: str = CLASSES) -> dict[str, int]:
    position: dict[str, int] = place(row, piece, "utf-16", text)["start"]
    return position


def hover(client: Client, uri: str, position: dict[str, int]) -> tuple[str, Any] | None:
    found = client.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": position})
    return None if found is None else (found["contents"]["value"], found["range"])


def test_hovers(start: Start, tmp_path: Path) -> None:
    client = start()
    uri = opened(client, tmp_path, text=CLASSES)
    for row, piece in ((6, "Tür"), (15, "Tür"), (16, "Tür")):
        found = hover(client, uri, at(row, piece))
        assert found is not None
        assert found[1] == place(row, piece, "utf-16", CLASSES)
        assert "leaf     größe: jax.Array" in found[0] and "static   name: str" in found[0]
        assert "frozen; rebuilding calls the constructor" in found[0] and "**Rebuilt** after flattening" in found[0]
    for row, piece, where in ((7, "größe", "größe"), (13, "größe", "größe")):
        found = hover(client, uri, at(row, piece))
        assert found is not None and found[1] == place(row, where, "utf-16", CLASSES)
        assert found[0].startswith("`größe` of `Tür` (flax.struct.dataclass): **leaf** of the pytree. Under `jit`")
    found = hover(client, uri, at(8, "name"))
    assert found is not None and found[0].startswith("`name` of `Tür` (flax.struct.dataclass): **static**")
    for row, piece in ((0, "equinox"), (15, "tür"), (16, "eqx"), (13, "'😀'"), (4, "")):
        assert hover(client, uri, at(row, piece)) is None
    assert hover(client, uri, {"line": 999, "character": 9}) is None
    assert client.stop() == 0


def test_hover_on_a_comment_explains_the_rule(start: Start, tmp_path: Path) -> None:
    client = start()
    text = EMOJI + "x = 1  # 😀 jaxlint: no # jaxlint: ignore[frozen-assignment, JAX402] -- JAX403\r\n"
    uri = opened(client, tmp_path, text=text)
    for row, piece, title in (
        (10, "JAX402", "# replace-unknown-field (JAX402)"),
        (11, "frozen-assignment", "# frozen-assignment (JAX401)"),
        (11, "JAX402", "# replace-unknown-field (JAX402)"),
    ):
        found = hover(client, uri, at(row, piece, text))
        assert found is not None and found[0].startswith(title) and "## Why is this bad?" in found[0]
        assert found[1] == place(row, piece, "utf-16", text)
    assert hover(client, uri, at(11, "JAX403", text)) is None
    assert client.stop() == 0


def test_inlay_hints(start: Start, tmp_path: Path) -> None:
    client = start()
    uri = opened(client, tmp_path, text=CLASSES)
    params = {"textDocument": {"uri": uri}, "range": ALL}
    found = [(hint["position"], hint["label"]) for hint in client.ask("textDocument/inlayHint", params)]
    assert found == [
        (place(7, "größe: jax.Array = '😀'", "utf-16", CLASSES)["end"], "leaf"),
        ({"line": 10, "character": 5}, "static"),
    ]
    params["range"] = {"start": {"line": 8, "character": 0}, "end": {"line": 10, "character": 9}}
    assert [hint["label"] for hint in client.ask("textDocument/inlayHint", params)] == ["static"]
    client.notify("workspace/didChangeConfiguration", {"settings": {"jaxlint": {"inlayHints": False}}})
    client.until(lambda: "workspace/inlayHint/refresh" in [r["method"] for r in client.requests])
    assert client.ask("textDocument/inlayHint", params) == []
    assert client.stop() == 0


def test_a_dropped_field_is_ignored(start: Start, tmp_path: Path) -> None:
    client = start()
    text = (
        "import dataclasses\nimport functools\nimport jax\n\n"
        "@functools.partial(\n    jax.tree_util.register_dataclass,"
        " data_fields=['a'], meta_fields=['b'], drop_fields=['c'])\n"
        "@dataclasses.dataclass\nclass D:\n    a: jax.Array\n    b: int\n    c: int = dataclasses.field(init=False)\n"
    )
    uri = opened(client, tmp_path, text=text)
    params = {"textDocument": {"uri": uri}, "range": ALL}
    assert [hint["label"] for hint in client.ask("textDocument/inlayHint", params)] == ["leaf", "static", "ignored"]
    found = hover(client, uri, {"line": 10, "character": 4})
    assert found is not None and "**ignored**" in found[0]
    assert client.stop() == 0


def test_the_drawing_is_that_of_the_command(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = (
        "import jax\nfrom flax import struct\n\n@struct.dataclass\nclass Model:\n    w: jax.Array\n"
        "    a: jax.Array = struct.field(pytree_node=False)\n"
    )
    (tmp_path / "use.py").write_text("import a\n\ndef run(one: a.Model):\n    one.w = 1\n")
    (tmp_path / "a.py").write_text(model)
    client = start()
    uri = opened(client, tmp_path, text=model)
    shown = client.ask("workspace/executeCommand", {"command": "jaxlint.tree", "arguments": [uri, 4]})
    monkeypatch.chdir(tmp_path)
    printed = text(draw([Target("a.py", "Model")], Configuration(isolated=True))).rstrip()
    assert shown.replace(f"{tmp_path}/", "") == printed
    assert [line.split("!")[1].split()[0] for line in printed.splitlines() if "!" in line] == ["JAX401", "JAX201"]
    assert client.stop() == 0


def test_code_lenses_and_the_drawing(start: Start, tmp_path: Path) -> None:
    client = start()
    uri = opened(client, tmp_path, text=CLASSES)
    found = client.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert [(lens["range"], lens["command"]["title"]) for lens in found] == [
        (place(6, "Tür", "utf-16", CLASSES), "pytree: 1 leaf, 1 static"),
        (place(19, "Plain", "utf-16", CLASSES), "pytree: 0 leaves"),
    ]
    command = {key: found[0]["command"][key] for key in ("command", "arguments")}
    assert command == {"command": "jaxlint.tree", "arguments": [uri, 6]}
    drawing = client.ask("workspace/executeCommand", command)
    assert drawing.startswith("Tür  flax.struct.dataclass") and "└─ static   name: str" in drawing
    for line, name in ((0, "Tür"), (9, "Tür"), (17, "Tür"), (19, "Plain"), (99, "Plain")):
        drawn = client.ask("workspace/executeCommand", {"command": "jaxlint.tree", "arguments": [uri, line]})
        assert drawn.startswith(name)
    assert client.said("window/showMessage") == []
    client.notify("workspace/didChangeConfiguration", {"settings": {"treeInMessage": True, "codeLens": False}})
    client.ask("workspace/executeCommand", command)
    assert client.said("window/showMessage")[0]["message"] == drawing
    assert client.ask("textDocument/codeLens", {"textDocument": {"uri": uri}}) == []
    assert client.stop() == 0


def test_code_lenses_of_fields_that_may_not_be_all(start: Start, tmp_path: Path) -> None:
    text = """
        from somewhere import Base
        import jax
        from flax import struct


        @jax.tree_util.register_pytree_node_class
        class Grid:
            def __init__(self, origin, size):
                self.origin, self.size = origin, size

            def tree_flatten(self):
                return (self.origin,), self.size

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, aux)


        @struct.dataclass
        class State(Base):
            x: jax.Array
        """
    client = start()
    uri = opened(client, tmp_path, text=dedent(text))
    found = client.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
    titles = [lens["command"]["title"] for lens in found]
    assert titles == ["pytree: 1 leaf, 1 static by its own code", "pytree: 1 leaf, more unknown"]
    assert client.stop() == 0


def test_options_at_the_start(start: Start, tmp_path: Path) -> None:
    client = start()
    options = {"inlayHints": False, "codeLens": False, "settings": {"ignore": ["JAX4"]}}
    client.initialize(tmp_path, capabilities=PUSH, options=options)
    uri = (tmp_path / "a.py").as_uri()
    client.open(uri, EMOJI)
    assert client.diagnostics(uri) == []
    assert client.ask("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": ALL}) == []
    assert client.ask("textDocument/codeLens", {"textDocument": {"uri": uri}}) == []
    assert client.stop() == 0
