"""Steps measured one by one, scored: our log, vLLM's iterations, forward-pass metrics, SGLang's decodes."""

import json

import pytest

SERVER = ["--model", "llama-3.1-8b", "--gpu", "h100"]


def scored(ridgeline, name, *words):
    done = ridgeline("validate", name, *SERVER, *words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def own_log(ridgeline):
    done = ridgeline("run", *SERVER, "--request-rate", "6", "--num-prompts", "40", "--input-len", "700", "--output-len",
                     "30", "--steps-out", "steps.jsonl")
    assert done.returncode == 0, done.stderr
    return ridgeline.folder / "steps.jsonl"


def test_our_own_log_has_no_error(ridgeline, own_log):
    found = scored(ridgeline, "steps.jsonl")
    (log,) = found["logs"]
    assert log["form"] == "ridgeline" and log["steps"] == len(own_log.read_text().splitlines())
    overall = found["scores"][0]
    assert (overall["axis"], overall["n"]) == ("all", log["steps"]) and overall["p99_abs_pct"] < 0.05
    assert {row["value"] for row in found["scores"] if row["axis"] == "phase"} >= {"prefill", "decode"}


def test_a_slower_server_is_seen_by_phase(ridgeline, own_log):
    lines = [json.loads(line) for line in own_log.read_text().splitlines()]
    for line in lines:
        line["busy_us"] *= 1.25 if line["prefills"] else 1.0
    ridgeline.write("slow.jsonl", "\n".join(map(json.dumps, lines)))
    rows = {row["value"]: row for row in scored(ridgeline, "slow.jsonl")["scores"] if row["axis"] == "phase"}
    assert rows["prefill"]["mean_signed_pct"] == pytest.approx(-20, abs=0.1)
    assert rows["decode"]["mean_abs_pct"] < 0.1
    worst = scored(ridgeline, "slow.jsonl")["outliers"][0]
    assert worst["prefill_tokens"] > 0 and worst["line"] >= 1
    crossed = scored(ridgeline, "slow.jsonl", "--by", "batch,phase")["scores"]
    assert any(row["axis"] == "batch, phase" and row["value"] == "1, decode" for row in crossed)


def test_models_are_compared_step_by_step(ridgeline, own_log):
    found = scored(ridgeline, "steps.jsonl", "--compare", "kernel,v1")
    assert {row["model"] for row in found["scores"]} == {"kernel", "v1"}


FORMS = {
    "vllm-iterations": "INFO [core.py] Iteration(3): 0 context requests, 0 context tokens, 8 generation requests, "
                       "8 generation tokens, iteration elapsed time: {ms} ms\n",
    "forward-pass-metrics": '{{"wall_time": {s}, "scheduled_requests": {{"num_prefill_requests": 0, '
                            '"num_decode_requests": 8, "sum_decode_kv_tokens": 8192}}}}\n',
    "sglang": "[t] Decode batch. #running-req: 8, #token: 8192, token usage: 0.05, gen throughput (token/s): {rate}, "
              "#queue-req: 0\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_other_engines(ridgeline, form):
    step = json.loads(ridgeline("step", *SERVER, "--decode", "1024x8", "--format", "json").stdout)
    us = step["total"]["us"] if "total" in step else step["step_us"]
    ridgeline.write("log", FORMS[form].format(ms=us / 1e3, s=us / 1e6, rate=8 / (us / 1e6)) * 3)
    found = scored(ridgeline, "log")
    assert found["logs"][0]["form"] == form and found["logs"][0]["steps"] == 3
    assert found["scores"][0]["mean_abs_pct"] < 15
    text = ridgeline("validate", "log", *SERVER).stdout
    assert f"form {form}" in text


def test_bad_words(ridgeline, own_log):
    done = ridgeline("validate", "steps.jsonl", *SERVER, "--by", "tp")
    assert done.returncode == 2 and "expected phase, batch or context" in done.stderr
    done = ridgeline("validate", "steps.jsonl", "--gpu", "h100")
    assert done.returncode == 2 and "model" in done.stderr
    ridgeline.write("other.json", "{}")
    done = ridgeline("validate", "steps.jsonl", "other.json", *SERVER)
    assert done.returncode == 2 and "expected one kind of file" in done.stderr
