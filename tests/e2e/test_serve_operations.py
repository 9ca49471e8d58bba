"""What operators do with `ridgeline serve`: developer routes, pauses, deaths, the admin port, pages of browsers, a
port for each instance, and settings in a file."""

import concurrent.futures
import http.client
import json
import re
import time

import pytest

from serving import FAST, WORDS, digest_of, read_all, serving, wait_for

DEV = {"VLLM_SERVER_DEV_MODE": "1"}


def complete(server, tokens=2, **more):
    return server.json("POST", "/v1/completions", {"prompt": WORDS * 8, "max_tokens": tokens, **more})


def begin_stream(server, tokens):
    connection = server.connect()
    body = json.dumps({"prompt": WORDS, "max_tokens": tokens, "ignore_eos": True, "stream": True})
    connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert answer.readline().startswith(b"data: ")
    return connection, answer


def is_asleep(server):
    return server.json("GET", "/is_sleeping") == (200, {"is_sleeping": True})


def test_developer_routes_need_their_mode(ridgeline):
    with serving(ridgeline, *FAST) as server:
        for path in ["/sleep", "/wake_up", "/pause", "/reset_prefix_cache"]:
            assert server.ask("POST", path)[0] == 404
        assert server.ask("GET", "/server_info")[0] == 404


def test_a_sleeping_server_lets_requests_wait(ridgeline):
    with serving(ridgeline, *FAST, env=DEV) as server:
        complete(server)
        assert server.ask("POST", "/sleep?level=2")[::2] == (200, b"")
        assert is_asleep(server)
        page = server.metrics()
        assert [v for k, v in page.items() if 'sleep_state="discard_all"' in k] == [1.0]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(complete, server)
            time.sleep(0.3)
            assert not waiting.done()
            assert server.ask("POST", "/wake_up?tags=weights")[0] == 200
            assert is_asleep(server)
            assert server.ask("POST", "/wake_up?tags=kv_cache")[0] == 200
            status, answer = waiting.result(30)
        assert status == 200 and answer["usage"]["completion_tokens"] == 2
        assert not is_asleep(server)
        # What was cached went with the memory.
        assert server.total("vllm:prefix_cache_hits_total") == 0
        complete(server)
        assert server.total("vllm:prefix_cache_hits_total") > 0
        assert server.ask("POST", "/sleep?level=7")[0] == 400


def test_a_reset_cache_is_found_by_no_prompt(ridgeline):
    with serving(ridgeline, *FAST, "--arrival-log", "arrivals.jsonl", env=DEV) as server:
        complete(server)
        assert server.ask("POST", "/reset_prefix_cache")[::2] == (200, b"")
        complete(server)
        assert server.total("vllm:prefix_cache_hits_total") == 0
        assert server.ask("POST", "/reset_mm_cache")[0] == 200
        status, out = server.stop()
    assert status == 0
    replay = ridgeline(
        "replay", "--trace", "arrivals.jsonl", "--model", "llama-3.1-8b", "--gpu", "h100", "--format", "json"
    )
    assert json.loads(replay.stdout)["digest"] == digest_of(out)


@pytest.mark.parametrize("mode", ["abort", "wait", "keep"])
def test_pauses(ridgeline, mode):
    with serving(ridgeline, "--speed", "2", "--arrival-log", "arrivals.jsonl", env=DEV) as server:
        connection, answer = begin_stream(server, 150)
        start = time.monotonic()
        assert server.json("POST", f"/pause?mode={mode}") == (200, {"status": "paused"})
        if mode == "wait":
            assert time.monotonic() - start > 0.2  # 150 tokens take 0.5 s at this speed.
        assert server.json("GET", "/is_paused") == (200, {"is_paused": True})
        if mode == "keep":
            time.sleep(0.5)
            before = server.total("vllm:generation_tokens_total")
            time.sleep(0.3)
            assert server.total("vllm:generation_tokens_total") == before < 150
            assert server.json("POST", "/resume") == (200, {"status": "resumed"})
        text = answer.read()
        connection.close()
        assert text.endswith(b"data: [DONE]\n\n")
        reasons = re.findall(rb'"finish_reason":"(\w+)"', text)
        assert reasons == [b"abort" if mode == "abort" else b"length"]
        if mode != "keep":
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(complete, server)
                time.sleep(0.2)
                assert not waiting.done()
                server.json("POST", "/resume")
                assert waiting.result(30)[0] == 200
        assert server.json("GET", "/is_paused") == (200, {"is_paused": False})
        assert server.ask("POST", "/pause?mode=never")[0] == 400
        status, out = server.stop()
    assert status == 0
    replay = ridgeline(
        "replay", "--trace", "arrivals.jsonl", "--model", "llama-3.1-8b", "--gpu", "h100", "--format", "json"
    )
    assert json.loads(replay.stdout)["digest"] == digest_of(out)


