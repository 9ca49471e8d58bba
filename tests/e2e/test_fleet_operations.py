"""Instances that come, fail and go, as `run` shows them."""

import json

import pytest

RUN = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", 300, "--output-len", 60, "--seed", 3)
OPEN = (*RUN, "--request-rate", 60, "--num-prompts", 1200, "--instances", 3)
LEAST = ("--router", "least-request")
UNBOUNDED = (*OPEN, *LEAST, "--autoscaling", "hpa", "--target", 4, "--scaling-interval", "2s",
          "--metrics-interval", "1s", "--cold-start", "compile=1s", "--cold-start", "capture=500ms",
          "--cold-start", "load=1s")
SCALED = (*UNBOUNDED, "--max-replicas", 8)


def result_of(ridgeline, *words):
    done = ridgeline(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_fault_after_the_end_changes_nothing(ridgeline):
    plain = result_of(ridgeline, *OPEN)
    assert "faults" not in plain["summary"]["cluster"]
    late = result_of(ridgeline, *OPEN, "--fault", "crash@2h:1", "--fault", "gateway-restart@2h")
    assert late["digest"] == plain["digest"]
    assert late["summary"]["cluster"]["faults"] == []


def test_a_crash_loses_requests_unless_they_are_sent_again(ridgeline):
    crash = (*OPEN, *LEAST, "--fault", "crash@5s+4s:1")
    lost = result_of(ridgeline, *crash)
    (fault,) = lost["summary"]["cluster"]["faults"]
    failed = lost["summary"]["failed"]["failed"]
    assert fault["kind"] == "crash" and fault["instance"] == 1 and fault["at_s"] == 5 and fault["over_s"] == 9
    assert fault["failed_requests"] == failed > 0
    assert lost["summary"]["completed"] + failed == 1200
    assert lost["summary"]["cluster"]["retries"]["attempts"] == 0
    again = result_of(ridgeline, *crash, "--max-retries", 3)
    retries = again["summary"]["cluster"]["retries"]
    assert again["summary"]["failed"].get("failed", 0) + retries["retried_requests"] == failed
    assert again["summary"]["cluster"]["per_instance"][1]["ready_s"] < again["summary"]["cluster"]["per_instance"][0]["ready_s"]


def test_scaling_keeps_its_bounds_and_counts_what_it_costs(ridgeline):
    result = result_of(ridgeline, *SCALED, "--price-per-hour", 3.6)
    scaling = result["summary"]["cluster"]["scaling"]
    assert scaling["events"][0]["from"] == 3
    assert all(1 <= event["to"] <= 8 for event in scaling["events"])
    assert scaling["cost"] == pytest.approx(scaling["gpu_hours"] * 3.6)
    assert scaling["gpu_hours"] == pytest.approx(scaling["replica_seconds"] / 3600)
    assert max(event["to"] for event in scaling["events"]) > 3
    assert result["summary"]["completed"] == 1200


@pytest.mark.parametrize("words", [
    ("--fault", "crash@5s:1", "--fault", "slowdown@8s+5s:0x2", "--fault", "hang@9s:2", "--max-retries", 2, *LEAST),
    ("--fault", "crash~4s/2s", "--max-retries", 5, "--router", "power-of-two"),
    ("--fault", "scrape-loss@2s+5s:0", "--fault", "gateway-restart@6s", "--router", "llm-d"),
    ("--fault", "node-loss~6s/2s", "--instances-per-host", 2, "--fault", "hang~9s/1s", "--max-retries", 5, *LEAST),
    ("--fault", "event-loss@2s+5s:0", "--fault", "{kind: event-loss, instance: 1, at: 4s, lasts: 2s, recovery: forget}",
     "--router", "llm-d-precise", "--prefix-len", 200, "--num-prefixes", 9),
])
def test_both_engines_agree_whatever_fails(ridgeline, words):
    first = result_of(ridgeline, *OPEN, *words)
    assert first["summary"]["cluster"]["faults"]
    for other in (("--engine-core", "reference"), ("--no-jump",)):
        assert result_of(ridgeline, *OPEN, *words, *other)["digest"] == first["digest"]


def test_both_engines_agree_on_scaling(ridgeline):
    first = result_of(ridgeline, *SCALED)
    second = result_of(ridgeline, *SCALED, "--engine-core", "reference")
    assert first["digest"] == second["digest"]
    assert first["summary"]["cluster"]["scaling"] == second["summary"]["cluster"]["scaling"]


APART = (*OPEN[:-2], "--instances", 4, "--prefill-instances", 2, *LEAST, "--cold-start", "load=1s", "--cold-start", "compile=500ms",
         "--cold-start", "capture=0s", "--metrics-interval", "1s", "--scaling-interval", "1s", "--max-replicas", 5,
         "--min-replicas", 2, "--prefill-max-replicas", 4)


@pytest.mark.parametrize("words", [
    ("--autoscaling", "hpa", "--target", 4, "--prefill-target", 1, "--stabilization-window", "3s"),
    ("--autoscaling", "dynamo-planner", "--max-model-len", 512, "--optimization-target", "latency"),
    ("--autoscaling", "wva", "--fault", "crash~10s/2s", "--max-retries", 3),
])
def test_prefill_and_decode_instances_scale_apart(ridgeline, words):
    result = result_of(ridgeline, *APART, *words)
    events = result["summary"]["cluster"]["scaling"]["events"]
    assert {event["pool"] for event in events} <= {"prefill", "decode"}
    assert any(event["pool"] == "prefill" for event in events)
    assert all(1 <= event["to"] <= 4 for event in events if event["pool"] == "prefill")
    assert all(2 <= event["to"] <= 5 for event in events if event["pool"] == "decode")
    # Four places for prefill, then those for decode up to the last that was ever used.
    assert 4 + 2 <= len(result["summary"]["cluster"]["per_instance"]) <= 4 + 5
    if "--fault" not in words:
        assert result["summary"]["completed"] == 1200
        assert result["summary"]["cluster"]["transfers"]["failed"] == 0
    second = result_of(ridgeline, *APART, *words, "--engine-core", "reference")
    assert second["digest"] == result["digest"]
    assert second["summary"]["cluster"]["scaling"] == result["summary"]["cluster"]["scaling"]


def test_a_crontab_of_prefill_instances_and_of_a_pool(ridgeline):
    start = ("--autoscaling", "schedule", "--replicas-at", "2s=4")
    slow = [15 if word == 60 else word for word in APART]  # Over a minute: a crontab knows no less.
    result = result_of(ridgeline, *slow, *start, "--prefill-cron", "1 0 * * *=3")
    events = [(one["pool"], one["at_s"], one["to"]) for one in result["summary"]["cluster"]["scaling"]["events"]]
    assert events == [("decode", 2, 4), ("prefill", 60, 3)]
    for words, line in (((*start, "--prefill-cron", "1 0 * *=3"), "cluster.autoscaling.prefill_cron: found"),
                        (("--autoscaling", "wva", "--prefill-cron", "1 0 * * *=3"), "the policy wva does not read it")):
        done = ridgeline(*APART, *words)
        assert done.returncode == 2 and line in done.stderr, done.stderr
    ridgeline.write("s.yaml", """\
model: llama-3.1-8b
workload: {request_rate: 15, num_prompts: 1200, input_len: 64, output_len: 16}
cluster:
  pools:
    - {name: a, instances: 1, gpu: h100, cron: ['1 0 * * *=2']}
    - {name: b, instances: 1, gpu: a100, replicas_at: [[5s, 2]]}
  autoscaling: {name: schedule, max_replicas: 3, cron_start: 2026-01-05T00:00, cold_start: {load: 1s}}
""")
    events = result_of(ridgeline, "run", "s.yaml")["summary"]["cluster"]["scaling"]["events"]
    assert [(one["pool"], one["at_s"], one["to"]) for one in events] == [("b", 5, 2), ("a", 60, 2)]


def test_a_schedule_of_either_kind(ridgeline):
    words = ("--autoscaling", "schedule", "--replicas-at", "2s=4", "--prefill-replicas-at", "1s=3", "--prefill-replicas-at", "9s=1")
    result = result_of(ridgeline, *APART, *words)
    events = [(one["pool"], one["at_s"], one["from"], one["to"]) for one in result["summary"]["cluster"]["scaling"]["events"]]
    assert events == [("prefill", 1, 2, 3), ("decode", 2, 2, 4), ("prefill", 9, 3, 1)]
    assert result_of(ridgeline, *APART, *words, "--engine-core", "reference")["digest"] == result["digest"]
    for wrong, line in ((words[:4], "schedule needs times and numbers of prefill instances too"),
                        (("--autoscaling", "wva", "--prefill-replicas-at", "1s=3"), "the policy wva does not read it")):
        done = ridgeline(*APART, *wrong)
        assert done.returncode == 2 and line in done.stderr, done.stderr


@pytest.mark.parametrize(("words", "expected"), [
    (("--prefill-min-replicas", 5), "5 is above prefill_max_replicas, 4"),
    (("--prefill-min-replicas", 3), "2 is outside 3 to 4"),
    (("--prefill-target", 3), "the policy wva does not read it"),
    (("--fault", "crash@5s:1"), "instance 1 may have been scaled away: prefill_min_replicas is 1"),
])
def test_bounds_of_either_kind(ridgeline, words, expected):
    done = ridgeline(*APART, "--autoscaling", "wva", *words)
    assert done.returncode == 2
    assert expected in done.stderr, done.stderr


@pytest.mark.parametrize("words", [
    ("--metric", "in-flight-tokens", "--target", 1000),
    ("--metric", "ttft", "--target", 0.01, "--metric-window", "5s"),
    ("--metric", "tpot", "--target", 0.005, "--metric-quantile", 0.5),
    ("--metric", "busy", "--target", 0.5),
])
def test_metrics_to_scale_on(ridgeline, words):
    base = [word for word in SCALED if word not in ("--target", 4)]
    first = result_of(ridgeline, *base, *words)
    assert first["summary"]["cluster"]["scaling"]["events"][0]["to"] > 3
    assert result_of(ridgeline, *base, *words, "--engine-core", "reference")["digest"] == first["digest"]


def test_a_crontab_is_a_schedule(ridgeline):
    words = (*RUN, "--instances", 3, *LEAST, "--request-rate", 2, "--num-prompts", 400,
             "--autoscaling", "schedule", "--max-replicas", 8, "--cold-start", "load=1s",
             "--cron", "0 8 * * 1-5=5", "--cron", "*/1 9 * * *=1", "--replicas-at", "4s=2")
    # A Monday, and the Sunday before it.
    events = result_of(ridgeline, *words, "--cron-start", "2026-01-05T07:59")["summary"]["cluster"]["scaling"]["events"]
    assert [(event["at_s"], event["to"]) for event in events] == [(4, 2), (60, 5)]
    sunday = result_of(ridgeline, *words, "--cron-start", "2026-01-04T07:59")["summary"]["cluster"]["scaling"]["events"]
    assert [(event["at_s"], event["to"]) for event in sunday] == [(4, 2)]
    # A line that matches the first minute holds from its beginning.
    monday = result_of(ridgeline, *words, "--cron-start", "2026-01-05T08:00")["summary"]["cluster"]["scaling"]["events"]
    assert [(event["at_s"], event["to"]) for event in monday] == [(0, 5), (4, 2)]


HPA = ("--autoscaling", "hpa", "--max-replicas", 8)


@pytest.mark.parametrize(("words", "expected"), [
    ((*HPA, "--metric", "busy", "--target", 80), "cluster.autoscaling.target: found 80, expected a share of 1 at most: busy is not in percent\n --> command line\nhint: 0.8"),
    ((*HPA, "--metric", "ttft", "--target", 500), "found 500, expected seconds, 60 at most: it is not in milliseconds\n --> command line\nhint: 0.5"),
    ((*HPA, "--target", 4, "--metric-quantile", 0.5), "the metric is neither ttft nor tpot"),
    ((*HPA, "--metric", "ttft", "--target", 1, "--metric-window", "0s"), "expected a time above zero"),
    ((*HPA, "--target", 4, "--cron", "0 8 * * *=2"), "the policy hpa does not read it"),
    (("--autoscaling", "schedule", "--max-replicas", 8, "--cron", "0 8 * *=2"), 'found 0 8 * *=2, expected five fields'),
    (("--autoscaling", "schedule", "--max-replicas", 8, "--cron", "0 8 * * *=2", "--cron-start", "8:00"), "expected a day, or a day and a time"),
    (("--autoscaling", "schedule", "--max-replicas", 8, "--replicas-at", "1s=2", "--cron-start", "2026-01-05"), "there are no lines of cron"),
])
def test_settings_of_metrics_and_crontabs(ridgeline, words, expected):
    done = ridgeline(*OPEN, *LEAST, *words)
    assert done.returncode == 2
    assert expected in done.stderr, done.stderr


def test_sections_of_a_file_are_the_flags(ridgeline, tmp_path):
    file = tmp_path / "fleet.yaml"
    file.write_text("""
model: llama-3.1-8b
gpu: h100
seed: 3
workload: {request_rate: 60, num_prompts: 1200, input_len: 300, output_len: 60}
cluster:
  instances: 3
  router: least-request
  autoscaling:
    {name: hpa, target: 4, max_replicas: 8, scaling_interval: 2s, metrics_interval: 1s,
     cold_start: {compile: 1s, capture: 500ms, load: 1s}}
  faults: [{kind: crash, share: 0.3, at: 5s, restart_after: 4s}]
  retries: {max_retries: 2}
""")
    from_file = result_of(ridgeline, "run", file)
    assert from_file["summary"]["cluster"]["faults"][0]["at_s"] == 5
    assert from_file["summary"]["cluster"]["scaling"]["policy"] == "hpa"


@pytest.mark.parametrize(("words", "expected"), [
    (("--fault", "crush@5s:1"), "did you mean 'crash'?"),
    (("--fault", "crash@5s:3"), "a crash of instance 3, of 3 that count from 0"),
    (("--fault", "crash@5s"), "missing: the instance that it strikes"),
    (("--fault", "crash:1"), "expected KIND@TIME"),
    (("--fault", "crash@soon:1"), "found 'soon', expected a time"),
    (("--fault", "slowdown@5s:1"), "missing: the factor"),
    (("--fault", "slowdown~1h/5m"), "link-degraded and link-down come by chance, other faults at a given time"),
    (("--max-retries", 3), "no request is lost without cluster.faults"),
    (("--probe-interval", "5s"), "no instance hangs"),
    (("--max-replicas", 8), "there is no autoscaler"),
    (("--autoscaling", "hpaa"), "did you mean 'hpa'?"),
    (("--autoscaling", "wva", "--max-replicas", 8, "--prefill-max-replicas", 2), "no instance computes prompts alone"),
    (("--autoscaling", "wva", "--max-replicas", 8, "--min-replicas", 3, "--prefill-instances", 1),
     "2 that decode is outside 3 to 8"),
    (("--autoscaling", "hpa", "--max-replicas", 8), "hpa needs a target"),
    (("--autoscaling", "wva"), "an autoscaler needs a bound"),
    (("--autoscaling", "wva", "--max-replicas", 8, "--target", 3), "the policy wva does not read it"),
    (("--autoscaling", "wva", "--max-replicas", 8, "--min-replicas", 9), "9 is above max_replicas, 8"),
    (("--autoscaling", "wva", "--max-replicas", 2), "3 is outside 1 to 2"),
    (("--autoscaling", "hpa", "--target", 3, "--max-replicas", 8, "--min-replicas", 0), "hpa never starts"),
    (("--autoscaling", "schedule", "--max-replicas", 8), "schedule needs times and numbers"),
    (("--autoscaling", "schedule", "--max-replicas", 8, "--replicas-at", "9s=x"), "expected a time and a number"),
    (("--autoscaling", "wva", "--max-replicas", 8, "--cold-start", "compil=3s"), "compile"),
    (("--autoscaling", "wva", "--max-replicas", 8, "--cold-start", "load_bandwidth=3"), "unit"),
    (("--autoscaling", "wva", "--max-replicas", 8, "--fault", "crash@5s:2"), "instance 2 may have been scaled away"),
])
def test_bad_input_is_one_clear_line(ridgeline, words, expected):
    done = ridgeline(*OPEN, *words)
    assert done.returncode == 2
    assert expected in done.stderr, done.stderr


def test_autoscalers_are_listed(ridgeline):
    names = [entry["name"] for entry in json.loads(ridgeline("list", "autoscalers", "--format", "json").stdout)]
    assert names == ["hpa", "keda", "wva", "dynamo-planner", "schedule"]


@pytest.mark.parametrize("clients", [1, 16])
def test_clients_go_on_after_a_crash(ridgeline, clients):
    run = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", 512, "--output-len", 200, "--num-prompts", 50)
    fleet = ("--max-concurrency", clients, "--instances", 2, "--router", "least-request", "--fault", "crash@1s+5s:0")
    digests = set()
    for core in ("fast", "reference"):
        done = ridgeline(*run, *fleet, "--engine-core", core, "--format", "json")
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        assert result["summary"]["completed"] + result["summary"]["failed"]["failed"] == 50
        digests.add(result["digest"])
    assert len(digests) == 1


def test_a_pool_or_a_host_is_struck_at_once(ridgeline, tmp_path):
    def struck(cluster):
        file = tmp_path / "fleet.yaml"
        file.write_text("model: llama-3.1-8b\ngpu: h100\nworkload: {request_rate: 8, num_prompts: 100, input_len: 200,"
                        f" output_len: 50}}\ncluster: {{{cluster}}}\n")
        done = ridgeline("run", file, "--format", "json")
        assert done.returncode == 0, done.stderr
        return [(one["kind"], one["instance"], one["at_s"]) for one in
                json.loads(done.stdout)["summary"]["cluster"]["faults"]]

    apart = "instances: 12, disaggregation: {prefill_instances: 2}, "
    slow = struck(apart + "faults: [{kind: slowdown, pool: decode, share: 0.1, factor: 1.5}]")
    assert len(slow) == 1
    assert slow[0][0] == "slowdown"
    assert slow[0][1] >= 2
    assert struck(apart + "faults: [{kind: crash, pool: prefill, at: 5s, restart_after: 1s}]") == [
        ("crash", 0, 5.0), ("crash", 1, 5.0)]
    named = "pools: [{name: a, instances: 1, gpu: h100}, {name: b, instances: 2, gpu: h100}], "
    assert struck(named + "faults: [{kind: hang, pool: b, at: 5s, lasts: 1s}]") == [("hang", 1, 5.0), ("hang", 2, 5.0)]
    hosts = "instances: 5, kv_transfer: {instances_per_host: 2}, faults: "
    assert struck(hosts + "['node-loss@5s+1s:1']") == [("crash", 2, 5.0), ("crash", 3, 5.0)]
    assert struck(hosts + "[{kind: node-loss, host: 2, at: 5s, restart_after: 1s}]") == [("crash", 4, 5.0)]


def test_a_fault_after_the_end_is_named(ridgeline):
    done = ridgeline(*OPEN, "--fault", "crash@2h:1", "--fault", "gateway-restart@2h")
    assert done.returncode == 0 and "2 faults never struck: the run ended before" in " ".join(done.stdout.split())
    assert "W-late-fault" not in ridgeline(*OPEN, "--fault", "crash@2s:1").stdout


def test_requests_that_waited_go_to_all_that_come_back(ridgeline):
    """Three instances fall and rise together: what waited goes to all, not to the first alone."""
    down = [word for place in range(3) for word in ("--fault", f"crash@5s+5s:{place}")]
    for router in ("least-request", "round-robin"):
        result = result_of(ridgeline, *OPEN, "--router", router, *down)
        sent = [instance["requests"] for instance in result["summary"]["cluster"]["per_instance"]]
        assert max(sent) - min(sent) <= 60, (router, sent)
        # What it served while instances were away is no rate that it sustains.
        table = ridgeline(*OPEN, "--router", router, *down).stdout
        assert "sustains about" not in table


def test_places_that_stay_empty_are_no_instances(ridgeline):
    few, many = (result_of(ridgeline, *UNBOUNDED, "--max-replicas", most) for most in (8, 64))
    assert few["digest"] == many["digest"]
    for key in ("peak", "mean"):
        assert few["summary"]["kv_cache"][key] == many["summary"]["kv_cache"][key]
    assert few["summary"]["kv_cache"]["peak"] >= few["summary"]["kv_cache"]["mean"]
    few, many = (result["summary"]["cluster"] for result in (few, many))
    assert len(many["per_instance"]) == len(few["per_instance"]) <= 8
    assert many["routing"] == few["routing"]


def test_a_slowdown_does_not_speed_up(ridgeline):
    done = ridgeline(*OPEN, "--fault", "slowdown@5s:1x0.5")
    assert done.returncode == 2 and "factor 0.5 makes steps shorter, expected above 1" in done.stderr


PREFIXES = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", 100, "--prefix-len", 2000, "--num-prefixes", 24,
            "--output-len", 20, "--seed", 3, "--request-rate", 30, "--num-prompts", 1500, "--instances", 4)


