"""Clients that send nonsense, are slow or leave, and the end of a server."""

import json
import re
import resource
import signal
import socket
import time
from pathlib import Path

import pytest

from conftest import measures_memory
from serving import WORDS, digest_of, parse_events, read_all, serving, wait_for


@pytest.mark.parametrize(
    "raw, status",
    [
        (b"GET /health HTTP/1.1\nHost: x\n\n", 400),
        (b"GET /health HTTP/1.1\r\nHost: x\r\nA\x01: b\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"POST /ping HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST /ping HTTP/1.1\r\nContent-Length: -3\r\n\r\n", 400),
        (b"POST /ping HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"POST /ping HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"GET /health HTTP/1.1\r\nA: " + b"x" * 70_000 + b"\r\n\r\n", 431),
        (b"GET /health HTTP/1.1\r\n" + b"A: b\r\n" * 300 + b"\r\n", 431),
    ],
)
def test_bad_http_is_refused_and_closed(server, raw, status):
    with server.socket() as connection:
        connection.sendall(raw)
        assert read_all(connection).startswith(f"HTTP/1.1 {status} ".encode())
    assert server.ask("GET", "/health")[0] == 200


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b"{", b'{"prompt": "\xff"}', b'{"prompt": "\\ud800"}', b"[" * 100_000, b'{"a":1e999}', b"1" * 400],
)
def test_bad_bodies_are_refused(server, body):
    for path in ["/v1/completions", "/v1/chat/completions", "/tokenize", "/detokenize"]:
        status, _, text = server.ask("POST", path, raw=body)
        assert status == 400, (path, body[:40], text)
        json.loads(text)


def test_requests_come_in_order_on_one_connection(server):
    body = json.dumps({"prompt": "the", "max_tokens": 2}).encode()
    one = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
    last = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with server.socket() as connection:
        connection.sendall(one % (len(body), body) * 3 + last)
        data = read_all(connection)
    assert data.count(b"HTTP/1.1 200 OK") == 4


def test_a_reader_that_trickles_is_hung_up(ridgeline):
    words = ("--write-timeout", "1s", "--speed", "1000", "--max-model-len", "60000")
    with serving(ridgeline, *words) as server:
        body = json.dumps({"prompt": "the " * 50_000, "max_tokens": 1, "echo": True, "n": 40}).encode()
        head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(60)
            connection.connect(server.address)
            connection.sendall(head % len(body) + body)
            wait_for(lambda: connection.recv(1) == b"H")
            end = time.monotonic() + 30
            taken = 1
            # A byte now and then: its write time-out alone would never come.
            while server.metrics()["ridgeline:open_connections"] > 1:
                taken += len(connection.recv(1))
                time.sleep(0.1)
                assert time.monotonic() < end, taken
        assert server.total("ridgeline:open_streams") == 0
        assert server.ask("GET", "/health")[0] == 200


def test_sigterm_lets_streams_end(ridgeline):
    with serving(ridgeline, "--max-model-len", "4096") as server:
        connection = server.connect()
        body = json.dumps({"prompt": WORDS, "max_tokens": 100, "ignore_eos": True, "stream": True})
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.readline()
        server.process.send_signal(signal.SIGTERM)
        events = parse_events(b"data: {}\n" + answer.read())
        assert events[-1] == "[DONE]"
        assert events[-2]["choices"][0]["finish_reason"] == "length"
        status, out = server.wait()
        assert status == 0
        assert "1 completed" in out


def test_sigterm_cuts_streams_after_the_timeout(ridgeline):
    with serving(ridgeline, "--shutdown-timeout", "300ms", "--arrival-log", "arrivals.jsonl") as server:
        connection = server.connect()
        body = json.dumps({"prompt": WORDS, "max_tokens": 100_000, "ignore_eos": True, "stream": True})
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.readline()
        server.process.send_signal(signal.SIGTERM)
        tail = answer.read()
        assert b'"error"' in tail and tail.endswith(b"data: [DONE]\n\n")
        status, out = server.wait()
        assert status == 130
    replay = ridgeline(
        "replay", "--trace", "arrivals.jsonl", "--model", "llama-3.1-8b", "--gpu", "h100", "--format", "json"
    )
    assert json.loads(replay.stdout)["digest"] == digest_of(out)


def test_a_second_signal_ends_at_once(ridgeline):
    with serving(ridgeline, "--arrival-log", "arrivals.jsonl") as server:
        sockets = open_streams(server, 5, 100_000)
        wait_for(lambda: server.total("ridgeline:open_streams") == 5)
        server.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        time.sleep(0.3)
        assert server.process.poll() is None  # It lets streams end, for 30 s.
        server.process.send_signal(signal.SIGTERM)
        status, _ = server.wait(10)
        assert status != 0 and time.monotonic() - began < 10
        for one in sockets:
            one.close()
    rows = (ridgeline.folder / "arrivals.jsonl").read_text().splitlines()
    assert len(rows) == 6 and all(json.loads(row) for row in rows)  # The head, and each request.