def test_server_info(ridgeline):
    with serving(ridgeline, *FAST, "--tensor-parallel-size", "2", env=DEV) as server:
        assert "tensor_parallel_size=2" in server.json("GET", "/server_info")[1]["vllm_config"]
        config = server.json("GET", "/server_info?config_format=json")[1]["vllm_config"]
        assert (config["tensor_parallel_size"], config["enable_prefix_caching"]) == (2, True)


def test_workers_are_called(ridgeline):
    with serving(ridgeline, *FAST, "--tensor-parallel-size", "2", env=DEV) as server:
        call = lambda body: server.json("POST", "/collective_rpc", body)
        assert call({"method": "check_health"}) == (200, {"results": [None, None]})
        status, answer = call({"args": []})
        assert (status, answer["error"]["message"]) == (400, "Missing 'method' in request body")
        status, answer = call({"method": "report_weights", "timeout": 1})
        assert (status, answer["error"]["type"]) == (500, "InternalServerError")
    with serving(ridgeline, *FAST, "--engine-version", "vllm@0.9", env=DEV) as server:
        assert server.ask("POST", "/collective_rpc", {"method": "check_health"})[0] == 404


def test_pages_of_other_origins_may_ask(server):
    origin = {"Origin": "http://page.example"}
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,x-a"}
    status, headers, text = server.ask("OPTIONS", "/v1/completions", headers={**origin, **asks})
    assert (status, text) == (200, b"OK")
    assert headers["access-control-allow-origin"] == "*"
    assert headers["access-control-allow-headers"] == "content-type,x-a"
    assert headers["access-control-allow-methods"] == "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"
    assert headers["access-control-max-age"] == "600"
    asks["Access-Control-Request-Method"] = "BREW"
    assert server.ask("OPTIONS", "/v1/completions", headers={**origin, **asks})[::2] == (400, b"Disallowed CORS method")
    assert server.ask("OPTIONS", "/v1/completions")[0] == 405
    for method, path, body in [
        ("GET", "/health", None),
        ("POST", "/v1/completions", {"prompt": "the", "max_tokens": 1}),
        ("POST", "/v1/completions", {"prompt": "the", "max_tokens": 1, "stream": True}),
        ("POST", "/v1/completions", {"prompt": ""}),
    ]:
        assert server.ask(method, path, body, origin)[1]["access-control-allow-origin"] == "*"
        assert "access-control-allow-origin" not in server.ask(method, path, body)[1]


def test_a_server_dies_and_comes_back(ridgeline):
    with serving(ridgeline, "--request-fault", "kind=die,at=1s,for=1s", "--arrival-log", "arrivals.jsonl") as server:
        complete(server)
        connection, answer = begin_stream(server, 100_000)
        text = answer.read()
        connection.close()
        assert text.endswith(b"data: [DONE]\n\n") and b"EngineCore encountered an issue" in text
        assert server.ask("GET", "/health")[0] == 503
        status, body = complete(server)
        assert status == 500 and body["error"]["type"] == "InternalServerError"
        wait_for(lambda: server.ask("GET", "/health")[0] == 200)
        hits = server.total("vllm:prefix_cache_hits_total")
        assert complete(server)[0] == 200
        assert server.total("vllm:prefix_cache_hits_total") == hits
        assert server.total("ridgeline:faults_total") == 1
        _, out = server.stop()
    replay = ridgeline(
        "replay", "--trace", "arrivals.jsonl", "--model", "llama-3.1-8b", "--gpu", "h100", "--format", "json"
    )
    assert json.loads(replay.stdout)["digest"] == digest_of(out)


