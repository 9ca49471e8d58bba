"""The page of `ridgeline ui` in headless Chromium: it answers, follows its controls, asks nothing of any server, and
exports the command that gives the same run. `./dev page` builds it."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from test_pages import AXE, PICTURES, browser, requested, set_size  # noqa: F401 (browser is a fixture)
from selenium.webdriver.common.action_chains import ActionChains  # After the skip where it is absent.
from selenium.webdriver.common.keys import Keys

SOURCE = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("RIDGELINE_BINARY", SOURCE / "build" / "release" / "ridgeline"))
PAGE = Path(os.environ.get("RIDGELINE_PAGE", SOURCE / "out" / "page" / "ui.html"))
LINK = "model=llama-3.1-8b&gpu=h100&request-rate=8&num-prompts=500&input-len=512&output-len=64&slo-ttft=50ms&seed=1"
LONGEST_WAIT_S = 60
MOST_BYTES = 1_150_000  # The whole page: 132 networks, and the rules of 32 releases, are in it.

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the page is not built: ./dev page")


def state_of(browser, wanted):
    """Waits until the page has come to that state."""
    end = time.monotonic() + LONGEST_WAIT_S
    while time.monotonic() < end:
        if browser.execute_script("return document.body.dataset.state") == wanted:
            return
        time.sleep(0.02)
    pytest.fail(f"the page is {browser.execute_script('return document.body.dataset.state')}, expected {wanted}: "
                f"{browser.get_log('browser')}")


def opened(browser, link, wanted="answered"):
    browser.get("about:blank")
    browser.get(f"{PAGE.as_uri()}#{link}")
    state_of(browser, wanted)


def all_drawn(browser):
    """Waits for the pictures out of sight, which are drawn when nothing else is to do."""
    end = time.monotonic() + LONGEST_WAIT_S
    while time.monotonic() < end:
        if browser.execute_script("return [...document.querySelectorAll('#figures img')].every(i => i.complete && i.naturalWidth > 0)"):
            return
        time.sleep(0.02)
    pytest.fail("pictures stay without a drawing")


def text(browser, selector):
    return browser.execute_script("return document.querySelector(arguments[0]).textContent", selector)


def type_into(browser, name, value):
    browser.execute_script(
        """const field = document.getElementById(arguments[0]);
        field.value = arguments[1];
        field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input', {bubbles: true}));""", name, value)


def native(command):
    words = command.replace("ridgeline", f"'{BINARY}'", 1)
    run = subprocess.run(["sh", "-c", words + " --format json"], capture_output=True, text=True, timeout=120, check=True)
    return json.loads(run.stdout)


def test_it_is_small():
    assert PAGE.stat().st_size <= MOST_BYTES


def test_it_answers_and_exports(browser):
    requested(browser)
    opened(browser, LINK)
    asked = [url.split("#")[0] for url in requested(browser) if not url.startswith(("data:", "blob:", "about:"))]
    assert asked == [PAGE.as_uri()]
    tree = native(text(browser, "#command"))
    assert text(browser, "#digest") == tree["digest"]
    shown = text(browser, '[data-key="summary.ttft_ms.p99"] b')
    assert float(shown.split()[0]) == pytest.approx(tree["summary"]["ttft_ms"]["p99"], rel=1e-3)
    assert "missed" in text(browser, '[data-key="summary.ttft_ms.p99"]') or tree["summary"]["slo"]["ttft"]["met"]
    all_drawn(browser)
    drawn = browser.execute_script("return [...document.querySelectorAll('#figures img')].map(i => [i.naturalWidth, i.alt.length])")
    assert len(drawn) >= 5 and all(width > 100 and words > 10 for width, words in drawn), drawn
    assert browser.get_log("browser") == []


