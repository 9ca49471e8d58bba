"""The official clients of JavaScript (openai, ai, @langchain/openai, @anthropic-ai/sdk) against `ridgeline serve`. Their packages lie in
the folder that CLIENT_PACKAGES names, as `.ci/run clients` installs them."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from serving import serving, wait_for

SCRIPT = Path(__file__).resolve().parents[1] / "clients" / "sdks.mjs"
PACKAGES = os.environ.get("CLIENT_PACKAGES", "")

pytestmark = [
    pytest.mark.skipif(not PACKAGES, reason="CLIENT_PACKAGES names no folder with the clients: .ci/run clients"),
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
]


def test_sdks_stream_call_tools_and_abort(ridgeline):
    words = ("--served-model-name", "m", "--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--speed", "5")
    with serving(ridgeline, *words) as server:
        env = {**os.environ, "BASE": "http://%s:%d" % server.address, "MODEL": "m"}
        done = subprocess.run(["node", SCRIPT], env=env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        out = json.loads(done.stdout)
        wait_for(lambda: server.finished("abort") == 1)
        wait_for(lambda: server.total("vllm:kv_cache_usage_perc") == 0)
    assert out["models"] == ["m"]
    assert out["chat"]["words"] == 7 == out["chat"]["usage"]["completion_tokens"]
    assert out["tool"] == {"name": "weather", "arguments": {"city": "text"}, "finish": "tool_calls"}
    assert out["schema"] == {"city": "text"}
    assert out["response"] == {"words": 6, "status": "incomplete", "usage": 6}
    assert out["response_stream"] == {"words": 6, "first": "response.created", "last": "response.completed"}
    assert out["abort"] >= 5
    assert out["ai"] == {"words": 9, "usage": 9, "finish": "length"}
    assert out["ai_tool"] == [["weather", {"city": "text"}]] == out["langchain_tool"]
    assert out["langchain"] == 8
    assert out["anthropic"] == {"deltas": 6, "words": 6, "stop": "max_tokens", "usage": 6}
    assert out["anthropic_tool"] == [["weather", {"city": "text"}]]
    assert out["anthropic_error"] == ["NotFoundError", 404]


def test_an_sdk_retries_what_was_refused(ridgeline):
    """429 with retry-after, twice at most: a third of the requests fail, and hardly a client sees it."""
    fault = "kind=error,share=0.3,status=429,retry-after=0"
    script = """
import { createRequire } from "node:module"; import { pathToFileURL } from "node:url"; import path from "node:path";
const require = createRequire(path.join(process.env.CLIENT_PACKAGES, "package.json"));
const { default: OpenAI } = await import(pathToFileURL(require.resolve("openai")).href);
const client = new OpenAI({ baseURL: process.env.BASE + "/v1", apiKey: "none", maxRetries: 8 });
let good = 0;
for (let i = 0; i < 20; ++i) {
  const answer = await client.completions.create({ model: "m", prompt: "the", max_tokens: 1 });
  good += answer.choices.length;
}
console.log(good);
"""
    with serving(ridgeline, "--served-model-name", "m", "--speed", "50", "--request-fault", fault) as server:
        env = {**os.environ, "BASE": "http://%s:%d" % server.address}
        done = subprocess.run(
            ["node", "--input-type=module", "-e", script], env=env, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == "20"
        assert server.total("ridgeline:faults_total") > 0