def test_the_admin_port(ridgeline):
    with serving(ridgeline, *FAST, "--admin-port", "0") as server:
        port = int(re.search(r"its admin at http://127.0.0.1:(\d+)", "".join(server.lines))[1])

        def ask(method, path, body=None):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

        complete(server)
        status, state = ask("GET", "/state")
        assert status == 200 and state["ready"] and state["requests"] == 1 and state["responses"] == {"200": 1}
        faults = {"faults": [{"kind": "error", "share": 1, "status": 429, "retry_after": 3}]}
        status, state = ask("PUT", "/faults", json.dumps(faults))
        assert status == 200 and state["faults"] == [{"kind": "error", "share": 1}]
        status, headers, _ = server.ask("POST", "/v1/completions", {"prompt": "the"})
        assert (status, headers["retry-after"]) == (429, "3")
        for body in ["", "[]", '{"faults": 1}', '{"faults": [{"kind": "melt"}]}', '{"faults": [1]}']:
            status, answer = ask("PUT", "/faults", body)
            assert status == 400 and answer["error"]
        assert ask("PUT", "/faults", '{"faults": []}')[0] == 200
        assert complete(server)[0] == 200
        assert ask("GET", "/nothing")[0] == 404
        assert server.ask("GET", "/state")[0] == 404
        assert ask("PUT", "/drain") == (202, {"draining": True})
        assert server.wait()[0] == 0


def test_a_port_for_each_instance(ridgeline):
    words = ("--instances", "3", "--listen", "each", "--arrival-log", "log.jsonl", "--max-num-seqs", "8")
    with serving(ridgeline, *FAST, *words) as server:
        ports = [server.address[1]]
        wait_for(lambda: sum("serving " in line for line in server.lines) == 3)
        ports = [int(port) for port in re.findall(r"serving \S+ at http://127.0.0.1:(\d+) ", "".join(server.lines))]
        assert len(set(ports)) == 3
        for number, port in enumerate(ports):
            server.address = ("127.0.0.1", port)
            for _ in range(number + 1):
                assert complete(server)[0] == 200
        for number, port in enumerate(ports):
            server.address = ("127.0.0.1", port)
            assert server.total("vllm:request_success_total") == number + 1
        status, out = server.stop()
    assert status == 0
    digests = re.findall(r"^digest +([0-9a-f]{32})$", out, re.MULTILINE)
    for number, digest in enumerate(digests):
        replay = ridgeline(
            *f"replay --trace log-{number}.jsonl --model llama-3.1-8b --gpu h100 --max-num-seqs 8 --format json".split()
        )
        assert json.loads(replay.stdout)["digest"] == digest
    assert len(digests) == 3


def test_ranks_are_chosen_by_clients(ridgeline):
    words = ("--data-parallel-size", "2", "--arrival-log", "log.jsonl")
    with serving(ridgeline, *FAST, *words) as server:
        ask = lambda rank: server.json(
            "POST", "/v1/completions", {"prompt": WORDS * 8, "max_tokens": 2}, {"X-data-parallel-rank": rank}
        )
        hits = lambda: server.total("vllm:prefix_cache_hits_total")
        assert ask("1")[0] == 200
        assert ask("0")[0] == 200
        assert hits() == 0  # Each rank has a cache of its own.
        assert ask("1")[0] == 200
        assert hits() > 0
        status, answer = ask("2")
        assert status == 400
        assert answer["error"]["message"] == "data_parallel_rank 2 is out of range [0, 2)."
        assert ask("one")[0] == 200
        _, out = server.stop()
    rows = [json.loads(line) for line in (ridgeline.folder / "log.jsonl").read_text().splitlines()[1:]]
    assert [row.get("data_parallel_rank") for row in rows] == [1, 0, 1, None]
    words = "--model llama-3.1-8b --gpu h100 --data-parallel-size 2 --instances 2 --format json".split()
    replay = ridgeline("replay", "--trace", "log.jsonl", *words, "--requests-out", "done.jsonl")
    assert json.loads(replay.stdout)["digest"] == digest_of(out)
    done = [json.loads(line) for line in (ridgeline.folder / "done.jsonl").read_text().splitlines()]
    assert [row["instance"] for row in done if "instance" in row][:3] == [1, 0, 1]


