"""The pages that the program writes, in headless Chromium: nothing asked of any server, nothing on the console, no
sideways scrolling from a phone to a 4K screen, text large enough to read. Screenshots stand in out/browser.

`./dev browser` installs the browser and runs this."""

import json
import os
import subprocess
from pathlib import Path

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="python3-selenium is not installed")
from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402

SOURCE = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("RIDGELINE_BINARY", SOURCE / "build" / "release" / "ridgeline"))
SHARED = SOURCE.parent / "shared"
PICTURES = SOURCE / "out" / "browser"
# A phone, a laptop, a 4K screen: width and height in CSS pixels.
SIZES = [(380, 800), (1280, 900), (3840, 2160)]
SMALLEST_TEXT_PX = 9

# Two clients' results of one server, with times that a person could have measured.
BENCH = {
    "date": "d", "model_id": "llama-3.1-8b", "completed": 8, "request_rate": "inf", "total_input_tokens": 1024,
    "total_output_tokens": 128, "mean_ttft_ms": 20.0, "median_ttft_ms": 20.0, "mean_tpot_ms": 7.0,
    "median_tpot_ms": 7.0, "mean_e2el_ms": 125.0, "input_lens": [128] * 8, "output_lens": [16] * 8,
}


def write_validation(folder):
    files = []
    for clients in (1, 4):
        path = folder / f"bench-{clients}.json"
        path.write_text(json.dumps({**BENCH, "max_concurrency": clients}))
        files.append(path)
    return ["validate", *files, "--gpu", "h100", "--format", "html"]


def write_ledger(folder):
    data = []
    if (SHARED / "kernels" / "blis_h100").is_dir():
        data = ["--bench-data", SHARED / "kernels" / "blis_h100", "--measured", SHARED / "groundtruth" / "experiments.jsonl"]
    return ["study", "all", *data, "--format", "html"]


def write_report(folder):
    return ["run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "8", "--num-prompts", "1000", "--input-len", "512",
            "--output-len", "256", "--slo-ttft", "50ms", "--slo-tpot", "10ms", "--format", "html"]


PAGES = {"validation": write_validation, "ledger": write_ledger, "report": write_report}


def written(name, folder):
    """The page of that name, as the program writes it."""
    run = subprocess.run(
        [BINARY, *map(str, PAGES[name](folder))], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    page = folder / f"{name}.html"
    page.write_text(run.stdout)
    return page


@pytest.fixture(scope="session")
def browser():
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.set_page_load_timeout(60)
    yield driver
    driver.quit()


def requested(browser):
    """The addresses that were asked for since the last call."""
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def set_size(browser, width, height):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})


def test_a_report_is_whole_without_scripts(browser, tmp_path):
    """Every section is there and has a size where scripts are off; every picture says what it shows."""
    address = written("report", tmp_path).as_uri()
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(address)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert browser.get_log("browser") == []
    sections = browser.execute_script(
        "return [...document.querySelectorAll('section')].map(s => [s.id, s.getBoundingClientRect().height])")
    assert len(sections) == 9
    assert all(height > 20 for _, height in sections), sections
    pictures = browser.execute_script(
        "return [...document.querySelectorAll('svg[role=img]')].map(s => s.querySelector('title').textContent.length)")
    assert len(pictures) == 5 and all(length > 10 for length in pictures)


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_reads_on_every_screen(browser, tmp_path, name, scheme):
    address = written(name, tmp_path).as_uri()
    PICTURES.mkdir(parents=True, exist_ok=True)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    for width, height in SIZES:
        set_size(browser, width, height)
        requested(browser)
        browser.get(address)
        asked = [url for url in requested(browser) if not url.startswith(("data:", "blob:"))]
        assert asked == [address]
        assert browser.get_log("browser") == []
        browser.save_screenshot(str(PICTURES / f"{name}-{scheme}-{width}.png"))
        page = browser.execute_script("return [document.scrollingElement.scrollWidth, document.title]")
        assert page[0] <= width, f"{name} is {page[0]} pixels wide on a screen of {width}"
        assert page[1], "a page has a title"
        small = browser.execute_script(
            """const small = [];
            const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            for (let text = walker.nextNode(); text; text = walker.nextNode()) {
              const parent = text.parentElement;
              if (!text.data.trim() || ['STYLE', 'SCRIPT'].includes(parent.tagName)) continue;
              let size = parseFloat(getComputedStyle(parent).fontSize);
              const drawing = parent.closest('svg');
              if (drawing && drawing.viewBox.baseVal && drawing.viewBox.baseVal.width) {
                size *= drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
              }
              if (parent.getBoundingClientRect().width > 0 && size < arguments[0]) small.push([size, text.data.trim()]);
            }
            return small.slice(0, 5);""", SMALLEST_TEXT_PX)
        assert small == [], f"{name} at {width} pixels"
