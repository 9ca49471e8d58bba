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
    rates = [3, 5, 10, 12, 15, 20]
    ladder = report["tables"]["ladder"]
    strategies = {row["strategy"] for row in ladder}
    assert strategies | {part["part"] for part in report["skipped"]} == {"approximate", "precise", "load", "random"}
    assert sorted({row["rate"] for row in ladder}) == rates and len(ladder) == len(rates) * len(strategies)
    # Where prefixes are followed more of them are found, at every rate.
    cached = {(row["rate"], row["strategy"]): row["cached_share"] for row in ladder}
    assert all(cached[rate, "approximate"] > cached[rate, "random"] + 0.3 for rate in rates)
    # Measured apart, predicted so: following prefixes beats load and chance wherever they were apart.
    followed = [row for row in report["tables"]["order"] if row["measured_faster"] in ("approximate", "precise")
                and row["measured_slower"] in ("load", "random")]
    assert followed and all(row["predicted_so"] for row in followed)
    # Throughputs, in the tokens that the client counted.
    with_share = [row["with_counted_share"] for row in report["tables"]["throughput"]]
    assert sum(abs(ratio - 1) <= 0.15 for ratio in with_share) >= 0.8 * len(with_share)
    # Gauges that are read more seldom let the strategy by load wait longer.
    gauges = [row for row in report["tables"]["gauges"] if row["rate"] == rates[0]]
    assert gauges[-1]["predicted_ttft_mean_s"] > gauges[0]["predicted_ttft_mean_s"]
