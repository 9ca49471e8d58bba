"""TensorRT-LLM: its settings, what its server refuses, and that jumps change nothing."""

import json

import pytest
from conftest import SHARED, SMALL

GOOD = "model: llama-3.1-8b\ngpu: h100\nworkload: {request_rate: 8, num_prompts: 20, input_len: 64, output_len: 16}\n"

# What stands in `engine:` beside the version, and the pieces that standard error must hold.
REFUSED = {
    "static batch with overlap": (
        "capacity_scheduler_policy: STATIC_BATCH",
        ["engine.capacity_scheduler_policy: STATIC_BATCH does not go with the overlap scheduler"],
    ),
    "a chunk that does not fit a step": (
        "enable_chunked_prefill: true, max_num_tokens: 16",
        ["engine.max_num_tokens: 16 is less than a chunk, which is tokens_per_block: 32"],
    ),
    "blocks of an odd size": ("tokens_per_block: 24", ["engine.tokens_per_block: 24 is no power of two"]),
    "chunking policy without chunks": (
        "context_chunking_policy: EQUAL_PROGRESS",
        ["engine.context_chunking_policy: would be ignored: it needs enable_chunked_prefill"],
    ),
    "forced chunks": (
        "enable_chunked_prefill: true, context_chunking_policy: FORCE_CHUNK",
        ["engine.context_chunking_policy: FORCE_CHUNK is not modelled for tensorrt-llm yet"],
    ),
    "partial reuse without reuse": (
        "enable_block_reuse: false, enable_partial_reuse: false",
        ["engine.enable_partial_reuse: would be ignored: it needs enable_block_reuse"],
    ),
    "attention in data parallel on one GPU": (
        "enable_attention_dp: true",
        ["engine.enable_attention_dp: would be ignored: it needs tensor_parallel_size above 1"],
    ),
    "a host cache": ("host_cache_size: 1000000000", ["engine.host_cache_size: a host cache is not modelled"]),
    "ranks of a dense network": (
        "enable_attention_dp: true, tensor_parallel_size: 2",
        ["engine.enable_attention_dp: attention in data parallel of a network without experts is not modelled"],
    ),
    "replicas": (
        "data_parallel_size: 2",
        ["engine.data_parallel_size: data parallelism without enable_attention_dp is not modelled"],
    ),
    "ranks beside ranks": (
        "enable_attention_dp: true, tensor_parallel_size: 2, data_parallel_size: 2",
        ["engine.data_parallel_size: with enable_attention_dp all tensor_parallel_size GPUs are ranks"],
    ),
    "a balance without ranks": (
        "attention_dp_enable_balance: true",
        ["engine.attention_dp_enable_balance: would be ignored: it needs enable_attention_dp"],
    ),
    "a timeout without a balance": (
        "attention_dp_timeout_iters: 7",
        ["engine.attention_dp_timeout_iters: would be ignored: it needs attention_dp_enable_balance"],
    ),
    "a copy without partial reuse": (
        "enable_partial_reuse: false, copy_on_partial_reuse: false",
        ["engine.copy_on_partial_reuse: would be ignored: it needs enable_partial_reuse"],
    ),
    "graphs without graphs": (
        "enforce_eager: true, cuda_graph_max_batch_size: 64",
        ["engine.cuda_graph_max_batch_size: would be ignored: it needs CUDA graphs"],
    ),
    "waiting by the clock": (
        "batch_wait_timeout_ms: 5",
        ["engine.batch_wait_timeout_ms: waiting for more requests is not modelled for tensorrt-llm yet"],
    ),
    "a share above all of a step": ("batch_wait_max_tokens_ratio: 1.5", ["engine.batch_wait_max_tokens_ratio: 1.5 is out of range"]),
    "a longer sequence than the network's": ("max_model_len: 9999999", ["engine.max_model_len: 9999999 is out of range"]),
    "drafts that do not fit a step": (
        "speculative_config: {method: ngram, num_speculative_tokens: 3, acceptance: [0.5]}, max_num_tokens: 3",
        ["engine.max_num_tokens: 3 is less than a generation with its 3 drafts"],
    ),
    "a flag of SGLang's": (
        "mem_fraction_static: 0.8",
        ["engine.mem_fraction_static: would be ignored: it is a setting of sglang", "free_gpu_memory_fraction"],
    ),
    "beams": ("max_beam_width: 4", ["engine.max_beam_width: a beam is not modelled for tensorrt-llm yet"]),
    "a pipeline of ranks": (
        "enable_attention_dp: true, tensor_parallel_size: 2, pipeline_parallel_size: 2, data_parallel_size: 1",
        ["engine.enable_attention_dp: attention in data parallel in a pipeline is not modelled"],
    ),
    "an unknown policy": (
        "capacity_scheduler_policy: MAX_UTILISATION",
        ["engine.capacity_scheduler_policy", '"MAX_UTILISATION"', "MAX_UTILIZATION"],
    ),
    "a flag of vLLM's": (
        "max_num_seqs: 64",
        ["engine.max_num_seqs: would be ignored: it is a setting of vllm", "max_batch_size"],
    ),
    "a share of no memory": ("free_gpu_memory_fraction: 0", ["engine.free_gpu_memory_fraction: 0 is out of range"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_server_refuses_is_one_line(ridgeline, case):
    settings, pieces = REFUSED[case]
    ridgeline.write("s.yaml", f"{GOOD}engine: {{version: tensorrt-llm, {settings}}}\n")
    done = ridgeline("run", "s.yaml")
    assert done.returncode == 2, done.stderr
    for piece in pieces:
        assert piece in done.stderr
    assert "s.yaml:4" in done.stderr


def test_a_flag_of_its_own_is_refused_beside_vllm(ridgeline):
    done = ridgeline("run", *SMALL, "--max-num-tokens", 4096)
    assert done.returncode == 2
    assert "max_num_tokens: would be ignored: it is a setting of tensorrt-llm" in done.stderr
    assert "max_num_batched_tokens" in done.stderr


def test_windows_and_states_run_and_reuse_of_states_is_refused_by_name(ridgeline):
    def run(network, *more):
        words = [w if w != "llama-3.1-8b" else network for w in SMALL]
        return ridgeline("run", "--engine", "tensorrt-llm", *words, *more)

    assert run("gpt-oss-20b").returncode == 0
    done = run("nemotron-3-nano-30b-a3b")
    assert done.returncode == 4
    assert "states of max_batch_size sequences" in done.stderr
    done = run("nemotron-3-nano-30b-a3b", "--max-batch-size", 64)
    assert done.returncode == 0
    assert "enable_block_reuse is off" in done.stdout
    done = run("nemotron-3-nano-30b-a3b", "--enable-block-reuse", "true")
    assert done.returncode == 2
    assert "reuse of recurrent states" in done.stderr


def test_a_prompt_longer_than_a_step_is_rejected_unless_it_is_cut(ridgeline):
    words = (
        "run --model llama-3.1-8b --gpu h100 --engine tensorrt-llm --max_num_tokens 512 --request-rate 8"
        " --num-prompts 4 --input-len 1024 --output-len 8 --format json"
    ).split()
    whole = json.loads(ridgeline(*words).stdout)["summary"]
    assert (whole["completed"], whole["failed"]["rejected"]) == (0, 4)
    cut = json.loads(ridgeline(*words, "--enable-chunked-prefill").stdout)["summary"]
    assert (cut["completed"], cut["failed"]["rejected"]) == (4, 0)


DRAFTS = '{"method": "ngram", "num_speculative_tokens": 3, "acceptance": [0.7, 0.5, 0.3]}'
PLANS = {
    "defaults": [],
    "max utilisation": ["--capacity-scheduler-policy", "MAX_UTILIZATION", "--max-tokens", 4096],
    "static batch": ["--capacity-scheduler-policy", "STATIC_BATCH", "--disable-overlap-scheduler"],
    "chunks": ["--enable-chunked-prefill", "--max-num-tokens", 256],
    "shared prefixes": ["--prefix-len", 200, "--max-tokens", 4096],
    "drafts": ["--speculative-config", DRAFTS],
    "drafts and pauses": ["--speculative-config", DRAFTS, "--capacity-scheduler-policy", "MAX_UTILIZATION", "--max-tokens", 4096],
}


@pytest.mark.parametrize("case", PLANS)
def test_jumps_change_nothing(ridgeline, case):
    words = (
        "run --model llama-3.1-8b --gpu h100 --engine tensorrt-llm --request-rate 20 --num-prompts 100"
        " --input-len 300 --output-len 100 --seed 3 --format json"
    ).split()
    jumping = json.loads(ridgeline(*words, *PLANS[case]).stdout)
    stepping = json.loads(ridgeline(*words, *PLANS[case], "--no-jump").stdout)
    assert jumping["summary"]["completed"] == 100
    assert jumping["digest"] == stepping["digest"]


def test_drafts_make_tokens_come_faster(ridgeline):
    words = (
        "run --model llama-3.1-8b --gpu h100 --engine tensorrt-llm --max-concurrency 1 --num-prompts 30"
        " --input-len 300 --output-len 100 --seed 3 --format json"
    ).split()
    plain = json.loads(ridgeline(*words).stdout)["summary"]
    drafting = json.loads(ridgeline(*words, "--speculative-config", DRAFTS).stdout)["summary"]
    # A verification gives 1 + 0.7 + 0.7 * 0.5 + 0.7 * 0.5 * 0.3 = 2.155 tokens on average.
    assert drafting["steps"] == pytest.approx(plain["steps"] / 2.155, rel=0.1)
    assert drafting["tpot_ms"]["mean"] < 0.7 * plain["tpot_ms"]["mean"]


def test_its_numbers_have_its_servers_names(ridgeline):
    words = (
        "run --model llama-3.1-8b --gpu h100 --engine tensorrt-llm --request-rate 2 --num-prompts 30"
        " --input-len 300 --output-len 100 --seed 3 --format json"
    ).split()
    result = json.loads(ridgeline(*words).stdout)
    assert result["engine_metrics"]["trtllm_request_success_total"] == 30
    assert result["engine_metrics"]["trtllm_kv_cache_tokens_per_block"] == 32
    seconds = result["summary"]["server"]["ttft_ms"]["mean"] / 1000
    assert result["engine_metrics"]["trtllm_time_to_first_token_seconds"] == pytest.approx(seconds)


def test_explain_shows_its_memory_plan(ridgeline):
    done = ridgeline("explain", "--engine", "tensorrt-llm", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "free_gpu_memory_fraction 0.9 of the rest" in done.stdout
    tree = json.loads(ridgeline("explain", "--engine", "tensorrt-llm", *SMALL, "--format", "json").stdout)
    memory = tree["memory"]
    before = memory["usable_gib"] - memory["weights_gib"] - memory["activations_gib"] - memory["libraries_gib"]
    assert memory["kv_cache_gib"] == pytest.approx(0.9 * before)
    assert memory["block_size"] == 32
    assert memory["kv_tokens"] % 32 == 0


def test_its_recordings_are_equal(ridgeline):
    folder = SHARED / "golden" / "engines" / "tensorrt-llm"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    done = ridgeline("conform", *sorted(folder.glob("*.json")))
    assert done.returncode == 0, done.stdout
    assert "12 equal, 0 differ" in done.stdout


def test_a_written_configuration_runs_again(ridgeline):
    run = ("run", "--engine", "tensorrt-llm", "--no-enable-block-reuse", "--model", "llama-3.1-8b", "--gpu", "h100")
    work = ("--input-len", 100, "--output-len", 10, "--request-rate", 5, "--num-prompts", 20)
    first = json.loads(ridgeline(*run, *work, "--format", "json").stdout)
    again = ridgeline("run", ridgeline.write("config.json", json.dumps(first["config"])), "--format", "json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["digest"] == first["digest"]
