"""The npm package in headless Chromium: in a page, in the worker that it starts, and in a worker that imports it. Results
equal those of the program but for run_info and how it was asked. `./dev npm` builds the module, `./dev browser` runs this."""

import functools
import http.server
import json
import os
import shutil
import subprocess
import threading

import pytest

from test_pages import BINARY, SOURCE, browser  # noqa: F401 (browser is a fixture)

PACKAGE = SOURCE / "npm"
FILES = ("index.js", "worker.js", "ridgeline.wasm")
SCENARIOS = int(os.environ.get("RIDGELINE_NPM_SCENARIOS", "200"))
SEED = int(os.environ.get("RIDGELINE_NPM_SEED", "28"))
LONGEST_RUN_S = 300

# Answers each message, options of run(), with the result or the code of what went wrong.
ANSWER = """import { Infeasible, load } from "./ridgeline/index.js";
export async function answer(rl, given) {
  try {
    const result = await rl.run(given);
    const { run_info, command, stated, ...tree } = JSON.parse(JSON.stringify(result));
    const { ttft_ms } = await result.requests;
    result.free();
    return { code: 0, tree, columns: ttft_ms.length };
  } catch (error) {
    return { code: error instanceof Infeasible ? 4 : 2, said: String(error) };
  }
}
export { load };
"""
PAGE = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>npm</title><script type="module">
import { answer, load } from "./answer.js";
const here = await load();
const there = await load({ worker: true });
const own = new Worker("./own.js", { type: "module" });
const asked = (given) => new Promise((resolve, reject) => {
  own.onmessage = ({ data }) => resolve(data);
  own.onerror = (event) => reject(event.message);
  own.postMessage(given);
});
window.ways = { page: (given) => answer(here, given), worker: (given) => answer(there, given), own: asked };
</script>"""
OWN_WORKER = """import { answer, load } from "./answer.js";
const waiting = [];
onmessage = ({ data }) => waiting.push(data);
const rl = await load();
onmessage = async ({ data }) => postMessage(await answer(rl, data));
for (const data of waiting) onmessage({ data });
"""

pytestmark = pytest.mark.skipif(not (PACKAGE / "ridgeline.wasm").exists(), reason="the module is not built: ./dev npm")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):  # noqa: F811
    """The browser, at a page of this machine's that has loaded the package."""
    folder = tmp_path_factory.mktemp("npm")
    (folder / "ridgeline").mkdir()
    for name in FILES:
        shutil.copy(PACKAGE / name, folder / "ridgeline" / name)
    for name, text in (("answer.js", ANSWER), ("own.js", OWN_WORKER), ("index.html", PAGE)):
        (folder / name).write_text(text)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser.get_log("browser")
    browser.get(f"http://127.0.0.1:{server.server_port}/index.html")
    browser.set_script_timeout(LONGEST_RUN_S)
    yield browser
    server.shutdown()


def answers(page, way, given):
    """What that way of calling gives for each of these options."""
    found = page.execute_async_script(
        """const [way, given, done] = arguments;
        (async () => {
          while (!window.ways) await new Promise((resolve) => setTimeout(resolve, 20));
          const found = [];
          for (const one of given) found.push(await window.ways[way](one));
          done(found);
        })().catch((error) => done(String(error)));""", way, given)
    assert isinstance(found, list), found
    assert page.get_log("browser") == []
    return found


def native(*words):
    """The exit code of the program, and its result without run_info and how it was asked."""
    done = subprocess.run([BINARY, "run", *words, "--format", "json"], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        return done.returncode, done.stderr
    return 0, {key: value for key, value in json.loads(done.stdout).items() if key not in {"run_info", "command", "stated"}}


@pytest.fixture(scope="module")
def random_scenarios():
    """Options for the package, and what the program says to the same as flags."""
    code = f"""import {{ flags, randomFrom, randomOptions }} from "{PACKAGE}/test/scenarios.js";
        const random = randomFrom({SEED});
        const all = Array.from({{ length: {SCENARIOS} }}, () => randomOptions(random));
        console.log(JSON.stringify(all.map((given) => [given, flags(given)])));"""
    drawn = subprocess.run(["node", "--input-type=module", "-e", code], capture_output=True, text=True, check=True)
    return [(given, native(*flags)) for given, flags in json.loads(drawn.stdout)]


@pytest.mark.parametrize("way", ["page", "worker", "own"])
def test_random_scenarios_equal_the_program(page, random_scenarios, way):
    ran = 0
    found = answers(page, way, [given for given, _ in random_scenarios])
    for (given, (code, theirs)), mine in zip(random_scenarios, found):
        assert mine["code"] == code, (given, mine, theirs)
        if code == 0:
            assert mine["tree"] == theirs, given
            assert mine["columns"] > 0
            ran += 1
    assert ran > SCENARIOS / 2


def test_scenarios_of_the_checkout_keep_their_digests(page):
    files = sorted((SOURCE / "scenarios").glob("*.yaml"))
    results = {file.name: native(file) for file in files}
    runs = {name: tree for name, (code, tree) in results.items() if code == 0}  # Some are for other verbs.
    found = answers(page, "worker", [{"scenario": tree["config"]} for tree in runs.values()])
    compared = 0
    for (name, tree), mine in zip(runs.items(), found):
        if mine["code"] != 0:
            assert "file" in mine["said"] or "trace" in mine["said"], (name, mine)  # There are no files here.
            continue
        assert mine["tree"]["digest"] == tree["digest"], name
        compared += 1
    assert compared > len(files) / 2
