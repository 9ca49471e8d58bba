"""Several instances behind a gateway, as `run` and `replay` show them."""

import json

import pytest
from conftest import SHARED

RUN = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", 300, "--output-len", 40, "--seed", 3)
OPEN = (*RUN, "--request-rate", 60, "--num-prompts", 300)
CLOSED = (*RUN, "--max-concurrency", 24, "--num-prompts", 200)


def result_of(ridgeline, *words):
    done = ridgeline(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def routers(ridgeline):
    return [entry["name"] for entry in json.loads(ridgeline("list", "routers", "--format", "json").stdout)]


def test_one_instance_behind_a_gateway_is_that_instance(ridgeline):
    for words in (OPEN, CLOSED):
        alone = result_of(ridgeline, *words)
        for router in routers(ridgeline):
            assert result_of(ridgeline, *words, "--instances", 1, "--router", router)["digest"] == alone["digest"]


def test_a_fleet_is_the_sum_of_its_instances_and_the_same_from_both_engines(ridgeline):
    for words in (OPEN, CLOSED):
        for router in routers(ridgeline):
            fleet = (*words, "--instances", 3, "--router", router, "--notice-latency", "1ms", "--gateway-latency", "2ms")
            result = result_of(ridgeline, *fleet)
            instances = result["summary"]["cluster"]["per_instance"]
            assert [instance["id"] for instance in instances] == [0, 1, 2]
            assert sum(instance["completed"] for instance in instances) == result["summary"]["completed"]
            assert result["summary"]["cluster"]["routing"]["decisions"] == result["summary"]["completed"]
            assert result_of(ridgeline, *fleet, "--engine-core", "reference")["digest"] == result["digest"]
            assert result_of(ridgeline, *fleet, "--no-jump")["digest"] == result["digest"]
            assert result_of(ridgeline, *fleet, "--threads", 2)["summary"] == result["summary"]


@pytest.mark.parametrize("more", [("--instances", 128), ("--pool", "{name: a, instances: 96}", "--pool", "{name: b, instances: 32}")])
def test_the_busy_time_of_many_instances_is_their_sum(ridgeline, more):
    """12.8 million seconds: more picoseconds than 64 bits hold, of 96 instances as well."""
    summary = result_of(ridgeline, "run", "--model", "llama-3.1-8b", "--gpu", "h100", "--host-step-time", 1000, "--input-len", 10,
                        "--output-len", 100, "--request-rate", 1, "--num-prompts", 128, *more)["summary"]
    busy = [instance["busy"] for instance in summary["cluster"]["per_instance"]]
    together = pytest.approx(sum(busy) * summary["duration_s"])
    assert summary["busy_s"] == together
    assert sum(summary["time_by_bottleneck"].values()) == together
    for pool, own in zip(summary["cluster"].get("per_pool", ()), (busy[:96], busy[96:])):
        assert pool["busy"] == pytest.approx(sum(own) / len(own))


def test_the_age_of_gauges_is_the_mean_of_many_old_ones(ridgeline):
    """Of 10,000 decisions on readings of the run's begin: 50 million seconds."""
    routing = result_of(ridgeline, *RUN, "--instances", 2, "--router", "llm-d", "--request-rate", 1, "--num-prompts", 10_000,
                        "--arrivals", "constant", "--fault", "scrape-loss@0s:0", "--fault", "scrape-loss@0s:1")["summary"]["cluster"]["routing"]
    assert routing["age_ms"] == pytest.approx(5_000_000, rel=0.001)


def test_a_section_says_what_flags_say(ridgeline, tmp_path):
    scenario = tmp_path / "fleet.yaml"
    scenario.write_text(
        "model: llama-3.1-8b\ngpu: h100\nseed: 3\n"
        "workload: {input_len: 300, output_len: 40, request_rate: 60, num_prompts: 300}\n"
        "cluster: {instances: 3, router: least-request, gateway: {notice_latency: 1ms}}\n"
    )
    flags = result_of(ridgeline, *OPEN, "--instances", 3, "--router", "least-request", "--notice-latency", "1ms")
    assert result_of(ridgeline, "run", scenario)["digest"] == flags["digest"]


def test_prompts_that_begin_alike_hit_more_where_they_were_sent(ridgeline):
    words = (*OPEN, "--instances", 3, "--prefix-len", 2000, "--num-prefixes", 60)
    hits = {}
    for router in ("random", "llm-d", "llm-d-sticky", "dynamo", "sglang", "blis"):
        result = result_of(ridgeline, *words, "--router", router)
        hits[router] = result["summary"]["kv_cache"]["prefix_hit_rate"]
        assert ("age_ms" in result["summary"]["cluster"]["routing"]) == (router in ("llm-d", "blis"))
    assert all(hits[router] > hits["random"] + 0.02 for router in hits if router != "random"), hits


def test_decisions_of_real_routers_are_repeated(ridgeline):
    files = sorted((SHARED / "golden" / "cluster").glob("*.json"))
    if not files:
        pytest.skip("no recorded decisions beside the checkout")
    done = ridgeline("conform", *files)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("289 equal, 0 differ\n")


def test_a_decision_that_differs_is_named(ridgeline, tmp_path):
    case = {
        "id": "toy/1",
        "system": "llm-d-router",
        "version": "main",
        "policy": "queue-scorer",
        "endpoints": [{"id": "a", "waiting": 1}, {"id": "b", "waiting": 0}],
        "expected": {"scores": {"a": 0, "b": 0.5}},
    }
    recording = tmp_path / "cases.json"
    recording.write_text(json.dumps([case]))
    done = ridgeline("conform", recording)
    assert done.returncode == 1
    assert "score of b" in done.stdout
    recording.write_text(json.dumps([{**case, "policy": "magic"}]))
    done = ridgeline("conform", recording)
    assert done.returncode == 2
    assert "no policy 'magic' of a system 'llm-d-router' is known" in done.stderr


def test_bad_fleets_are_named(ridgeline):
    for words, message in (
        (("--instances", 0), "cluster.instances: 0 is out of range, expected 1 to 4096"),
        (("--instances", 2, "--router", "round-robbin"), "cluster.router.name: no routing policy 'round-robbin'"),
        (("--router", "random"), "cluster.router.name: would be ignored"),
        (("--instances", 2, "--refresh-metrics-interval", "1s"), "the policy round-robin reads no gauges"),
        (("--instances", 2, "--steps-out", "steps.jsonl"), "--steps-out: the log would mix the steps"),
    ):
        done = ridgeline(*OPEN, *words)
        assert done.returncode == 2
        assert message in done.stderr


def test_a_decision_log_has_a_record_per_decision(ridgeline, tmp_path):
    log = tmp_path / "decisions.jsonl"
    result = result_of(
        ridgeline, *OPEN, "--instances", 3, "--router", "llm-d", "--gateways", 2, "--routing-out", log
    )
    records = [json.loads(line) for line in log.read_text().splitlines()]
    routing = result["summary"]["cluster"]["routing"]
    assert [record["request"] for record in records] == list(range(300))
    assert len(records) == routing["decisions"] == sum(routing["by_reason"].values())
    assert sum(record["equals"] > 1 for record in records) == routing["ties"]
    assert {record["gateway"] for record in records} == {0, 1}
    for record in records:
        assert record["instances"] == [0, 1, 2]
        best = max(record["scores"])
        assert record["scores"][record["pick"]] == best
        assert record["scores"].count(best) == record["equals"]
        assert all(record["at"] - 0.05 <= as_of <= record["at"] for as_of in record["as_of"]) or record["at"] < 0.05
    plain = result_of(ridgeline, *OPEN, "--instances", 3, "--router", "llm-d", "--gateways", 2)
    assert plain["digest"] == result["digest"]
    alone = ridgeline(*OPEN, "--routing-out", log)
    assert alone.returncode == 2
    assert "--routing-out: there is no gateway to decide" in alone.stderr


def test_an_audit_changes_nothing_and_regret_grows_with_staleness(ridgeline):
    regrets = []
    for interval in ("5ms", "100ms", "2s"):
        found = []
        for seed in range(4):
            words = (*OPEN, "--instances", 4, "--router", "blis", "--refresh-metrics-interval", interval)
            words = (*words[: words.index("--seed")], "--seed", seed, *words[words.index("--seed") + 2 :])
            audited = result_of(ridgeline, *words, "--routing-audit")
            assert audited["digest"] == result_of(ridgeline, *words)["digest"]
            found.append(audited["summary"]["cluster"]["routing"]["regret"])
        regrets.append(sum(found) / len(found))
    assert regrets[0] < regrets[1] < regrets[2], regrets


def test_what_is_blind_or_fresh_is_not_regretted(ridgeline):
    for router in ("round-robin", "random", "least-request", "jsq-oracle"):
        routing = result_of(ridgeline, *OPEN, "--instances", 3, "--router", router, "--routing-audit")["summary"]["cluster"]["routing"]
        assert routing["regret"] == 0
        assert routing["hit_lost_tokens"] == 0


def test_kv_events_see_what_is_there(ridgeline):
    words = (*OPEN, "--instances", 3, "--prefix-len", 2000, "--num-prefixes", 60, "--router", "llm-d-precise")
    now = result_of(ridgeline, *words, "--kv-events-delay", 0)
    assert result_of(ridgeline, *words, "--kv-events-delay", 0, "--engine-core", "reference")["digest"] == now["digest"]
    late = result_of(ridgeline, *words, "--kv-events-delay", "20s")
    hits = [run["summary"]["kv_cache"]["prefix_hit_rate"] for run in (late, now)]
    assert hits[0] < hits[1]
    refused = ridgeline(*words, "--no-enable-prefix-caching")
    assert refused.returncode == 2
    assert "the policy llm-d-precise follows KV events" in refused.stderr
    ignored = ridgeline(*OPEN, "--instances", 2, "--router", "llm-d", "--kv-events-delay", "1ms")
    assert "the policy llm-d reads no KV events" in ignored.stderr


def test_configurations_of_other_systems_are_read(ridgeline, tmp_path):
    epp = tmp_path / "epp.yaml"
    epp.write_text(
        "plugins: [{type: queue-scorer}, {type: prefix-cache-scorer}]\n"
        "schedulingProfiles: [{plugins: [{pluginRef: queue-scorer, weight: 2}, {pluginRef: prefix-cache-scorer}]}]\n"
    )
    flags = ("--router", "llm-d", "--scorer", "queue-scorer=2", "--scorer", "prefix-cache-scorer=1")
    told = result_of(ridgeline, *OPEN, "--instances", 3, *flags)
    assert result_of(ridgeline, *OPEN, "--instances", 3, "--epp-config", epp)["digest"] == told["digest"]
    epp.write_text(
        "plugins:\n- {type: queue-scorer}\n- {type: session-affinity-filter}\n"
        "- {type: utilization-filter, name: short, parameters: "
        "{conditions: [{metric: waiting-queue, maxValue: 3}], fallbackOnEmpty: true}}\n"
        "schedulingProfiles: [{plugins: [{pluginRef: session-affinity-filter}, {pluginRef: short}, "
        "{pluginRef: queue-scorer, weight: 2}]}]\n"
    )
    flags = ("--router", "llm-d", "--scorer", "queue-scorer=2", "--filter", "session-affinity-filter", "--filter")
    limits = "{name: utilization-filter, conditions: [{metric: waiting-queue, maxValue: 3}], fallbackOnEmpty: true}"
    told = result_of(ridgeline, *OPEN, "--instances", 3, *flags, limits)
    assert result_of(ridgeline, *OPEN, "--instances", 3, "--epp-config", epp)["digest"] == told["digest"]
    for plugin, reason in (
        ("burst-prefix-cache-producer", "by which rule it places those it held is not published"),
        ("topology-affinity-filter", "topology-affinity-scorer with a large weight prefers near ones"),
    ):
        epp.write_text(f"plugins: [{{type: {plugin}}}]\nschedulingProfiles: [{{plugins: [{{pluginRef: {plugin}}}]}}]\n")
        refused = ridgeline(*OPEN, "--instances", 3, "--epp-config", epp)
        assert refused.returncode == 2
        assert f"plugins.{plugin}: is not simulated" in refused.stderr
        assert reason in refused.stderr
    bundle = tmp_path / "bundle.yaml"
    bundle.write_text("routing: {policy: weighted, scorers: [{name: queue-depth, weight: 1}]}\nscheduler: fcfs\n")
    words = ("--num-instances", 3, "--routing-policy", "weighted", "--routing-scorers", "queue-depth:1")
    alias = result_of(ridgeline, *OPEN, *words, "--snapshot-refresh-interval", 20000)
    read = result_of(
        ridgeline, *OPEN, "--instances", 3, "--policy-config", bundle, "--refresh-metrics-interval", "20ms"
    )
    assert read["digest"] == alias["digest"]
    bundle.write_text("routing: {policy: weighted}\nautoscaler: {interval_us: 5}\n")
    refused = ridgeline(*OPEN, "--instances", 3, "--policy-config", bundle)
    assert refused.returncode == 2
    assert "autoscaler: is not imported from a policy bundle" in refused.stderr


def test_a_bare_number_is_seconds_everywhere(ridgeline):
    """Of flags, of what stands inside their values, and of keys."""
    for bare, stated in (
        (("--gateway-latency", 0.002), ("--gateway-latency", "2ms")),
        (("--fault", "crash@2+1:1"), ("--fault", "crash@2s+1s:1")),
        (
            ("--autoscaling", "schedule", "--max-replicas", 4, "--replicas-at", "2=4", "--cold-start", "compile=1"),
            ("--autoscaling", "schedule", "--max-replicas", 4, "--replicas-at", "2s=4", "--cold-start", "compile=1s"),
        ),
    ):
        words = (*OPEN, "--instances", 3)
        assert result_of(ridgeline, *words, *bare)["digest"] == result_of(ridgeline, *words, *stated)["digest"]


def test_a_target_of_a_tenant_has_its_unit(ridgeline):
    for bare, asked in (("0.03", "30ms or 0.03s?"), ("30", "30ms or 0.03s?"), ("'30'", "30ms or 0.03s?")):
        done = ridgeline(*OPEN, "--instances", 3, "--tenant", f"{{name: a, slo: {{ttft: {bare}}}}}")
        assert done.returncode == 2
        assert "cluster.tenants[0].slo.ttft: found" in done.stderr and f"hint: {asked}" in done.stderr


def test_nothing_is_sent_after_the_duration(ridgeline):
    """A session that has begun sends no further turn either."""
    ridgeline.write(
        "talks.yaml",
        "ridgeline_workload: 1\nsources: [{client: {request_rate: 2, input_len: 300, output_len: 100, "
        "session: {turns: 5, think_s: {distribution: exponential, mean: 20}}}, duration_s: 600}]\n",
    )
    words = ("replay", "--trace", "talks.yaml", "--model", "llama-3.1-8b", "--gpu", "h100", "--duration", 60)
    for more in ((), ("--max-concurrency", 10)):
        done = ridgeline(*words, *more, "--requests-out", "sent.csv", "--format", "json")
        assert done.returncode == 0, done.stderr
        rows = (ridgeline.folder / "sent.csv").read_text().splitlines()
        place = rows[0].split(",").index("arrival_s")
        times = [float(row.split(",")[place]) for row in rows[1:]]
        assert len(times) > 30 and max(times) < 60


@pytest.mark.parametrize("more", [(), ("--flow-control",), ("--prefill-instances", 1)])
def test_a_filter_that_leaves_none_refuses(ridgeline, tmp_path, more):
    """A request for which a filter leaves no instance is rejected at once, and counted."""
    few = "{name: utilization-filter, conditions: [{metric: active-requests, maxValue: 3}]"
    words = (*OPEN, "--instances", 3, "--router", "llm-d", *more)
    log = tmp_path / "decisions.jsonl"
    summary = result_of(ridgeline, *words, "--filter", few + "}", "--routing-out", log)["summary"]
    refused = summary["cluster"]["routing"]["refused"]
    assert summary["failed"]["rejected"] == refused > 0
    assert summary["completed"] + refused == 300
    decisions = [json.loads(line) for line in log.read_text().splitlines()]
    if "--prefill-instances" not in more:
        assert sum(decision["pick"] is None for decision in decisions) == refused
        assert {d["reason"] for d in decisions if d["pick"] is None} == {"filter"}
    table = ridgeline(*words, "--filter", few + "}")
    assert f"{refused} refused by filters" in table.stdout
    assert "W-rejected" not in table.stdout + table.stderr
    fallen_back = result_of(ridgeline, *words, "--filter", few + ", fallbackOnEmpty: true}")["summary"]
    assert fallen_back["failed"]["rejected"] == 0
    assert "refused" not in fallen_back["cluster"]["routing"]


def test_the_near_instance_of_the_other_leg_is_preferred(ridgeline):
    """Instances 0 and 1 share a host: where the prompt's instance is known, decode goes beside it."""
    words = (*OPEN, "--instances", 4, "--prefill-instances", 1, "--decider", "always", "--instances-per-host", 2)
    near = ("--router", "llm-d", "--scorer", "topology-affinity-scorer=1")
    requests = {}
    for order in ("prefill-first", "decode-first"):
        result = result_of(ridgeline, *words, *near, "--stage-order", order)
        requests[order] = [one["requests"] for one in result["summary"]["cluster"]["per_instance"]]
    assert requests["prefill-first"] == [300, 300, 0, 0]
    assert min(requests["decode-first"]) > 0
    alone = ridgeline(*OPEN, "--instances", 4, *near)
    assert alone.returncode == 2
    assert "topology-affinity-scorer compares a request's two instances" in alone.stderr


def test_inside_a_host_is_a_wire_of_its_own(ridgeline):
    words = (*OPEN, "--instances", 4, "--prefill-instances", 2, "--decider", "always", "--instances-per-host", 4)
    through = result_of(ridgeline, *words)["summary"]["cluster"]["transfers"]
    inside = result_of(ridgeline, *words, "--host-bandwidth", "500GB/s")["summary"]["cluster"]["transfers"]
    assert inside["bytes"] == through["bytes"]
    assert inside["ms"] < through["ms"] / 5


def test_twice_of_everything_keeps_the_means(ridgeline):
    """Under chance each instance is a queue of its own, however many there are."""
    means = {}
    for instances in (4, 8):
        result = result_of(ridgeline, "run", "--model", "llama-3.1-8b", "--gpu", "h100", "--router", "random", "--seed", 3,
                           "--input-len", 500, "--output-len", 100, "--instances", instances,
                           "--request-rate", 20 * instances, "--num-prompts", 5000 * instances)  # fmt: skip
        summary = result["summary"]
        means[instances] = [summary[metric]["mean"] for metric in ("ttft_ms", "tpot_ms", "e2e_ms")]
    assert means[8] == pytest.approx(means[4], rel=0.02)
