"""The pages that the program writes, in headless Chromium: nothing asked of any server, nothing on the console, no
sideways scrolling from a phone to a 4K screen, text large enough to read. Screenshots stand in out/browser.

`./dev browser` installs the browser and runs this."""

import functools
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="python3-selenium is not installed")
from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

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


def write_comparison(folder):
    runs = []
    for requests in ("8", "4"):
        path = folder / f"at-most-{requests}.json"
        subprocess.run([BINARY, *write_report(folder)[:-2], "--max-num-seqs", requests, "--series", "--format", "quiet",
                        "-o", str(path)], check=True, timeout=120)
        runs.append(path)
    return ["report", *runs, *write_validation(folder)[1:2]]


def write_front(folder):
    rows = folder / "rows.ndjson"
    done = subprocess.run(
        [BINARY, "sweep", "run", "--model", "llama-3.1-8b", "--gpu", "h100", "--num-prompts", "100", "--input-len", "256",
         "--output-len", "64", "--axis", "tensor_parallel_size=1,2,3", "--axis", "request_rate=4,16,64", "--store",
         str(folder / "store"), "-o", str(rows)], timeout=120, capture_output=True, check=False)
    assert done.returncode == 1  # Three GPUs do not share 32 heads: those points are refused.
    return ["report", rows]


PAGES = {"validation": write_validation, "ledger": write_ledger, "report": write_report, "comparison": write_comparison,
         "front": write_front}
AXE = PICTURES / "node_modules" / "axe-core" / "axe.min.js"


@functools.cache
def html_of(name):
    """The page of that name, as the program writes it: once, as that of the ledger takes a while."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [BINARY, *map(str, PAGES[name](Path(folder)))], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def written(name, folder):
    page = folder / f"{name}.html"
    page.write_text(html_of(name))
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
    assert len(sections) == 13
    assert all(height > 20 for _, height in sections), sections
    pictures = browser.execute_script(
        "return [...document.querySelectorAll('svg[role=img]')].map(s => s.querySelector('title').textContent.length)")
    assert len(pictures) == 9 and all(length > 10 for length in pictures)


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


@pytest.mark.parametrize("name", ["report", "comparison", "front"])
@pytest.mark.parametrize("scheme, media", [("light", ""), ("dark", ""), ("light", "print")])
def test_axe_finds_nothing(browser, tmp_path, name, scheme, media):
    """No rule of WCAG 2.1 A and AA is broken: in light, in dark and on paper."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: ./dev browser does it where there is npm")
    set_size(browser, 1280, 900)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                            {"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]})
    browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    try:
        browser.get(written(name, tmp_path).as_uri())
        browser.execute_script(AXE.read_text())
        found = browser.execute_async_script(
            """const done = arguments[arguments.length - 1];
            axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then(result => done(
              result.violations.map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200), v.nodes[0].failureSummary])));""")
    finally:
        browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        browser.get_log("browser")
    assert found == []


def test_the_line_follows_pointer_and_keys(browser, tmp_path):
    set_size(browser, 1280, 900)
    browser.get(written("report", tmp_path).as_uri())
    region = browser.find_element("css selector", "#clock div[role=region]")
    note = browser.find_element("css selector", "#clock .note")
    region.send_keys(Keys.ARROW_RIGHT)
    first = note.text
    assert first.startswith("0 s: ") and "running" in first and "waiting" in first
    region.send_keys(Keys.ARROW_RIGHT)
    assert note.text != first and note.text.split(" s:")[0] != "0"
    region.send_keys(Keys.ARROW_LEFT)
    assert note.text == first
    assert browser.find_element("css selector", "#clock path.hover").get_attribute("d")
    region.send_keys(Keys.ESCAPE)
    assert not browser.find_element("css selector", "#clock path.hover").get_attribute("d")
    assert browser.get_log("browser") == []


def test_a_part_of_the_run_fills_the_picture(browser, tmp_path):
    set_size(browser, 1280, 900)
    browser.get(written("report", tmp_path).as_uri())
    region = browser.find_element("css selector", "#clock div[role=region]")
    inner = browser.find_element("css selector", "#clock svg svg")

    def part():
        left, _, width, _ = map(float, inner.get_dom_attribute("viewBox").split())
        return left, width

    def labels():
        return [text.text for text in browser.find_elements("css selector", "#clock svg > text")]

    whole, said = part(), labels()
    picture = browser.find_element("css selector", "#clock svg")
    mouse = webdriver.ActionChains(browser)
    mouse.move_to_element_with_offset(picture, -100, 0).click_and_hold().move_by_offset(200, 0).release().perform()
    dragged = part()
    assert dragged[0] > whole[0] and 0 < dragged[1] < whole[1] / 2 and labels() != said
    region.send_keys("+")
    assert part()[1] == pytest.approx(dragged[1] / 2)
    region.send_keys("-")
    assert part()[1] == pytest.approx(dragged[1])
    region.send_keys(Keys.ESCAPE)
    assert part() == whole and labels() == said
    assert browser.get_log("browser") == []


def test_names_with_markup_are_text(browser, tmp_path):
    page = tmp_path / "names.html"
    runs = []
    for name in ("<img src=x onerror=alert(1)>.json", "b.json"):
        path = tmp_path / name
        subprocess.run([BINARY, *write_report(tmp_path)[:-2], "--format", "quiet", "-o", str(path)], check=True, timeout=120)
        runs.append(str(path))
    subprocess.run([BINARY, "report", *runs, "-o", str(page), "--format", "quiet"], check=True, timeout=120)
    browser.get(page.as_uri())
    assert browser.execute_script("return document.images.length") == 0
    assert "<img src=x onerror=alert(1)>" in browser.find_element("css selector", "main").text