def test_lost_events_cost_hits_until_they_are_sent_again(ridgeline):
    def cached(*words):
        result = result_of(ridgeline, *PREFIXES, "--router", "llm-d-precise", *words)
        faults = result["summary"]["cluster"].get("faults", [])
        assert all(fault["kind"] == "event-loss" and fault["failed_requests"] == 0 for fault in faults)
        return result["summary"]["total_cached_tokens"]

    def lost(recovery):
        return [word for number in range(4) for word in
                ("--fault", f"{{kind: event-loss, instance: {number}, at: 1s, lasts: 20s, recovery: {recovery}}}")]

    heard = cached()
    assert cached(*lost("forget")) < heard
    assert cached(*lost("replay")) < heard
    done = ridgeline(*PREFIXES, "--router", "round-robin", "--fault", "event-loss@1s:0")
    assert done.returncode == 2 and "the policy round-robin follows no KV events" in done.stderr


def test_links_fail_by_chance(ridgeline):
    slow = [20 if word == 60 and OPEN[place - 1] == "--request-rate" else word for place, word in enumerate(OPEN)]
    apart = (*slow, "--prefill-instances", 1)
    plain = result_of(ridgeline, *apart)["summary"]
    struck = (*apart, "--fault", "link-degraded~3s/2sx0.01", "--fault", "link-down~9s/1s")
    result = result_of(ridgeline, *struck)
    faults = result["summary"]["cluster"]["faults"]
    assert {fault["kind"] for fault in faults} == {"link-degraded", "link-down"}
    assert result["summary"]["completed"] == 1200
    assert result["summary"]["ttft_ms"]["mean"] > plain["ttft_ms"]["mean"]
    assert result_of(ridgeline, *struck, "--engine-core", "reference")["digest"] == result["digest"]
    done = ridgeline(*OPEN, "--fault", "link-down~9s/1s")
    assert done.returncode == 2 and "no KV is sent from instance to instance" in done.stderr


