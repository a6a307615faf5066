"""The built site in a real browser: search, a phone, dark mode, and nothing that fails or comes from elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from jaxlint.rules import all_rules
from tests.browser import picture

pytestmark = pytest.mark.browser


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing of it."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()


@pytest.fixture
def wrong() -> Iterator[list[str]]:
    """What fails on a page, which is nothing."""
    found: list[str] = []
    yield found
    assert found == []


def opened(browser: Any, address: str, wrong: list[str], width: int = 1280, scheme: str = "light") -> Any:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(120_000)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("response", lambda one: wrong.append(f"{one.status} {one.url}") if one.status >= 400 else None)
    page.on("request", lambda one: None if one.url.startswith((address, "data:", "blob:")) else wrong.append(one.url))
    page.goto(address)
    return page


@pytest.mark.parametrize(
    ("pasted", "rule"),
    [
        ("FrozenInstanceError: cannot assign to field", "frozen-assignment"),
        ("mutable default <class 'jaxlib._jax.ArrayImpl'>", "mutable-default"),
        ("scan body function carry input and carry output must have the same pytree structure", "changing-structure"),
        ("JAX202", "static-counter"),
    ],
)
def test_search_finds_a_rule_by_the_text_of_its_error(
    chromium_browser: Any, address: str, wrong: list[str], pasted: str, rule: str
) -> None:
    page = opened(chromium_browser, address, wrong)
    page.get_by_role("button", name="Search").first.click()
    page.locator("input[aria-label=Search]").fill(pasted)
    found = page.locator(f"[role=option][href*='/rules/{rule}/']").first
    found.wait_for()
    picture(page, f"search-{rule}")
    found.click()
    page.wait_for_url(f"**/rules/{rule}/**")
    page.close()


def test_the_first_result_is_the_rule_that_is_about_the_error(
    chromium_browser: Any, address: str, wrong: list[str]
) -> None:
    page = opened(chromium_browser, address, wrong)
    page.get_by_role("button", name="Search").first.click()
    page.locator("input[aria-label=Search]").fill("FrozenInstanceError: cannot assign to field")
    first = page.locator("[role=option]").first
    first.wait_for()
    assert "frozen-assignment (JAX401)" in first.inner_text()
    page.close()


def test_an_error_that_search_cannot_find_leads_on(chromium_browser: Any, address: str, wrong: list[str]) -> None:
    """Search wants the names of the user's own, too; the page of errors does not, and has the text already."""
    page = opened(chromium_browser, address, wrong)
    page.goto(f"{address}rules/static-counter/")
    page.get_by_role("button", name="Search").first.click()
    page.locator("input[aria-label=Search]").fill("static counter")
    page.locator("[role=option]").first.wait_for()
    assert not page.locator(".error-hint").is_visible()
    page.locator("input[aria-label=Search]").fill("AttributeError: 'MyOwn' object has no attribute 'replace'")
    page.locator(".error-hint a").click()
    page.wait_for_url("**/errors/**")
    assert "the closest first" in page.locator("#said").inner_text()
    assert page.locator("#errors tbody tr:visible a").first.inner_text() == "no-replace-method"
    page.close()


def test_what_is_copied_runs(chromium_browser: Any, address: str, wrong: list[str]) -> None:
    page = opened(chromium_browser, address, wrong)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{address}tutorials/recompiles/")
    block = page.locator(".language-console", has_text="--unsafe-fixes").last
    block.hover()
    block.locator("button[data-md-type=copy]").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    wanted = ["jaxlint check --fix --unsafe-fixes train.py", "python train.py"]
    assert [line for line in copied.splitlines() if line] == wanted
    page.close()


def test_a_printed_line_is_not_broken_on_a_phone(chromium_browser: Any, address: str, wrong: list[str]) -> None:
    page = opened(chromium_browser, address, wrong, width=390)
    page.goto(f"{address}tutorials/recompiles/")
    spaces = page.locator(".language-console code").evaluate_all("all => all.map(e => getComputedStyle(e).whiteSpace)")
    assert set(spaces) == {"pre"}
    page.goto(f"{address}frameworks/")
    cell = page.locator(".wide td").first
    assert cell.evaluate("e => getComputedStyle(e).position") == "sticky"
    page.close()


def test_the_table_of_frameworks_fits_a_screen(chromium_browser: Any, address: str, wrong: list[str]) -> None:
    page = opened(chromium_browser, address, wrong)
    page.goto(f"{address}frameworks/")
    around, inside = [page.locator(f".wide {one}").bounding_box() for one in (".md-typeset__scrollwrap", "table")]
    assert inside["x"] + inside["width"] <= around["x"] + around["width"]
    picture(page, "frameworks")
    page.close()


TRACEBACK = """Traceback (most recent call last):
  File "/home/me/train.py", line 12, in <module>
    class State:
  File "/usr/lib/python3.12/dataclasses.py", line 852, in _process_class
    raise ValueError(f'mutable default {type(f.default)} for field '
ValueError: mutable default <class 'jaxlib._jax.ArrayImpl'> for field running_mean is not allowed: use default_factory
"""


@pytest.mark.parametrize(
    ("pasted", "rule"),
    [
        ("dataclasses.FrozenInstanceError: cannot assign to field 'my_own_parameters'", "frozen-assignment"),
        (TRACEBACK, "mutable-default"),
        (
            "ValueError: Non-hashable static arguments are not supported. An error occurred while trying to hash an"
            " object of type <class 'model.Net'>, Net(w=1). The error was:\nTypeError: unhashable type: 'Net'",
            "unhashable-static-argument",
        ),
        ("TypeError: scan body function carry input and carry output must have the same pytree", "changing-structure"),
    ],
)
def test_an_error_that_was_pasted_leads_to_its_rule(
    chromium_browser: Any, address: str, wrong: list[str], pasted: str, rule: str
) -> None:
    page = opened(chromium_browser, address, wrong)
    page.goto(f"{address}errors/")
    page.get_by_label("The error").fill(pasted)
    assert "the closest first" in page.locator("#said").inner_text()
    links = page.locator("#errors tbody tr:visible a")
    closest = links.evaluate_all("found => found.slice(0, 4).map(link => link.text)")
    picture(page, f"error-{rule}")
    assert rule in closest, closest
    page.close()


def test_every_rule_can_be_opened(chromium_browser: Any, address: str, wrong: list[str]) -> None:
    page = opened(chromium_browser, address, wrong)
    for rule in all_rules():
        page.goto(f"{address}rules/{rule.name}/")
        assert page.locator("h1").inner_text().startswith(f"{rule.name} ({rule.code})")
        for image in page.locator("article img").all():
            assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    page.close()


@pytest.mark.parametrize("path", ["", "rules/", "rules/static-counter/", "frameworks/", "tutorials/leaf-or-static/"])
def test_a_phone_in_the_dark(chromium_browser: Any, address: str, wrong: list[str], path: str) -> None:
    page = opened(chromium_browser, address, wrong, width=390, scheme="dark")
    page.goto(address + path)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    red, green, blue = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)")[:3]
    assert red + green + blue < 150
    picture(page, f"phone-{path.strip('/').replace('/', '-') or 'home'}")
    page.close()