def test_settings_stand_in_the_scenario(ridgeline):
    ridgeline.write(
        "scenario.yaml",
        "serve:\n  served_model_name: [from-file, second]\n  speed: 50\n  api_key: [sesame]\n  output_len: 3\n"
        "  enable_request_id_headers: true\n  faults:\n    - {kind: error, share: 1, status: 418}\n",
    )
    key = {"Authorization": "Bearer sesame"}
    with serving(ridgeline, "scenario.yaml", "--served-model-name", "from-flag") as server:
        assert server.ask("GET", "/v1/models")[0] == 401
        _, models = server.json("GET", "/v1/models", headers=key)
        assert [card["id"] for card in models["data"]] == ["from-flag"]
        assert server.ask("POST", "/v1/completions", {"prompt": "the"}, key)[0] == 418
        assert "50 simulated seconds a second" in "".join(server.lines)
    ridgeline.write("good.yaml", "serve: {output_len: 3, enable_request_id_headers: true, speed: 50}\n")
    with serving(ridgeline, "good.yaml") as server:
        body = {"prompt": "the", "max_tokens": 50}
        _, headers, text = server.ask("POST", "/v1/completions", body, {"X-Request-Id": "mine"})
        assert headers["x-request-id"] == "mine"
        assert json.loads(text)["usage"]["completion_tokens"] == 3
    assert ridgeline("explain", "good.yaml", "--model", "llama-3.1-8b", "--gpu", "h100").returncode == 0


@pytest.mark.parametrize(
    "section, expected",
    [
        ("serve: 5", "serve"),
        ("serve: {prot: 8000}", "serve.prot"),
        ("serve: {port: [1, 2]}", "serve.port"),
        ("serve: {port: eighty}", "found 'eighty'"),
        ("serve: {faults: [{kind: melt}]}", "kind=melt"),
        ("serve: {enable_request_id_headers: maybe}", "serve.enable_request_id_headers"),
        ("serve: {speed: {a: 1}}", "serve.speed"),
    ],
)
def test_wrong_sections_are_refused(ridgeline, section, expected):
    ridgeline.write("wrong.yaml", section + "\n")
    done = ridgeline("serve", "wrong.yaml", "--model", "llama-3.1-8b", "--gpu", "h100")
    assert done.returncode == 2 and expected in done.stderr, done.stderr


@pytest.mark.parametrize(
    "words, expected",
    [
        (("--listen", "some"), '--listen: found "some"'),
        (("--listen", "each", "--uds", "x"), "expected ports"),
        (("--listen", "each", "--prefill-instances", "1", "--instances", "2"), "alike"),
        (("--request-fault", "kind=die,at=soon"), "at=soon"),
        (("--admin-port", "-1"), "--admin-port"),
        (("--ssl-keyfile", "key.pem"), "--ssl-keyfile: this server speaks HTTP alone"),
    ],
)
def test_wrong_words_are_refused(ridgeline, words, expected):
    done = ridgeline("serve", "--model", "llama-3.1-8b", "--gpu", "h100", *words)
    assert done.returncode == 2, done.stderr
    assert expected in done.stderr


def test_a_body_that_trickles_is_given_up(ridgeline):
    """Less than 1 KiB/s after 10 s."""
    with serving(ridgeline, *FAST) as server:
        head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        with server.socket() as slow, server.socket() as fast:
            slow.sendall(head + b"Content-Length: 100000\r\n\r\n")
            fast.sendall(head + b"Content-Length: 100000\r\n\r\n")
            start = time.monotonic()
            while (taken := time.monotonic() - start) < 11:
                if taken < 9.5:  # Not after its answer, which a reset would take away.
                    slow.sendall(b" " * 100)
                fast.sendall(b" " * 1000)
                time.sleep(0.25)
            assert read_all(slow).startswith(b"HTTP/1.1 408 ")
            fast.sendall(b" " * 50_000)
            assert server.ask("GET", "/health")[0] == 200
            fast.setblocking(False)
            with pytest.raises(BlockingIOError):
                fast.recv(100)


def test_each_rank_has_its_lines(ridgeline):
    with serving(ridgeline, *FAST, "--data-parallel-size", "2") as server:
        for rank, tokens in ((1, 5), (1, 7), (0, 3)):
            body = {"prompt": WORDS, "max_tokens": tokens, "ignore_eos": True}
            assert server.json("POST", "/v1/completions", body, {"X-data-parallel-rank": str(rank)})[0] == 200
        page = server.metrics()
    for name, values in {
        "vllm:generation_tokens_total": (3, 12),
        "vllm:e2e_request_latency_seconds_count": (1, 2),
        "vllm:inter_token_latency_seconds_count": (2, 10),
        "vllm:num_requests_running": (0, 0),
    }.items():
        for rank, value in enumerate(values):
            labels = f'engine="{rank}",model_name="meta-llama/Llama-3.1-8B-Instruct"'
            assert page[f"{name}{{{labels}}}"] == value, (name, rank)
    assert sum('cache_config_info{' in key and 'engine="1"' in key for key in page) == 1
