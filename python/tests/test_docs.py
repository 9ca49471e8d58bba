"""Docstrings: every public name has one with an example that runs."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import ridgeline as rl

MODULES = ("ridgeline", "ridgeline._columns", "ridgeline._errors", "ridgeline._options", "ridgeline._policies",
           "ridgeline._result", "ridgeline._session", "ridgeline._study", "ridgeline._verbs", "ridgeline.gym")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    module = importlib.import_module(name)
    tried = doctest.testmod(module, extraglobs={"rl": rl}, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried.failed == 0 and tried.attempted > 0


def test_the_guide_shows_what_python_prints() -> None:
    pytest.importorskip("pandas")
    page = Path(__file__).parents[2] / "docs" / "python.md"
    text = "\n".join("" if line.startswith("```") else line for line in page.read_text().splitlines())
    test = doctest.DocTestParser().get_doctest(text, {}, "docs/python.md", str(page), 0)
    tried = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert tried.failed == 0 and tried.attempted > 20


def test_every_public_name_has_an_example() -> None:
    for name in rl.__all__:
        text = getattr(rl, name).__doc__ or ""
        assert ">>>" in text or name == "Summary", name
