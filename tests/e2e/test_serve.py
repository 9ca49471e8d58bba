"""`ridgeline serve` from outside, over real sockets of the loopback address."""

import concurrent.futures
import json
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from serving import FAST, WORDS, digest_of, read_all, serving, wait_for

def test_health_models_and_version(server):
    assert server.ask("GET", "/health")[::2] == (200, b"")
    assert server.ask("POST", "/ping")[0] == 200
    status, models = server.json("GET", "/v1/models")
    assert status == 200
    card = models["data"][0]
    assert (card["id"], card["object"], card["owned_by"]) == ("test-model", "model", "vllm")
    assert card["max_model_len"] > 0
    assert re.fullmatch(r"0\.\d+\.\d+", server.json("GET", "/version")[1]["version"])
    assert server.json("GET", "/load")[1] == {"server_load": 0}


def test_completion_answers_whole(server):
    status, answer = server.json("POST", "/v1/completions", {"prompt": WORDS, "max_tokens": 5})
    assert status == 200
    assert answer["object"] == "text_completion"
    assert answer["usage"]["prompt_tokens"] == 8
    assert answer["usage"]["completion_tokens"] == 5
    assert len(answer["choices"][0]["text"].split(" ")) == 5
    assert answer["choices"][0]["finish_reason"] == "length"


def test_completion_streams_one_event_a_token(server):
    events = server.events(
        "/v1/completions",
        {"prompt": WORDS, "max_tokens": 6, "stream_options": {"include_usage": True}},
    )
    assert events[-1] == "[DONE]"
    assert events[-2]["choices"] == []
    assert events[-2]["usage"] == {"prompt_tokens": 8, "total_tokens": 14, "completion_tokens": 6}
    tokens = events[:-2]
    assert len(tokens) == 6
    assert list(tokens[0]) == ["id", "object", "created", "model", "choices"]
    assert [event["choices"][0]["finish_reason"] for event in tokens] == [None] * 5 + ["length"]
    text = "".join(event["choices"][0]["text"] for event in tokens)
    assert len(text.split(" ")) == 6


def test_chat_streams_a_role_first(server):
    events = server.events(
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": WORDS}], "max_tokens": 4, "ignore_eos": True},
    )
    assert events[-1] == "[DONE]"
    deltas = [event["choices"][0]["delta"] for event in events[:-1]]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert all(list(delta) == ["content"] for delta in deltas[1:])
    assert len(deltas) == 5
    assert events[-2]["choices"][0]["finish_reason"] == "length"


def test_several_choices_and_prompts(server):
    status, answer = server.json(
        "POST", "/v1/completions", {"prompt": ["the", "and for"], "n": 2, "max_tokens": 3}
    )
    assert status == 200
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2, 3]
    assert answer["usage"]["prompt_tokens"] == 3
    assert answer["usage"]["completion_tokens"] == 12
    assert len({choice["text"] for choice in answer["choices"]}) == 4
    events = server.events("/v1/completions", {"prompt": ["the", "and for"], "n": 2, "max_tokens": 3})
    by_index = {}
    for event in events[:-1]:
        choice = event["choices"][0]
        by_index[choice["index"]] = by_index.get(choice["index"], 0) + 1
    assert by_index == {0: 3, 1: 3, 2: 3, 3: 3}


def test_stop_strings_end_the_answer(server):
    body = {"prompt": WORDS, "max_tokens": 40}
    _, whole = server.json("POST", "/v1/completions", body)
    second = whole["choices"][0]["text"].split(" ")[1]
    # The words of an answer follow from its number: this one's are others, but some letter is in them.
    _, answer = server.json("POST", "/v1/completions", {**body, "stop": [" "]})
    choice = answer["choices"][0]
    assert second and " " not in choice["text"]
    assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", " ")
    assert answer["usage"]["completion_tokens"] == 2
    events = server.events("/v1/completions", {**body, "stop": [" "], "include_stop_str_in_output": True})
    text = "".join(event["choices"][0]["text"] for event in events[:-1])
    assert text.endswith(" ") and text.count(" ") == 1
    assert events[-2]["choices"][0]["stop_reason"] == " "