def test_controls_change_the_run_and_the_link(browser):
    opened(browser, LINK)
    for name, value in (("main-gpu", "h200"), ("main-tensor_parallel_size", "2"), ("more-max_num_seqs", "16"),
                        ("more-enable_prefix_caching", "false")):
        type_into(browser, name, value)
    state_of(browser, "answered")
    command = text(browser, "#command")
    assert "--gpu=h200" in command and "--max-num-seqs=16" in command and "--enable-prefix-caching=false" in command
    assert text(browser, "#digest") == native(command)["digest"]
    link = browser.execute_script("return location.hash.slice(1)")
    digest = text(browser, "#digest")
    opened(browser, link)
    assert text(browser, "#digest") == digest


def test_sliders_give_the_newest_run(browser):
    opened(browser, LINK)
    browser.execute_script(
        """const slider = document.querySelector('[aria-label="request_rate, slider"]');
        for (let step = 0; step <= 20; ++step) {
          slider.value = -1 + step / 10;
          slider.dispatchEvent(new Event('input'));
        }""")
    state_of(browser, "answered")
    assert "--request-rate=10" in text(browser, "#command")
    assert text(browser, "#digest") == native(text(browser, "#command"))["digest"]


def test_while_a_slider_is_dragged_no_older_answer_is_shown(browser):
    """What is shown belongs to the command beside it, which every change of the slider writes at once."""
    opened(browser, LINK)
    browser.set_script_timeout(LONGEST_WAIT_S)
    shown = browser.execute_async_script(
        """const done = arguments[0];
        const [digest, command] = ["digest", "command"].map((id) => document.getElementById(id));
        const slider = document.querySelector('[aria-label="request_rate, slider"]');
        const shown = [];
        const watch = new MutationObserver(() => shown.push([command.textContent, digest.textContent]));
        watch.observe(digest, {childList: true, characterData: true, subtree: true});
        const end = performance.now() + 10000;
        let changes = 0;
        const drag = () => {
          if (performance.now() > end) {
            done(shown);
            return;
          }
          slider.value = 0.5 + (++changes % 100) / 100;
          slider.dispatchEvent(new Event("input"));
          setTimeout(drag, (changes % 20) * 15);
        };
        drag();""")
    assert len(shown) >= 3
    for command, digest in shown[::max(1, len(shown) // 10)]:
        assert digest == native(command)["digest"], command


def test_every_option_has_a_control(browser):
    opened(browser, LINK)
    options = json.loads(subprocess.run([BINARY, "schema", "options"], capture_output=True, text=True, check=True).stdout)
    shown = set(browser.execute_script("return [...document.querySelectorAll('[data-option]')].map(e => e.dataset.option)"))
    assert shown == set(options["properties"])


def test_what_is_wrong_is_said_and_is_no_markup(browser):
    opened(browser, "model=<img src=x onerror=alert(1)>&gpu=h10&request-rate=8", "refused")
    said = text(browser, "#errors")
    assert "did you mean" in said and "<img" in said
    assert browser.execute_script("return document.querySelectorAll('#errors img').length") == 0
    assert browser.get_log("browser") == []


def test_every_control_is_reached_and_used_by_keys_alone(browser):
    set_size(browser, 1280, 900)
    opened(browser, LINK)
    all_drawn(browser)
    wanted = browser.execute_script(
        """const all = [...document.querySelectorAll('input, select, button, summary, [tabindex="0"]')];
        all.forEach((element, i) => { element.dataset.place = i; });
        return all.filter(e => e.checkVisibility() && !e.disabled).map(e => e.dataset.place);""")
    reached = []
    for _ in range(3 * len(wanted)):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        reached.append(browser.execute_script("return document.activeElement.dataset.place"))
        if set(wanted) <= set(reached):
            break
    assert set(wanted) <= set(reached), sorted(set(wanted) - set(reached), key=int)

    def focus_and_press(selector, *keys):
        browser.execute_script("document.querySelector(arguments[0]).focus()", selector)
        ActionChains(browser).send_keys(*keys).perform()
        state_of(browser, "answered")

    before = text(browser, "#digest")
    focus_and_press('[aria-label="request_rate, slider"]', Keys.ARROW_RIGHT)
    assert text(browser, "#digest") != before
    focus_and_press("#main-gpu", Keys.END, *([Keys.BACKSPACE] * 8), "h200")
    assert "--gpu=h200" in text(browser, "#command")
    focus_and_press("#settings > details > summary", Keys.ENTER)
    assert browser.execute_script("return document.querySelector('#settings > details').open")
    focus_and_press("#filter", "max num seqs")
    assert browser.execute_script("return document.getElementById('more-max_num_seqs').checkVisibility()")
    focus_and_press("#more-max_num_seqs", "16")
    assert "--max-num-seqs=16" in text(browser, "#command")
    assert text(browser, "#digest") == native(text(browser, "#command"))["digest"]
    focus_and_press("#find-capacity", Keys.ENTER)
    assert "highest rate" in text(browser, "#capacity")


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_it_reads_on_a_phone_and_axe_finds_nothing(browser, scheme):
    PICTURES.mkdir(parents=True, exist_ok=True)
    is_print = scheme == "print"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "media": "print" if is_print else "", "features": [{"name": "prefers-color-scheme", "value": "light" if is_print else scheme}]})
    for width, height in ((1280, 900), (380, 800)):
        set_size(browser, width, height)
        opened(browser, LINK)
        all_drawn(browser)
        browser.save_screenshot(str(PICTURES / f"ui-{scheme}-{width}.png"))
        assert browser.execute_script("return document.scrollingElement.scrollWidth") <= width
    if not AXE.exists():
        pytest.skip("axe-core is not installed: ./dev browser does it where there is npm")
    browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    try:
        opened(browser, LINK)
        browser.execute_script(AXE.read_text())
        found = browser.execute_async_script(
            """const done = arguments[arguments.length - 1];
            axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then(result => done(
              result.violations.map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200), v.nodes[0].failureSummary])));""")
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
        browser.get_log("browser")
    assert found == []


