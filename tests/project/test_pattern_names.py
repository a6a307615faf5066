"""A name that a pattern of a .gitignore means is never missed; common patterns leave common names alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from jaxlint.project.pattern_names import PatternNames

PATTERNS = st.text("ab.*?[]!/\\ -#", min_size=1, max_size=8)
NAMES = st.text("ab. -#!]", min_size=1, max_size=5).filter(lambda name: name not in (".", ".."))


@given(PATTERNS, NAMES, st.sampled_from(["", "a/", "b/a/"]), st.sampled_from(["", "/"]))
def test_no_name_is_missed(pattern: str, name: str, above: str, end: str) -> None:
    try:
        spec = GitIgnoreSpec.from_lines([pattern])
    except (ValueError, re.error):
        return
    folders = [above[: at + 1] for at, letter in enumerate(above) if letter == "/"]
    if pattern.startswith(("#", "!")) or not pattern.strip() or any(map(spec.match_file, folders)):
        return  # what lies in a folder that is meant is not asked for
    if spec.match_file(above + name + end):
        assert PatternNames([pattern]).may_mean(name)


USUAL = """
__pycache__/
*.py[cod]
*$py.class
*.so
build/
dist/
*.egg-info/
.coverage.*
/docs/_build/
*~
out*/
""".split()


@pytest.mark.parametrize("name", ["build", "a.pyc", "x.so", "_build", "out", "outer", "a.egg-info", "m.py~"])
def test_what_the_usual_patterns_may_mean(name: str) -> None:
    assert PatternNames(USUAL).may_mean(name)


@pytest.mark.parametrize("name", ["a.py", "builder.py", "layout.py", "distribution", "src", "so.py", "__init__.py"])
def test_what_they_do_not(name: str) -> None:
    assert not PatternNames(USUAL).may_mean(name)