def test_echo_logprobs_and_token_ids(server):
    body = {"prompt": "the and for", "max_tokens": 2, "echo": True, "logprobs": 1, "return_token_ids": True}
    _, answer = server.json("POST", "/v1/completions", body)
    choice = answer["choices"][0]
    assert choice["text"].startswith("the and for")
    logprobs = choice["logprobs"]
    assert len(logprobs["tokens"]) == 5 == len(logprobs["top_logprobs"])
    assert "".join(logprobs["tokens"]) == choice["text"]
    # As vLLM: of the prompt's first token nothing is known.
    assert logprobs["token_logprobs"][0] is None and None not in logprobs["token_logprobs"][1:]
    assert len(choice["token_ids"]) == 2
    whole = choice
    events = server.events("/v1/completions", body)[:-1]
    choices = [event["choices"][0] for event in events]
    assert [event["prompt_token_ids"] for event in choices] == [whole["prompt_token_ids"]] + [None] * (len(choices) - 1)
    offsets = [offset for event in choices for offset in event["logprobs"]["text_offset"]]
    text = "".join(event["text"] for event in choices)
    tokens = [token for event in choices for token in event["logprobs"]["tokens"]]
    assert "".join(tokens) == text and offsets == [len("".join(tokens[:i])) for i in range(5)]
    chat = {"messages": [{"role": "user", "content": "the"}], "max_tokens": 2, "return_token_ids": True}
    first, second = server.events("/v1/chat/completions", chat)[:2]
    _, whole = server.json("POST", "/v1/chat/completions", chat)
    assert first["prompt_token_ids"] == whole["prompt_token_ids"] != [] and "prompt_token_ids" not in second
    status, answer = server.json("POST", "/v1/completions", {"prompt": "the and for", "echo": True, "max_tokens": 0})
    assert status == 200 and answer["choices"][0]["text"] == "the and for"
    _, answer = server.json(
        "POST",
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": "the"}], "max_tokens": 2, "logprobs": True, "top_logprobs": 2},
    )
    content = answer["choices"][0]["logprobs"]["content"]
    assert len(content) == 2 and len(content[0]["top_logprobs"]) == 2


@pytest.mark.parametrize(
    "expression",
    [r"\d{3}-\d{4}", r"(yes|no)", r'\{"name": "[A-Z][a-z]*", "age": [1-9][0-9]?\}', r"[a-z]*", r"^https?://(?:\w+\.)+com$"],
)
def test_an_answer_matches_its_regex(server, expression):
    for key in ({"guided_regex": expression}, {"structured_outputs": {"regex": expression}}):
        body = {"messages": [{"role": "user", "content": "the"}], "max_tokens": 100, **key}
        _, answer = server.json("POST", "/v1/chat/completions", body)
        choice = answer["choices"][0]
        assert re.fullmatch(expression, choice["message"]["content"]) and choice["finish_reason"] == "stop"


def test_what_no_text_is_made_of_is_refused(server):
    tag = {"type": "structural_tag", "structures": [{"begin": "<f>", "schema": {}, "end": "</f>"}], "triggers": ["<f>"]}
    for more, status in (
        ({"guided_regex": "(?=a)b"}, 400),
        ({"guided_regex": "a{9999}" * 9}, 400),
        ({"structured_outputs": {"grammar": "root ::= x"}}, 400),
        ({"structured_outputs": {"structural_tag": json.dumps(tag)}}, 200),
        ({"response_format": tag}, 200),
        ({"response_format": {"type": "structural_tag", "format": {}}}, 400),
    ):
        body = {"messages": [{"role": "user", "content": "the"}], "max_tokens": 2, **more}
        found, answer = server.json("POST", "/v1/chat/completions", body)
        assert found == status, more
        if status == 400:
            assert answer["error"]["type"] == "BadRequestError"


def test_more_logprobs_where_the_server_has_them(ridgeline):
    body = {"prompt": "the", "max_tokens": 1, "logprobs": 30}
    with serving(ridgeline, *FAST, "--max-logprobs", "30") as server:
        assert server.json("POST", "/v1/completions", body)[0] == 200
        status, answer = server.json("POST", "/v1/completions", {**body, "logprobs": 31})
        assert status == 400 and "max allowed: 30" in answer["error"]["message"]
    with serving(ridgeline, *FAST, "--max-logprobs", "-1") as server:
        assert server.json("POST", "/v1/completions", {**body, "logprobs": 1000})[0] == 200