POOLS_APART = """\
model: llama-3.1-8b
workload: {request_rate: 60, num_prompts: 1200, input_len: 300, output_len: 60}
seed: 3
cluster:
  router: {name: least-request}
  pools:
    - {name: prompts, instances: 1, gpu: h100, max_replicas: 3, metric: requests, target: 1}
    - {name: more-prompts, instances: 1, gpu: h200, max_replicas: 2, metric: requests, target: 1}
    - {name: answers, instances: 1, gpu: h100, max_replicas: 4}
    - {name: more-answers, instances: 1, gpu: h200, max_replicas: 2, target: 8}
  disaggregation: {prefill_instances: 2}
  autoscaling: {name: hpa, target: 4, scaling_interval: 1s, metrics_interval: 1s, cold_start: {load: 1s, compile: 0s, capture: 0s}}
"""


def test_pools_of_either_kind_scale_each_by_itself(ridgeline):
    ridgeline.write("s.yaml", POOLS_APART)
    result = result_of(ridgeline, "run", "s.yaml")
    events = result["summary"]["cluster"]["scaling"]["events"]
    most = {"prompts": 3, "more-prompts": 2, "answers": 4, "more-answers": 2}
    assert {event["pool"] for event in events} <= set(most)
    assert any(event["pool"].endswith("prompts") for event in events) and any(event["pool"].endswith("answers") for event in events)
    assert all(1 <= event["to"] <= most[event["pool"]] for event in events)
    assert result["summary"]["completed"] == 1200
    assert result["summary"]["cluster"]["transfers"]["count"] == 1200
    for words in (("--engine-core", "reference"), ("--no-jump",)):
        assert result_of(ridgeline, "run", "s.yaml", *words)["digest"] == result["digest"]
    updated = result_of(ridgeline, "run", "s.yaml", "--update-at", "3s", "--update-pool", "answers")
    (update,) = updated["summary"]["cluster"]["updates"]
    assert update["pool"] == "answers" and update["replaced"] >= 1
    ridgeline.write("s.yaml", POOLS_APART.replace("prefill_instances: 2", "prefill_instances: 1").replace("instances: 1, gpu: h100", "instances: 2, gpu: h100"))
    done = ridgeline("run", "s.yaml")
    assert done.returncode == 2 and "some of them compute prompts and others decode" in done.stderr


