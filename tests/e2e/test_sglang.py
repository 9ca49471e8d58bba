"""Servers of SGLang, as `run`, `explain` and `conform` show them."""

import json

import pytest
from conftest import SHARED

RUN = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", 300, "--output-len", 40, "--seed", 3)
OPEN = (*RUN, "--request-rate", 60, "--num-prompts", 300)
GOLDEN = SHARED / "golden" / "engines" / "sglang"


def result_of(ridgeline, *words):
    done = ridgeline(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "words",
    [
        ("sglang",),
        ("sglang@0.5.5",),
        ("sglang", "--disable-overlap-schedule", "--page-size", 64),
        ("sglang", "--disable-radix-cache", "--enable-mixed-chunk"),
        ("sglang", "--schedule-policy", "lpm", "--prefix-len", 200),
        ("sglang", "--max-total-tokens", 6000, "--schedule-conservativeness", 0.01),
        ("sglang", "--scheduler-recv-interval", 10),
    ],
)
def test_a_run_is_the_same_in_jumps_and_step_by_step(ridgeline, words):
    run = result_of(ridgeline, *OPEN, "--engine", *words)
    assert run["summary"]["completed"] == 300
    for way in (("--no-jump",), ("--engine-core", "reference")):
        assert result_of(ridgeline, *OPEN, "--engine", *words, *way)["digest"] == run["digest"]


def test_its_effective_configuration_runs_again(ridgeline):
    run = result_of(ridgeline, *OPEN, "--engine", "sglang@0.5.9", "--page_size", 16)
    engine = run["config"]["engine"]
    assert engine["version"] == "sglang@0.5.5"
    assert engine["page_size"] == 16 and engine["chunked_prefill_size"] == 8192
    assert "max_num_seqs" not in engine and "block_size" not in engine
    config = ridgeline.write("again.json", json.dumps(run["config"]))
    assert result_of(ridgeline, "run", config)["digest"] == run["digest"]


def test_the_section_may_be_a_plain_word(ridgeline):
    file = ridgeline.write("one.yaml", "model: llama-3.1-8b\ngpu: h100\nengine: sglang@main\n")
    shown = json.loads(ridgeline("explain", file, "--format", "json").stdout)
    assert shown["engine"]["profile"] == "sglang@main"
    assert shown["memory"]["kv_tokens"] == shown["engine"]["max_total_tokens"]


@pytest.mark.parametrize(
    "words, field, says, hint",
    [
        (("sglang", "--max-num-seqs", 8), "engine.max_num_seqs", "a setting of vllm", "max_running_requests"),
        (("sglang", "--block-size", 32), "engine.block_size", "a setting of vllm", "page_size"),
        (("vllm@0.15", "--page-size", 16), "engine.page_size", "a setting of sglang", "block_size"),
        (("vllm@0.15", "--mem-fraction-static", 0.8), "engine.mem_fraction_static", "sglang", "gpu_memory_utilization"),
        (("sglang", "--chunked-prefill-size", 100, "--page-size", 64), "engine.chunked_prefill_size", "multiple", "64"),
        (("sglang", "--schedule-policy", "lmp"), "engine.schedule_policy", "lmp", "lpm"),
        (("sglang", "--enable-dp-attention"), "engine.enable_dp_attention", "not modelled", ""),
        (("sglang", "--data-parallel-size", 2), "engine.data_parallel_size", "not modelled", ""),
        (("sglang", "--disable-priority-preemption"), "engine.disable_priority_preemption", "needs", ""),
        (
            ("sglang", "--instances", 2, "--prefill-instances", 1),
            "cluster.disaggregation.prefill_instances",
            "not modelled for sglang",
            "",
        ),
        (("sglnag",), "engine.version", "is not an engine version", "sglang"),
    ],
)
def test_bad_settings_are_one_line_each(ridgeline, words, field, says, hint):
    done = ridgeline(*OPEN, "--engine", *words)
    assert done.returncode == 2
    assert field in done.stderr and says in done.stderr and hint in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("error")]) == 1


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="no recordings here")
def test_its_own_decisions_are_ours(ridgeline):
    done = ridgeline("conform", *sorted(GOLDEN.glob("*.json")))
    assert done.returncode == 0, done.stdout
    assert " 0 differ" in done.stdout
