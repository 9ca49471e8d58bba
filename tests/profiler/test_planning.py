"""Grids, tiers, order, budget and estimates."""

import math
import re
from collections import Counter
from dataclasses import replace

import pytest
from conftest import SOURCE

from ridgeline_profiler import grids, planning, timing
from ridgeline_profiler.devices import DATASHEETS, cpu_target, datasheet_of, folder_name, planned_gpu_target
from ridgeline_profiler.networks import GPU_NETWORKS, find_network, gemm_shapes
from ridgeline_profiler.operators import ALL, BY_NAME
from ridgeline_profiler.operators.grouped_gemm import route
from ridgeline_profiler.points import Cost

GPU = planned_gpu_target("h100", 1)
TARGETS = [cpu_target(), GPU, planned_gpu_target("a100-80gb", 8)]


def test_levels_halve_the_intervals():
    # Ends and middle, then the quarters, then what is left.
    assert grids.dyadic_levels(9) == [0, 2, 1, 2, 0, 2, 1, 2, 0]
    assert grids.dyadic_levels(1) == [0]
    assert grids.dyadic_levels(2) == [0, 0]
    assert grids.dyadic_levels(0) == []


def test_spread_order_takes_the_farthest_next():
    # From 1: 1000 is farthest; then 30 (log 3.4 from either end) before 900.
    assert grids.spread_order([1, 900, 30, 1000], lambda value: [value]) == [1, 1000, 30, 900]


def test_rank_levels_double():
    assert [grids.rank_level(rank) for rank in (0, 3, 4, 7, 8, 15, 16)] == [0, 0, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.device_name)
@pytest.mark.parametrize("operator", ALL, ids=lambda operator: operator.name)
def test_points_are_unique_positive_and_fit(operator, target):
    points = operator.points(target)
    assert len({each.key for each in points}) == len(points)
    for each in points:
        assert each.operator == operator.name
        assert tuple(name for name, _ in each.shape) == operator.columns
        cost = operator.cost(each)
        assert cost.flops >= 0 and cost.bytes > 0
        assert operator.resident_bytes(each) <= 0.6 * target.memory_bytes
        assert each.dtype in (*target.dtypes, "fp32")
    if points:
        assert min(each.tier for each in points) in (0, 1)


def test_every_operator_has_points():
    empty = [operator.name for operator in ALL if not operator.points(planned_gpu_target("h100", 2))]
    assert empty == []


def test_gemm_covers_the_asked_for_range():
    points = BY_NAME["gemm"].points(GPU)
    tokens = {each.number("m") for each in points}
    assert (min(tokens), max(tokens)) == (1, 65536)
    assert {each.dtype for each in points} == {"bf16", "fp8", "fp8_block"}
    # Llama-3.1-8B: QKV 4096 -> 32*128 + 2*8*128 = 6144; its TP2 shard 3072; down of TP8 14336/8 = 1792.
    shapes = {(each.number("k"), each.number("n")) for each in points}
    assert {(4096, 6144), (4096, 3072), (1792, 4096)} <= shapes
    # FP8 with blocks of 128 takes no other multiples.
    assert all(each.number("k") % 128 == 0 for each in points if each.dtype == "fp8_block")


def test_kv_heads_are_copied_when_ranks_outnumber_them():
    # Qwen2.5-7B has 28 query and 4 KV heads: at TP8 each rank has 3 and 1.
    assert find_network("qwen2.5-7b").rank_heads(8) == (3, 1)
    assert gemm_shapes(find_network("llama-2-7b"), 4)[0] == (4096, 3 * 8 * 128)


def test_collectives_need_several_gpus():
    assert BY_NAME["collective"].points(GPU) == []
    ranks = {each.number("ranks") for each in BY_NAME["collective"].points(planned_gpu_target("h100", 4))}
    assert ranks == {2, 4}


def test_order_is_by_tier_then_random():
    plan = planning.make_plan(ALL, GPU, seed=1)
    tiers = [each.point.tier for each in plan]
    assert tiers == sorted(tiers)
    # Within the largest tier operators are mixed: a run of the same one is short.
    names = [each.point.operator for each in plan if each.point.tier == 2]
    changes = sum(first != second for first, second in zip(names, names[1:]))
    assert changes > len(names) / 2
    assert [p.point for p in plan] != [p.point for p in planning.make_plan(ALL, GPU, seed=2)]


def test_order_does_not_depend_on_what_is_left_out():
    few = [BY_NAME["sampling"], BY_NAME["copy"]]
    names = {"sampling", "copy"}
    whole = [p.point for p in planning.make_plan(ALL, GPU, 1) if p.point.operator in names]
    assert [p.point for p in planning.make_plan(few, GPU, 1)] == whole


def test_budget_takes_a_prefix_and_what_still_fits():
    plan = planning.make_plan([BY_NAME["copy"]], GPU, 1)
    costs = [replace(each, seconds=seconds) for each, seconds in zip(plan, (10.0, 60.0, 5.0, 20.0))]
    # 10 of 36, 60 is too long, 5, 20: 35.
    assert [each.seconds for each in planning.within_budget(costs, 36.0)] == [10.0, 5.0, 20.0]
    assert planning.within_budget(costs, None) == costs


