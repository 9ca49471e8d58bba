"""`trace`, `convert` and the replay of traces, from outside."""

import gzip
import json
import os
import re
import resource
import subprocess
import time
from pathlib import Path

import pytest
from conftest import BINARY

SHARED = Path(os.environ.get("RIDGELINE_SHARED_DIR", ""))
SESSION = (
    '{"session_id": "a", "timestamp": 1000, "input_length": 100, "output_length": 10}\n'
    '{"session_id": "a", "delay": 250, "input_length": 130, "output_length": 10}\n'
)


def test_trace_describes(ridgeline, tmp_path):
    path = tmp_path / "t"
    path.write_text("arrival_s,input_tokens,output_tokens\n0,10,1\n1,20,2\n2,30,3\n4,40,4\n")
    result = json.loads(ridgeline("trace", str(path), "--format", "json").stdout)
    assert result["format"] == "request-csv"
    assert result["requests"] == 4
    assert result["duration_s"] == 4
    assert result["request_rate"] == 1
    assert result["input_tokens"]["mean"] == 25
    assert result["output_tokens"]["max"] == 4
    assert result["sessions"] == 0
    assert result["block_reuse"]["ideal"] is None
    svg = tmp_path / "t.svg"
    table = ridgeline("trace", str(path), "--svg", str(svg)).stdout
    assert "request-csv: 4 requests" in table
    drawn = svg.read_text()
    assert drawn.startswith("<svg")
    # The name without its folder, and a value above every bar: the mean of 10, 20, 30, 40 and of 1, 2, 3, 4.
    assert ">t: 4 requests in 4 s<" in drawn
    assert str(tmp_path) not in drawn
    for text in ("input tokens per request", "output tokens per request", "p99", "25.0", "2.50", "40.0", "4.00"):
        assert f">{text}<" in drawn, text


def test_trace_of_mooncake(ridgeline):
    path = SHARED / "traces/mooncake/conversation_trace.jsonl"
    if not path.exists():
        pytest.skip(f"no {path}")
    result = json.loads(ridgeline("trace", str(path), "--format", "json").stdout)
    assert result["requests"] == 12031
    assert round(result["input_tokens"]["mean"]) == 12035
    assert round(result["output_tokens"]["mean"]) == 343
    assert round(result["block_reuse"]["ideal"], 3) == 0.366
    rates = [point["hit_rate"] for point in result["block_reuse"]["by_cache_size"]]
    assert rates == sorted(rates)
    assert rates[-1] == result["block_reuse"]["ideal"]


def test_convert_says_what_is_lost(ridgeline, tmp_path):
    path = tmp_path / "t"
    path.write_text(SESSION)
    done = ridgeline("convert", str(path), "--to", "vidur-csv")
    assert done.stdout.splitlines()[1:] == [
        "1,100,10,110,10",
        "1.25,130,10,140,13",
    ]
    assert "2 requests written" in done.stderr
    assert "lost: waiting for answers (1 request)" in done.stderr
    assert "lost: session (2 requests)" in done.stderr


def test_convert_names_the_time_that_a_format_loses(ridgeline):
    ridgeline.write("late.csv", "arrival_s,input_tokens,output_tokens\n100,10,5\n101,10,5\n")
    for name in "azure-llm-csv", "azure-lmm-csv":
        done = ridgeline("convert", "late.csv", "--to", name)
        assert done.returncode == 0
        assert "W-lost-start" in done.stderr and "the 100 s before the first request are lost" in done.stderr
    ridgeline.write("now.csv", "arrival_s,input_tokens,output_tokens\n0,10,5\n101,10,5\n")
    assert "W-lost-start" not in ridgeline("convert", "now.csv", "--to", "azure-llm-csv").stderr


