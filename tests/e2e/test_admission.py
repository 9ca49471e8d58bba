"""A gateway that refuses requests or holds them, and the tenants of a cluster."""

import json

import pytest
from conftest import SOURCE

TENANTS = SOURCE / "scenarios" / "two-tenants.yaml"
BASE = ("replay", "--trace", TENANTS, "--model", "llama-3.1-8b", "--gpu", "h100", "--instances", 2, "--seed", 5)
GOLD = ("--tenant", "{name: gold, share: 3, priority: 1, slo: {ttft: 500ms}}", "--tenant", "{name: batch, priority: -1}")
OPEN = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", 300, "--output-len", 40, "--seed", 3,
        "--request-rate", 60, "--num-prompts", 300, "--instances", 2)  # fmt: skip


def result_of(ridgeline, *words):
    done = ridgeline(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def cluster_of(ridgeline, *words):
    return result_of(ridgeline, *words)["summary"]["cluster"]


def test_admission_that_refuses_none_changes_none(ridgeline):
    plain = result_of(ridgeline, *OPEN)
    assert "admission" not in plain["summary"]["cluster"]
    assert result_of(ridgeline, *OPEN, "--admission", "always")["digest"] == plain["digest"]
    held = result_of(ridgeline, *OPEN, "--flow-control", "--saturation-detector", "concurrency-detector")
    assert held["digest"] == plain["digest"]
    assert held["summary"]["cluster"]["admission"]["admitted"] == 300
    assert held["summary"]["cluster"]["admission"]["queue_ms"]["max"] == 0


def test_every_policy_accounts_for_every_request(ridgeline):
    tight = ("--saturation-detector", "concurrency-detector", "--max-concurrency-per-instance", 20)
    for words in (
        ("--admission", "priority", *tight),
        ("--admission", "probabilistic", *tight),
        ("--admission", "token-bucket", "--token-bucket-refill-rate", 20000),
        *(("--flow-control", "--request-ttl", "2s", "--fairness-policy", fairness, *tight)
          for fairness in ("global-strict", "round-robin", "program-aware", "vtc", "weighted-fair")),
    ):  # fmt: skip
        result = result_of(ridgeline, *BASE, *GOLD, *words)
        summary = result["summary"]
        cluster = summary["cluster"]
        refused = cluster["admission"]["rejected"]
        sent = summary["completed"] + summary["failed"]["rejected"] + summary["failed"].get("expired", 0)
        assert sum(refused.values()) + cluster["admission"]["admitted"] == sent
        assert sum(refused.values()) > 0
        assert sum(tenant["requests"] for tenant in cluster["per_tenant"]) == sent
        assert sum(tenant["share"] for tenant in cluster["per_tenant"]) == pytest.approx(1)
        assert 0.5 <= cluster["fairness"] <= 1
        for core in ("reference",):
            assert result_of(ridgeline, *BASE, *GOLD, *words, "--engine-core", core)["digest"] == result["digest"]


def test_running_requests_give_way(ridgeline):
    words = (*BASE, *GOLD, "--flow-control", "--saturation-detector", "concurrency-detector",
             "--max-concurrency-per-instance", 20)  # fmt: skip
    kept = result_of(ridgeline, *words)["summary"]
    summary = result_of(ridgeline, *words, "--eviction")["summary"]
    assert "evicted" not in kept["cluster"]["admission"]
    assert summary["cluster"]["admission"]["evicted"] == summary["failed"]["aborted"] > 0
    gold = {name: one["cluster"]["per_tenant"][0]["ttft_ms"]["mean"] for name, one in (("kept", kept), ("evicted", summary))}
    assert gold["evicted"] < gold["kept"]


def test_targets_that_would_be_missed_are_shed(ridgeline):
    words = (*BASE, "--router", "llm-d-latency", "--tenant", "{name: gold, priority: 1, slo: {ttft: 500ms}}",
             "--tenant", "{name: batch, priority: -1, slo: {ttft: 100ms, tpot: 20ms}}", "--admission", "latency-slo")  # fmt: skip
    result = result_of(ridgeline, *words)
    refused = result["summary"]["cluster"]["admission"]["rejected"]
    assert refused["predicted_late"] == sum(refused.values()) > 0
    assert result_of(ridgeline, *words, "--engine-core", "reference")["digest"] == result["digest"]


def test_priorities_protect_a_tenant(ridgeline):
    tight = ("--saturation-detector", "concurrency-detector", "--max-concurrency-per-instance", 20)
    plain = {tenant["name"]: tenant for tenant in cluster_of(ridgeline, *BASE, *GOLD)["per_tenant"]}
    kept = {tenant["name"]: tenant for tenant in cluster_of(ridgeline, *BASE, *GOLD, "--flow-control", *tight)["per_tenant"]}
    assert kept["gold"]["ttft_ms"]["p99"] < 0.5 * plain["gold"]["ttft_ms"]["p99"]
    assert kept["gold"]["good_share"] > plain["gold"]["good_share"]
    assert kept["gold"]["gateway_wait_ms"]["mean"] < kept["batch"]["gateway_wait_ms"]["mean"]


def test_a_rate_limit_is_its_tenants_alone(ridgeline):
    limited = ("--tenant", "{name: gold}", "--tenant", "{name: batch, requests_per_minute: 100}")
    cluster = cluster_of(ridgeline, *BASE, *limited)
    gold, batch = cluster["per_tenant"]
    assert gold["rejected"] == 0
    assert batch["completed"] == 100
    assert cluster["admission"]["rejected"]["rate_limit"] == batch["requests"] - 100


def test_a_file_says_the_same_as_flags(ridgeline):
    path = ridgeline.write(
        "gateway.yaml",
        "model: llama-3.1-8b\ngpu: h100\nseed: 5\n"
        f"workload: {{trace: {TENANTS}}}\n"
        "cluster:\n"
        "  instances: 2\n"
        "  admission: {name: priority, flow_control: true, saturation_detector: concurrency-detector,\n"
        "              max_concurrency_per_instance: 20, request_ttl: 5s}\n"
        "  tenants: [{name: gold, share: 3, priority: 1, slo: {ttft: 500ms}}, {name: batch, priority: -1}]\n",
    )
    words = ("--admission", "priority", "--flow-control", "--saturation-detector", "concurrency-detector",
             "--max-concurrency-per-instance", 20, "--request-ttl", "5s")  # fmt: skip
    of_flags = result_of(ridgeline, *BASE, *GOLD, *words)
    assert result_of(ridgeline, "replay", path)["digest"] == of_flags["digest"]


def test_a_closed_loop_goes_on_after_a_rejection(ridgeline):
    """In inference-sim a rejected request vanishes together with its user (W15)."""
    words = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", 300, "--output-len", 40, "--seed", 3,
             "--max-concurrency", 24, "--num-prompts", 200, "--instances", 2)  # fmt: skip
    result = result_of(ridgeline, *words, "--admission", "token-bucket", "--token-bucket-refill-rate", 3000)
    summary = result["summary"]
    assert summary["completed"] + summary["failed"]["rejected"] == 200
    assert summary["failed"]["rejected"] == summary["cluster"]["admission"]["rejected"]["token_bucket"] > 0


