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
        ("sglang", "--speculative-algorithm", "NGRAM", "--simulate-acc-len", 2.5),
        ("sglang", "--prefill-decode-interval", 4),
    ],
)
def test_a_run_is_the_same_in_jumps_and_step_by_step(ridgeline, words):
    run = result_of(ridgeline, *OPEN, "--engine", *words)
    assert run["summary"]["completed"] == 300
    for way in (("--no-jump",), ("--engine-core", "reference")):
        assert result_of(ridgeline, *OPEN, "--engine", *words, *way)["digest"] == run["digest"]


def test_its_numbers_have_its_servers_names(ridgeline):
    run = result_of(ridgeline, *OPEN, "--engine-version", "sglang@0.5.15", "--max-total-tokens", 1000, "--schedule-conservativeness", 0)
    metrics = run["engine_metrics"]
    assert metrics["sglang:num_retracted_requests_total"] == run["summary"]["preemptions"] > 0
    assert metrics["sglang:token_usage"] == run["summary"]["kv_cache"]["mean"]
    assert metrics["sglang:queue_time_seconds"] == pytest.approx(run["summary"]["queue_time_ms"]["mean"] / 1000)
    assert "engine_metrics" not in result_of(ridgeline, *OPEN)


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


# Flags after `--engine`, and what the one line of standard error holds.
REFUSED = {
    "a prompt's chunk that is no whole number of pages": ("sglang --chunked-prefill-size 100 --page-size 64", "chunked_prefill_size: 100 is no multiple of page_size 64", "64"),
    "a chunk below a page": ("sglang --chunked-prefill-size 32 --page-size 64", "chunked_prefill_size: 32 is no multiple of page_size 64", "64"),
    "mixed steps without chunks": ("sglang --enable-mixed-chunk --chunked-prefill-size -1", "enable_mixed_chunk: would be ignored: it needs chunked_prefill_size above 0", ""),
    "an eviction policy without a cache": ("sglang --disable-radix-cache --radix-eviction-policy lfu", "radix_eviction_policy: would be ignored: it needs the radix cache", ""),
    "low values first without priorities": ("sglang --schedule-low-priority-values-first", "schedule_low_priority_values_first: would be ignored: it needs enable_priority_scheduling", ""),
    "a threshold without priorities": ("sglang --priority-scheduling-preemption-threshold 3", "priority_scheduling_preemption_threshold: would be ignored", ""),
    "no preemption without priorities": ("sglang --disable-priority-preemption", "disable_priority_preemption: would be ignored: it needs enable_priority_scheduling", ""),
    "retraction by priority without priorities": ("sglang --retraction-policy priority", "retraction_policy: would be ignored: it needs enable_priority_scheduling", ""),
    "retraction by priority in a version without": ("sglang@0.5.5 --enable-priority-scheduling --retraction-policy priority", "retraction_policy: would be ignored: it needs sglang@0.5.16", ""),
    "priorities with a policy that has none": ("sglang --enable-priority-scheduling --schedule-policy lpm", "schedule_policy: with enable_priority_scheduling SGLang's server takes fcfs or lof", "fcfs"),
    "a policy misspelt": ("sglang --schedule-policy lmp", 'schedule_policy: "lmp" is unknown', "lpm"),
    "an eviction policy misspelt": ("sglang --radix-eviction-policy lur", 'radix_eviction_policy: "lur" is unknown', "lru"),
    "a receive interval of none": ("sglang --scheduler-recv-interval 0", "scheduler_recv_interval: 0 is out of range", ""),
    "pages of no token": ("sglang --page-size 0", "page_size: 0 is out of range", ""),
    "more memory than there is": ("sglang --mem-fraction-static 1.5", "mem_fraction_static: 1.5 is out of range", ""),
    "a longer context than the network's": ("sglang --context-length 9999999", "max_model_len: 9999999 is out of range", ""),
    "drafts of which nothing is said": ("sglang --speculative-algorithm NGRAM", "speculative_acceptance: missing: how many drafts are accepted depends on the traffic", "--simulate-acc-len 2.5"),
    "drafts by both words": ('sglang --speculative-algorithm NGRAM --simulate-acc-len 2 --speculative-config {"method":"ngram","num_speculative_tokens":3,"acceptance":[0.5]}', "speculative_config: would be ignored: the engine's own words say how it drafts", ""),
    "drafts of a kind that is not modelled": ("sglang --speculative-algorithm DFLASH", "speculative_algorithm: DFLASH is not modelled for sglang yet", ""),
    "numbers of drafts without any": ("sglang --speculative-num-steps 3", "speculative_num_steps: would be ignored: it needs speculative_algorithm", ""),
    "an interval in a version without": ("sglang@0.5.15 --prefill-decode-interval 3", "prefill_decode_interval: would be ignored: it needs sglang@0.5.19", ""),
    "hrrn in a version without": ("sglang@0.5.15 --schedule-policy hrrn", "schedule_policy: would be ignored: it needs sglang@0.5.20", ""),
    "a size of the host's pool without one": ("sglang --hicache-size 30", "hicache_size: would be ignored: it needs enable_hierarchical_cache", ""),
    "two halves of a batch": ("sglang --enable-two-batch-overlap", "enable_two_batch_overlap: an overlap of two halves of a batch is not modelled", ""),
    "a routing key": ("sglang --schedule-policy routing-key", "schedule_policy: routing-key is not modelled for sglang yet", ""),
    "a limit of the queue": ("sglang --max-queued-requests 8", "max_queued_requests: a limit of the queue is not modelled for sglang yet", ""),
    "prefill and decode apart": ("sglang --disaggregation-mode prefill", "disaggregation_mode: cluster.disaggregation.prefill_instances says which servers are which", ""),
    "replicas": ("sglang --dp-size 2", "data_parallel_size: data parallelism without enable_dp_attention is not modelled", ""),
    "a balance without ranks": ("sglang --load-balance-method total_requests", "load_balance_method: would be ignored: it needs enable_dp_attention", ""),
    "a pipeline": ("sglang --pp-size 2", "pipeline_parallel_size: a pipeline is not modelled for sglang yet", ""),
    "another system's hand-over": ("sglang --instances 2 --prefill-instances 1 --disaggregation llm-d", "disaggregation.name: found llm-d, and the engine is sglang", "sglang"),
    "a flag of vLLM's": ("sglang --max-num-seqs 8", "max_num_seqs: would be ignored: it is a setting of vllm", "max_running_requests"),
    "another of vLLM's": ("sglang --block-size 32", "block_size: would be ignored: it is a setting of vllm", "page_size"),
    "one of TensorRT-LLM's": ("sglang --free-gpu-memory-fraction 0.8", "free_gpu_memory_fraction: would be ignored: it is a setting of tensorrt-llm", "mem_fraction_static"),
    "one of its own beside vLLM": ("vllm@0.15 --page-size 16", "page_size: would be ignored: it is a setting of sglang", "block_size"),
    "another of its own beside vLLM": ("vllm@0.15 --mem-fraction-static 0.8", "mem_fraction_static: would be ignored: it is a setting of sglang", "gpu_memory_utilization"),
    "an engine misspelt": ("sglnag", "is not an engine version", "sglang"),
}  # fmt: skip