def test_a_source_of_which_nothing_is_left_is_named(ridgeline):
    ridgeline.write("t.csv", "arrival_s,input_tokens,output_tokens\n0,10,5\n700,10,5\n")

    def problem(keys):
        ridgeline.write("w.yaml", f"ridgeline_workload: 1\nsources: [{{file: t.csv, {keys}}}]\n")
        done = ridgeline("trace", "w.yaml")
        assert done.returncode == 2
        return done.stderr

    both = problem("start_s: 600, duration_s: 300")
    assert "sources[0].start_s: 600 s leaves nothing: duration_s is applied first and ends the source at 300 s" in both
    assert "w.yaml:2" in both and "for 300 s from 600 s on, duration_s: 900" in both
    late = problem("start_s: 800")
    assert "sources[0].start_s: 800 s is out of range, expected 0 s to the last arrival at 700 s" in late
    ridgeline.write("w.yaml", "ridgeline_workload: 1\nsources: [{file: t.csv, start_s: 600, duration_s: 900}]\n")
    assert ridgeline("trace", "w.yaml").returncode == 0


def test_convert_keeps_the_digest(ridgeline, tmp_path):
    path = tmp_path / "t"
    path.write_text(SESSION)
    ours = tmp_path / "ours"
    ridgeline("convert", str(path), "--to", "request-jsonl", "-o", str(ours))
    flags = ["--model", "llama-3.1-8b", "--gpu", "h100", "--format", "json", "--trace"]
    first = json.loads(ridgeline("replay", *flags, str(path)).stdout)
    second = json.loads(ridgeline("replay", *flags, str(ours)).stdout)
    assert first["digest"] == second["digest"]
    # The second turn finds the first one's 110 tokens: six blocks of 16.
    assert first["summary"]["kv_cache"]["prefix_hit_rate"] > 0


@pytest.mark.parametrize(
    "words, text",
    [
        (["trace"], "no file is given"),
        (["trace", "a", "b"], "one file too many"),
        (["trace", "/nonexistent"], "no such file"),
        (["convert", "/nonexistent", "--to", "moonkake"], "did you mean 'mooncake'?"),
        (["trace", "x", "--block-size", "0"], "expected a whole number from 1"),
        (["trace", "x", "--trace-sessions", "often"], "often"),
    ],
)
def test_wrong_words(ridgeline, words, text):
    done = ridgeline(*words)
    assert done.returncode == 2
    assert text in done.stderr
    assert done.stdout == ""


def test_skip_bad_rows(ridgeline, tmp_path):
    path = tmp_path / "t"
    path.write_text("arrival_s,input_tokens,output_tokens\n0,10,1\n1,-2,2\n2,30,3\n")
    bad = ridgeline("trace", str(path))
    assert bad.returncode == 2
    assert f"{path}:3:3" in bad.stderr and "input_tokens" in bad.stderr
    result = json.loads(ridgeline("trace", str(path), "--skip-bad-rows", "--format", "json").stdout)
    assert result["requests"] == 2
    assert [warning["code"] for warning in result["warnings"]] == ["W-rows-dropped", "W-row-dropped"]


DEPLOYMENT = ["--model", "llama-3.1-8b", "--gpu", "h100", "--format", "json"]

SPEC = """ridgeline_workload: 1
sources:
  - preset: chatbot
    request_rate: 2
    num_prompts: 20
  - client:
      request_rate: 1
      input_len: {distribution: lognormal, mean: 300, std: 200, min: 1, max: 4000}
      output_len: 20
      prefix: {len: 64, count: 3, zipf_exponent: 1}
      session: {turns: 3, think_s: 0.5}
    num_prompts: 5
"""


def test_a_description_replays_alike_after_a_conversion(ridgeline, tmp_path):
    spec = tmp_path / "w.yaml"
    spec.write_text(SPEC)
    ours = tmp_path / "w.jsonl"
    done = ridgeline("convert", str(spec), "--seed", "7", "--to", "request-jsonl", "-o", str(ours))
    assert done.returncode == 0, done.stderr
    assert "lost" not in done.stderr
    first = json.loads(ridgeline("replay", *DEPLOYMENT, "--seed", "7", "--trace", str(spec)).stdout)
    second = json.loads(ridgeline("replay", *DEPLOYMENT, "--trace", str(ours)).stdout)
    assert first["summary"]["completed"] == 20 + 5 * 3
    assert first["digest"] == second["digest"]
    assert first["summary"]["kv_cache"]["prefix_hit_rate"] > 0.1