@pytest.mark.parametrize("words", [
    ("--autoscaling", "hpa", "--target", 4, "--max-replicas", 8, "--scaling-interval", "1ps"),
    ("--autoscaling", "hpa", "--target", 4, "--max-replicas", 8, "--metrics-interval", "1us"),
    ("--router", "llm-d", "--refresh-metrics-interval", "0s"),
    ("--fault", "hang@1s:1", "--probe-interval", 0),
    ("--flow-control", "--expiry-interval", "1ns"),
])
def test_intervals_that_would_never_end_a_run_are_refused(ridgeline, words):
    done = ridgeline(*OPEN, *words)
    assert done.returncode == 2
    assert "is out of range, expected 0.001s to" in done.stderr, done.stderr


@pytest.mark.parametrize("words, expected", [
    (("--fault", "hang@1s:1", "--probe-interval", "9000000s"), "9000000s is out of range, expected 0.001s to 3600s"),
    (("--prefill-instances", 1, "--transfer-block-time", "3000000s"), "3000000s is out of range, expected 0s to 1s"),
    ((*LEAST, "--update-at", "1s", "--cold-start", "compile=9000000s"), "9000000s is out of range, expected at most 1000000s"),
    (("--fault", "{kind: crash, at: 1s, share: 0}"), "share"),
])
def test_times_that_would_pass_the_end_of_time_together_are_refused(ridgeline, words, expected):
    done = ridgeline(*OPEN, *words)
    assert done.returncode == 2 and expected in done.stderr, done.stderr


