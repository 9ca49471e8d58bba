"""Black-box tests of the laboratory, by the fixtures of tests/e2e: `ridgeline VERB` runs `ridgeline-lab` beside it."""

import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location(
    "product_conftest", Path(__file__).resolve().parents[3] / "tests" / "e2e" / "conftest.py")
_product = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_product)
globals().update({name: value for name, value in vars(_product).items() if not name.startswith("_")})


@pytest.fixture(autouse=True)
def laboratory():
    if not (Path(_product.BINARY).parent / "ridgeline-lab").exists():
        pytest.skip("ridgeline-lab does not stand beside the program: ./dev lab")
