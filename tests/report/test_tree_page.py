"""The page of `jaxlint tree` in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jaxlint.config.configuration import Configuration
from jaxlint.linter.draw import Target, draw
from jaxlint.report import drawer
from tests.browser import picture
from tests.report.test_tree import PROGRAM

pytestmark = pytest.mark.browser

CLASS = """
@struct.dataclass
class Block{0}:
    weight_{0}: jax.Array
    bias_{0}: jax.Array
    inner: Block{1}
    name: str = struct.field(pytree_node=False, default="block")
"""

Open = Callable[..., Any]


@pytest.fixture
def open_page(chromium_browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Draws a program and opens the page; that nothing fails or is asked of the network is seen at the end."""
    monkeypatch.chdir(tmp_path)
    wrong: list[str] = []
    pages = []

    def open_it(program: str, width: int = 1280, scheme: str = "light") -> Any:
        (tmp_path / "main.py").write_text(program)
        with (tmp_path / "tree.html").open("w", encoding="utf-8") as stream:
            drawer("html")(draw([Target(".")], Configuration(isolated=True), sources=True), stream)
        page = chromium_browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
        pages.append(page)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("request", lambda one: wrong.append(one.url) if not one.url.startswith("file:") else None)
        page.goto((tmp_path / "tree.html").as_uri())
        return page

    yield open_it
    for page in pages:
        page.close()
    assert wrong == []


def test_classes_are_drawn_nested_with_findings_on_their_fields(open_page: Open) -> None:
    page = open_page(PROGRAM)
    classes = PROGRAM.count("\nclass ")
    assert page.inner_text("h1") == f"{classes} pytree classes, 1 finding"
    assert page.locator("main > .class").count() == classes
    state = page.locator("main > .class").nth(1)
    assert state.locator("h2").first.inner_text() == "State flax.struct.dataclass"
    assert state.locator("details[open] .class .name").all_inner_texts() == ["Log", "loss", "tag"]
    pinned = state.locator(".field.static", has_text="table").locator(".finding")
    assert pinned.inner_text().startswith("JAX201 field `table` of `State` is declared static and holds an array")
    assert state.locator(".field.subtree > .name").all_inner_texts() == ["x", "log"]
    assert page.locator("#legend > span").all_inner_texts() == [
        "leaf: traced",
        "subtree: a pytree of its own",
        "static: part of the treedef",
    ]
    facts = state.locator("details .class .facts").first.inner_text()
    assert facts.startswith("main.py:"), "what holds of the class around it, too, is said once"
    assert "</script><b>&" in page.locator("main > .class").nth(0).inner_text()
    color = "e => getComputedStyle(e.querySelector('.role')).color"
    assert len({state.locator(f".field.{role}").first.evaluate(color) for role in ("leaf", "static")}) == 2
    picture(page, "tree")


def test_a_place_opens_its_rows(open_page: Open) -> None:
    page = open_page(PROGRAM, scheme="dark")
    page.locator(".finding button").first.click()
    assert page.inner_text("#place") == "main.py:14"
    assert page.locator(".source .marked").inner_text().endswith("table: jax.Array = struct.field(pytree_node=False)")
    picture(page, "tree-source")
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"


def test_a_phone_needs_no_sideways_scrolling(open_page: Open) -> None:
    page = open_page(PROGRAM, width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    picture(page, "tree-phone")


def test_five_hundred_classes_stay_usable(open_page: Open) -> None:
    blocks = "".join(CLASS.format(number, max(number - 1, 0)) for number in range(500))
    page = open_page(f"from flax import struct\nimport jax\n{blocks}")
    assert page.inner_text("h1").startswith("500 pytree classes")
    milliseconds = page.evaluate(
        """() => {
            const field = document.getElementById("filter"), start = performance.now();
            field.value = "weight_417";
            field.dispatchEvent(new Event("input"));
            document.body.getBoundingClientRect();
            return performance.now() - start;
        }"""
    )
    assert page.locator("main > .class:visible h2").all_inner_texts() == ["Block417 flax.struct.dataclass"]
    page.locator("main > .class:visible summary").first.click()
    assert page.locator("main > .class:visible .class h2").inner_text() == "Block416 flax.struct.dataclass"
    assert milliseconds < 5000, "a slow machine is slow; a page that builds all again takes minutes"
    picture(page, "tree-500")
