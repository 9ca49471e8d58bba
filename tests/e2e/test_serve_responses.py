"""Responses that `ridgeline serve` keeps: asked for again, gone on from, in the background, cancelled."""

import json
import time

import pytest

from serving import FAST, WORDS, serving, wait_for

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


def numbered(text):
    """Number, kind and data of each event of a response's stream."""
    events = []
    for part in text.decode().split("\n\n"):
        if part:
            kind, data = part.split("\n", 1)
            event = json.loads(data.removeprefix("data: "))
            assert kind == f"event: {event['type']}"
            events.append((event["sequence_number"], event["type"], event))
    return events


def test_a_streamed_response_in_the_background(keeper):
    body = {"input": WORDS, "background": True, "stream": True, "max_output_tokens": 40}
    status, headers, text = keeper.ask("POST", "/v1/responses", body)
    assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    events = numbered(text)
    assert [number for number, _, _ in events] == list(range(len(events)))
    assert (events[0][1], events[-1][1]) == ("response.created", "response.completed")
    assert sum(kind == "response.output_text.delta" for _, kind, _ in events) == 40
    answer = events[-1][2]["response"]
    # Asked for again, whole, and from any event on.
    assert keeper.json("GET", f"/v1/responses/{answer['id']}") == (200, answer)
    for query, first in [("", 0), ("&starting_after=0", 1), ("&starting_after=20", 21), ("&starting_after=10000", 10_001)]:
        status, _, again = keeper.ask("GET", f"/v1/responses/{answer['id']}?stream=true{query}")
        assert (status, numbered(again)) == (200, events[first:])
    status, refused = keeper.json("GET", f"/v1/responses/{answer['id']}?stream=true&starting_after=x")
    assert (status, refused["error"]["param"]) == (400, "query.starting_after")
    # One that was not begun as such a stream has no events.
    _, other = keeper.json("POST", "/v1/responses", {"input": WORDS, "max_output_tokens": 2})
    status, refused = keeper.json("GET", f"/v1/responses/{other['id']}?stream=true")
    assert (status, refused["error"]["message"]) == (400, f"Unknown response_id: {other['id']}")


def test_a_response_goes_on_without_the_client_that_began_it(ridgeline):
    with serving(ridgeline, env=KEEPS) as server:
        body = json.dumps({"input": WORDS, "background": True, "stream": True, "max_output_tokens": 200}).encode()
        connection = server.connect()
        connection.request("POST", "/v1/responses", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.readline() == b"event: response.created\n"
        answer_id = json.loads(answer.readline().removeprefix(b"data: "))["response"]["id"]
        answer.close()
        connection.close()
        # While it runs, another client follows it to its end, whatever the first did.
        status, _, text = server.ask("GET", f"/v1/responses/{answer_id}?stream=true&starting_after=1")
        events = numbered(text)
        assert (status, events[0][0], events[-1][1]) == (200, 2, "response.completed")
        assert sum(kind == "response.output_text.delta" for _, kind, _ in events) == 200
        assert server.finished("abort") == 0 and server.finished("length") == 1
        assert server.total("ridgeline:open_streams") == 0


def test_a_cancelled_response_ends_the_streams_that_follow_it(ridgeline):
    with serving(ridgeline, env=KEEPS) as server:
        body = json.dumps({"input": WORDS, "background": True, "stream": True, "max_output_tokens": 100_000}).encode()
        connection = server.connect()
        connection.request("POST", "/v1/responses", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.readline()
        answer_id = json.loads(answer.readline().removeprefix(b"data: "))["response"]["id"]
        status, cancelled = server.json("POST", f"/v1/responses/{answer_id}/cancel")
        assert (status, cancelled["status"]) == (200, "cancelled")
        assert b"response.completed" not in answer.read()
        connection.close()
        wait_for(lambda: server.finished("abort") == 1)


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