BLIS = """version: "2"
aggregate_rate: 2
num_requests: 4
clients:
  - id: a
    rate_fraction: 1
    input_distribution: {type: constant, params: {value: 100}}
    output_distribution: {type: constant, params: {value: 10}}
    reasoning: {multi_turn: {max_rounds: 3, think_time_us: 1000, context_growth: accumulate}}
"""


def test_differences_from_inference_sim_are_named_on_request(ridgeline, tmp_path):
    spec = tmp_path / "w.yaml"
    spec.write_text(BLIS)
    words = ["replay", *DEPLOYMENT, "--trace", str(spec)]
    plain = json.loads(ridgeline(*words).stdout)
    compared = json.loads(ridgeline(*words, "--compat", "blis").stdout)
    codes = {warning["code"] for warning in compared["warnings"]}
    assert {"W-blis-context", "W-blis-sessions", "W-blis-client-clock"} <= codes
    assert not any(warning["code"].startswith("W-blis") for warning in plain["warnings"])
    assert compared["digest"] == plain["digest"]
    # Prompts of 100, 210 and 320 tokens (100 + 110 + 110), of four sessions.
    assert compared["summary"]["total_input_tokens"] == 4 * (100 + 210 + 320)


def test_results_as_clients_write_them(ridgeline, tmp_path):
    path = tmp_path / "t"
    path.write_text(SESSION)
    files = {client: tmp_path / f"{client}.json" for client in ("vllm-bench", "guidellm", "inference-perf")}
    words = [word for client, file in files.items() for word in ("--client-results", f"{client}={file}")]
    done = ridgeline("replay", *DEPLOYMENT, "--trace", str(path), *words)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)["summary"]
    vllm = json.loads(files["vllm-bench"].read_text())
    assert vllm["completed"] == 2
    assert vllm["mean_ttft_ms"] == summary["ttft_ms"]["mean"]
    assert vllm["input_lens"] == [100, 130]
    guidellm = json.loads(files["guidellm"].read_text())
    assert guidellm["benchmarks"][0]["metrics"]["request_totals"]["total"] == 2
    perf = json.loads(files["inference-perf"].read_text())
    assert abs(perf["successes"]["latency"]["time_to_first_token"]["mean"] * 1000 - vllm["mean_ttft_ms"]) < 1e-9
    # What was written is itself a trace.
    again = json.loads(ridgeline("trace", str(files["vllm-bench"]), "--format", "json").stdout)
    assert again["format"] == "vllm-bench" and again["requests"] == 2
    bad = ridgeline("replay", *DEPLOYMENT, "--trace", str(path), "--client-results", "guidelm=x")
    assert bad.returncode == 2 and "did you mean 'guidellm'?" in bad.stderr


@pytest.mark.skipif(
    bool(os.environ.get("RIDGELINE_SANITIZE")), reason="sanitizers have memory of their own"
)
def test_memory_does_not_follow_the_file(ridgeline, tmp_path):
    """Ten times the requests, in the same memory: what 10 million need is what these need."""

    def peak_kib(requests):
        path = tmp_path / f"{requests}.csv"
        rows = (f"{i // 9}.{i % 9}25,{1 + i % 700},{1 + i % 300}\n" for i in range(requests))
        path.write_text("arrival_s,input_tokens,output_tokens\n" + "".join(rows))
        words = ["replay", *DEPLOYMENT, "--trace", path, "--percentiles", "sketch"]
        process = ridgeline.start(*words, "-o", tmp_path / "result.json")
        peak = 0
        while process.poll() is None:
            # The program alone: what getrusage() tells begins with the memory of this process.
            status = Path(f"/proc/{process.pid}/status").read_text()
            peaks = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
            peak = max([peak, *map(int, peaks)])
            time.sleep(0.01)
        process.communicate()
        assert process.returncode == 0
        assert json.loads((tmp_path / "result.json").read_text())["summary"]["completed"] == requests
        return peak

    small, large = peak_kib(20_000), peak_kib(200_000)
    # 180 000 requests more: six bytes of each would be 1 MiB.
    assert large < small + 1024