def test_the_verb_opens_the_page_with_the_settings(browser, tmp_path):
    beside = tmp_path / "ridgeline"
    beside.write_bytes(BINARY.read_bytes())
    beside.chmod(0o755)
    words = [beside, "ui", "--model", "qwen3-8b", "--gpu", "h200", "--request-rate", "2", "--num-prompts", "50",
             "--input-len", "100", "--output-len", "{distribution: uniform, min: 5, max: 50}", "-o", tmp_path / "p.html"]
    refused = subprocess.run(words, capture_output=True, text=True)
    assert refused.returncode == 2 and "./dev page" in refused.stderr and not (tmp_path / "p.html").exists()
    (tmp_path / "ui.html").write_bytes(PAGE.read_bytes())
    subprocess.run(words, check=True, capture_output=True)
    browser.get((tmp_path / "p.html").as_uri())
    state_of(browser, "answered")
    run = subprocess.run([str(word) for word in [BINARY, "run", *words[2:-2], "--format", "json"]], capture_output=True,
                         text=True, check=True)
    assert text(browser, "#digest") == json.loads(run.stdout)["digest"]


def test_each_headline_number_says_how_far_such_predictions_were_off(browser):
    opened(browser, LINK)
    tree = native(text(browser, "#command"))
    for metric, key in (("ttft", "summary.ttft_ms.p99"), ("tpot", "summary.tpot_ms.p99"), ("e2e", "summary.e2e_ms.p99"),
                        ("output_throughput", "summary.output_throughput")):
        band = tree["expected_error"].get(metric)
        said = text(browser, f'[data-key="{key}"] small')
        if band is None:
            # No slice has 20 deployments with E2E, and the rate is kept up with.
            assert (metric, said) in (("e2e", "too few measured runs like this"), ("output_throughput", "set by the rate of requests"))
            continue
        ends = band["p90_pct"]
        assert f"off by {ends['low']} to {ends['high']} % in 90 % of {band['groups']} deployments" in said, said
    opened(browser, LINK.replace("gpu=h100", "gpu=mi300x"))
    tree = native(text(browser, "#command"))
    said = text(browser, '[data-key="summary.ttft_ms.p99"] small')
    assert said == "a bound, not an estimate" and tree["bound"].startswith(said) and "expected_error" not in tree


