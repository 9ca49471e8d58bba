"""/v1/responses and /v1/messages of `ridgeline serve`: codes, keys in order, events in order."""

import json
import re

import pytest

from serving import FAST, WORDS, serving

TOOL = {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}
RESPONSE_KEYS = (
    "id created_at incomplete_details instructions metadata model object output parallel_tool_calls temperature"
    " tool_choice tools top_p background max_output_tokens max_tool_calls previous_response_id prompt reasoning"
    " service_tier status text top_logprobs truncation usage user"
).split()


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    from conftest import BINARY, Ridgeline

    if not BINARY:
        pytest.skip("RIDGELINE_BINARY is not set")
    words = ("--served-model-name", "m", "--enable-auto-tool-choice", "--tool-call-parser", "hermes")
    words += ("--reasoning-parser", "any", "--reasoning-share", "0.5")
    with serving(Ridgeline(tmp_path_factory.mktemp("serve")), *FAST, *words) as one:
        yield one


def stream(server, path, body):
    """Names and data of the events, and what came in chunks of its own."""
    status, headers, text = server.ask("POST", path, {**body, "stream": True})
    assert status == 200, text
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    events = []
    for part in text.decode().split("\n\n")[:-1]:
        name, _, data = part.partition("\n")
        if name == "data: [DONE]":
            events.append(("done", None))
            continue
        assert name.startswith("event: ") and data.startswith("data: "), part
        events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
        assert events[-1][1]["type"] == events[-1][0]
    return events


def test_a_response_has_its_keys(server):
    body = {"input": WORDS, "instructions": "the", "max_output_tokens": 5, "metadata": {"a": "b"}}
    status, answer = server.json("POST", "/v1/responses", body)
    assert status == 200
    assert list(answer) == [*RESPONSE_KEYS, "input_messages", "output_messages"]
    assert re.fullmatch(r"resp_[0-9a-f]{32}", answer["id"])
    assert (answer["object"], answer["status"], answer["metadata"]) == ("response", "incomplete", {"a": "b"})
    assert answer["incomplete_details"] == {"reason": "max_output_tokens"}
    (item,) = answer["output"]
    assert list(item) == ["id", "content", "role", "status", "type"]
    assert list(item["content"][0]) == ["annotations", "text", "type", "logprobs"]
    assert len(item["content"][0]["text"].split(" ")) == 5
    # Eight words and one of instructions in Llama's template: 1 + 2 * 5 + 4 more.
    assert (answer["usage"]["input_tokens"], answer["usage"]["output_tokens"]) == (8 + 1 + 15, 5)


def test_a_response_streams_numbered_events(server):
    events = stream(server, "/v1/responses", {"input": WORDS, "max_output_tokens": 4})
    assert [name.removeprefix("response.") for name, _ in events] == (
        ["created", "in_progress", "output_item.added", "content_part.added"]
        + ["output_text.delta"] * 4
        + ["output_text.done", "content_part.done", "output_item.done", "completed"]
    )
    assert [data["sequence_number"] for _, data in events] == list(range(12))
    whole = events[-1][1]["response"]
    text = "".join(data["delta"] for _, data in events if "delta" in data)
    assert whole["output"][0]["content"][0]["text"] == text == events[8][1]["text"]
    assert whole["usage"]["output_tokens"] == 4
    assert events[0][1]["response"]["status"] == "in_progress"


def test_a_response_thinks_and_calls(tools):
    events = stream(tools, "/v1/responses", {"input": WORDS, "max_output_tokens": 8})
    kinds = [data["item"]["type"] for name, data in events if name == "response.output_item.done"]
    assert kinds == ["reasoning", "message"]
    assert events[-1][1]["response"]["usage"]["output_tokens_details"]["reasoning_tokens"] == 4
    body = {"input": WORDS, "tools": [{"type": "function", **TOOL}], "tool_choice": "required"}
    status, answer = tools.json("POST", "/v1/responses", body)
    assert status == 200
    (call,) = answer["output"]
    assert list(call) == ["arguments", "call_id", "name", "type", "id", "status"]
    assert (call["type"], call["name"], json.loads(call["arguments"])) == ("function_call", "f", {"a": 0})
    assert answer["tools"][0]["name"] == "f" and answer["status"] == "completed"
    names = [name for name, _ in stream(tools, "/v1/responses", body)]
    assert "response.function_call_arguments.delta" in names
    assert names[-2:] == ["response.output_item.done", "response.completed"]


def test_a_response_of_a_schema(server):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    form = {"format": {"type": "json_schema", "name": "n", "schema": schema}}
    _, answer = server.json("POST", "/v1/responses", {"input": "the", "text": form})
    assert json.loads(answer["output"][0]["content"][0]["text"]) == {"a": 0}
    assert answer["text"] == form