# Refused beside a network with experts, whose attention may be in data parallel.
REFUSED_RANKS = {
    "a dense network": ("--tp-size 4 --dp-size 4 --model llama-3.1-8b", "enable_dp_attention: attention in data parallel of a network without experts", ""),
    "one rank": ("--tp-size 4", "enable_dp_attention: would be ignored: it needs data_parallel_size above 1", ""),
    "ranks that do not divide the GPUs": ("--tp-size 4 --dp-size 3", "data_parallel_size: with enable_dp_attention 3 ranks do not divide tensor_parallel_size 4", ""),
    "a chunk of no whole pages": ("--tp-size 4 --dp-size 4 --chunked-prefill-size 100 --page-size 64", "chunked_prefill_size: 100 is no multiple of page_size 64", "64"),
    "fewer seats than ranks": ("--tp-size 4 --dp-size 4 --max-running-requests 2", "max_running_requests: 2 leaves none to each of 4 ranks", "4"),
    "a balance by tokens": ("--tp-size 4 --dp-size 4 --load-balance-method total_tokens", "load_balance_method: total_tokens is not modelled for sglang yet", ""),
    "part of a group": ("--tp-size 4 --dp-size 4 --instances 6", "instances: found 6, expected a multiple of the ranks of the attention, 4", "8"),
}  # fmt: skip