def test_an_hour_takes_the_coarse_tiers_of_every_operator():
    plan = planning.make_plan(ALL, GPU, 1)
    taken = planning.within_budget(plan, 3600.0)
    assert sum(each.seconds for each in taken) <= 3600.0
    chosen = {each.point.key for each in taken}
    assert all(each.point.key in chosen for each in plan if each.point.tier <= 2)
    assert set(Counter(each.point.operator for each in taken)) == {each.point.operator for each in plan}


def test_expected_time_is_a_roofline():
    # 0.6 of 989 TFLOP/s does 593.4e12 operations in a second; the bytes are nothing; 5 us of launch.
    assert planning.expected_call_us(Cost(593.4e12, 1.0), GPU) == pytest.approx(1e6 + 5.0)
    assert planning.expected_call_us(Cost(1.0, 0.6 * 3.35e12), GPU) == pytest.approx(1e6 + 5.0)


def test_replays():
    # 10 us calls: 20 in a replay of 200 us; 150 ms / 0.2 ms = 750, at most 200. A second per replay: ten.
    assert timing.rounds(10.0, 1) == 20
    assert timing.rounds(10.0, 7) == 3
    # No more than 2 ms: a call of 600 us three times; of a second, once.
    assert timing.rounds(600.0, 1) == 3
    assert timing.rounds(1e6, 4) == 1
    assert timing.replays(200e-6) == 200
    assert timing.replays(1.0) == 10
    # 1 s calls: ten samples, three of warm-up, a pilot, and the setup.
    assert timing.estimated_seconds(1e6) == pytest.approx(14.0 + timing.SETUP_SECONDS)


def test_routing_is_balanced_or_skewed():
    # 8 tokens with 2 of 4 experts: 16 pairs, four each.
    assert Counter(expert for row in route(8, 4, 2, "balanced") for expert in row) == {0: 4, 1: 4, 2: 4, 3: 4}
    skewed = route(4096, 128, 8, "skewed")
    assert all(len(set(row)) == 8 for row in skewed)
    loads = Counter(expert for row in skewed for expert in row)
    # The first expert is drawn several times as often as the mean of 4096 * 8 / 128 = 256.
    assert loads[0] > 2 * 256
    assert route(64, 128, 8, "skewed") == skewed[:64]


def test_devices_are_known_by_the_names_that_cuda_reports():
    names = {
        "NVIDIA H100 80GB HBM3": "h100",
        "NVIDIA H100 PCIe": "h100-pcie",
        "NVIDIA H200": "h200",
        "NVIDIA A100-SXM4-80GB": "a100-80gb",
        "NVIDIA A100-SXM4-40GB": "a100-40gb",
        "NVIDIA L40S": "l40s",
        "NVIDIA GeForce RTX 4090": "nvidia-geforce-rtx-4090",
        "../..": "unknown",
    }
    assert {name: folder_name(name) for name in names} == names
    assert datasheet_of("NVIDIA GeForce RTX 4090") is None


def quantity(text, name):
    """The value of a key of data/hardware/*.yaml, in SI units."""
    units = {"TFLOP/s": 1e12, "TB/s": 1e12}
    found = re.search(rf"^{name}:\n  value: ([\d.]+)({'|'.join(units)})$", text, re.MULTILINE)
    return float(found[1]) * units[found[2]] if found else None


@pytest.mark.parametrize("sheet", DATASHEETS, ids=lambda sheet: sheet.name)
def test_datasheets_are_those_of_the_catalogue(sheet):
    text = (SOURCE / "data" / "hardware" / f"{sheet.name}.yaml").read_text(encoding="utf-8")
    assert quantity(text, "peak_bf16") == sheet.peak_bf16
    assert quantity(text, "peak_fp8") == sheet.peak_fp8
    assert quantity(text, "mem_bandwidth") == pytest.approx(sheet.bandwidth, rel=1e-12)


@pytest.mark.parametrize("network", GPU_NETWORKS, ids=lambda network: network.name)
def test_networks_are_those_of_the_catalogue(network):
    import json

    path = SOURCE / "data" / "models" / f"{network.name}.json"
    if not path.exists():
        pytest.skip(f"the catalogue has no {network.name}")
    config = json.loads(path.read_text(encoding="utf-8"))
    assert config["hidden_size"] == network.hidden
    assert config["num_attention_heads"] == network.heads
    assert config["vocab_size"] == network.vocab
    assert config["num_hidden_layers"] == network.layers
    if network.mla is None:
        assert config["num_key_value_heads"] == network.kv_heads
        assert config.get("head_dim", network.hidden // network.heads) == network.head_dim
    if network.moe is None:
        assert config["intermediate_size"] == network.width
    else:
        experts = [config[name] for name in ("num_experts", "num_local_experts", "n_routed_experts") if name in config]
        assert experts == [network.moe.experts]
        assert config["num_experts_per_tok"] == network.moe.top_k
        assert config.get("moe_intermediate_size", config.get("intermediate_size")) == network.moe.width


def test_keys_are_stable():
    # A state file of an older version must still be understood: this text is a format.
    first = next(each for each in BY_NAME["gemm"].points(GPU) if each.number("m") == 1)
    assert first.key == f"gemm/bf16/m=1,k={first.number('k')},n={first.number('n')}"
    assert math.isfinite(first.tier)
