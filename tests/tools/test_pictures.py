"""The pictures of the README show what jaxlint says today."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tools.pictures import PICTURES, ROOT, pictures

NAMES = sorted(path.name for path in PICTURES.glob("*.svg"))


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return pictures()


def words(svg: str) -> list[str]:
    """What can be read in a picture, whatever version of rich has laid it out."""
    texts = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return "".join("".join(one.itertext()) for one in texts).replace("\xa0", " ").split()


def test_every_picture_is_made(made: dict[str, str]) -> None:
    assert sorted(made) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_current(name: str, made: dict[str, str]) -> None:
    shown = words((PICTURES / name).read_text(encoding="utf-8"))
    assert shown == words(made[name]), "python -m tools.pictures"
    assert "JAX202:" in shown or "JAX202" in shown
    assert f"docs/pictures/{name}" in (ROOT / "README.md").read_text(encoding="utf-8")
