"""`ridgeline study run`: published fleets, predicted beside measured; old knowledge against chance."""

import json

import pytest

from conftest import SANITIZED


@pytest.fixture
def study(ridgeline):
    if SANITIZED:
        pytest.skip("sanitizers take minutes for whole ladders")

    def run(name):
        done = ridgeline("study", "run", name, "--format", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_a_published_ladder(study):
    """llmd-37; llmd-73 takes four times as long."""
    report = study("llmd-37")
    rates = [3, 4, 5, 6, 8, 10, 12, 15, 20]
    ladder = report["tables"]["ladder"]
    strategies = {row["strategy"] for row in ladder}
    assert strategies | {part["part"] for part in report["skipped"]} == {"approximate", "precise", "load", "random"}
    # Three rates are published without the approximate strategy.
    assert sorted({row["rate"] for row in ladder}) == rates and len(ladder) == len(rates) * len(strategies) - 3
    # Where prefixes are followed more of them are found, at every rate.
    cached = {(row["rate"], row["strategy"]): row["cached_share"] for row in ladder}
    assert all(cached[rate, "precise"] > cached[rate, "random"] + 0.3 for rate in rates)
    # Measured apart, predicted so: following prefixes beats load and chance wherever they were apart.
    followed = [row for row in report["tables"]["order"] if row["measured_faster"] in ("approximate", "precise")
                and row["measured_slower"] in ("load", "random")]
    assert followed and all(row["predicted_so"] for row in followed)
    # Published throughputs are those of published times, if each token was stamped twice.
    shares = [row["published_share_of_tokens_with_two"] for row in report["tables"]["duration"] if not row["overload"]]
    assert all(0.9 < share < 1.1 for share in shares) and len(shares) >= 14
    # Steps as long as at the lowest rate: nearly all throughputs are right.
    ratios = [row["calibrated_over_measured"] for row in report["tables"]["throughput"]]
    assert sum(abs(ratio - 1) <= 0.15 for ratio in ratios) >= 0.8 * len(ratios)
    assert report["verdict_by_rule"] == "partly confirmed"
    # Gauges that are read more seldom let the strategy by load wait longer.
    gauges = [row for row in report["tables"]["gauges"] if row["rate"] == rates[0]]
    assert gauges[-1]["predicted_ttft_mean_s"] > gauges[0]["predicted_ttft_mean_s"]


def test_shedding_by_chance(study):
    report = study("admitter")
    loads = {row["sheddable_rate"]: row for row in report["tables"]["loads"]}
    assert report["verdict_by_rule"] == "confirmed"
    # As published: TTFT p90 -97 %, E2E -50 %.
    assert loads[100]["ttft_p90_change"] == pytest.approx(-0.97, abs=0.05)
    assert loads[60]["e2e_change"] == pytest.approx(-0.5, abs=0.05)


def test_a_tree_of_prefixes(study):
    report = study("sglang-cache")
    groups = report["tables"]["groups"]
    assert len(groups) == 9 and all(row["hit_ratio"] > 1 for row in groups)
    # The published 3.8 times as much from caches lies between groups of eight of 4,000 and of 8,000 tokens.
    of_eight = [row["hit_ratio"] for row in groups if row["prompts_per_group"] == 8]
    assert of_eight == sorted(of_eight) and of_eight[1] < 3.8 < of_eight[2]


def test_prefill_apart_is_a_queue_with_equal_services(study):
    formula = study("distserve")["tables"]["formula"]
    assert all(row["simulated_over_formula"] == pytest.approx(1, abs=0.05) for row in formula)


def test_machines_for_prompts_and_machines_for_tokens(study):
    report = study("splitwise")
    rates = {(row["service"], row["machines"]): row["sustained_per_s"] for row in report["tables"]["sustained"]}
    # Published at equal cost: 2.35 times. At a fifth less than H100s that do both: 1.4, here none.
    for service in ("conversation", "coding"):
        assert rates[service, "A100, apart 5 + 2"] / rates[service, "A100, both"] == pytest.approx(2.35, rel=0.15)
        assert rates[service, "A100, apart 5 + 2"] <= rates[service, "H100, both"]
    assert report["verdict_by_rule"] == "partly confirmed"


def test_published_gains_of_routing_over_traffic_of_our_own(study):
    latency = study("llmd-latency")
    times = {(row["request_rate"], row["routing"]): row["ttft_p95_s"] for row in latency["tables"]["rates"]}
    assert all(times[rate, "predicted"] < times[rate, "none"] for rate in (10, 15, 20, 30))
    assert latency["verdict_by_rule"] == "partly confirmed"
    # Precise routing against connections that stay: 2.3 times the tokens published, fewer here.
    assert all(row["throughput_ratio"] > 1.2 and row["ttft_mean_ratio"] > 1 for row in study("llmd-eks")["tables"]["prefixes"])
    assert all(row["ratio"] < 0.5 for row in study("llmd-04")["tables"]["lengths"])
    knees = {row["traffic"]: row["factor"] for row in study("llmd-sticky")["tables"]["knees"]}
    assert knees["reasoning"] == pytest.approx(1.03, abs=0.2)