def test_a_prompts_tokens_are_shown(server):
    body = {"prompt": ["the and", "for"], "max_tokens": 2, "prompt_logprobs": 1, "return_token_ids": True}
    _, answer = server.json("POST", "/v1/completions", body)
    first, second = answer["choices"]
    assert first["prompt_token_ids"] == server.json("POST", "/tokenize", {"prompt": "the and"})[1]["tokens"]
    assert first["prompt_logprobs"][0] is None and second["prompt_logprobs"] == [None]
    (entry,) = first["prompt_logprobs"][1].items()
    assert entry[0] == str(first["prompt_token_ids"][1])
    assert entry[1] == {"logprob": -0.25, "rank": 1, "decoded_token": " and"}
    chat = {"messages": [{"role": "user", "content": "the"}], "max_tokens": 2, "prompt_logprobs": 0}
    _, answer = server.json("POST", "/v1/chat/completions", chat)
    assert len(answer["prompt_logprobs"]) == answer["usage"]["prompt_tokens"]
    assert answer["prompt_logprobs"][0] is None and answer["prompt_token_ids"] is None
    _, answer = server.json("POST", "/v1/completions", {"prompt": "the", "max_tokens": 1})
    assert answer["choices"][0]["prompt_logprobs"] is None


def test_biases_are_of_tokens_of_the_vocabulary(server):
    for bias, message in [
        ({"the": 1}, "invalid literal for int() with base 10: 'the'"),
        (
            {"7": 1, "128256": 1, "-1": 1},
            "token_id(s) [128256, -1] in logit_bias contain out-of-vocab token ids. Vocabulary size: 128256",
        ),
    ]:
        status, answer = server.json("POST", "/v1/completions", {"prompt": "the", "logit_bias": bias})
        assert (status, answer["error"]["message"]) == (400, message)
    body = {"prompt": "the", "max_tokens": 1, "logit_bias": {"0": -100, "128255": 100}}
    assert server.json("POST", "/v1/completions", body)[0] == 200


def test_structured_outputs_are_instances(server):
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 3}, "b": {"enum": ["x", "y"]}},
        "required": ["a", "b"],
    }
    _, answer = server.json(
        "POST",
        "/v1/chat/completions",
        {
            "messages": [{"role": "user", "content": "the"}],
            "response_format": {"type": "json_schema", "json_schema": {"name": "r", "schema": schema}},
        },
    )
    assert json.loads(answer["choices"][0]["message"]["content"]) == {"a": 3, "b": "x"}
    assert answer["choices"][0]["finish_reason"] == "stop"
    _, answer = server.json("POST", "/v1/completions", {"prompt": "the", "guided_choice": ["yes", "no"]})
    assert answer["choices"][0]["text"] == "yes"
    cyclic = {"$ref": "#"}
    status, answer = server.json("POST", "/v1/completions", {"prompt": "the", "guided_json": cyclic})
    assert status == 400 and "cycle" in answer["error"]["message"]


def test_tokens_of_words_and_back(server):
    _, answer = server.json("POST", "/tokenize", {"prompt": WORDS, "add_special_tokens": False})
    assert answer["count"] == 8 == len(answer["tokens"])
    _, back = server.json("POST", "/detokenize", {"tokens": answer["tokens"]})
    assert back == {"prompt": WORDS}


def test_errors_have_codes_and_params(server):
    for body, status, param in [
        ({"model": "no-such", "prompt": "the"}, 404, "model"),
        ({"prompt": ""}, 400, "prompt"),
        ({"prompt": "the", "max_tokens": 0}, 400, "max_tokens"),
        ({"prompt": "the", "max_tokens": 10_000_000}, 400, "input_tokens"),
        ({"prompt": "the", "max_tokens": "many"}, 400, "body.max_tokens"),
        ({"prompt": "the", "n": 1000}, 400, "n"),
        ({"prompt": ["the"] * 1025}, 400, "prompt"),
        ({"prompt": "the", "temperature": -1}, 400, "temperature"),
    ]:
        found, answer = server.json("POST", "/v1/completions", body)
        assert (found, answer["error"]["param"]) == (status, param), (body, answer)
        assert answer["error"]["code"] == status
    for body, message in [
        ({"top_logprobs": 2}, "Value error, when using `top_logprobs`, `logprobs` must be set to true."),
        ({"cache_salt": ""}, "Value error, Parameter 'cache_salt' must be a non-empty string if provided."),
        (
            {"add_generation_prompt": True, "continue_final_message": True},
            "Value error, Cannot set both `continue_final_message` and `add_generation_prompt` to True.",
        ),
    ]:
        chat = {"messages": [{"role": "user", "content": "the"}], **body}
        found, answer = server.json("POST", "/v1/chat/completions", chat)
        assert (found, answer["error"]["message"]) == (400, message)
    assert server.ask("GET", "/v1/completions")[0] == 405
    assert server.ask("POST", "/v1/nope", {})[0] == 404
    assert server.ask("POST", "/v1/completions", raw=b"{}", headers={"Content-Type": "text/plain"})[0] == 400


