"""Results of benchmark clients that contradict themselves: named, never taken as they are in silence."""

import json

import pytest

SERVER = ("--model", "llama-3.1-8b", "--gpu", "h100", "--generation-config", "vllm")
LOAD = (
    *("--num-prompts", "300", "--request-rate", "6"),
    *("--input-len", "{distribution: uniform, min: 100, max: 900}"),
    *("--output-len", "{distribution: uniform, min: 1, max: 60}"),
)


def written(ridgeline, client):
    ran = ridgeline("run", *SERVER, *LOAD, "--client-results", f"{client}=r.json")
    assert ran.returncode == 0, ran.stderr
    return json.loads((ridgeline.folder / "r.json").read_text())


def validated(ridgeline, name="r.json", server=SERVER):
    ran = ridgeline("validate", name, *server, "--histories", "1", "--format", "json")
    return ran, " ".join(ran.stderr.split())


@pytest.mark.parametrize("client", ("vllm-bench", "guidellm", "inference-perf", "aiperf"))
def test_sound_results_raise_no_doubt(ridgeline, client):
    written(ridgeline, client)
    ran, said = validated(ridgeline)
    assert ran.returncode == 0 and said == "", said


def test_totals_of_vllm_bench_agree_with_its_requests(ridgeline):
    sound = written(ridgeline, "vllm-bench")
    for change, doubt in (
        ({"completed": 20}, "completed is 20, expected 300"),
        ({"total_output_tokens": 2 * sound["total_output_tokens"]}, "total_output_tokens is"),
        ({"duration": 3 * sound["duration"]}, "request_throughput is"),
        ({"request_rate": 3}, "request_rate is 3, expected 5.69"),
        ({"errors": ["timed out", *sound["errors"][1:]], "failed": 0}, "failed is 0, expected 1, as errors say"),
        ({"failed": 7}, "num_prompts is 300, expected 307"),
    ):
        ridgeline.write("odd.json", json.dumps({**sound, **change}))
        ran, said = validated(ridgeline, "odd.json")
        assert ran.returncode == 0 and "W-measured-file" in said and doubt in said, (change, said)
    ridgeline.write("odd.json", json.dumps({key: sound[key] for key in sound if key != "mean_ttft_ms"}))
    assert "mean_ttft_ms is missing" in validated(ridgeline, "odd.json")[1]


def test_a_mean_that_its_own_requests_contradict_is_not_compared(ridgeline):
    sound = written(ridgeline, "vllm-bench")
    ridgeline.write("odd.json", json.dumps({**sound, "mean_ttft_ms": 10 * sound["mean_ttft_ms"]}))
    ran, said = validated(ridgeline, "odd.json")
    assert "mean_ttft_ms is" in said and "TTFT is compared as ttfts give it" in said, said
    [record] = json.loads(ran.stdout)["records"]
    assert abs(record["error_pct"]["ttft"]["mean"]) < 0.5


def test_a_key_given_twice_is_refused(ridgeline):
    text = json.dumps(written(ridgeline, "vllm-bench"))
    ridgeline.write("odd.json", text.replace('"completed"', '"completed": 5, "completed"', 1))
    ran, said = validated(ridgeline, "odd.json")
    assert ran.returncode == 2 and '"completed" is given twice' in said, said


def test_token_times_agree_with_their_request(ridgeline):
    written(ridgeline, "inference-perf")
    rows = json.loads((ridgeline.folder / "r_per_request.json").read_text())
    long = next(i for i, row in enumerate(rows) if row["info"]["output_tokens"] > 2)
    for change, doubt in (
        ({"output_token_times": rows[long]["info"]["output_token_times"][::-1]}, "expected in order"),
        ({"output_tokens": 1}, "output_tokens is 1, expected more"),
    ):
        odd = json.loads(json.dumps(rows))
        odd[long]["info"].update(change)
        ridgeline.write("r_per_request.json", json.dumps(odd))
        said = validated(ridgeline)[1]
        assert "W-rows-left-out" in said and doubt in said, said
    odd = json.loads(json.dumps(rows))
    for row in odd:
        row["info"]["output_tokens"] *= 10
    ridgeline.write("r_per_request.json", json.dumps(odd))
    assert "output tokens a request, expected" in validated(ridgeline)[1]


def test_a_request_ends_after_its_start(ridgeline):
    report = written(ridgeline, "guidellm")
    request = report["benchmarks"][0]["requests"]["successful"][3]
    timings = request["info"]["timings"]
    timings["request_end"] = timings["request_start"] - 5
    ridgeline.write("odd.json", json.dumps(report))
    said = validated(ridgeline, "odd.json")[1]
    assert "1 of 300 requests: requests.successful[3].info.timings.request_end is" in said, said


def test_a_result_of_another_network_is_named(ridgeline):
    written(ridgeline, "vllm-bench")
    said = validated(ridgeline, server=("--model", "qwen3-8b", *SERVER[2:]))[1]
    assert "W-measured-file" in said and "--model is qwen3-8b" in said, said


@pytest.mark.parametrize("client, beside", [("aiperf", "r.jsonl"), ("inference-perf", "r_per_request.json")])
def test_lengths_that_are_assumed_are_a_warning(ridgeline, client, beside):
    written(ridgeline, client)
    (ridgeline.folder / beside).unlink()
    said = validated(ridgeline)[1]
    assert "W-measured-file" in said and beside in said and "every prompt and answer of the mean length" in said, said


def test_a_record_given_twice_counts_once(ridgeline):
    line = json.dumps(written(ridgeline, "vllm-bench"))
    ridgeline.write("two.jsonl", f"{line}\n{line}\n")
    ran, _ = validated(ridgeline, "two.jsonl")
    result = json.loads(ran.stdout)
    assert result["counts"]["scored"] == 1 and result["counts"]["unreadable"] == 1, result["counts"]
    assert "is line 1 again: counted once" in result["records"][1]["reason"]


def test_limits_that_are_missed_are_named(ridgeline):
    written(ridgeline, "vllm-bench")
    ran = ridgeline("validate", "r.json", *SERVER, "--delivery-time", "40ms", "--fail-over", "ttft=5,p95:tpot=90")
    assert ran.returncode == 99
    said = " ".join(ran.stderr.split())
    assert "--fail-over ttft=5: the median error of ttft (mean) is" in said and "expected up to 5 %" in said, said
    assert "tpot" not in said
    ran = ridgeline("validate", "r.json", *SERVER[2:], "--model", "llama-3.1-405b", "--fail-over", "e2e=5")
    assert ran.returncode == 99 and "nothing was scored" in ran.stderr, ran.stderr
