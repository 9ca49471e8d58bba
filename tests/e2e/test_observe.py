"""`observe` against a small server on loopback: what is sent, measured, recorded, and read back."""

import json
import os
import re
import signal
import socket
import threading
import time

import pytest

from fake_openai import Behaviour, FakeServer

LOAD = ["--request-rate", "50", "--num-prompts", "30", "--input-len", "40", "--output-len", "8", "--seed", "3"]
SERVER = ["--model", "llama-3.1-8b", "--gpu", "h100"]
GONE = "127.0.0.1:1"


def observe(ridgeline, server, *more, record="run.jsonl", load=LOAD, env=None):
    url = server if isinstance(server, str) else server.url
    output = ["-o", record] if record else []
    return ridgeline("observe", url, *load, *output, "--format", "json", *more, env=env)


def lines_of(ridgeline, record="run.jsonl"):
    return [json.loads(line) for line in (ridgeline.folder / record).read_text().splitlines()]


def rows_of(ridgeline, record="run.jsonl"):
    return [line for line in lines_of(ridgeline, record) if "id" in line]


def test_sends_the_workload_and_records_each_request(ridgeline):
    with FakeServer() as server:
        done = observe(ridgeline, server, *SERVER)
        sent = server.generations()
    assert done.returncode in (0, 99), done.stderr  # 99: a busy machine makes the client late
    lines = lines_of(ridgeline)
    head, rows, tail = lines[0], lines[1:-1], lines[-1]
    assert head["ridgeline_observed"] == 1 and head["server"]["models"] == ["fake-model"]
    assert head["deployment"] == {"model": "llama-3.1-8b", "gpu": "h100"}
    assert head["prompts"]["overhead"] == 1
    assert sorted(row["id"] for row in rows) == list(range(30))
    assert tail["ridgeline_observed_end"] == 1 and not tail["partial"]
    assert tail["client"]["sent"] == 30 and tail["client"]["unfinished"] == 0
    assert len({request.body["prompt"] for request in sent}) == 30
    for request in sent:
        body = request.body
        assert len(body["prompt"].split()) == 39 and body["model"] == "fake-model"
        assert body["max_tokens"] == body["min_tokens"] == 8 and body["ignore_eos"] is True
    for row in rows:
        assert row["status"] == 200 and row["ended"] == "done" and "error" not in row
        assert row["prompt_tokens"] == row["input_tokens"] == 40
        assert row["completion_tokens"] == row["output_tokens"] == row["events"] == 8
        assert len(row["gaps_us"]) == 7 and row["finish_reason"] == "length"
        assert 9.0 < row["ttft_ms"] <= row["last_ms"] <= row["end_ms"]
        assert abs(sum(row["gaps_us"]) / 1e3 - (row["last_ms"] - row["ttft_ms"])) < 0.01
        assert row["send_s"] >= row["due_s"]
    summary = json.loads(done.stdout)
    assert summary["completed"] == 30 and summary["latencies"]["itl_ms"]["count"] == 210


def test_the_due_times_are_those_of_run(ridgeline):
    with FakeServer() as server:
        observe(ridgeline, server)
    run = ridgeline("run", *SERVER, *LOAD, "--requests-out", "sim.jsonl", "--format", "quiet")
    assert run.returncode == 0, run.stderr
    simulated = {line["request_id"]: line["arrival_s"] for line in lines_of(ridgeline, "sim.jsonl")
                 if "arrival_s" in line}
    for row in rows_of(ridgeline):
        assert abs(row["due_s"] - simulated[row["id"]]) < 1e-9


@pytest.mark.parametrize("how", [
    {"line_end": "\r\n", "piece": 3},
    {"line_end": "\r", "space": "", "comments": True},
    {"piece": 1, "byte_order_mark": True},
    {"chunked": False},
    {"chunked": False, "done": False},
    {"usage": False, "tokenize": False},
])
def test_reads_every_stream_that_the_standard_allows(ridgeline, how):
    with FakeServer(Behaviour(**how)) as server:
        done = observe(ridgeline, server, load=LOAD[:2] + ["--num-prompts", "5"] + LOAD[4:])
    assert done.returncode in (0, 99), done.stderr
    rows = rows_of(ridgeline)
    assert len(rows) == 5
    for row in rows:
        assert row["events"] == 8 and "error" not in row
        assert row["ended"] == ("close" if how.get("done") is False else "done")