def test_a_prompt_is_cut_at_its_beginning(server):
    for prompt in (WORDS, list(range(1000, 1008))):
        for most, tokens in [(3, 3), (8, 8), (100, 8), (-1, 8)]:
            body = {"prompt": prompt, "max_tokens": 2, "truncate_prompt_tokens": most}
            _, answer = server.json("POST", "/v1/completions", body)
            assert answer["usage"]["prompt_tokens"] == tokens
    status, answer = server.json("POST", "/v1/completions", {"prompt": "the", "truncate_prompt_tokens": 10_000_000})
    assert status == 400 and "greater than max_model_len" in answer["error"]["message"]


def test_paths_as_fastapi_has_them(server):
    for path in ("/health", "/v1/models"):
        status, headers, text = server.ask("GET", path + "/?a=b")
        assert (status, text) == (307, b"")
        assert headers["location"] == "http://{}:{}{}?a=b".format(*server.address, path)
        assert server.ask("HEAD", path)[0] == 405
    assert server.ask("GET", "/v1/nope/")[0] == 404
    assert server.ask("HEAD", "/metrics")[0] == server.ask("GET", "/metrics/")[0] == 200


def test_invocations_are_chats_or_completions(server):
    for body, kind in [
        ({"prompt": "the", "max_tokens": 2}, "text_completion"),
        ({"messages": [{"role": "user", "content": "the"}], "max_tokens": 2}, "chat.completion"),
    ]:
        _, answer = server.json("POST", "/invocations", body)
        assert answer["object"] == kind
    status, answer = server.json("POST", "/invocations", {"input": "the"})
    assert status == 400
    assert answer["error"]["message"] == (
        "Cannot find suitable handler for request. Expected one of: ['ChatCompletionRequest', 'CompletionRequest']"
    )


@pytest.mark.parametrize("version, status", [("0.8", 200), ("0.20", 404)])
def test_pooling_is_not_done(ridgeline, version, status):
    with serving(ridgeline, *FAST, "--engine-version", f"vllm@{version}") as server:
        for path, api in [("/v1/embeddings", "Embeddings"), ("/v2/rerank", "Rerank (Score)"), ("/pooling", "Pooling")]:
            found, answer = server.json("POST", path, {"input": "the"})
            assert found == status
            if status == 200:
                assert (answer["code"], answer["message"]) == (400, f"The model does not support {api} API")


def test_an_event_is_one_chunk(server):
    body = json.dumps({"prompt": "the", "max_tokens": 5, "stream": True}).encode()
    head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
    with server.socket() as connection:
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        data = read_all(connection).split(b"\r\n\r\n", 1)[1]
    chunks = []
    while data:
        size, _, rest = data.partition(b"\r\n")
        length = int(size, 16)
        chunks.append(rest[:length])
        assert rest[length : length + 2] == b"\r\n"
        data = rest[length + 2 :]
    assert chunks[-1] == b""
    assert all(chunk.startswith(b"data: ") and chunk.endswith(b"\n\n") for chunk in chunks[:-1])
    assert len(chunks) == 5 + 1 + 1