def test_tenants_of_the_workload_are_listed_or_taken(ridgeline):
    cluster = cluster_of(ridgeline, *BASE, "--tenant", "auto")
    assert {tenant["name"] for tenant in cluster["per_tenant"]} == {"gold", "batch"}
    table = ridgeline(*BASE, *GOLD, "--admission", "priority").stdout
    assert "by tenant" in table
    assert "admission    priority" in table
    listed = json.loads(ridgeline("list", "admission", "--format", "json").stdout)
    assert {entry["name"]: entry["simulated"] for entry in listed}["latency-slo"] is True


def test_bad_admission_is_named(ridgeline):
    for words, message in (
        (("--admission", "priorty"), "cluster.admission.name: no admission policy 'priorty'"),
        (("--admission", "latency-slo"), "latency-slo needs a routing policy that predicts latencies, found round-robin"),
        (("--saturation-detector", "x", "--flow-control"), "cluster.admission.saturation_detector: no saturation detector 'x'"),
        (("--saturation-detector", "concurrency-detector"), "would be ignored: nothing reads the saturation"),
        (("--queue-depth-threshold", 5, "--flow-control", "--saturation-detector", "concurrency-detector"),
         "queue_depth_threshold: would be ignored: the detector is concurrency-detector"),
        (("--token-bucket-capacity", 5), "token_bucket_capacity: would be ignored: admission is always"),
        (("--request-ttl", "5s"), "request_ttl: would be ignored: no request waits at the gateway"),
        (("--fairness-policy", "vct", "--flow-control"), "fairness_policy: no fairness policy 'vct'"),
        (("--min-ceiling", 1.5, "--flow-control"), "min_ceiling: 1.5 is above the max_ceiling of 1"),
        (("--dispatch-tick-interval", "0s", "--flow-control"), "dispatch_tick_interval: 0s is out of range"),
        (("--rate-limit-window", "sliding"), "rate_limit_window: would be ignored: no tenant has a rate limit"),
        (("--tenant", "gold"), "cluster.tenants[0]: expected a map"),
        (("--tenant", "{share: 2}"), "cluster.tenants[0].name: is missing"),
        (("--tenant", "{name: a, shares: 2}"), "cluster.tenants[0].shares: unknown key"),
        (("--tenant", "{name: a, share: 0}"), "cluster.tenants[0].share: 0 is out of range"),
        (("--tenant", "{name: a}", "--tenant", "{name: a}"), "cluster.tenants[1].name: 'a' is listed twice"),
        (("--tenant", "{name: gould}", "--tenant", "{name: batch}"),
         "cluster.tenants: the workload has requests of 'gold', which is not listed"),
    ):  # fmt: skip
        done = ridgeline(*BASE, *words)
        assert done.returncode == 2, (words, done.stdout)
        assert message in done.stderr, (words, done.stderr)
    done = ridgeline(*OPEN, "--tenant", "{name: gold}")
    assert done.returncode == 2
    assert "cluster.tenants: would be ignored: no request of the workload has a tenant" in done.stderr
    done = ridgeline(*OPEN[:-2], "--flow-control")
    assert done.returncode == 2
    assert "cluster.admission.flow_control: would be ignored: there is no gateway" in done.stderr