def is_one_line(done, says, hint):
    assert done.returncode == 2
    assert says in done.stderr and hint in done.stderr, done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("error")]) == 1, done.stderr


@pytest.mark.parametrize("case", REFUSED)
def test_bad_settings_are_one_line_each(ridgeline, case):
    words, says, hint = REFUSED[case]
    is_one_line(ridgeline(*OPEN, "--engine", *words.split()), says, hint)


def test_recurrent_states_take_slots_in_the_tree_too(ridgeline):
    words = ("explain", "--engine", "sglang", "--model", "qwen3-next-80b-a3b", "--gpu", "h200", "--tp-size", 4, "--format", "json")
    cached, plain = (json.loads(ridgeline(*words, *more).stdout)["engine"] for more in ((), ("--disable-radix-cache",)))
    assert cached["max_running_requests"] < plain["max_running_requests"]


def test_servers_apart_hand_the_first_token_over_with_the_kv(ridgeline):
    words = (
        "run --engine sglang --model llama-3.1-8b --gpu h100 --instances 2 --prefill-instances 1 --request-rate 2 --num-prompts 20"
        " --input-len 2000 --output-len 20 --format json"
    ).split()
    result = json.loads(ridgeline(*words).stdout)["summary"]
    assert result["completed"] == 20
    slow = json.loads(ridgeline(*words, "--transfer-bandwidth", "1GB/s").stdout)["summary"]
    assert slow["ttft_ms"]["mean"] > result["ttft_ms"]["mean"] + 100, "262 MB at 1 GB/s"


def test_a_recipe_fills_what_is_left_open(ridgeline):
    words = (
        "run --engine sglang --model deepseek-r1 --gpu b200 --tp-size 8 --recipe inferencex --max-concurrency 16 --num-prompts 16"
        " --input-len 64 --output-len 8 --format json"
    ).split()
    result = json.loads(ridgeline(*words).stdout)
    assert result["config"]["recipe"] == "inferencex"
    engine = result["config"]["engine"]
    assert (engine["chunked_prefill_size"], engine["scheduler_recv_interval"]) == (32768, 30)
    assert engine["disable_radix_cache"] and engine["fuse_allreduce_rms"]
    stated = json.loads(ridgeline(*words, "--scheduler-recv-interval", 3).stdout)["config"]["engine"]
    assert stated["scheduler_recv_interval"] == 3
    notes = {warning["code"]: warning["message"] for warning in result["warnings"]}
    assert notes["W-recipe"].startswith("recipe inferencex (all servers; Blackwell; DeepSeek on Blackwell): ")
    other = ridgeline(*[word if word != "inferencex" else "inferance" for word in words])
    is_one_line(other, '"inferance" is no recipe', "")


@pytest.mark.parametrize("case", REFUSED_RANKS)
def test_bad_ranks_are_one_line_each(ridgeline, case):
    words, says, hint = REFUSED_RANKS[case]
    moe = ("run", "--gpu", "h100", "--engine", "sglang", "--enable-dp-attention", "--input-len", 30, "--request-rate", 9)
    network = () if "--model" in words else ("--model", "qwen3-30b-a3b")
    is_one_line(ridgeline(*moe, *network, "--output-len", 9, *words.split()), says, hint)


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="no recordings here")
def test_its_own_decisions_are_ours(ridgeline):
    done = ridgeline("conform", *sorted(GOLDEN.glob("*.json")))
    assert done.returncode == 0, done.stdout
    assert " 0 differ" in done.stdout


def test_states_on_the_host_come_back_and_delay_their_step_alone(ridgeline):
    words = (
        "run --engine sglang --model qwen3-next-80b-a3b --gpu h200 --tp 2 --input-len 300 --prefix-len 9000"
        " --num-prefixes 40 --output-len 100 --request-rate 4 --num-prompts 200 --max-total-tokens 120000"
        " --max-mamba-cache-size 60 --max-running-requests 10 --format json"
    ).split()
    host = ["--enable-hierarchical-cache", "true", "--hicache-ratio", "4"]
    alone, jumping, stepping = (
        json.loads(ridgeline(*words, *more).stdout)["summary"] for more in ([], host, [*host, "--no-jump"])
    )
    assert jumping["kv_cache"]["prefix_hit_rate"] > alone["kv_cache"]["prefix_hit_rate"] + 0.2
    assert jumping == stepping