def test_metrics_tell_what_was_answered(ridgeline):
    with serving(ridgeline, *FAST) as server:
        before = server.metrics()
        assert all(value == 0 for name, value in before.items() if name.startswith("vllm:request_success_total"))
        used = 0
        for i in range(10):
            _, answer = server.json("POST", "/v1/completions", {"prompt": WORDS, "max_tokens": i + 1})
            used += answer["usage"]["completion_tokens"]
        assert server.total("vllm:generation_tokens_total") == used == 55
        assert server.total("vllm:prompt_tokens_total") == 80
        assert server.total("vllm:request_success_total") == 10
        for name in ["time_to_first_token_seconds", "e2e_request_latency_seconds", "request_queue_time_seconds"]:
            assert server.total(f"vllm:{name}_count") == 10
        assert server.total("vllm:inter_token_latency_seconds_count") == used - 10
        assert server.total("vllm:num_requests_running") == 0
        assert server.total("vllm:num_requests_waiting") == 0
        assert server.total("vllm:kv_cache_usage_perc") == 0


def test_metrics_page_is_prometheus(server):
    parser = pytest.importorskip("prometheus_client.parser")
    _, headers, text = server.ask("GET", "/metrics")
    assert headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = {family.name for family in parser.text_string_to_metric_families(text.decode())}
    assert {"vllm:num_requests_running", "vllm:generation_tokens", "vllm:time_to_first_token_seconds"} <= families
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

    registry = CollectorRegistry()
    Gauge("a:g", "Help.", ["model_name", "engine"], registry=registry).labels("m", "0").set(1234567.5)
    Counter("a:c", "Help.", ["engine"], registry=registry).labels("0").inc(3)
    Histogram("a:h", "Help.", ["engine"], buckets=[0.1, 1, 20], registry=registry).labels("0").observe(0.5)
    shape = re.sub(r"[\d.e+]+(?=\n)", "N", generate_latest(registry).decode())
    assert "a:c_created" in shape and 'a:h_bucket{engine="0",le="20.0"}' in shape


def test_aborted_requests_give_their_blocks_back(ridgeline):
    with serving(ridgeline) as server:
        connection = server.connect()
        body = json.dumps({"prompt": WORDS, "max_tokens": 100_000, "stream": True})
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.readline()
        wait_for(lambda: server.total("vllm:num_requests_running") == 1)
        answer.close()
        connection.close()
        wait_for(lambda: server.finished("abort") == 1)
        wait_for(lambda: server.total("vllm:kv_cache_usage_perc") == 0)


def run_clients(server, number):
    """Requests of many kinds at once; some give up."""

    def one(i):
        if i % 7 == 3:
            with server.socket() as connection:
                body = json.dumps({"prompt": WORDS * (i % 5 + 1), "max_tokens": 400, "stream": True}).encode()
                head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
                connection.recv(1000)
            return 0
        if i % 3 == 0:
            messages = [{"role": "user", "content": WORDS * 20}]
            tokens = 0
            for _ in range(3):
                _, answer = server.json("POST", "/v1/chat/completions", {"messages": messages, "max_tokens": 30})
                text = answer["choices"][0]["message"]["content"]
                messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "and"}]
                tokens += answer["usage"]["completion_tokens"]
            return tokens
        events = server.events(
            "/v1/completions",
            {"prompt": WORDS * (i % 11 + 1), "max_tokens": i % 50 + 1, "stream_options": {"include_usage": True}},
        )
        return events[-2]["usage"]["completion_tokens"]

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        return sum(pool.map(one, range(number)))


@pytest.mark.parametrize("more", [(), ("--instances", "2"), ("--num-gpu-blocks", "300", "--max-model-len", "4096")])
def test_replay_of_the_log_is_the_same_run(ridgeline, more):
    words = ("--seed", "3", *more)
    with serving(ridgeline, "--speed", "20", "--arrival-log", "arrivals.jsonl", *words) as server:
        run_clients(server, 60)
        status, out = server.stop()
    assert status == 0
    replay = ridgeline(
        "replay", "--trace", "arrivals.jsonl", "--model", "llama-3.1-8b", "--gpu", "h100", *words, "--format", "json"
    )
    assert replay.returncode == 0, replay.stderr
    result = json.loads(replay.stdout)
    assert result["digest"] == digest_of(out)
    assert "null" in (ridgeline.folder / "arrivals.jsonl").read_text()
    assert re.search(r'"abort_s": +[\d.]+,', (ridgeline.folder / "arrivals.jsonl").read_text())


