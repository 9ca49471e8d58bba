"""`observe` measures `serve`: the loop is closed. What was served is predicted, and a constant that was set is found."""

import json

import pytest

from serving import serving

SERVER = ["--model", "llama-3.1-8b", "--gpu", "h100"]
# As observe asks for temperature 0, the server samples without the network's own settings.
GREEDY = ["--generation-config", "vllm"]


def load(rate, seconds=8):
    return ["--request-rate", rate, "--num-prompts", seconds * rate, "--input-len", 256, "--output-len", 24, "--seed", 7]


def observe(ridgeline, server, record, *words):
    host, port = server.address
    done = ridgeline("observe", f"http://{host}:{port}", *words, *SERVER, "-o", record, "--format", "json")
    assert done.returncode in (0, 99), done.stderr
    result = json.loads(done.stdout)
    assert result["failed"] == 0 and "W-prompt-lengths" not in done.stderr
    return result


def late_ms(server):
    """How late the server wrote what was due, on average."""
    page = server.ask("GET", "/metrics")[2].decode()
    value = {line.split(" ")[0].split("{")[0]: float(line.split(" ")[1]) for line in page.splitlines()
             if line.startswith("ridgeline:emission_lateness_seconds_")}
    return 1e3 * value["ridgeline:emission_lateness_seconds_sum"] / value["ridgeline:emission_lateness_seconds_count"]


def skip_unless_sound(result):
    if not result["sound"]:
        pytest.skip(f"the machine is too busy to measure: {result['unsound']}")


def test_what_was_served_is_predicted(ridgeline):
    with serving(ridgeline, *GREEDY) as server:
        result = observe(ridgeline, server, "run.jsonl", *load(8))
        late = late_ms(server)
    skip_unless_sound(result)
    validated = json.loads(ridgeline("validate", "run.jsonl", "--histories", "1", "--format", "json").stdout)
    (record,) = validated["records"]
    allowed = 1.0 + late + result["latencies"]["lag_ms"]["mean"]
    for figure in ("e2e", "ttft"):
        measured, predicted = (record[side][figure]["mean"] for side in ("measured", "predicted"))
        assert abs(measured - predicted) <= 0.005 * predicted + allowed, (figure, measured, predicted, late)
    measured, predicted = (record[side]["tpot"]["mean"] for side in ("measured", "predicted"))
    assert abs(measured - predicted) <= 0.005 * predicted + allowed / 23


def test_files_of_other_clients_say_what_was_measured(ridgeline):
    files = ["vllm-bench=v.json", "guidellm=g.json", "inference-perf=i.json", "aiperf=a.json"]
    words = [word for file in files for word in ("--client-results", file)]
    with serving(ridgeline, *GREEDY) as server:
        result = observe(ridgeline, server, "run.jsonl", *load(4), *words)
    rows = [json.loads(line) for line in (ridgeline.folder / "run.jsonl").read_text().splitlines()]
    rows = sorted((row for row in rows if "send_s" in row), key=lambda row: row["id"])
    bench = json.loads((ridgeline.folder / "v.json").read_text())
    assert (bench["completed"], bench["failed"], bench["total_output_tokens"]) == (32, 0, 32 * 24)
    assert bench["model_id"] == "meta-llama/Llama-3.1-8B-Instruct" and bench["request_rate"] == 4
    assert bench["mean_ttft_ms"] == pytest.approx(sum(row["ttft_ms"] for row in rows) / 32)
    assert bench["p99_itl_ms"] >= bench["median_itl_ms"] > 0
    assert [1e3 * value for value in bench["ttfts"]] == pytest.approx([row["ttft_ms"] for row in rows])
    assert [1e6 * gap for gap in bench["itls"][5]] == pytest.approx(rows[5]["gaps_us"], abs=1)
    assert result["completed"] == 32
    for file in ["v.json", "g.json", "a.json"]:
        done = ridgeline("validate", file, *SERVER, "--histories", "1", "--format", "json")
        assert done.returncode == 0, done.stderr
        (record,) = json.loads(done.stdout)["records"]
        measured = record["measured"]["ttft"]["mean"]
        assert measured == pytest.approx(bench["mean_ttft_ms"], rel=1e-3), file
    assert json.loads((ridgeline.folder / "i.json").read_text())["successes"]["count"] == 32
    done = ridgeline("observe", "http://127.0.0.1:1", *load(4), "--client-results", "guidelm=x")
    assert done.returncode == 2


def test_replay_of_the_record_is_what_was_measured(ridgeline):
    with serving(ridgeline, *GREEDY) as server:
        result = observe(ridgeline, server, "run.jsonl", "--endpoint", "chat", *load(4))
        late = late_ms(server)
    skip_unless_sound(result)
    done = ridgeline("replay", "run.jsonl", *SERVER, *GREEDY, "--format", "json")
    assert done.returncode == 0, done.stderr
    predicted = json.loads(done.stdout)["summary"]["ttft_ms"]["mean"]
    assert abs(result["latencies"]["ttft_ms"]["mean"] - predicted) <= 0.005 * predicted + 1.0 + late


def test_calibrate_finds_a_constant_that_was_set(ridgeline):
    late = 0.0
    with serving(ridgeline, *GREEDY, "--delivery-time", "3.95ms") as server:  # 1.95 ms by default
        for rate in (4, 12):
            skip_unless_sound(observe(ridgeline, server, f"{rate}.jsonl", *load(rate)))
            late = max(late, late_ms(server))
    done = ridgeline("calibrate", "4.jsonl", "12.jsonl", "--fit", "delivery_time", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    (constant,) = json.loads(done.stdout)["fitted"]
    slack = 1000.0 * late  # By its mean lateness a server delivers later than its constant says.
    assert constant["lowest"] - slack <= 3950.0 <= constant["highest"] + slack, (constant, late)


def test_workers_change_no_record(ridgeline):
    kept = ["id", "stage", "session", "turn", "due_s", "input_tokens", "prompt_tokens", "output_tokens",
            "completion_tokens", "events", "finish_reason", "status", "attempt", "error"]
    rows = {}
    with serving(ridgeline, *GREEDY, "--speed", "20") as server:
        for workers in (1, 2, 5):
            record = f"w{workers}.jsonl"
            observe(ridgeline, server, record, *load(80, 4), "--workers", workers, "--prompt-salt", 3)
            lines = [json.loads(line) for line in (ridgeline.folder / record).read_text().splitlines()]
            rows[workers] = sorted(
                [[row.get(key) for key in kept] for row in lines if "send_s" in row], key=lambda row: row[0]
            )
    assert len(rows[1]) == 320
    assert rows[1] == rows[2] == rows[5]
    done = ridgeline("observe", "http://127.0.0.1:1", *load(4), "--workers", "0")
    assert done.returncode == 2 and "--workers" in done.stderr