def test_slow_reader_gets_every_token(ridgeline):
    with serving(ridgeline, "--speed", "200", "--max-model-len", "131072") as server:
        tokens = 40_000
        body = json.dumps({"prompt": WORDS, "max_tokens": tokens, "ignore_eos": True, "stream": True}).encode()
        head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(60)
            connection.connect(server.address)
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            wait_for(lambda: server.total("vllm:request_success_total") == 1)
            data = read_all(connection)
        events = re.findall(rb'"text":"([^"]*)"', data)
        assert len(b"".join(events).split(b" ")) == tokens
        assert len(events) < tokens
        assert server.total("ridgeline:merged_events_total") > 0


def test_waiting_requests_have_a_limit(ridgeline):
    words = ("--max-num-seqs", "1", "--max-waiting", "2")
    with serving(ridgeline, *words) as server:
        sockets = []
        body = json.dumps({"prompt": WORDS, "max_tokens": 100_000, "ignore_eos": True, "stream": True}).encode()
        head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        for i in range(3):
            connection = server.socket()
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            sockets.append(connection)
            wait_for(lambda i=i: server.total("vllm:num_requests_waiting") >= i)
        status, headers, _ = server.ask("POST", "/v1/completions", {"prompt": "the"})
        assert (status, headers["retry-after"]) == (429, "1")
        for connection in sockets:
            connection.close()


STREAM_HEAD = (
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
)


def open_streams(server, number, tokens):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    body = json.dumps({"prompt": WORDS, "max_tokens": tokens, "ignore_eos": True, "stream": True}).encode()
    sockets = []
    for _ in range(number):
        one = server.socket()
        one.sendall(STREAM_HEAD % len(body) + body)
        sockets.append(one)
    return sockets


