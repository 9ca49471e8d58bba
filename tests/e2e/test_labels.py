"""What requests carry besides their lengths: priorities, adapters, classes; the log of them; targets and load."""

import csv
import json

import pytest
from conftest import ACCEPTANCE, SMALL

ON = "--model llama-3.1-8b --gpu h100".split()
#: All that arrive at once reach the queue at once.
AT_ONCE = [*ON, "--request-path", "off"]
#: One seat, so that the order of the queue decides.
ONE_SEAT = [*AT_ONCE, "--max-num-seqs", "1"]


def rows(count, **keys):
    """Requests in one instant, request i with each key's function of i."""
    lines = []
    for i in range(count):
        row = {"arrival_s": 0, "input_tokens": 64, "output_tokens": 8}
        row |= {key: value(i) for key, value in keys.items() if value(i) is not None}
        lines.append(json.dumps(row))
    return "\n".join(lines) + "\n"


def result_of(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def codes(result):
    return {warning["code"]: warning["message"] for warning in result["warnings"]}


def log_of(ridgeline, name="log.jsonl"):
    return [json.loads(line) for line in (ridgeline.folder / name).read_text().splitlines()]


def test_what_a_trace_carries_is_not_ignored_without_a_word(ridgeline):
    ridgeline.write(
        "t.jsonl",
        rows(
            20,
            priority=lambda i: i % 4 or None,
            adapter=lambda i: f"a{i % 2}" if i < 6 else None,
            model=lambda i: "GPT-4" if i % 2 else "ChatGPT",
            images=lambda i: 1 if i < 3 else None,
        ),
    )
    result = result_of(ridgeline("replay", "--trace", "t.jsonl", *ON, "--format", "json"))
    warned = codes(result)
    # In 20: every fourth has priority 0; six name one of two adapters; three have an image.
    assert warned["W-ignored-priority"].startswith("15 of 20 requests")
    assert warned["W-ignored-adapter"].startswith("6 of 20 requests name one of 2 adapters")
    assert "2 models (ChatGPT, GPT-4)" in warned["W-ignored-model"]
    assert warned["W-unpriced-media"].startswith("3 of 20 requests")
    heeded = codes(
        result_of(
            ridgeline(
                "replay",
                "--trace",
                "t.jsonl",
                *ON,
                "--format=json",
                "--scheduling-policy=priority",
                "--enable-lora",
                "--max-loras=2",
            )
        )
    )
    assert "W-ignored-priority" not in heeded and "W-ignored-adapter" not in heeded
    assert "W-unpriced-lora" in heeded


def test_a_trace_without_any_has_no_such_warning(ridgeline):
    ridgeline.write("t.jsonl", rows(20))
    result = result_of(ridgeline("replay", "--trace", "t.jsonl", *ON, "--format", "json"))
    assert set(codes(result)) == {"W-no-number"}  # no target, no goodput
    assert "groups" not in result["summary"]


def test_urgent_requests_go_first(ridgeline):
    # The later in the file, the more urgent: vLLM serves the lowest number first.
    ridgeline.write("t.jsonl", rows(6, priority=lambda i: 6 - i))

    def order(*flags):
        words = ["replay", "--trace", "t.jsonl", *ONE_SEAT, "--requests-out", "log.jsonl", "--format", "json"]
        done = ridgeline(*words, *flags)
        assert done.returncode == 0, done.stderr
        log = log_of(ridgeline)
        return sorted(range(6), key=lambda i: log[i]["ttft_ms"])

    assert order() == [0, 1, 2, 3, 4, 5]
    assert order("--scheduling-policy", "priority") == [5, 4, 3, 2, 1, 0]
    assert order("--scheduling-policy", "priority", "--engine-core", "reference") == [5, 4, 3, 2, 1, 0]


def test_a_step_mixes_no_more_adapters_than_it_may(ridgeline):
    # Two requests of each of three adapters, all at once: with one place for an adapter the pairs run one by one.
    ridgeline.write("t.jsonl", rows(6, adapter=lambda i: f"a{i % 3}"))

    def first_tokens(loras):
        done = ridgeline(
            "replay",
            "--trace",
            "t.jsonl",
            *AT_ONCE,
            "--enable-lora",
            f"--max-loras={loras}",
            "--requests-out=log.jsonl",
            "--format=json",
        )
        assert done.returncode == 0, done.stderr
        return [row["ttft_ms"] for row in log_of(ridgeline)]

    together = first_tokens(3)
    # Prompts of 64 tokens all fit the first step.
    assert max(together) == pytest.approx(min(together), rel=0.05)
    apart = first_tokens(1)
    assert apart[0] == pytest.approx(apart[3], rel=0.05)
    assert apart[1] > apart[0] * 1.5 and apart[2] > apart[1] * 1.2


@pytest.mark.parametrize(
    ("flags", "field", "said"),
    [
        (["--max-loras", "2"], "engine.max_loras", "enable_lora is off"),
        (["--scheduling-policy", "lottery"], "scheduling_policy", "fcfs"),
        (["--scheduling-policy", "priority", "--engine-version", "vllm@0.8"], "engine.scheduling_policy", "vllm@0.8"),
        (["--fail-on-slo"], "--fail-on-slo", "no target"),
    ],
)
def test_settings_without_effect_are_refused(ridgeline, flags, field, said):
    done = ridgeline("run", *SMALL, *flags)
    assert done.returncode == 2
    assert field in done.stderr and said in done.stderr


def test_groups_are_summed_up_apart(ridgeline):
    ridgeline.write(
        "t.jsonl",
        rows(30, tenant=lambda i: "b,\"2\"" if i % 3 else "a", slo_class=lambda i: "batch" if i < 12 else None),
    )
    words = ["replay", "--trace", "t.jsonl", *ONE_SEAT, "--slo-ttft", "1s"]
    result = result_of(ridgeline(*words, "--format", "json", "--requests-out", "log.jsonl"))
    log = log_of(ridgeline)
    groups = result["summary"]["groups"]
    assert set(groups) == {"slo_class", "tenant"}
    assert [(group["value"], group["requests"]) for group in groups["tenant"]] == [('b,"2"', 20), ("a", 10)]
    assert [(group["value"], group["requests"]) for group in groups["slo_class"]] == [(None, 18), ("batch", 12)]
    for label, wanted in (("tenant", "a"), ("slo_class", "batch")):
        (group,) = [group for group in groups[label] if group["value"] == wanted]
        own = [row["ttft_ms"] for row in log if row.get(label) == wanted]
        assert group["ttft_ms"]["mean"] == pytest.approx(sum(own) / len(own))
        assert group["good_share"] == pytest.approx(sum(value <= 1000 for value in own) / len(own))
    table = ridgeline(*words).stdout
    assert "by tenant" in table and "by slo_class" in table and "(none)" in table
    # One row per run, whatever the groups.
    header = ridgeline(*words, "--format", "csv").stdout.splitlines()[0]
    assert "groups" not in header and "overloaded" in header


def test_there_are_only_so_many_groups(ridgeline):
    ridgeline.write("t.jsonl", rows(100, tenant=lambda i: f"t{i:03}"))
    result = result_of(ridgeline("replay", "--trace", "t.jsonl", *ON, "--format", "json"))
    tenants = result["summary"]["groups"]["tenant"]
    # metrics::Groups::kMost of their own, and the rest.
    assert len(tenants) == 33
    assert tenants[-1]["value"] == "(other)" and tenants[-1]["requests"] == 68


def test_clients_of_a_description_have_labels(ridgeline):
    ridgeline.write(
        "w.yaml",
        """
ridgeline_workload: 1
sources:
  - client: {request_rate: 20, input_len: 200, output_len: 20, slo_class: interactive, tenant: web}
    num_prompts: 40
  - client: {request_rate: 20, input_len: 900, output_len: 90, slo_class: batch, tenant: night, priority: 5}
    num_prompts: 20
""",
    )
    result = result_of(ridgeline("run", "--trace", "w.yaml", *ON, "--format=json", "--scheduling-policy=priority"))
    groups = result["summary"]["groups"]
    assert {group["value"]: group["requests"] for group in groups["priority"]} == {"0": 40, "5": 20}
    assert {group["value"]: group["total_input_tokens"] for group in groups["slo_class"]} == {
        "interactive": 40 * 200,
        "batch": 20 * 900,
    }


WORKLOADS = {
    "plain": ["run", *ON, "--request-rate", "50", "--num-prompts", "200", "--input-len", "300", "--output-len", "40"],
    "shared prefixes": [
        *("run", *ON, "--request-rate", "50", "--num-prompts", "200", "--input-len", "300", "--output-len", "40"),
        *("--prefix-len", "400", "--num-prefixes", "3"),
    ],
    "some too long": [
        *("run", *ON, "--request-rate", "50", "--num-prompts", "60", "--max-model-len", "400"),
        *("--input-len", "{distribution: uniform, min: 100, max: 600}", "--output-len", "200"),
    ],
    "clients": ["run", *ON, "--max-concurrency", "8", "--num-prompts", "80", "--input-len", "300", "--output-len", "40"],
    "labels": ["replay", *ON, "--trace", "t.jsonl", "--scheduling-policy", "priority"],
    "conversations": ["replay", *ON, "--trace", "w.yaml"],
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_log_is_a_trace_of_the_same_workload(ridgeline, name):
    ridgeline.write(
        "t.jsonl",
        rows(50, priority=lambda i: i % 3 or None, tenant=lambda i: "x\\y" if i % 2 else "z", session=lambda i: i % 5),
    )
    ridgeline.write(
        "w.yaml",
        """
ridgeline_workload: 1
sources:
  - client: {request_rate: 5, input_len: 300, output_len: 50, tenant: chat,
             session: {turns: 4, think_s: {distribution: exponential, mean: 2}, open_loop: true}}
    num_prompts: 20
""",
    )
    words = WORKLOADS[name]
    first = result_of(ridgeline(*words, "--format", "json", "--requests-out", "log.jsonl"))
    log = (ridgeline.folder / "log.jsonl").read_text()
    arrivals = [row["arrival_s"] for row in log_of(ridgeline) if "arrival_s" in row]
    assert arrivals == sorted(arrivals)
    engine = [word for word in words if word in ("--max-model-len", "--scheduling-policy")]
    flags = [part for word in engine for part in (word, words[words.index(word) + 1])]
    again = ["replay", "--trace", "log.jsonl", *ON, *flags]
    second = result_of(ridgeline(*again, "--format", "json", "--requests-out", "again.jsonl"))
    assert second["digest"] == first["digest"]
    assert second["summary"] == first["summary"]
    assert (ridgeline.folder / "again.jsonl").read_text() == log


def test_the_log_as_csv_reads_back_too(ridgeline):
    ridgeline.write("t.jsonl", rows(50, priority=lambda i: i % 3 or None, tenant=lambda i: "a,b" if i % 2 else None))
    words = ["replay", *ON, "--scheduling-policy", "priority", "--format", "json"]
    first = result_of(ridgeline(*words, "--trace", "t.jsonl", "--requests-out", "log.csv"))
    with open(ridgeline.folder / "log.csv") as file:
        assert [row["tenant"] for row in csv.DictReader(file)] == ["", "a,b"] * 25
    assert result_of(ridgeline(*words, "--trace", "log.csv"))["digest"] == first["digest"]


def test_a_missed_target_can_fail_the_run(ridgeline):
    met = ridgeline("run", *SMALL, "--slo-ttft", "10s", "--fail-on-slo")
    assert met.returncode == 0, met.stderr
    targets = ["--slo-ttft", "10s", "--slo-e2e", "1us", "--fail-on-slo"]
    missed = ridgeline("run", *SMALL, *targets, "--format", "json", "-o", "r.json")
    assert missed.returncode == 99
    assert "slo.e2e missed" in missed.stderr and "slo.ttft" not in missed.stderr
    # The result is there all the same.
    assert json.loads(missed.stdout)["summary"]["slo"]["e2e"]["met"] is False
    assert ridgeline.files() == {"r.json"}
    assert ridgeline("run", *SMALL, "--slo-e2e", "1us").returncode == 0


def test_overload_is_a_verdict(ridgeline):
    at = "run --model llama-3.1-8b --gpu h100 --num-prompts 3000 --input-len 512 --output-len 128".split()
    over = result_of(ridgeline(*at, "--request-rate", "120", "--format", "json"))
    assert over["summary"]["overloaded"] is True
    overload = over["summary"]["overload"]
    assert overload["offered_rate"] == pytest.approx(120, rel=0.05)
    assert "W-overloaded" in codes(over)
    # What is said to be sustained is what the GPU does when it never runs dry, and below it all is well.
    rate = overload["sustainable_rate"]
    dry = result_of(ridgeline(*at, "--arrivals", "at-once", "--format", "json"))["summary"]
    assert rate == pytest.approx(dry["request_throughput"], rel=0.1)
    assert dry["overloaded"] is False  # there is no rate
    # Fed back it is no overload, whatever the seed.
    for seed in range(1, 6):
        below = result_of(ridgeline(*at, "--request-rate", f"{rate:.3f}", "--seed", seed, "--format", "json"))
        assert below["summary"]["overloaded"] is False and "overload" not in below["summary"]
    assert "overloaded: sustains about" in ridgeline(*at, "--request-rate", "120").stdout
    # While the batch still fills requests are scheduled faster than they can be served.
    brief = "run --model llama-3.1-8b --gpu h100 --num-prompts 500 --input-len 512 --output-len 256 --request-rate 100"
    summary = result_of(ridgeline(*brief.split(), "--format", "json"))["summary"]
    assert summary["overload"]["sustainable_rate"] < summary["request_throughput"]


def test_a_backlog_that_a_quiet_end_works_off_is_named(ridgeline):
    times = [i / 150 for i in range(2000)] + [2000 / 150 + i / 10 for i in range(1000)]
    rows_of = "".join(f"{time:.4f},512,128\n" for time in times)
    trace = ridgeline.write("t.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n" + rows_of)
    replay = ["replay", trace, "--model", "llama-3.1-8b", "--gpu", "h100", "--format", "json"]
    result = result_of(ridgeline(*replay))
    overload = result["summary"]["overload"]
    assert overload["waits_at"] == "engine" and overload["begin_s"] < 3
    assert overload["end_s"] == pytest.approx(2000 / 150, rel=0.1)
    assert overload["offered_rate"] == pytest.approx(150, rel=0.1)
    assert "from " in next(w["message"] for w in result["warnings"] if w["code"] == "W-overloaded")
    # A trace's bursts may be too much at the same mean rate: nothing is said to be sustained.
    assert "s: served at " in ridgeline(*replay[:-2]).stdout
    # Held back by a limit they wait at the client, where no latency shows it.
    held = result_of(ridgeline(*replay, "--max-concurrency", "32"))["summary"]
    assert held["queue_time_ms"]["max"] < 1000
    assert held["overload"]["waits_at"] == "client"
    assert held["overload"]["end_s"] == pytest.approx(2000 / 150, rel=0.1)
    enough = result_of(ridgeline(*replay, "--max-concurrency", "5000"))["summary"]
    assert enough["overloaded"] is False
    rate = "run --model llama-3.1-8b --gpu h100 --request-rate 50 --max-concurrency 2 --input-len 512 --output-len 64"
    assert result_of(ridgeline(*rate.split(), "--format", "json"))["summary"]["overload"]["waits_at"] == "client"


def test_an_adapter_that_finds_no_place_is_an_overload(ridgeline):
    times = {"arrival_s": lambda i: i / 20, "output_tokens": lambda i: 100}
    ridgeline.write("t.jsonl", rows(600, **times, adapter=lambda i: "ab"[i % 2]))
    result = result_of(ridgeline(
        "replay", "t.jsonl", "--model", "llama-3.1-8b", "--gpu", "h100", "--enable-lora", "--max-loras", "1",
        "--format", "json"))
    overload = next(w for w in result["warnings"] if w["code"] == "W-overloaded")
    assert "--max-loras" in overload["hint"]


def test_requests_without_an_answer_miss_targets(ridgeline):
    lengths = "{distribution: uniform, min: 100, max: 2000}"
    at = "run --model llama-3.1-8b --gpu h100 --request-rate 4 --num-prompts 200 --output-len 8".split()
    at += ["--input-len", lengths, "--max-model-len", "1000", "--slo-ttft", "10s", "--slo-statistic"]
    done = ridgeline(*at, "p99", "--fail-on-slo", "--format", "json")
    assert done.returncode == 99
    assert "slo.ttft missed: " in done.stderr and "% of all requests are within" in done.stderr
    summary = json.loads(done.stdout)["summary"]
    answered = summary["completed"] / 200
    assert 0.3 < answered < 0.7
    assert summary["good_share"] == summary["slo"]["ttft"]["share"] == pytest.approx(answered)
    assert summary["slo"]["ttft"]["met"] is False
    table = ridgeline(*at, "p99").stdout
    assert next(line for line in table.splitlines() if line.startswith("TTFT")).endswith("missed: requests failed")
    # Half of them may be left out where the median is judged, and more than half are answered.
    at[at.index("1000")] = "1900"
    assert ridgeline(*at, "p50", "--fail-on-slo").returncode == 0
    assert ridgeline(*at, "mean", "--fail-on-slo").returncode == 99


@pytest.mark.parametrize("more", [(), ("--format", "quiet"), ("--format", "json")])
def test_a_run_that_answers_nothing_fails(ridgeline, more):
    done = ridgeline("run", *SMALL, "--max-model-len", "32", *more)
    assert done.returncode == 4
    assert "none of 20 requests got an answer, 20 were rejected" in done.stderr


def test_a_usual_load_is_no_overload(ridgeline):
    result = result_of(ridgeline(*ACCEPTANCE))
    assert result["summary"]["overloaded"] is False
    closed = "run --model llama-3.1-8b --gpu l4 --max-concurrency 500 --num-prompts 2000 --input-len 512 --output-len 32"
    assert result_of(ridgeline(*closed.split(), "--format", "json"))["summary"]["overloaded"] is False