def test_faults_by_chance_come_once(ridgeline):
    words = (*OPEN, "--router", "least-request", "--fault", "hang~2s/500ms", "--format", "json")
    faults = json.loads(ridgeline(*words).stdout)["summary"]["cluster"]["faults"]
    struck = [(fault["instance"], fault["at_s"]) for fault in faults]
    assert len(struck) > 3
    assert len(set(struck)) == len(struck)
    short = ridgeline(*OPEN, "--fault", "crash~1us/1s")
    assert short.returncode == 2 and "mtbf is out of range, expected at least 1ms" in short.stderr


def test_requests_wait_for_a_prefill_instance_behind_flow_control(ridgeline):
    words = (*OPEN, "--prefill-instances", 1, "--decider", "always", "--fault", "crash@1s+2s:0", "--max-retries", 3)
    without = json.loads(ridgeline(*words, "--format", "json").stdout)
    done = ridgeline(*words, "--flow-control", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["completed"] == without["summary"]["completed"]


@pytest.mark.parametrize("number, answer", [(0, 0), (1, 0), (2, 2)])
def test_an_instance_that_is_never_scaled_away_may_crash(ridgeline, number, answer):
    words = ("--prefill-instances", 1, "--autoscaling", "hpa", "--target", 4, "--max-replicas", 6)
    done = ridgeline(*OPEN, *words, "--fault", f"crash@1s+1s:{number}")
    assert done.returncode == answer, done.stderr
    assert answer == 0 or "instance 2 may have been scaled away: min_replicas is 1" in done.stderr


def warnings_of(result, code):
    return [warning for warning in result["warnings"] if warning["code"] == code]


def test_an_overload_under_a_fault_names_it(ridgeline):
    # Two instances bear this load, and one of them alone does not.
    rate = (*RUN, *LEAST, "--instances", 2, "--num-prompts", 6000, "--request-rate", 160)
    assert warnings_of(result_of(ridgeline, *rate), "W-overloaded") == []
    [warning] = warnings_of(result_of(ridgeline, *rate, "--fault", "crash@5s+40s:1"), "W-overloaded")
    assert "are served under faults (crash of 1 from 5 s to 45 s): " in warning["message"]
    assert warning["hint"].startswith("the same run without its faults says")
    # A fault of 1 s is not the cause of an overload of 20 s.
    rate = (*rate[:-1], 300)
    [warning] = warnings_of(result_of(ridgeline, *rate, "--fault", "crash@5s+1s:1"), "W-overloaded")
    assert "fault" not in warning["message"] + warning["hint"]


def test_an_instance_that_a_fault_took_was_not_scaled_late(ridgeline):
    words = (*OPEN, *LEAST, "--autoscaling", "hpa", "--target", 1000, "--min-replicas", 3, "--max-replicas", 4)
    result = result_of(ridgeline, *words, "--fault", "crash@0s:1")
    assert result["summary"]["cluster"]["per_instance"][1]["ready_s"] == 0
    assert warnings_of(result, "W-late-scaling") == []


@pytest.mark.parametrize("flow_control", [(), ("--flow-control", "--request-ttl", "6h")])
def test_requests_wait_through_an_outage_of_hours(ridgeline, flow_control):
    """64 instances whose gauges are read 20 times a second: 23 million readings until the fault is over."""
    crashes = [word for instance in range(64) for word in ("--fault", f"crash@10s+5h:{instance}")]
    result = result_of(ridgeline, *RUN, "--request-rate", 1, "--num-prompts", 60, "--instances", 64, "--router", "llm-d",
                       *flow_control, *crashes)
    summary = result["summary"]
    assert summary["completed"] + summary["failed"].get("failed", 0) == 60
    assert summary["completed"] >= 40  # Some are in flight as all instances crash.
    assert summary["ttft_ms"]["max"] > 4.9 * 3_600_000


def test_the_hours_of_many_instances_are_more_than_one_run_can_last(ridgeline):
    """106 days of simulated time are all that there is; 64 instances exist longer together."""
    result = result_of(ridgeline, *RUN, "--request-rate", 1e-5, "--num-prompts", 50, "--instances", 64, *LEAST,
                       "--autoscaling", "hpa", "--target", 4, "--min-replicas", 64, "--max-replicas", 64)
    scaling = result["summary"]["cluster"]["scaling"]
    assert scaling["events"] == []
    hours = 64 * result["summary"]["duration_s"] / 3600
    assert hours > 106 * 24
    assert scaling["gpu_hours"] == pytest.approx(hours, rel=0.05)  # The run begins before its first request.