@pytest.mark.skipif(
    bool(os.environ.get("RIDGELINE_SANITIZE")), reason="sanitizers have memory and time of their own"
)
@pytest.mark.parametrize("words", [["trace"], ["replay", *DEPLOYMENT, "--trace"], ["convert", "--to", "mooncake", "-o", "m"]])
def test_long_sessions_cost_what_their_turns_add(ridgeline, tmp_path, words):
    """300 sessions of up to 3 000 turns and prompts of up to 5 M tokens: what each turn adds, where prompts used to be
    copied turn by turn (0.96 GB) and described block by block (minutes)."""

    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
        resource.setrlimit(resource.RLIMIT_AS, (500 << 20, 500 << 20))

    spec = tmp_path / "code.yaml"
    spec.write_text("ridgeline_workload: 1\nsources: [{preset: code, num_prompts: 300}]\n")
    done = ridgeline(*words, spec, preexec_fn=limits)
    (tmp_path / "m").unlink(missing_ok=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [["trace"], ["convert", "--to", "mooncake", "-o", "/dev/null"]])
def test_long_work_tells_how_far_it_is(ridgeline, tmp_path, words):
    spec = tmp_path / "long.yaml"
    spec.write_text("ridgeline_workload: 1\nsources: [{preset: chatbot, num_prompts: 500000000}]\n")
    try:
        master, slave = os.openpty()
    except OSError as error:
        pytest.skip(f"no pseudo-terminal here: {error}")
    process = subprocess.Popen(
        [BINARY, *words, spec], cwd=tmp_path, env=ridgeline.env, stdout=subprocess.DEVNULL, stderr=slave
    )
    os.close(slave)
    text = b""
    while b" left" not in text:
        text += os.read(master, 65536)
    process.kill()
    process.wait()
    os.close(master)
    assert re.search(rb"[\d ]+ requests, \d+ %, .* left", text), text


def test_every_preset_runs_and_names_its_source(ridgeline, tmp_path):
    presets = json.loads(ridgeline("list", "presets", "--format", "json").stdout)
    names = {preset["name"] for preset in presets}
    assert {"chatbot", "summarization", "contentgen", "multidoc", "long-context", "chatsweep", "codesweep", "code",
            "rag", "agentic", "reasoning"} <= names
    for preset in presets:
        assert preset["source"], preset["name"]
        spec = tmp_path / f"{preset['name']}.yaml"
        spec.write_text(f"ridgeline_workload: 1\nsources: [{{preset: {preset['name']}, num_prompts: 2}}]\n")
        done = ridgeline("run", *DEPLOYMENT, "--trace", str(spec))
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        summary = result["summary"]
        # Prompts beyond the network's longest are refused, and said; conversations have several requests.
        codes = {warning["code"] for warning in result["warnings"]}
        assert summary["completed"] >= 2 or "W-rejected" in codes, preset["name"]
        if preset["name"].endswith("sweep"):
            answer = {"chatsweep": 215, "codesweep": 28}[preset["name"]]
            assert summary["total_output_tokens"] == answer * summary["completed"]


def test_a_wrong_name_is_reported_beside_what_is_missing(ridgeline):
    done = ridgeline("run", "--model", "llama-3.1-8", "--gpu", "h100")
    assert done.returncode == 2
    assert 'model: "llama-3.1-8" is neither' in done.stderr
    assert "workload.request_rate: missing" in done.stderr


def test_a_packed_trace_cut_short_is_not_called_empty(ridgeline):
    rows = "".join(f'{{"timestamp": {i}, "input_length": 5, "output_length": 5, "hash_ids": [{i}]}}\n' for i in range(100))
    path = ridgeline.folder / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(rows.encode())[:20])
    done = ridgeline("trace", str(path))
    assert done.returncode == 2 and "the gzip data is cut short" in done.stderr, done.stderr