def test_a_stall_shows_and_later_requests_are_sent_when_they_are_due(ridgeline):
    load = ["--request-rate", "20", "--arrivals", "constant", "--duration", "4s", "--input-len", "20",
            "--output-len", "4"]
    with FakeServer(Behaviour(stall=(1.0, 3.0))) as server:
        done = observe(ridgeline, server, load=load)
        sent = [request.time - server.first for request in server.generations()]
    assert done.returncode in (0, 99), done.stderr
    during = [time for time in sent if 1.2 <= time < 2.8]
    assert len(during) >= 28  # of 32: nothing waits for an answer
    latencies = json.loads(done.stdout)["latencies"]
    assert latencies["ttft_from_due_ms"]["max"] > 1800
    slow = [row for row in rows_of(ridgeline) if row["ttft_ms"] > 500]
    assert len(slow) >= 25
    # The lag is the machine's, not the stall's 2 s.
    assert latencies["lag_ms"]["p50"] < 20 and latencies["lag_ms"]["max"] < 500


def test_what_the_client_holds_back_is_told_and_counts_from_its_due_time(ridgeline):
    load = ["--request-rate", "40", "--arrivals", "constant", "--num-prompts", "60", "--input-len", "20",
            "--output-len", "4"]
    with FakeServer(Behaviour(stall=(0.5, 1.5))) as server:
        done = observe(ridgeline, server, "--max-in-flight", "4", load=load)
    assert done.returncode in (0, 99), done.stderr
    result = json.loads(done.stdout)
    assert result["held"] > 20
    assert "W-held-back" in [warning["code"] for warning in result["warnings"]]
    latencies = result["latencies"]
    assert latencies["ttft_from_due_ms"]["mean"] > latencies["ttft_ms"]["mean"] + 100
    assert latencies["lag_ms"]["p50"] < 20
    assert max(row["held_ms"] for row in rows_of(ridgeline)) > 500


def test_a_closed_loop_waits_for_answers(ridgeline):
    load = ["--max-concurrency", "3", "--num-prompts", "12", "--input-len", "20", "--output-len", "5"]
    with FakeServer() as server:
        done = observe(ridgeline, server, load=load)
    assert done.returncode in (0, 99), done.stderr
    rows = sorted(rows_of(ridgeline), key=lambda row: row["send_s"])
    assert len(rows) == 12
    ends = sorted(row["send_s"] + row["end_ms"] / 1e3 for row in rows)
    for place, row in enumerate(rows[3:]):
        assert row["send_s"] >= ends[place]


@pytest.mark.parametrize("endpoint", ["completions", "chat"])
def test_sessions_quote_the_answers_that_were_given(ridgeline, endpoint):
    ridgeline.write("chat.jsonl", "\n".join([
        '{"ridgeline_workload": 1, "groups": true, "waits": true, "block_tokens": 0, "stages": [{}]}',
        '{"arrival_s": 0, "input_tokens": 30, "output_tokens": 6, "session": 0, "turn": 0, "prompt": [[5, 30]]}',
        '{"group": 1, "after": [0], "delay_s": 0.05, "input_tokens": 50, "output_tokens": 4, "session": 0, '
        '"turn": 1, "prompt": [[5, 30], [-1, 6], [6, 14]]}']) + "\n")
    with FakeServer() as server:
        done = observe(ridgeline, server, "--endpoint", endpoint, load=["--trace", "chat.jsonl"])
        first, second = server.generations()
    assert done.returncode in (0, 99), done.stderr
    answer = "alpha beta gamma alpha beta gamma"
    if endpoint == "chat":
        roles = [message["role"] for message in second.body["messages"]]
        assert roles == ["user", "assistant", "user"]
        assert second.body["messages"][1]["content"] == answer
        shared = second.body["messages"][0]["content"]
        assert shared.startswith(first.body["messages"][0]["content"])
    else:
        assert second.body["prompt"].startswith(first.body["prompt"])
        assert answer in second.body["prompt"]
    for row in rows_of(ridgeline):
        assert row["prompt_tokens"] == row["input_tokens"]
    assert second.time - first.time > 0.05
    replayed = ridgeline("replay", "run.jsonl", *SERVER, "--format", "json")
    assert replayed.returncode == 0, replayed.stderr
    assert json.loads(replayed.stdout)["summary"]["completed"] == 2