def test_two_settings_side_by_side(browser):
    opened(browser, LINK + "&B.gpu=h200")
    first, second = text(browser, "#command").split("\n")
    assert "--gpu=h100" in first and "--gpu=h200" in second and "B." not in second
    assert text(browser, "#digest") == native(first)["digest"]
    assert text(browser, "#digest-b").split()[1] == native(second)["digest"]
    tile = text(browser, '[data-key="summary.ttft_ms.p99"] [data-side="b"]')
    assert float(tile.split()[1]) == pytest.approx(native(second)["summary"]["ttft_ms"]["p99"], rel=1e-3)
    sides = browser.execute_script("return [...document.querySelectorAll('#figures img')].map(i => i.dataset.side)")
    assert sides.count("A") == sides.count("B") >= 5
    type_into(browser, "b-gpu", "b200")
    state_of(browser, "answered")
    assert "B.gpu=b200" in browser.execute_script("return location.hash") and "--gpu=b200" in text(browser, "#command")
    browser.execute_script("document.querySelector('#side button').click()")
    state_of(browser, "answered")
    assert text(browser, "#digest-b") == "" and "\n" not in text(browser, "#command")
    browser.execute_script("""const more = document.getElementById('compare'); more.value = 'tensor_parallel_size';
        more.dispatchEvent(new Event('change'));""")
    type_into(browser, "b-tensor_parallel_size", "2")
    state_of(browser, "answered")
    assert "--tensor-parallel-size=2" in text(browser, "#command").split("\n")[1]
    assert browser.get_log("browser") == []


def test_it_finds_the_highest_rate_within_the_targets(browser):
    opened(browser, LINK.replace("slo-ttft=50ms", "slo-ttft=60ms").replace("num-prompts=500", "num-prompts=200"))
    browser.execute_script("document.getElementById('find-capacity').click()")
    state_of(browser, "answered")
    said = text(browser, "#capacity")
    rate = float(said.split(": ")[1].split()[0])
    command = text(browser, "#command")
    met = native(command.replace("--request-rate=8", f"--request-rate={rate}"))["summary"]["slo"]["ttft"]["met"]
    missed = native(command.replace("--request-rate=8", f"--request-rate={rate * 1.03:.6g}"))["summary"]["slo"]["ttft"]["met"]
    assert met and not missed, said
    opened(browser, LINK.replace("&slo-ttft=50ms", ""))
    browser.execute_script("document.getElementById('find-capacity').click()")
    state_of(browser, "refused")
    assert "needs a target" in text(browser, "#errors")


def test_the_program_answers_a_page_that_it_serves(browser, tmp_path):
    beside = tmp_path / "ridgeline"
    beside.write_bytes(BINARY.read_bytes())
    beside.chmod(0o755)
    (tmp_path / "ui.html").write_bytes(PAGE.read_bytes())
    words = ["--model", "qwen3-8b", "--gpu", "h200", "--request-rate", "2", "--num-prompts", "50", "--input-len", "100",
             "--output-len", "20"]
    server = subprocess.Popen([beside, "ui", "--listen", "0", *words], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        requested(browser)
        browser.get(server.stdout.readline().strip())
        state_of(browser, "answered")
        native_run = subprocess.run([BINARY, "run", *words, "--format", "json"], capture_output=True, text=True, check=True)
        assert text(browser, "#digest") == json.loads(native_run.stdout)["digest"]
        assert "by the program" in text(browser, "#time") and "token" not in browser.execute_script("return location.hash")
        type_into(browser, "main-gpu", "b200")
        state_of(browser, "answered")
        assert text(browser, "#digest") == native(text(browser, "#command"))["digest"]
        type_into(browser, "main-gpu", "h10")
        state_of(browser, "refused")
        assert "did you mean" in text(browser, "#errors")
    finally:
        server.kill()
        server.wait()
        browser.get_log("browser")
