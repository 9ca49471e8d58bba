"""Fleets: every kind of bad input, its exit code and its one line; and what is warned of."""

import pytest
from conftest import SMALL, SOURCE

GOOD = """\
model: llama-3.1-8b
gpu: h100
workload: {request_rate: 8, num_prompts: 20, input_len: 64, output_len: 16}
"""
PLACE = " --> s.yaml:"

# What stands below `cluster:`, and the pieces that standard error must hold.
FILES = {
    "no instance": ("instances: 0", ["cluster.instances: 0 is out of range, expected 1 to 4096"]),
    "pools that are not all": (
        "instances: 4, disaggregation: {prefill_instances: 1, decode_instances: 2}",
        ["cluster.disaggregation.decode_instances: 1 prefill and 2 decode instances are not the 4 of cluster.instances"],
    ),
    "unknown policy": (
        "instances: 2, router: {name: lm-d}",
        ["cluster.router.name: no routing policy 'lm-d'", "hint: did you mean 'llm-d'?"],
    ),
    "unknown scorer": (
        "instances: 2, router: {name: llm-d, scorers: {queue-scorrer: 1}}",
        ["cluster.router.scorers.queue-scorrer: no such scorer", "hint: did you mean 'queue-scorer'?"],
    ),
    "unknown picker": (
        "instances: 2, router: {name: llm-d, picker: max-scores-picker}",
        ["cluster.router.picker", '"max-scores-picker"', "max-score-picker"],
    ),
    "unknown section": ("instances: 2, rooter: {name: llm-d}", ["cluster.rooter: unknown key", "did you mean 'router'?"]),
    "scorer given twice": (
        "instances: 2, router: {name: llm-d, scorers: {queue-scorer: 1, queue-scorer: 2}}",
        ["queue-scorer: given twice"],
    ),
    "negative weight": (
        "instances: 2, router: {name: llm-d, scorers: {queue-scorer: -1}}",
        ["cluster.router.scorers.queue-scorer: found -1, expected a weight of 0 or more"],
    ),
    "weights that are all 0": (
        "instances: 2, router: {name: llm-d, scorers: {queue-scorer: 0}}",
        ["cluster.router.scorers: no scorer has a weight above 0"],
    ),
    "parameter of another policy": (
        "instances: 2, router: {name: llm-d, cache_threshold: 0.5}",
        ["cluster.router.cache_threshold: is no parameter of llm-d", "hint: of sglang"],
    ),
    "scorers of a policy without": (
        "instances: 2, router: {name: dynamo, scorers: {queue-scorer: 1}}",
        ["cluster.router.scorers: would be ignored: the policy dynamo has no scorers"],
    ),
    "readings for a policy that reads no gauges": (
        "instances: 2, gateway: {refresh_metrics_interval: 1s}",
        ["cluster.gateway.refresh_metrics_interval: would be ignored: the policy round-robin reads no gauges"],
    ),
    "delay of KV events for a policy that follows none": (
        "instances: 2, router: {name: llm-d}, gateway: {kv_events_delay: 1ms}",
        ["cluster.gateway.kv_events_delay: would be ignored: the policy llm-d reads no KV events"],
    ),
    "fault of no instance": (
        "instances: 2, faults: [{kind: crash, instance: 5, at: 1s}]",
        ["cluster.faults: a crash of instance 5, of 2 that count from 0"],
    ),
    "unknown fault": (
        "instances: 2, faults: [{kind: crsh, instance: 1, at: 1s}]",
        ["cluster.faults[0]: no fault 'crsh'", "hint: did you mean 'crash'?"],
    ),
    "min above max": (
        "instances: 2, autoscaling: {name: hpa, target: 4, min_replicas: 4, max_replicas: 2}",
        ["cluster.autoscaling.min_replicas: 4 is above max_replicas, 2"],
    ),
    "fault of an instance that may be scaled away": (
        "instances: 2, autoscaling: {name: hpa, target: 4, max_replicas: 4}, faults: [{kind: crash, instance: 1, at: 1s}]",
        ["cluster.faults: instance 1 may have been scaled away: min_replicas is 1"],
    ),
    "unknown autoscaler": (
        "instances: 2, autoscaling: {name: hpaa, target: 4, max_replicas: 4}",
        ["cluster.autoscaling.name: no autoscaler 'hpaa'", "hpa"],
    ),
    "bandwidth without a unit": (
        'instances: 2, disaggregation: {prefill_instances: 1}, kv_transfer: {transfer_bandwidth: "50"}',
        ["cluster.kv_transfer.transfer_bandwidth: found 50, expected a rate with its unit", "50GB/s"],
    ),
    "unknown decider": (
        "instances: 2, disaggregation: {prefill_instances: 1, decider: allways}",
        ["cluster.disaggregation.decider: no decider 'allways'", "hint: did you mean 'always'?"],
    ),
    "parameter of another decider": (
        "instances: 2, disaggregation: {prefill_instances: 1, decider: always, uncached_share: 0.5}",
        ["cluster.disaggregation.uncached_share: would be ignored: the decider always does not read it"],
    ),
    "unknown admission": (
        "instances: 2, admission: {name: probabilistc}",
        ["cluster.admission.name", "'probabilistc'", "hint: did you mean 'probabilistic'?"],
    ),
    "tenant listed twice": (
        "instances: 2, tenants: [{name: gold}, {name: gold}]",
        ["cluster.tenants[1].name: 'gold' is listed twice"],
    ),
    "gateway without instances": (
        "router: {name: llm-d}",
        ["cluster.router.name: would be ignored: there is no gateway without cluster.instances"],
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_input_of_a_fleet(ridgeline, name):
    cluster, pieces = FILES[name]
    ridgeline.write("s.yaml", f"{GOOD}cluster: {{{cluster}}}\n")
    before = ridgeline.files()
    done = ridgeline("run", "s.yaml", "-o", "r.json", "--requests-out", "log.csv")
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("error: ") == 1, done.stderr
    for piece in (*pieces, PLACE):
        assert piece in done.stderr, f"{piece!r} is not in:\n{done.stderr}"
    assert ridgeline.files() == before


def test_kv_events_without_prefix_caching(ridgeline):
    done = ridgeline("run", *SMALL, "--instances", 2, "--router", "llm-d-precise", "--no-enable-prefix-caching")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cluster.router.name: the policy llm-d-precise follows KV events, and without prefix caching there" in done.stderr
    assert "hint: --enable-prefix-caching" in done.stderr


def test_a_fault_after_the_last_request(ridgeline):
    words = ("run", *SMALL, "--instances", 2, "--duration", "10s", "--fault")
    done = ridgeline(*words, "crash@60s:1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cluster.faults: a crash at 60s, when no request is sent: workload.duration is 10s" in done.stderr
    assert ridgeline(*words, "crash@10s:1").returncode == 2
    assert ridgeline(*words, "crash@9s:1").returncode == 0


def test_a_tenant_that_is_not_listed(ridgeline):
    words = ("replay", "--trace", SOURCE / "scenarios" / "two-tenants.yaml", "--model", "llama-3.1-8b", "--gpu", "h100",
             "--instances", 2, "--tenant")  # fmt: skip
    done = ridgeline(*words, "{name: gold}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cluster.tenants: the workload has requests of 'batch', which is not listed" in done.stderr
    assert "hint: list it, or tenants: auto" in done.stderr
    assert ridgeline(*words, "auto").returncode == 0


def test_decisions_that_cannot_be_written(ridgeline):
    # A run of many minutes, were it started.
    done = ridgeline("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", 1000, "--num-prompts", 4000000000,
                     "--input-len", 9, "--output-len", 9, "--instances", 4, "--router", "llm-d",
                     "--routing-out", "/nonexist/x")  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: --routing-out: cannot write '/nonexist/x': No such file or directory")


WARNED = {
    "W-one-instance": ("--instances", 1, "--router", "llm-d", "--scorer", "queue-scorer=1"),
    "W-refresh-interval": ("--instances", 2, "--router", "llm-d", "--refresh-metrics-interval", "1000s"),
    "W-short-ttl": ("--instances", 2, "--router", "llm-d", "--flow-control", "--request-ttl", "1ms"),
    "W-none-apart": ("--instances", 2, "--prefill-instances", 1, "--decider", "never"),
    "W-all-apart": ("--instances", 2, "--prefill-instances", 1),
    "W-router-memory": ("--instances", 2, "--router", "llm-d", "--lru-capacity-per-server", 10000000),
}


@pytest.mark.parametrize("code", WARNED)
def test_what_is_warned_of(ridgeline, code):
    done = ridgeline("run", *SMALL, *WARNED[code])
    assert done.returncode == 0, done.stderr
    assert f"warning {code}: " in done.stdout + done.stderr
