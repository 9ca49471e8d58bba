"""Requests of real clients (../shared/golden/serve), sent as they send them, at five versions."""

import json
import re

import pytest

from conftest import SHARED
from serving import parse_events, serving

GOLDEN = SHARED / "golden" / "serve" / "client_requests.json"
MODEL = "meta-llama/Llama-3.1-8B-Instruct"
VERSIONS = ["0.8", "0.11", "0.15", "0.20", "0.27"]

pytestmark = pytest.mark.skipif(not GOLDEN.is_file(), reason="../shared/golden/serve is absent")


def minor(version):
    return int(version.split(".")[1])


def has_path(value, path):
    for name in re.findall(r"[^.\[\]]+", path):
        if isinstance(value, list):
            value = value[int(name)]
        elif name in value:
            value = value[name]
        else:
            return False
    return True


def send(server, entry):
    raw = None
    if entry.get("raw_body") is not None:
        raw = entry["raw_body"].replace("\\xff", "\udcff").encode("utf-8", "surrogateescape")
    body = entry["body"] if raw is None else None
    return server.ask(entry["method"], entry["path"], body, entry["headers"], raw)


def check_stream(text, expect, version):
    events = parse_events(text)
    assert events[-1] == "[DONE]"
    events = events[:-1]
    if "object" in expect:
        assert all(event["object"] == expect["object"] for event in events)
    tokens = [event for event in events if event["choices"]]
    for event in tokens:
        keys = list(event)
        assert keys[:5] == ["id", "object", "created", "model", "choices"]
        choice = event["choices"][0]
        if event["object"] == "text_completion":
            wanted = ["index", "text", "logprobs", "finish_reason", "stop_reason"]
            wanted += ["prompt_token_ids", "token_ids"] if minor(version) >= 11 else []
            assert list(choice) == wanted
        else:
            wanted = ["index", "delta", "logprobs", "finish_reason"]
            if choice["finish_reason"] is not None:
                wanted.append("stop_reason")
            if minor(version) >= 11 and "role" not in choice["delta"]:
                wanted.append("token_ids")
            assert list(choice) == wanted
    if "choice_events" in expect:
        assert len(tokens) == expect["choice_events"]
    if expect.get("every_event_has_usage"):
        assert all("usage" in event for event in events)
    if "usage_event" in expect:
        assert events[-1]["choices"] == []
        usage = events[-1]["usage"]
        assert list(usage) == ["prompt_tokens", "total_tokens", "completion_tokens"]
        for name in ["completion_tokens", "prompt_tokens"]:
            if name in expect:
                assert usage[name] == expect[name]
        if "text_tokens_of_prompt" in expect:
            assert usage["prompt_tokens"] == expect["text_tokens_of_prompt"] + 1 + 5 + 4
    if expect.get("no_usage_event"):
        assert len(tokens) == len(events)
    texts = [
        event["choices"][0].get("text", event["choices"][0].get("delta", {}).get("content", "")) for event in tokens
    ]
    if "completion_tokens_counted" in expect:
        assert len([text for text in texts if text]) == expect["completion_tokens_counted"]
    if "retokenised_output" in expect:
        assert len("".join(texts).split(" ")) == expect["retokenised_output"]
    if "finish_reason" in expect:
        assert tokens[-1]["choices"][0]["finish_reason"] == expect["finish_reason"]


def check(entry, answer, version):
    status, headers, text = answer
    expect = entry["expect"]
    expect = expect.get("with --enable-auto-tool-choice and --tool-call-parser", expect)
    wanted = expect["status"]
    if entry["id"] == "blis-observe-completions" and minor(version) < 9:
        wanted = 400  # Priorities are refused.
    if entry["id"] == "five-stop-strings" and minor(version) < 27:
        wanted = 200
    assert status == wanted, text
    if wanted >= 400:
        body = json.loads(text)
        if minor(version) < 11:
            assert "object" not in body or body["object"] == "error"
            return
        if "body" in expect:
            assert body == expect["body"]
        for key in ["type", "param", "message"]:
            if f"error.{key}" in expect:
                assert body["error"][key] == expect[f"error.{key}"]
        return
    if expect.get("body_empty"):
        assert text == b""
    if "content_type_prefix" in expect:
        assert headers["content-type"].startswith(expect["content_type_prefix"])
    for name in expect.get("metric_names", []):
        if minor(version) >= 11:
            assert re.search(rf"^{re.escape(name)}\b", text.decode(), re.MULTILINE), name
    if expect.get("sse"):
        check_stream(text, expect, version)
        return
    if not headers.get("content-type", "").startswith("application/json"):
        return
    body = json.loads(text)
    for path in expect.get("json_has", []):
        assert has_path(body, path) or (path.startswith("kv_transfer") and minor(version) < 9), path
    if "count" in expect:
        assert body["count"] == expect["count"]
    if "object" in expect:
        assert body["object"] == expect["object"]
    for name in ["completion_tokens", "prompt_tokens"]:
        if name in expect:
            assert body["usage"][name] == expect[name]
    if "finish_reason" in expect:
        assert body["choices"][0]["finish_reason"] == expect["finish_reason"]
    if "tool_calls" in expect:
        calls = body["choices"][0]["message"]["tool_calls"]
        assert len(calls) == expect["tool_calls"]
        assert json.loads(calls[0]["function"]["arguments"]) == {"city": "text"}
    if expect.get("content_matches_schema"):
        assert json.loads(body["choices"][0]["message"]["content"]) == {"a": 0}
    if "text_starts_with" in expect:
        assert body["choices"][0]["text"].startswith(expect["text_starts_with"])


@pytest.mark.parametrize("version", VERSIONS)
def test_every_client_is_answered(ridgeline, version):
    golden = json.loads(GOLDEN.read_text())
    words = ("--engine-version", f"vllm@{version}", "--speed", "100", "--served-model-name", MODEL)
    tools = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")
    with serving(ridgeline, *words, *tools) as server:
        for entry in golden["requests"] + golden["edge_cases"]:
            if entry["id"] == "bad-key":
                continue
            try:
                check(entry, send(server, entry), version)
            except AssertionError as error:
                raise AssertionError(f"{entry['id']} at {version}: {error}") from error
    with serving(ridgeline, *words, "--api-key", "k") as server:
        for entry in golden["edge_cases"]:
            if entry["id"] == "bad-key":
                check(entry, send(server, entry), version)


def test_tools_need_their_flags(ridgeline):
    golden = json.loads(GOLDEN.read_text())
    with serving(ridgeline, "--speed", "100", "--served-model-name", MODEL) as server:
        for entry in golden["requests"]:
            if "without" in entry["expect"]:
                check({**entry, "expect": entry["expect"]["without"]}, send(server, entry), "0.15")