def test_half_of_the_requests_failing_ends_it(ridgeline):
    load = ["--request-rate", "200", "--num-prompts", "200", "--input-len", "20", "--output-len", "3"]
    half = {"status": lambda number: 503 if number % 2 else None}
    with FakeServer(Behaviour(**half)) as server:
        done = observe(ridgeline, server, load=load)
    assert done.returncode == 99, done.stderr
    tail = lines_of(ridgeline)[-1]
    assert tail["partial"] and "of the last 50 requests failed" in tail["ended_by"]
    with FakeServer(Behaviour(**half)) as server:
        done = observe(ridgeline, server, "--stop-when", "never", record="all.jsonl", load=load)
    result = json.loads(done.stdout)
    assert result["failed"] == 100 and result["completed"] == 100
    assert {row["error"].split(":")[0] for row in rows_of(ridgeline, "all.jsonl") if row["status"] == 503} == {"HTTP 503"}
    traced = ridgeline("trace", "all.jsonl", "--format", "json")
    assert traced.returncode == 0 and "100 requests that failed" in traced.stderr + traced.stdout


def test_a_rule_ends_it(ridgeline):
    load = ["--request-rate", "20", "--num-prompts", "200", "--input-len", "20", "--output-len", "3"]
    with FakeServer(Behaviour(ttft=30)) as server:
        done = observe(ridgeline, server, "--stop-when", "in_flight>10", load=load)
    assert done.returncode == 99, done.stderr
    tail = lines_of(ridgeline)[-1]
    assert tail["ended_by"] == "in_flight>10" and 10 < tail["client"]["unfinished"] < 60


