"""Responses that `ridgeline serve` keeps: asked for again, gone on from, in the background, cancelled."""

import time

import pytest

from serving import FAST, WORDS, serving

KEEPS = {"VLLM_ENABLE_RESPONSES_API_STORE": "1"}


@pytest.fixture(scope="module")
def keeper(tmp_path_factory):
    from conftest import BINARY, Ridgeline

    if not BINARY:
        pytest.skip("RIDGELINE_BINARY is not set")
    words = ("--served-model-name", "m", "--enable-prompt-tokens-details")
    with serving(Ridgeline(tmp_path_factory.mktemp("serve")), *FAST, *words, env=KEEPS) as one:
        yield one


def not_found(server, answer_id):
    status, answer = server.json("GET", f"/v1/responses/{answer_id}")
    return status == 404 and answer["error"]["message"] == f"Response with id '{answer_id}' not found."


def test_a_response_can_be_asked_for_again(keeper):
    _, answer = keeper.json("POST", "/v1/responses", {"input": WORDS, "max_output_tokens": 5, "user": "u"})
    assert keeper.json("GET", f"/v1/responses/{answer['id']}") == (200, answer)
    status, refused = keeper.json("POST", f"/v1/responses/{answer['id']}/cancel")
    assert (status, refused["error"]["message"]) == (400, "Cannot cancel a synchronous response.")
    assert refused["error"]["type"] == "invalid_request_error"
    _, unkept = keeper.json("POST", "/v1/responses", {"input": WORDS, "max_output_tokens": 5, "store": False})
    assert not_found(keeper, unkept["id"])


def test_a_streamed_response_is_kept_when_it_ends(keeper):
    status, _, text = keeper.ask("POST", "/v1/responses", {"input": WORDS, "max_output_tokens": 5, "stream": True})
    assert status == 200
    answer_id = text.decode().split('"id":"resp_', 1)[1].split('"', 1)[0]
    status, answer = keeper.json("GET", f"/v1/responses/resp_{answer_id}")
    assert (status, answer["status"]) == (200, "incomplete")
    assert len(answer["output"][0]["content"][0]["text"].split(" ")) == 5


def test_a_response_goes_on_from_another(keeper):
    first = {"input": WORDS * 20, "instructions": "the", "max_output_tokens": 64}
    _, before = keeper.json("POST", "/v1/responses", first)
    body = {"input": "the and", "previous_response_id": before["id"], "max_output_tokens": 3}
    status, after = keeper.json("POST", "/v1/responses", body)
    assert (status, after["previous_response_id"]) == (200, before["id"])
    # Llama's template: five tokens more for each of the two messages that were added.
    expected = before["usage"]["input_tokens"] + 64 + 2 + 2 * 5
    assert after["usage"]["input_tokens"] == expected
    # All that was said before is in the cache, in blocks of 16.
    assert after["usage"]["input_tokens_details"]["cached_tokens"] >= before["usage"]["input_tokens"] + 64 - 16
    # And so on from that one; two may go on from the same.
    for previous, more in [(after["id"], 3 + 5), (before["id"], 0)]:
        _, third = keeper.json("POST", "/v1/responses", {**body, "previous_response_id": previous})
        assert third["usage"]["input_tokens"] == expected + (2 + 5 + more if more else 0)


def test_a_response_in_the_background(keeper):
    body = {"input": WORDS, "background": True, "max_output_tokens": 40}
    status, answer = keeper.json("POST", "/v1/responses", body)
    assert (status, answer["status"], answer["output"], answer["usage"]) == (200, "queued", [], None)
    assert answer["background"] is True
    until = time.monotonic() + 30
    while answer["status"] == "queued" and time.monotonic() < until:
        time.sleep(0.02)
        _, answer = keeper.json("GET", f"/v1/responses/{answer['id']}")
    assert (answer["status"], answer["usage"]["output_tokens"]) == ("incomplete", 40)


def test_a_response_in_the_background_is_cancelled(ridgeline):
    with serving(ridgeline, env=KEEPS) as server:
        body = {"input": WORDS, "background": True, "max_output_tokens": 100_000}
        _, answer = server.json("POST", "/v1/responses", body)
        status, cancelled = server.json("POST", f"/v1/responses/{answer['id']}/cancel")
        assert (status, cancelled) == (200, {**answer, "status": "cancelled"})
        assert server.json("GET", f"/v1/responses/{answer['id']}") == (200, cancelled)
        until = time.monotonic() + 30
        while server.finished("abort") < 1 and time.monotonic() < until:
            time.sleep(0.02)
        assert server.finished("abort") == 1
        status, _ = server.json("POST", f"/v1/responses/{answer['id']}/cancel")
        assert status == 400


def test_wrong_ids_and_ways(keeper):
    for method, path, status, message in [
        ("GET", "/v1/responses/resp_none", 404, "Response with id 'resp_none' not found."),
        ("POST", "/v1/responses/resp_none/cancel", 404, "Response with id 'resp_none' not found."),
        ("GET", "/v1/responses/none", 400, "Invalid 'response_id': 'none'. Expected an ID that begins with 'resp'."),
        ("DELETE", "/v1/responses/resp_none", 405, "Method Not Allowed"),
        ("GET", "/v1/responses/resp_none/cancel", 405, "Method Not Allowed"),
        ("GET", "/v1/responses/resp_none/input_items", 404, "Not Found"),
    ]:
        found, answer = keeper.json(method, path)
        assert (found, answer["error"]["message"]) == (status, message)
    for more, status in [({"previous_response_id": "resp_none"}, 404), ({"background": True, "store": False}, 400)]:
        assert keeper.json("POST", "/v1/responses", {"input": WORDS, **more})[0] == status


def test_without_the_store_nothing_is_kept(server):
    _, answer = server.json("POST", "/v1/responses", {"input": WORDS, "max_output_tokens": 5, "store": True})
    assert not_found(server, answer["id"])
    status, refused = server.json("POST", "/v1/responses", {"input": WORDS, "background": True})
    assert status == 400 and "VLLM_ENABLE_RESPONSES_API_STORE=1" in refused["error"]["message"]