def test_a_thousand_streams_end_after_sigterm(ridgeline):
    words = ("--max-num-seqs", "1024")
    with serving(ridgeline, *words, "--arrival-log", "arrivals.jsonl") as server:
        sockets = open_streams(server, 1000, 300)  # The first ends after the last has begun, on a busy machine too.
        wait_for(lambda: server.total("ridgeline:open_streams") == 1000)
        server.process.send_signal(signal.SIGTERM)
        answers = [read_all(one) for one in sockets]
        assert sum(answer.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n") for answer in answers) == 1000
        assert all(answer.count(b"data: ") >= 2 for answer in answers)
        status, out = server.wait()
        assert status == 0
        assert "1000 completed" in out
    replay = ridgeline(
        "replay", "--trace", "arrivals.jsonl", "--model", "llama-3.1-8b", "--gpu", "h100", *words, "--format", "json"
    )
    assert json.loads(replay.stdout)["digest"] == digest_of(out)


def test_streams_that_are_all_dropped_leave_nothing(ridgeline):
    with serving(ridgeline) as server:
        for _ in range(3):
            for one in open_streams(server, 100, 50_000):
                one.close()
        wait_for(lambda: server.total("ridgeline:open_streams") == 0)
        wait_for(lambda: server.finished("abort") == 300)
        assert server.total("vllm:kv_cache_usage_perc") == 0
        assert server.total("vllm:num_requests_running") == 0


def test_connections_have_a_limit(ridgeline):
    with serving(ridgeline, "--max-connections", "3") as server:
        sockets = open_streams(server, 3, 50_000)
        wait_for(lambda: b"HTTP/1.1 503" in read_all_of_a_new(server))
        for one in sockets:
            one.close()
        wait_for(lambda: server_answers(server))


def read_all_of_a_new(server):
    with server.socket() as one:
        try:
            one.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        except ConnectionError:
            pass
        return read_all(one)


def server_answers(server):
    return read_all_of_a_new(server).startswith(b"HTTP/1.1 200")


def test_slow_heads_time_out(ridgeline):
    with serving(ridgeline) as server, server.socket(30) as one:
        one.sendall(b"GET /health HT")
        began = time.monotonic()
        assert read_all(one).startswith(b"HTTP/1.1 408 ")
        assert 9 <= time.monotonic() - began <= 20


def test_idle_connections_end(ridgeline):
    with serving(ridgeline) as server, server.socket(30) as one:
        one.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        began = time.monotonic()
        assert read_all(one).startswith(b"HTTP/1.1 200 ")
        assert 4 <= time.monotonic() - began <= 15


SCENARIO = "model: llama-3.1-8b\ngpu: h100\n"


def serve(ridgeline, *words):
    return ridgeline("serve", "--port", "0", *words)


def test_an_arrival_log_replaces_nothing(ridgeline):
    folder = ridgeline.folder
    (folder / "s.yaml").write_text(SCENARIO)
    (folder / "old.jsonl").write_text('{"the log": "of a run before"}\n')
    (folder / "link.yaml").symlink_to("s.yaml")
    (folder / "twin.yaml").hardlink_to(folder / "s.yaml")
    for name in ["s.yaml", "./s.yaml", "link.yaml", "twin.yaml", "old.jsonl"]:
        done = serve(ridgeline, "s.yaml", "--arrival-log", name)
        assert done.returncode == 2, (name, done.stderr)
        assert "--arrival-log" in done.stderr and "already" in done.stderr
    assert (folder / "s.yaml").read_text() == SCENARIO
    assert (folder / "old.jsonl").read_text() == '{"the log": "of a run before"}\n'


def test_an_arrival_log_has_one_writer(ridgeline):
    with serving(ridgeline, "--arrival-log", "log.jsonl") as server:
        server.json("POST", "/v1/completions", {"prompt": WORDS, "max_tokens": 2})
        done = serve(ridgeline, "--model", "llama-3.1-8b", "--gpu", "h100", "--arrival-log", "log.jsonl")
        assert done.returncode == 2 and "another server" in done.stderr
        assert server.stop()[0] == 0
    assert len((ridgeline.folder / "log.jsonl").read_text().splitlines()) == 2


def test_a_log_that_is_full_is_said_at_once_and_ends_with_a_row(ridgeline):
    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

    with serving(ridgeline, "--speed", "50", "--arrival-log", "log.jsonl", preexec_fn=little_room) as server:
        assert server.metrics()["ridgeline:arrival_log_whole"] == 1
        for _ in range(20):
            assert server.ask("POST", "/v1/completions", {"prompt": WORDS, "max_tokens": 2})[0] == 200
        assert server.metrics()["ridgeline:arrival_log_whole"] == 0
        wait_for(lambda: any("W-arrival-log" in line for line in server.lines))
    lines = (ridgeline.folder / "log.jsonl").read_text()
    assert 1 < len(lines.splitlines()) < 21 and lines.endswith("}\n")
    assert all(json.loads(line) for line in lines.splitlines())


def test_a_wide_schema_holds_nobody_up(server):
    names = [f"p{i}" for i in range(50_000)]
    schema = {"type": "object", "properties": {name: {"type": "null"} for name in names}, "required": names}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    begin = time.monotonic()
    server.ask("POST", "/v1/completions", {"prompt": "the", "max_tokens": 2, "response_format": form})
    assert time.monotonic() - begin < 3  # Six seconds before, of which a slow machine makes twenty.


def test_an_answer_of_hundreds_of_megabytes_is_refused(server):
    chat = {"messages": [{"role": "user", "content": "the"}], "max_tokens": 4000, "ignore_eos": True}
    body = {**chat, "n": 128, "logprobs": True, "top_logprobs": 5}
    status, _, text = server.ask("POST", "/v1/chat/completions", body)
    assert status == 400 and b"64 MiB" in text
    assert server.ask("POST", "/v1/chat/completions", {**body, "n": 1, "max_tokens": 50})[0] == 200


@measures_memory
def test_a_request_beyond_the_memory_ends_alone(ridgeline):
    with serving(ridgeline, "--speed", "4") as server:
        with server.socket() as stream:
            body = json.dumps({"prompt": "the", "max_tokens": 800, "min_tokens": 800, "stream": True}).encode()
            head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            stream.sendall(head % len(body) + body)
            assert stream.recv(100).startswith(b"HTTP/1.1 200")
            status = Path(f"/proc/{server.process.pid}/status").read_text()
            limit = (int(re.search(r"VmSize:\s+(\d+) kB", status)[1]) << 10) + (40 << 20)
            resource.prlimit(server.process.pid, resource.RLIMIT_AS, (limit, limit))
            large = {"prompt": "the", "max_tokens": 1, "user": "x" * 30_000_000}
            assert server.ask("POST", "/v1/completions", large)[0] == 503
            assert server.ask("POST", "/v1/completions", {"prompt": "the", "max_tokens": 2})[0] == 200
            assert b"[DONE]" in wait_for_end(stream)
        assert server.stop()[0] == 0


def wait_for_end(stream):
    data = b""
    while b"[DONE]" not in data:
        data += stream.recv(65536)
    return data