@pytest.mark.parametrize("how, error", [
    ({"close_after": lambda number: 2}, "closed"),
    ({"close_after": lambda number: 2, "chunked": False}, "the stream ended before the answer did"),
    ({"error_after": lambda number: 2}, "it broke"),
    ({"content_type": "application/json"}, "content type"),
    ({"raw": lambda number: b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " + b"x" * 2_000_000},
     "a line of more than 1048576 bytes"),
    ({"raw": lambda number: b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"choices\":\n\n"},
     "no JSON object"),
    ({"raw": lambda number: b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"},
     "an answer without an event"),
    ({"raw": lambda number: b"\x00\x01\x02 what\r\n\r\n"}, ""),
    ({"raw": lambda number: b""}, ""),
    ({"status": lambda number: 302}, "HTTP 302"),
])
def test_what_a_server_does_wrong_is_an_error_of_its_request(ridgeline, how, error):
    load = ["--request-rate", "50", "--num-prompts", "4", "--input-len", "20", "--output-len", "6"]
    with FakeServer(Behaviour(**how)) as server:
        done = observe(ridgeline, server, load=load)
        assert all(request.path != "/elsewhere" for request in server.seen)
    assert done.returncode == 99, done.stderr  # None was answered.
    rows = rows_of(ridgeline)
    assert len(rows) == 4
    for row in rows:
        assert row["ended"] == "error" and error in row["error"] and "\n" not in row["error"]
    assert json.loads(done.stdout)["failed"] == 4


def test_a_dead_connection_is_a_second_attempt(ridgeline):
    load = ["--max-concurrency", "1", "--num-prompts", "5", "--input-len", "20", "--output-len", "3",
            "--think-time", "50ms"]
    with FakeServer(Behaviour(idle_close=True)) as server:
        done = observe(ridgeline, server, load=load)
    assert done.returncode in (0, 99), done.stderr
    assert all("error" not in row and row["attempt"] in (1, 2) for row in rows_of(ridgeline))


def test_connections_are_used_again_unless_told_otherwise(ridgeline):
    load = ["--max-concurrency", "1", "--num-prompts", "6", "--input-len", "20", "--output-len", "3"]
    for use, fewest, most in (("reuse", 1, 2), ("new", 6, 12)):
        with FakeServer() as server:
            observe(ridgeline, server, "--connections", use, record=f"{use}.jsonl", load=load)
            assert fewest <= len({request.connection for request in server.generations()}) <= most
    assert all(row["connect_ms"] > 0 for row in rows_of(ridgeline, "new.jsonl"))


def test_no_answer_comes_before_its_request(ridgeline):
    """Not even where one call of the client's library sends the one and reads the other."""
    event = b'data: {"choices": [{"index": 0, "text": "a", "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    models = b'{"object": "list", "data": [{"id": "m"}]}'

    def serve(client):
        with client:
            while data := client.recv(1 << 16):
                body = event if data.startswith(b"POST") else models
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    def accept(listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    load = ["--max-concurrency", "1", "--num-prompts", "300", "--input-len", "40", "--output-len", "1"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        observe(ridgeline, f"http://127.0.0.1:{listener.getsockname()[1]}", load=load)
        listener.shutdown(socket.SHUT_RDWR)
    rows = rows_of(ridgeline)
    assert len(rows) == 300 and all(row["ended"] == "done" for row in rows)
    assert all(0 <= row["ttft_ms"] <= row["end_ms"] for row in rows), min(row["ttft_ms"] for row in rows)


def test_an_unreachable_server_is_named(ridgeline):
    done = observe(ridgeline, f"http://{GONE}")
    assert done.returncode == 2
    assert f"http://{GONE}/v1/models" in done.stderr and "refused" in done.stderr
    assert ridgeline.files() == set()


def test_only_this_machine_is_loaded(ridgeline):
    for url in ("http://10.1.2.3:8000", "http://[2001:db8::1]:8000", "http://192.168.0.1", "http://0.0.0.0:8000"):
        done = observe(ridgeline, url)
        assert done.returncode == 2 and "--allow-remote" in done.stderr, done.stderr


def test_a_unix_socket(ridgeline):
    path = str(ridgeline.folder / "s")
    with FakeServer(socket=path) as server:
        done = observe(ridgeline, server)
    assert done.returncode in (0, 99), done.stderr
    assert len(rows_of(ridgeline)) == 30


def test_the_key_is_sent_and_stored_nowhere(ridgeline):
    with FakeServer(Behaviour(key="sk-very-secret")) as server:
        refused = observe(ridgeline, server, record="no.jsonl")
        assert refused.returncode == 2 and "401" in refused.stderr
        done = observe(ridgeline, server, env={"OPENAI_API_KEY": "sk-very-secret"})
        assert done.returncode in (0, 99), done.stderr
        ridgeline.write("key", "sk-very-secret\n")
        filed = observe(ridgeline, server, "--api-key-file", "key", record="filed.jsonl")
        assert filed.returncode in (0, 99), filed.stderr
    for name in ("run.jsonl", "filed.jsonl"):
        assert "secret" not in (ridgeline.folder / name).read_text()
    assert "secret" not in done.stdout + done.stderr


def test_proxies_of_the_environment_are_not_asked(ridgeline):
    proxy = {name: f"http://{GONE}" for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy")}
    with FakeServer() as server:
        done = observe(ridgeline, server, env=proxy)
    assert done.returncode in (0, 99), done.stderr


def test_an_interrupt_leaves_a_record_that_goes_on(ridgeline):
    load = ["--request-rate", "40", "--num-prompts", "100", "--input-len", "20", "--output-len", "4", "--seed", "5"]
    with FakeServer() as server:
        running = ridgeline.start("observe", server.url, *load, "-o", "run.jsonl")
        deadline = time.monotonic() + 20
        while len(server.generations()) < 30 and time.monotonic() < deadline:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=20)
        assert running.returncode == 130
        first = rows_of(ridgeline)
        tail = lines_of(ridgeline)[-1]
        assert tail["partial"] and tail["ended_by"] == "interrupt" and 20 < len(first) < 90
        other = observe(ridgeline, server, "--resume", load=load[:-1] + ["6"])
        assert other.returncode == 2 and "of the workload" in other.stderr
        # As a killed process leaves it.
        with open(ridgeline.folder / "run.jsonl", "a") as record:
            record.write('{"id": 99, "sta')
        done = observe(ridgeline, server, "--resume", load=load)
    assert done.returncode in (0, 99), done.stderr
    rows = rows_of(ridgeline)
    assert sorted(row["id"] for row in rows) == list(range(100))
    assert {row["stage"] for row in rows[: len(first)]} == {0}
    assert {row["stage"] for row in rows[len(first):]} == {1}
    assert min(row["send_s"] for row in rows[len(first):]) > max(row["send_s"] for row in first)
    traced = json.loads(ridgeline("trace", "run.jsonl", "--format", "json").stdout)
    assert "100" in json.dumps(traced)


def test_a_record_is_not_overwritten(ridgeline):
    ridgeline.write("run.jsonl", "mine\n")
    with FakeServer() as server:
        done = observe(ridgeline, server)
        assert done.returncode == 2 and "exists" in done.stderr
        resumed = observe(ridgeline, server, "--resume")
        assert resumed.returncode == 2 and "expected the record" in resumed.stderr
        assert server.generations() == []
    assert (ridgeline.folder / "run.jsonl").read_text() == "mine\n"


def test_warm_up_is_sent_and_not_counted(ridgeline):
    with FakeServer() as server:
        done = observe(ridgeline, server, "--warmup", "10")
    result = json.loads(done.stdout)
    assert result["completed"] == 30 and result["warm_up"] == 10
    assert result["latencies"]["e2e_ms"]["count"] == 20
    assert [row["id"] for row in rows_of(ridgeline) if row["warmup"]] == list(range(10))


def test_metrics_are_looked_at(ridgeline):
    page = ('vllm:num_requests_running{model_name="m"} 3.0\nvllm:kv_cache_usage_perc{model_name="m"} 0.25\n'
            'vllm:cache_config_info{block_size="16",num_gpu_blocks="1234"} 1.0\n')
    load = ["--request-rate", "20", "--duration", "1500ms", "--input-len", "20", "--output-len", "3"]
    with FakeServer(Behaviour(metrics=page)) as server:
        done = observe(ridgeline, server, "--scrape", "200ms", load=load)
    assert done.returncode in (0, 99), done.stderr
    lines = lines_of(ridgeline)
    assert lines[0]["server"]["cache_config"]["num_gpu_blocks"] == "1234"
    looks = [line for line in lines if "scrape_s" in line]
    assert len(looks) >= 4 and all(look["running"] == 3 and look["kv_use"] == 0.25 for look in looks)
    assert lines[-1]["metrics_after"]["running"] == 3


@pytest.mark.parametrize("words, named", [
    ([], "URL"),
    (["127.0.0.1:8000"], "URL"),
    (["ftp://127.0.0.1"], "http"),
    (["http://me:pass@127.0.0.1"], "--api-key-file"),
    (["http://127.0.0.1:99999"], "port"),
    (["http://127.0.0.1/v1?x=1"], "query"),
    (["unix:relative"], "absolute"),
    (["http://127.0.0.1", "--request-rate", "5", "--input-len", "5", "--output-len", "5"], "no end is stated"),
    (["http://127.0.0.1", *LOAD, "--request-rate", "5000"], "--max-rate"),
    (["http://127.0.0.1", *LOAD, "--stop-when", "errors>x"], "--stop-when"),
    (["http://127.0.0.1", *LOAD, "--endpoint", "chats"], "chat"),
    (["http://127.0.0.1", *LOAD, "--endpoint", "chat", "--prompt", "tokens"], "token ids"),
    (["http://127.0.0.1", *LOAD, "--connections", "0"], "reuse"),
    (["http://127.0.0.1", *LOAD, "--warmup", "soon"], "--warmup"),
    (["http://127.0.0.1", *LOAD, "--resume"], "-o FILE"),
    (["http://127.0.0.1", *LOAD, "--gpu", "h1000"], "h1000"),
    (["http://127.0.0.1", "--num-prompts", "5"], "request_rate"),
    (["http://127.0.0.1", *LOAD, "--api-key-file", "nowhere"], "nowhere"),
])
def test_wrong_words(ridgeline, words, named):
    if "--request-rate" in words and words.count("--request-rate") > 1:
        at = words.index("--request-rate")
        words = words[:at] + words[at + 2:]
    done = ridgeline("observe", *words)
    assert done.returncode == 2 and named in done.stderr, done.stderr
    assert "pass@" not in done.stderr and ridgeline.files() == set()


def test_prompts_of_token_ids(ridgeline):
    with FakeServer(Behaviour(tokens_per_word=2)) as server:
        done = observe(ridgeline, server, record="words.jsonl")
        assert "2 tokens of a word" in done.stderr and "--prompt tokens" in done.stderr
        done = observe(ridgeline, server, "--prompt", "tokens")
        assert "W-prompt-lengths" not in done.stderr
        assert len(server.generations()[-1].body["prompt"]) == 40
    assert all(row["prompt_tokens"] == 40 for row in rows_of(ridgeline))


def test_answers_of_other_lengths_are_told(ridgeline):
    with FakeServer(Behaviour(heeds_length=False)) as server:
        done = observe(ridgeline, server)
        assert "W-output-lengths" in done.stderr
        natural = observe(ridgeline, server, "--answers", "natural", record="natural.jsonl")
        assert "W-output-lengths" not in natural.stderr
        assert "ignore_eos" not in server.generations()[-1].body


def test_validate_and_calibrate_read_the_record(ridgeline):
    load = ["--request-rate", "20", "--num-prompts", "40", "--input-len", "100", "--output-len", "20"]
    with FakeServer(Behaviour(ttft=0.012, gap=0.007)) as server:
        done = observe(ridgeline, server, *SERVER, load=load)
    assert done.returncode in (0, 99), done.stderr
    validated = ridgeline("validate", "run.jsonl", "--format", "json", "--histories", "1")
    assert validated.returncode in (0, 99), validated.stderr
    (record,) = json.loads(validated.stdout)["records"]
    rows = rows_of(ridgeline)
    # Without the way there and back, which no constant of the model stands for.
    lines = [json.loads(line) for line in (ridgeline.folder / "run.jsonl").read_text().splitlines()]
    round_trip = min(line["client"]["round_trip_ms"] for line in (lines[0], lines[-1]))
    assert 0 < round_trip < 20
    mean = sum(row["end_ms"] for row in rows) / len(rows) - round_trip
    assert abs(record["measured"]["e2e"]["mean"] - mean) < 0.01, record
    # A record whose client was too slow is no ground for constants.
    lines = lines_of(ridgeline)
    lines[-1].update(sound=False, unsound=["requests were sent 50 ms late (p99), expected at most 2 ms"])
    ridgeline.write("late.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    refused = ridgeline("calibrate", "late.jsonl", "-o", "mine.yaml")
    assert refused.returncode == 2 and "unsound" in refused.stderr and "--allow-unsound" in refused.stderr
    cut = "".join(json.dumps(line) + "\n" for line in lines[:-1])
    ridgeline.write("cut.jsonl", cut)
    assert "cut off" in ridgeline("calibrate", "cut.jsonl").stderr


FEW = ["--request-rate", "50", "--num-prompts", "3", "--input-len", "40", "--output-len", "4", "--seed", "3"]


def test_what_a_server_says_does_not_reach_the_terminal_raw(ridgeline):
    evil = "m\x1b[31m\x9b2Jx"
    with FakeServer(Behaviour(model=evil, status=lambda n: 500 if n else None)) as server:
        done = ridgeline("observe", server.url, *FEW, "-o", "run.jsonl")
        assert {request.body["model"] for request in server.generations()} == {evil}  # It is sent as it is.
    assert r"m\x1b[31m\xc2\x9b2Jx" in done.stdout
    for text in (done.stdout, done.stderr):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert lines_of(ridgeline)[0]["server"]["models"] == [evil]


@pytest.mark.parametrize("counted", [-1, -(2**62), 2**62])
def test_counts_that_are_none_make_a_failed_request(ridgeline, counted):
    with FakeServer(Behaviour(counted=counted)) as server:
        done = observe(ridgeline, server, load=FEW)
    assert done.returncode == 99, done.stderr
    summary = json.loads(done.stdout)
    assert summary["failed"] == 3 and summary["completed"] == 0
    assert summary["input_tokens"] == summary["output_tokens"] == 0
    assert "usage: prompt_tokens is" in summary["errors"][0]["error"]


def test_trailers_without_an_end_are_hung_up(ridgeline):
    # 100 MB behind each answer, which itself is whole.
    begin = time.monotonic()
    with FakeServer(Behaviour(trailer_lines=100_000)) as server:
        done = observe(ridgeline, server, load=FEW)
    assert json.loads(done.stdout)["completed"] == 3, done.stderr
    assert time.monotonic() - begin < 5
    # None of it was taken: the connection of each answer was closed, so that the next had its own.
    assert len({seen.connection for seen in server.generations()}) == 3
    # A few that are sound are read over, on a connection that stays.
    with FakeServer(Behaviour(trailer_lines=3)) as server:
        observe(ridgeline, server, load=["--max-concurrency", "1", *FEW[2:]], record=None)
    assert len({seen.connection for seen in server.generations()}) == 1
