"""Data-parallel ranks as instances: those that share experts step together."""

import json

import pytest

MOE = ("run", "--model", "deepseek-v3", "--gpu", "h200", "--enable-expert-parallel", "--input-len", 500, "--output-len", 60, "--seed", 3)
DENSE = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", 300, "--output-len", 40, "--seed", 3)


def result_of(ridgeline, *words):
    done = ridgeline(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_ranks_that_share_experts_step_together(ridgeline):
    words = (*MOE, "--data-parallel-size", 16, "--instances", 32, "--request-rate", 20, "--num-prompts", 120)
    result = result_of(ridgeline, *words)
    fleet = result["summary"]["cluster"]
    assert fleet["routing"]["router"] == "vllm-dp@fixed-start"
    assert fleet["lock_step"]["ranks"] == 16
    ranks = fleet["lock_step"]["per_rank"]
    assert len(ranks) == 32
    for group in (ranks[:16], ranks[16:]):
        assert len({rank["steps"] for rank in group}) == 1
        assert 0 < min(rank["dummy_steps"] for rank in group)
    assert all(0 < rank["waited"] < 1 for rank in ranks)
    assert sum(one["completed"] for one in fleet["per_instance"]) == 120
    assert not any(warning["code"] == "W-data-parallel" for warning in result["warnings"])
    for other in (("--engine-core", "reference"), ("--no-jump",)):
        again = result_of(ridgeline, *words, *other)
        assert again["digest"] == result["digest"]
        assert again["summary"]["cluster"] == fleet


def test_a_prompt_on_one_rank_holds_up_the_others(ridgeline):
    words = (*MOE, "--data-parallel-size", 16, "--request-rate", 20, "--num-prompts", 120)
    together = result_of(ridgeline, *words, "--instances", 16)
    alone = result_of(ridgeline, *words)  # One rank, equally loaded.
    assert together["summary"]["tpot_ms"]["p99"] > alone["summary"]["tpot_ms"]["p99"]


@pytest.mark.parametrize("version, router", [("0.15", "vllm-dp@fixed-start"), ("0.25", "vllm-dp@rotating-start"), ("0.27", "vllm-dp")])
def test_the_balancer_is_that_of_the_engine_version(ridgeline, version, router):
    words = (*DENSE, "--data-parallel-size", 4, "--instances", 4, "--request-rate", 60, "--num-prompts", 100)
    fleet = result_of(ridgeline, *words, "--engine-version", version)["summary"]["cluster"]
    assert fleet["routing"]["router"] == router
    assert "lock_step" not in fleet  # A dense network's ranks share nothing.


MOE_ON_H100 = (
    *("run", "--model", "qwen3-30b-a3b", "--gpu", "h100", "--enable-expert-parallel", "--input-len", 500, "--output-len", 60),
    *("--seed", 3, "--request-rate", 40, "--num-prompts", 150, "--instances", 8),
)


@pytest.mark.parametrize(
    "words, router",
    [
        (("sglang", "--tp-size", 4, "--dp-size", 4, "--enable-dp-attention"), "round-robin"),
        (("sglang@0.5.5", "--tp-size", 4, "--dp-size", 2, "--enable-dp-attention", "--load-balance-method", "total_requests"), "sglang-dp"),
        (("tensorrt-llm", "--tp-size", 4, "--enable-attention-dp"), "least-request"),
        (("tensorrt-llm", "--tp-size", 4, "--enable-attention-dp", "--attention-dp-enable-balance"), "least-request"),
    ],
)
def test_attention_in_data_parallel_steps_together(ridgeline, words, router):
    result = result_of(ridgeline, *MOE_ON_H100, "--engine", *words)
    fleet = result["summary"]["cluster"]
    assert result["summary"]["completed"] == 150
    assert fleet["routing"]["router"] == router
    ranks = fleet["lock_step"]["ranks"]
    assert ranks == (2 if router == "sglang-dp" else 4)
    for group in range(8 // ranks):
        assert len({rank["steps"] for rank in fleet["lock_step"]["per_rank"][group * ranks : (group + 1) * ranks]}) == 1
    for other in (("--engine-core", "reference"), ("--no-jump",)):
        again = result_of(ridgeline, *MOE_ON_H100, "--engine", *words, *other)
        assert again["digest"] == result["digest"]
        assert again["summary"]["cluster"] == fleet
    config = ridgeline.write("again.json", json.dumps(result["config"]))
    assert result_of(ridgeline, "run", config)["digest"] == result["digest"]


def test_a_balance_of_prompts_trades_first_tokens_for_gaps(ridgeline):
    words = (*MOE_ON_H100, "--engine", "tensorrt-llm", "--tp-size", 4, "--enable-attention-dp")
    plain = result_of(ridgeline, *words)["summary"]
    balanced = result_of(ridgeline, *words, "--attention-dp-enable-balance")["summary"]
    assert balanced["ttft_ms"]["mean"] > plain["ttft_ms"]["mean"]
    assert balanced["tpot_ms"]["mean"] < plain["tpot_ms"]["mean"]


def test_dense_ranks_are_instances(ridgeline):
    words = (*DENSE, "--instances", 4, "--router", "least-request", "--request-rate", 60, "--num-prompts", 100)
    ranks = result_of(ridgeline, *words, "--data-parallel-size", 2)
    assert ranks["digest"] == result_of(ridgeline, *words)["digest"]


def test_ranks_that_are_not_whole_groups_are_refused(ridgeline):
    done = ridgeline(*MOE, "--data-parallel-size", 16, "--instances", 24, "--request-rate", 20, "--num-prompts", 9)
    assert done.returncode == 2
    assert "cluster.instances: found 24, expected a multiple of data_parallel_size, 16" in done.stderr
    crash = ("--data-parallel-size", 16, "--instances", 16, "--fault", "crash@1s:0")
    done = ridgeline(*MOE, *crash, "--request-rate", 20, "--num-prompts", 9)
    assert done.returncode == 2
    assert "cluster.faults: faults where data-parallel ranks are instances are not simulated" in done.stderr


def test_a_rank_moves_kv_over_its_own_network_card(ridgeline):
    words = ("run", "--model", "qwen3-30b-a3b", "--gpu", "h100", "--enable-expert-parallel", "--input-len", 512)
    words += ("--output-len", 20, "--request-rate", 1, "--num-prompts", 20, "--seed", 3, "--decider", "always")
    words += ("--disaggregation", "production-stack", "--transfer-link", "rdma")
    result = result_of(ridgeline, *words, "--data-parallel-size", 2, "--instances", 4, "--prefill-instances", 2)
    # 48 layers of 4 heads of 128 values, K and V of 2 bytes: 50.3 MB over a card of 18 GB/s.
    assert abs(result["summary"]["cluster"]["transfers"]["ms"] - 50.33 / 18) < 0.01
