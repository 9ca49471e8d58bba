"""The executed notebooks of docs/notebooks as pages in headless Chromium: no errors, every picture has a size. `./dev python`
executes them, `./dev browser` runs this; screenshots stand in out/browser."""

import pytest

from test_pages import PICTURES, SOURCE, browser, set_size  # noqa: F401 (browser is a fixture)

FOLDER = SOURCE / "out" / "python" / "notebooks"
NAMES = [path.stem for path in sorted((SOURCE / "docs" / "notebooks").glob("*.ipynb"))]

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the notebooks are not executed: ./dev python")


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_opens_without_errors(browser, name):  # noqa: F811
    set_size(browser, 1280, 900)
    browser.get_log("browser")
    browser.get((FOLDER / f"{name}.html").as_uri())
    assert browser.get_log("browser") == []
    heights = browser.execute_script("return [...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().height)")
    assert all(height > 20 for height in heights), heights
    assert browser.execute_script("return document.querySelectorAll('script').length") == 0
    PICTURES.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(PICTURES / f"notebook-{name}.png"))