def test_a_killed_server_leaves_a_whole_log(ridgeline):
    with serving(ridgeline, "--speed", "20", "--arrival-log", "arrivals.jsonl") as server:
        run_clients(server, 20)
        time.sleep(0.3)
        server.process.kill()
    lines = (ridgeline.folder / "arrivals.jsonl").read_text().splitlines()
    assert len(lines) > 20
    for line in lines:
        json.loads(line)
    replay = ridgeline("replay", "--trace", "arrivals.jsonl", "--model", "llama-3.1-8b", "--gpu", "h100")
    assert replay.returncode == 0, replay.stderr


def test_the_result_as_json_keeps_its_schema(ridgeline):
    jsonschema = pytest.importorskip("jsonschema")
    with serving(ridgeline, *FAST, "--format", "json") as server:
        server.json("POST", "/v1/completions", {"prompt": "zyzzyva", "max_tokens": 2})
        server.ask("GET", "/nowhere")
        status, out = server.stop()
    assert status == 0
    result = json.loads(out)
    schema = json.loads(ridgeline("schema", "serve").stdout)
    jsonschema.validate(result, schema)
    assert (result["requests"], result["completed"], result["estimated_prompts"]) == (1, 1, 1)
    assert result["responses"] == {"200": 1, "404": 1}
    assert any("W-estimated-lengths" in line for line in server.lines)


def test_keys_guard_the_api(ridgeline):
    with serving(ridgeline, *FAST, env={"VLLM_API_KEY": "secret"}) as server:
        assert server.ask("GET", "/health")[0] == 200
        assert server.json("GET", "/v1/models") == (401, {"error": "Unauthorized"})
        assert server.ask("GET", "/v1/models", headers={"Authorization": "Bearer wrong"})[0] == 401
        assert server.ask("GET", "/v1/models", headers={"Authorization": "Bearer secret"})[0] == 200
        assert "secret" not in "".join(server.lines)


def test_faults_strike_the_same_requests(ridgeline):
    struck = []
    for _ in range(2):
        fault = "kind=error,share=0.3,status=429,retry-after=2"
        with serving(ridgeline, *FAST, "--request-fault", fault, "--seed", "5") as server:
            connection = server.connect()
            codes = []
            for _ in range(100):
                body = json.dumps({"prompt": "the", "max_tokens": 1})
                connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                codes.append(answer.status)
                if answer.status == 429:
                    assert answer.getheader("retry-after") == "2"
                answer.read()
            connection.close()
            struck.append(codes)
    assert struck[0] == struck[1]
    assert 14 <= struck[0].count(429) <= 46  # Three and a half standard deviations around 30.


def test_unix_socket(ridgeline):
    process = ridgeline.start(
        "serve", "--model", "llama-3.1-8b", "--gpu", "h100", "--uds", "serve.sock", *FAST
    )
    try:
        path = ridgeline.folder / "serve.sock"
        wait_for(path.exists, 120)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            wait_for(lambda: connection.connect_ex(str(path)) == 0, 60)
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert read_all(connection).startswith(b"HTTP/1.1 200 OK")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 0
        assert not path.exists()
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.mark.parametrize(
    "words, expected",
    [
        (("--port", "70000"), "--port: found '70000', expected a number from 0 to 65535"),
        (("--speed", "0"), "--speed: found '0', expected a number"),
        (("--path", "half"), '--path: found "half"'),
        (("--request-fault", "share=0.1"), "has no kind"),
        (("--request-fault", "kind=error,share=2"), "found 'share=2'"),
        (("--max-body", "5"), "--max-body: found '5'"),
        (("--answer", "nowhere.jsonl"), "--answer: found 'nowhere.jsonl'"),
        (("--request-rate", "5"), "--request-rate"),
        (("--arrival-log", "nowhere/x"), "nowhere/x"),
        (("--host", "300.1.1.1"), "--host: '300.1.1.1' is no address"),
        (("--uds", "x" * 200), "is longer than"),
    ],
)
def test_wrong_flags_are_refused(ridgeline, words, expected):
    done = ridgeline("serve", "--model", "llama-3.1-8b", "--gpu", "h100", *words)
    assert done.returncode == 2, done.stderr
    assert expected in done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_takes_the_page(server):
    _, _, text = server.ask("GET", "/metrics")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=60, check=False)
    # Its advice on names (vLLM's own) is no error.
    assert b"error" not in done.stderr.lower(), done.stderr