def test_responses_are_refused(server):
    for body, status, param in [
        ({}, 400, "body.input"),
        ({"input": "the", "model": "no-such"}, 404, "model"),
        ({"input": "the", "previous_response_id": "resp_x"}, 404, "response_id"),
        ({"input": "the", "background": True}, 400, "background"),
        ({"input": "the", "previous_response_id": "x"}, 400, "response_id"),
        ({"input": "the", "max_output_tokens": 10_000_000}, 400, "input_tokens"),
        ({"input": [{"type": "computer_call"}]}, 400, "body.input"),
    ]:
        found, answer = server.json("POST", "/v1/responses", body)
        assert (found, answer["error"]["param"]) == (status, param), (body, answer)


def test_a_message_has_its_keys(server):
    body = {"model": "test-model", "max_tokens": 5, "messages": [{"role": "user", "content": WORDS}]}
    status, answer = server.json("POST", "/v1/messages", body)
    assert status == 200
    assert list(answer) == ["id", "type", "role", "content", "model", "stop_reason", "usage"]
    assert (answer["type"], answer["role"], answer["stop_reason"]) == ("message", "assistant", "max_tokens")
    assert len(answer["content"][0]["text"].split(" ")) == 5
    assert answer["usage"] == {"input_tokens": 8 + 10, "output_tokens": 5}


def test_a_message_streams_blocks(server):
    body = {"model": "test-model", "max_tokens": 3, "messages": [{"role": "user", "content": WORDS}]}
    events = stream(server, "/v1/messages", body)
    names = ["message_start", "content_block_start"] + ["content_block_delta"] * 3
    assert [name for name, _ in events] == [*names, "content_block_stop", "message_delta", "message_stop", "done"]
    assert events[0][1]["message"]["usage"] == {"input_tokens": 18, "output_tokens": 0}
    assert list(events[2][1]) == ["type", "delta", "index"]
    assert events[-3][1]["delta"] == {"stop_reason": "max_tokens"}
    assert events[-3][1]["usage"] == {"input_tokens": 18, "output_tokens": 3}


def test_a_message_uses_tools(tools):
    body = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": WORDS}]}
    body |= {"tools": [{"name": "f", "input_schema": TOOL["parameters"]}], "tool_choice": {"type": "any"}}
    _, answer = tools.json("POST", "/v1/messages", body)
    assert answer["stop_reason"] == "tool_use"
    assert list(answer["content"][1]) == ["type", "id", "name", "input"]
    assert answer["content"][1]["input"] == {"a": 0}
    events = stream(tools, "/v1/messages", body)
    parts = [data["delta"]["partial_json"] for _, data in events if data and "partial_json" in data.get("delta", {})]
    assert json.loads("".join(parts)) == {"a": 0}


def test_messages_are_refused_in_two_forms(server):
    good = {"model": "test-model", "max_tokens": 5, "messages": [{"role": "user", "content": "the"}]}
    for change, status in [({"max_tokens": None}, 400), ({"max_tokens": 0}, 400), ({"messages": 5}, 400)]:
        found, answer = server.json("POST", "/v1/messages", {**good, **change})
        assert found == status and answer["error"]["code"] == status, answer
    found, answer = server.json("POST", "/v1/messages", {**good, "model": "no-such"})
    assert found == 404
    assert answer == {
        "type": "error",
        "error": {"type": "NotFoundError", "message": "The model `no-such` does not exist."},
    }


def test_a_chat_of_messages_hits_the_cache(ridgeline):
    with serving(ridgeline, *FAST, "--served-model-name", "m") as server:
        messages = [{"role": "user", "content": WORDS * 20}]
        body = {"model": "m", "max_tokens": 64, "messages": messages}
        _, answer = server.json("POST", "/v1/messages", body)
        messages += [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": "the"}]
        before = server.total("vllm:prefix_cache_hits_total")
        server.json("POST", "/v1/messages", body)
        # The prompt and the answer before, in blocks of 16.
        assert server.total("vllm:prefix_cache_hits_total") - before >= 208


@pytest.mark.parametrize(
    "version, codes",
    [("0.8", (404, 404, 404)), ("0.10", (200, 404, 404)), ("0.11.1", (200, 200, 404)), ("0.20", (200, 200, 200))],
)
def test_apis_come_with_their_versions(ridgeline, version, codes):
    message = {"model": "m", "max_tokens": 2, "messages": [{"role": "user", "content": "the"}]}
    with serving(ridgeline, *FAST, "--engine-version", f"vllm@{version}", "--served-model-name", "m") as server:
        found = tuple(
            server.ask("POST", path, body)[0]
            for path, body in [
                ("/v1/responses", {"input": "the", "max_output_tokens": 2}),
                ("/v1/messages", message),
                ("/v1/messages/count_tokens", message),
            ]
        )
        assert found == codes
        if version == "0.10":
            _, answer = server.json("POST", "/v1/responses", {"input": "the", "max_output_tokens": 2})
            assert list(answer) == RESPONSE_KEYS
        if version == "0.20":
            del message["max_tokens"]
            assert server.json("POST", "/v1/messages/count_tokens", message) == (200, {"input_tokens": 11})
