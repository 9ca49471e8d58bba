"""Bad calls: always TypeError or ConfigError, with a field, and never a crash."""

from __future__ import annotations

import datetime
import random
from typing import Any

import pytest

import ridgeline as rl

BAD: list[dict[str, Any]] = [
    {"model": "llama-3.1-9b"}, {"model": ""}, {"model": b"llama"}, {"model": 3}, {"model": None}, {"model": ["a", "b"]},
    {"model": "\ud800"}, {"model": "a" * 5000}, {"model": "x\0y"}, {"model": object()}, {"gpu": "h1000"},
    {"gpu": 100}, {"gpu": {"name": "h100"}}, {"gpu": True}, {"gpu": b"\xff"}, {"gpu": "../../etc/passwd"},
    {"request_rate": -1}, {"request_rate": 0}, {"request_rate": "fast"}, {"request_rate": float("nan")},
    {"request_rate": float("inf")}, {"request_rate": 10**400}, {"request_rate": [1, 2]}, {"request_rate": {}},
    {"request_rate": b"8"}, {"request_rate": 1j}, {"request_rate": True}, {"num_prompts": 0}, {"num_prompts": -5},
    {"num_prompts": 1.5}, {"num_prompts": 2**63}, {"num_prompts": 10**30}, {"num_prompts": "many"},
    {"num_prompts": {1}}, {"num_prompts": range(3)}, {"input_len": -1}, {"input_len": 0.5}, {"input_len": "long"},
    {"input_len": {"distribution": "weird"}}, {"input_len": {"distribution": "uniform"}},
    {"input_len": {"distribution": "normal", "mean": float("nan"), "std": 1}}, {"input_len": {"mean": 3}},
    {"input_len": {1: 2}}, {"input_len": {"distribution": {"distribution": {}}}}, {"input_len": [1, 2, 3]},
    {"output_len": 10**12}, {"output_len": "10 furlongs"}, {"output_len": lambda: 3},
    {"output_len": {"distribution": "uniform", "min": 9, "max": 2}}, {"seed": -1}, {"seed": 2**60}, {"seed": 0.1},
    {"seed": "one"}, {"slo_ttft": "50 parsecs"}, {"slo_ttft": -1}, {"slo_ttft": datetime.timedelta(-1)},
    {"slo_ttft": datetime.datetime(2020, 1, 1)}, {"slo_ttft": "50"}, {"slo_ttft": 50}, {"slo_tpot": 0.05}, {"slo_ttft": []}, {"slo_statistic": "p42"},
    {"tensor_parallel_size": 3}, {"tensor_parallel_size": 0}, {"tensor_parallel_size": "two"},
    {"tensor_parallel_size": 1000}, {"tensor_parallel_size": 2.0000001}, {"max_num_seqs": 0}, {"max_num_seqs": -4},
    {"max_num_seqs": {"a": 1}}, {"block_size": 0}, {"block_size": 10**9}, {"gpu_memory_utilization": 2},
    {"gpu_memory_utilization": -0.5}, {"gpu_memory_utilization": "most"}, {"dtype": "float3"}, {"dtype": 16},
    {"enable_prefix_caching": "perhaps"}, {"enable_prefix_caching": 2}, {"enable_prefix_caching": []},
    {"latency": "perfect"}, {"latency": 4}, {"engine_version": "vllm@9999x"}, {"engine_version": 10},
    {"router": "best"}, {"router": 3}, {"router": "round-robin"}, {"router": object()}, {"instances": 0},
    {"instances": 2, "router": "best"}, {"autoscaling": "hpa"}, {"autoscaling": 1}, {"step_model": "kernel"},
    {"step_model": 1}, {"progress": 3}, {"series": 1}, {"series": "yes"}, {"series": 10**9}, {"trace": "no/such.csv"},
    {"max_concurrency": -1}, {"max_concurrency": "8x"}, {"arrivals": "poison"}, {"duration": "soon"},
    {"duration": -3}, {"burstiness": -1}, {"percentiles": "rough"}, {"requests_from": "a.csv"}, {"requests_from": 3},
    {"requests_from": [1]}, {"requests_from": [(0, 1)]}, {"requests_from": [{"arrival_s": "x", "input_tokens": 1,
                                                                             "output_tokens": 1}]},
    {"speculative_config": 3}, {"speculative_config": {"method": "magic"}}, {"hardware_config": "no/such.json"},
    {"no_such_option": 1}, {"max_nun_seqs": 3}, {"scenario": 3}, {"scenario": "no/such.yaml"}, {"scenario": b"x"},
    {"scenario": {"modell": 1}}, {"scenario": {"engine": {"engine": {"engine": 1}}}}, {"scenario": {3: 4}},
    {"scenario": {"a": float("nan")}}, {"scenario": ["model"]},
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: ",".join(bad) + "=" + repr(list(bad.values())[0])[:20])
def test_bad_calls(bad: dict[str, Any]) -> None:
    given: dict[str, Any] = dict(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=5, input_len=9,
                                 output_len=3)
    given.update(bad)
    scenario = given.pop("scenario", None)
    with pytest.raises((TypeError, rl.ConfigError)) as problem:
        rl.run(scenario, **given)
    error = problem.value
    if isinstance(error, rl.ConfigError):
        assert error.errors and all(found.message for found in error.errors)
        assert any(found.field or found.file for found in error.errors), error
        assert "--" not in str(error) or "request" in str(error), error
    else:
        assert len(str(error)) > 10


def test_there_are_a_hundred_of_them() -> None:
    assert len(BAD) >= 100


def test_all_problems_at_once_with_hints() -> None:
    with pytest.raises(rl.ConfigError) as problem:
        rl.run(model="llama-3.1-9b", gpu="h101", request_rate=-1, num_prompts=0, input_len=1, output_len=1)
    assert len(problem.value.errors) >= 2
    with pytest.raises(rl.ConfigError, match="did you mean") as named:
        rl.run(model="llama-3.1-8b", gpu="h10", request_rate=1, num_prompts=1, input_len=1, output_len=1)
    assert named.value.errors[0].hint and named.value.errors[0].field == "gpu"


def test_random_json_never_crashes() -> None:
    draw = random.Random(1)
    leaves: list[Any] = [None, True, -1, 0, 3.5, "", "h100", "llama-3.1-8b", 2**62, -1e300, [], {}]
    keys = ["model", "gpu", "workload", "engine", "cluster", "slo", "seed", "request_rate", "latency", "name", "x"]

    def tree(depth: int) -> Any:
        if depth == 0 or draw.random() < 0.3:
            return draw.choice(leaves)
        if draw.random() < 0.3:
            return [tree(depth - 1) for _ in range(draw.randint(0, 3))]
        return {draw.choice(keys): tree(depth - 1) for _ in range(draw.randint(0, 4))}

    for _ in range(500):
        with pytest.raises((TypeError, rl.ConfigError)):
            rl.run({"found": tree(4)} if draw.random() < 0.2 else {**tree_map(tree), "surely_unknown": 1})


def tree_map(tree: Any) -> dict[str, Any]:
    found = tree(4)
    return found if isinstance(found, dict) else {"model": found}
