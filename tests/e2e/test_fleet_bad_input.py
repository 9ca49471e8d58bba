"""Fleets: every kind of bad input, its exit code and its one line; and what is warned of."""

import json

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
    "unknown filter": (
        "instances: 2, router: {name: llm-d, filters: [{name: utilisation-filter}]}",
        ["cluster.router.filters[0]: no filter 'utilisation-filter'", "hint: did you mean 'utilization-filter'?"],
    ),
    "filter given twice": (
        "instances: 2, router: {name: llm-d, filters: ["
        "{name: utilization-filter, conditions: [{metric: waiting-queue, maxValue: 10}]}, "
        "{name: utilization-filter, conditions: [{metric: waiting-queue, maxValue: 5}]}]}",
        ["cluster.router.filters[1]: utilization-filter given twice"],
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
    "loss of events of no instance": (
        "instances: 2, router: {name: llm-d-precise}, faults: ['event-loss@1s+1s:5']",
        ["cluster.faults: an event-loss of instance 5, of 2 that count from 0"],
    ),
    "fault of no length": (
        "instances: 2, faults: ['slowdown@1s+0s:1x2']",
        ["cluster.faults[0]: found lasts 0s, which would change nothing, expected more than 0"],
    ),
    "fault by chance of no length": (
        "instances: 2, faults: [{kind: hang, mtbf: 10s, mttr: 0s}]",
        ["cluster.faults[0]: found mttr 0s, which would change nothing, expected more than 0"],
    ),
    "gauges that nothing reads": (
        "instances: 2, router: {name: least-request}, faults: ['scrape-loss@1s+1s:1']",
        ["cluster.faults: a scrape-loss, but the policy least-request reads no gauges"],
    ),
    "share of a filter in percent": (
        "instances: 2, router: {name: llm-d, filters: [{name: utilization-filter, "
        "conditions: [{metric: kv-cache-utilization, maxValue: 80}]}]}",
        ["cluster.router.filters[0].conditions[0].maxValue: 80 is out of range, expected 0 to 1"],
    ),
    "fault before the start": (
        "instances: 2, faults: [{kind: crash, instance: 1, at: -1s}]",
        ["cluster.faults[0].at: found -1s, expected a time"],
    ),
    "target with a unit": (
        "instances: 2, autoscaling: {name: hpa, metric: ttft, target: 300ms, max_replicas: 4}",
        ['cluster.autoscaling.target: expected a number, found "300ms"', "hint: a number without a unit: 40"],
    ),
    "node of no instance": (
        "instances: 3, kv_transfer: {instances_per_host: 2}, faults: ['node-loss@1s:2']",
        ["cluster.faults: a node-loss of host 2, of 2 that count from 0 with 2 instances on each"],
    ),
    "node without a host": (
        "instances: 3, faults: [{kind: node-loss, instance: 1, at: 1s}]",
        ["cluster.faults[0]: node-loss strikes a host, and no instance, share or pool"],
    ),
    "host of a crash": (
        "instances: 3, faults: [{kind: crash, host: 1, at: 1s}]",
        ["cluster.faults[0]: a host is of a node-loss or a link"],
    ),
    "fault of a link without transfers": (
        "instances: 3, faults: ['link-down@1s+1s:1']",
        [
            "cluster.faults: a link-down, but no KV is sent from instance to instance without"
            " cluster.disaggregation.prefill_instances"
        ],
    ),
    "fault of a fabric without a limit": (
        "instances: 3, disaggregation: {prefill_instances: 1}, faults: ['link-degraded@1sx0.5']",
        ["cluster.faults: a link-degraded of the fabric, which has no limit without cluster.kv_transfer.fabric_bandwidth"],
    ),
    "fault of a card of no host": (
        "instances: 3, disaggregation: {prefill_instances: 1}, faults: ['link-down@1s+1s:3']",
        ["cluster.faults: a link-down of host 3, of 3 that count from 0"],
    ),
    "fault of no pool": (
        "instances: 3, disaggregation: {prefill_instances: 1}, faults: [{kind: crash, pool: decod, at: 1s}]",
        ["cluster.faults: no pool 'decod'", "hint: one of prefill, decode"],
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
    "settings of no update": (
        "instances: 2, rolling_update: {max_surge: 1}",
        ["cluster.rolling_update.max_surge: would be ignored: there is no update without cluster.rolling_update.update_at"],
    ),
    "an update of no instance": (
        "instances: 2, rolling_update: {update_at: 1s, max_surge: 0, max_unavailable: 0%}",
        ["cluster.rolling_update.max_unavailable: is 0, as max_surge is: no instance could be replaced"],
    ),
    "a surge that is no number": (
        "instances: 2, rolling_update: {update_at: 1s, max_surge: 120%}",
        ['cluster.rolling_update.max_surge: found "120%", expected a number of instances, or a share'],
    ),
    "an update of an unknown pool": (
        "instances: 4, disaggregation: {prefill_instances: 2}, rolling_update: {update_at: 1s, update_pool: decod}",
        ['cluster.rolling_update.update_pool: no pool "decod"', "did you mean 'decode'?"],
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
    "all instances for prefill": (
        "instances: 4, disaggregation: {prefill_instances: 4}",
        ["cluster.disaggregation.prefill_instances: 4 of 4 instances compute prompts alone", "hint: --instances 5"],
    ),
    "prefill without a number of instances": (
        "disaggregation: {prefill_instances: 1, decode_instances: 2}",
        ["cluster.disaggregation.prefill_instances: would be ignored without cluster.instances", "hint: --instances 3"],
    ),
    "pool that names its engine as a section": (
        "pools: [{name: a, instances: 1, engine: sglang}]",
        ["cluster.pools[0].engine: unknown key", "hint: version: sglang"],
    ),
    "pool with a flag's short form": (
        "pools: [{name: a, instances: 1, tp: 2}]",
        ["cluster.pools[0].tp: unknown key", "hint: tensor_parallel_size"],
    ),
    "pool that is no map": ('pools: ["name=a"]', ['cluster.pools[0]: found "name=a", expected a map', "--pool '{name: fast"]),
    "pool without a name": ('pools: [{name: "", instances: 1}]', ["cluster.pools[0].name: is empty", "hint: name: fast"]),
    "pool that serves nothing": (
        "pools: [{name: a, instances: 1, models: []}]",
        ["cluster.pools[0].models: is empty: no request could come"],
    ),
    "prefill and decode of two networks": (
        "pools: [{name: p, instances: 1}, {name: d, instances: 1, model: qwen3-8b}], disaggregation: {prefill_instances: 1}",
        ["cluster.pools: pool 'p' has the network llama-3.1-8b, pool 'd' qwen3-8b", "hint: the same in all pools"],
    ),
    "prefill and decode of two KV formats": (
        "pools: [{name: p, instances: 1}, {name: d, instances: 1, kv_cache_dtype: fp8}], disaggregation: {prefill_instances: 1}",
        ["cluster.pools: pool 'p' has the kv_cache_dtype auto, pool 'd' fp8"],
    ),
    "prefill and decode of two block sizes": (
        "pools: [{name: p, instances: 1}, {name: d, instances: 1, block_size: 32}], disaggregation: {prefill_instances: 1}",
        ["cluster.pools: pool 'p' has the block_size 16, pool 'd' 32"],
    ),
    "autoscaler of two pools": (
        "pools: [{name: a, instances: 1, max_replicas: 2, target: 4}, {name: b, instances: 1, target: 4}], autoscaling: {name: hpa}",
        ["cluster.pools[1].max_replicas: missing: an autoscaler needs a bound"],
    ),
    "bounds of a pool": (
        "pools: [{name: a, instances: 3, max_replicas: 3}, {name: b, instances: 4, min_replicas: 2, max_replicas: 3}],"
        " autoscaling: {name: wva}",
        ["cluster.pools[1].instances: 4 is outside 2 to 3"],
    ),
    "target of a pool that is not read": (
        "pools: [{name: a, instances: 1, target: 2}, {name: b, instances: 1}], autoscaling: {name: wva, max_replicas: 2}",
        ["cluster.pools[0].target: would be ignored: the policy wva does not read it", "hint: remove it"],
    ),
    "bounds of pools without an autoscaler": (
        "pools: [{name: a, instances: 1, max_replicas: 2}, {name: b, instances: 1}]",
        ["cluster.pools[0].max_replicas: would be ignored: there is no autoscaler"],
    ),
    "more places than there may be": (
        "pools: [{name: a, instances: 1}, {name: b, instances: 1}], autoscaling: {name: wva, max_replicas: 4000}",
        ["cluster.pools: 8000 instances at most in all are out of range, expected 4096 at most"],
    ),
    "schedule of a pool that is no list": (
        "pools: [{name: a, instances: 1, replicas_at: 4}, {name: b, instances: 1, replicas_at: [[1s, 2]]}],"
        " autoscaling: {name: schedule, max_replicas: 2}",
        ["found 4, expected a list"],
    ),
    "fault of a pool that scales": (
        "pools: [{name: a, instances: 1}, {name: b, instances: 1}], autoscaling: {name: wva, max_replicas: 2},"
        " faults: [{kind: crash, instance: 0, at: 1s}]",
        ["instance 0 may have been scaled away"],
    ),
    "metric that is a rate": (
        "instances: 2, autoscaling: {name: hpa, target: 4, max_replicas: 4, metric: qps}",
        ['cluster.autoscaling.metric: "qps" is unknown, expected one of: requests', "hint: none is a rate"],
    ),
    "fault at no time": (
        "instances: 2, faults: ['crash@60q:1']",
        ["cluster.faults[0]: found '60q', expected a time: seconds, or with a unit"],
    ),
    "bandwidth in bits": (
        "instances: 2, disaggregation: {prefill_instances: 1}, kv_transfer: {transfer_bandwidth: 100Gbps}",
        ['transfer_bandwidth: "100Gbps" counts bits', "hint: 8 bits are a byte: 12.5GB/s"],
    ),
    "SGLang's word for a policy": (
        "instances: 2, router: {name: cache_aware}",
        ["cluster.router.name: no routing policy 'cache_aware'", "hint: did you mean 'sglang'?"],
    ),
    "a policy by what it does": (
        "instances: 2, router: {name: prefix-aware}",
        ["cluster.router.name: no routing policy 'prefix-aware'", "hint: did you mean 'llm-d'?"],
    ),
    "two pools, one without the cache that the policy follows": (
        "pools: [{name: a, instances: 1}, {name: b, instances: 1, enable_prefix_caching: false}], router: {name: llm-d-precise}",
        ["cluster.router.name: the policy llm-d-precise follows KV events", "hint: --enable-prefix-caching"],
    ),
    "late KV events of a pool of another engine": (
        "pools: [{name: a, instances: 1}, {name: b, instances: 1, version: sglang}], router: {name: llm-d-precise}",
        ["KV events that come late are not modelled for sglang yet", "hint: --kv-events-delay 0ms"],
    ),
    "gateway without instances": (
        "router: {name: llm-d}",
        ["cluster.router.name: would be ignored: there is no gateway without cluster.instances",
         "hint: --instances 2, or remove this setting"],
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


def test_mistakes_of_a_fleet_are_told_at_once(ridgeline):
    ridgeline.write(
        "s.yaml",
        f"{GOOD}cluster: {{instances: 2, router: {{name: lm-d}}, faults: [{{kind: crsh, instance: 1, at: 1s}}],"
        " disaggregation: {prefill_instances: 1, decode_instances: 2}, kv_transfer: {transfer_bandwidth: '50'},"
        " tenants: [{name: gold}, {name: gold}]}\n",
    )
    done = ridgeline("run", "s.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    wrong = ("router.name", "disaggregation.decode_instances", "faults[0]", "kv_transfer.transfer_bandwidth", "tenants[1].name")
    assert [f"error: cluster.{name}: " in done.stderr for name in wrong] == [True] * len(wrong), done.stderr
    assert done.stderr.count("error: ") == done.stderr.count(PLACE) == len(wrong)


def test_kv_events_without_prefix_caching(ridgeline):
    done = ridgeline("run", *SMALL, "--instances", 2, "--router", "llm-d-precise", "--no-enable-prefix-caching")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cluster.router.name: the policy llm-d-precise follows KV events, and without prefix caching there" in done.stderr
    assert "hint: --enable-prefix-caching" in done.stderr


FLAGS = {
    "a surge without places": (
        ("--instances", 4000, "--update-at", "1s"),
        ["cluster.rolling_update.max_surge: 5000 instances at most in all are out of range, expected 4096 at most"],
    ),
    "an autoscaler without bounds": (
        ("--instances", 2, "--autoscaling", "hpa"),
        ["cluster.autoscaling.target: missing: hpa needs a target", "hint: --target 40", "hint: --max-replicas 16"],
    ),
    "a pool without its last brace": (
        ("--pool", "{name: a, instances: 1"),
        ['cluster.pools: found "{name: a, instances: 1", which does not end with }', "hint: put it in quotes"],
    ),
    "SGLang's host cache": (
        ("--instances", 2, "--engine", "sglang", "--hicache-size", 30),
        ["engine.hicache_size: would be ignored: it needs enable_hierarchical_cache"],
    ),
    "a cache of no block": (
        ("--engine", "tensorrt-llm", "--tokens-per-block", 64, "--max-tokens", 63),
        ["engine.max_tokens: 63 is less than a block, tokens_per_block: 64", "hint: 64"],
    ),
    "a cache of one token": (
        ("--engine", "tensorrt-llm", "--max-tokens", 1),
        ["engine.max_tokens: 1 is out of range, expected 32 to"],
    ),
    "priorities that a pool cannot follow": (
        ("--scheduling-policy", "priority", "--pool", "{name: a, instances: 1}", "--pool",
         "{name: b, instances: 1, version: sglang}"),
        ["engine.scheduling_policy: pool 'b' runs sglang, which cannot follow it"],
    ),
    "adapters that a pool cannot follow": (
        ("--enable-lora", "--pool", "{name: a, instances: 1, version: tensorrt-llm}"),
        ["engine.enable_lora: pool 'a' runs tensorrt-llm, which cannot follow it"],
    ),
    "KV events of SGLang without its tree": (
        ("--instances", 2, "--engine", "sglang", "--disable-radix-cache", "--router", "llm-d-precise"),
        ["follows KV events, and without prefix caching there are none", "hint: without --disable-radix-cache"],
    ),
    "KV events of TensorRT-LLM without reuse": (
        ("--instances", 2, "--engine", "tensorrt-llm", "--enable-block-reuse", "false", "--router", "llm-d-precise"),
        ["follows KV events, and without prefix caching there are none", "hint: --enable-block-reuse"],
    ),
    "late KV events of SGLang": (
        ("--instances", 2, "--engine", "sglang", "--router", "llm-d-precise", "--kv-events-delay", "5ms"),
        ["cluster.gateway.kv_events_delay: KV events that come late are not modelled", "hint: --kv-events-delay 0ms"],
    ),
    "a state of caches that start cold": (
        ("--instances", 2, "--prefill-instances", 1, "--cache-state-out", "x.json"),
        ["--cache-state-out: instances start cold where they come and go", "hint: leave it out"],
    ),
    "a state of a cache that is off": (
        ("--engine", "sglang", "--disable-radix-cache", "--cache-state-out", "x.json"),
        ["--cache-state-out: would be ignored: disable_radix_cache is on"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FLAGS)
def test_bad_flags_of_a_fleet(ridgeline, name):
    words, pieces = FLAGS[name]
    done = ridgeline("run", *SMALL, *words)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    for piece in pieces:
        assert piece in done.stderr, f"{piece!r} is not in:\n{done.stderr}"
    assert ridgeline.files() == set()


def test_a_filter_is_refused_at_its_line_of_the_file(ridgeline):
    ridgeline.write("epp.yaml", """\
plugins:
- {type: queue-scorer}
- type: utilization-filter
  name: short
  parameters:
    conditions:
    - {metric: kv-cache-utilization, maxValue: 80}
schedulingProfiles: [{plugins: [{pluginRef: short}, {pluginRef: queue-scorer}]}]
""")
    done = ridgeline("run", *SMALL, "--instances", 2, "--epp-config", "epp.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: plugins.short.parameters.conditions[0].maxValue: 80 is out of range, expected 0 to 1\n"
        " --> epp.yaml:7:48\n"
    )


def test_gauges_are_read_for_admission_and_by_prefill_instances_too(ridgeline):
    lost = ("run", *SMALL, "--router", "least-request", "--fault", "scrape-loss@0s:0")
    for words in (("--instances", 2, "--flow-control"),
                  ("--instances", 3, "--prefill-instances", 1, "--prefill-router", "llm-d")):
        done = ridgeline(*lost, *words)
        assert done.returncode == 0, done.stderr


def digest_of(ridgeline, *words):
    done = ridgeline("run", *words, "--format", "json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    return result["digest"], result


def test_other_names_of_engines_and_flags(ridgeline):
    """A bare `vllm` is its default version, and TensorRT-LLM goes by its server's name."""
    usual, _ = digest_of(ridgeline, *SMALL)
    assert digest_of(ridgeline, *SMALL, "--engine", "vllm")[0] == usual
    assert digest_of(ridgeline, *SMALL, "--pool", "{name: a, instances: 1, version: vllm}")[1]["config"]["engine"][
        "version"
    ].startswith("vllm@")
    other, _ = digest_of(ridgeline, *SMALL, "--engine", "tensorrt-llm", "--no-enable-block-reuse")
    assert digest_of(ridgeline, *SMALL, "--engine", "trtllm", "--enable-block-reuse", "false")[0] == other
    assert "--engine;" in ridgeline("run", "--help").stdout.replace("\n", " ")
    assert digest_of(ridgeline, *SMALL, "--instances", 2, "--routing", "random")[1]["config"]["cluster"]["router"]["name"] == "random"


def test_kv_events_at_once_are_read_alike_by_both_cores(ridgeline):
    for version in ("sglang", "tensorrt-llm"):
        words = (*SMALL, "--instances", 2, "--engine", version, "--router", "llm-d-precise", "--kv-events-delay", "0ms")
        assert digest_of(ridgeline, *words)[0] == digest_of(ridgeline, *words, "--engine-core", "reference")[0]


MIXED = {
    "first pool of vLLM beside a setting of SGLang": (
        "--engine", "sglang", "--page-size", 16, "--pool", "{name: a, instances: 1, version: vllm@0.15}",
        "--pool", "{name: b, instances: 1}"),
    "first pool of SGLang beside a setting of vLLM": (
        "--max-num-seqs", 2, "--pool", "{name: b, instances: 1, version: sglang}", "--pool", "{name: a, instances: 1}"),
    "a setting that the second pool leaves out": (
        "--pool", "{name: a, instances: 1, quantization: fp8}", "--pool", "{name: b, instances: 1}"),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXED)
def test_a_written_configuration_of_pools_runs_again(ridgeline, name):
    words = [*SMALL, "--router", "round-robin", *MIXED[name]]
    words[words.index("--request-rate") + 1] = 400
    first, result = digest_of(ridgeline, *words)
    ridgeline.write("again.json", json.dumps(result["config"]))
    assert digest_of(ridgeline, "again.json")[0] == first


def test_hints_about_rejected_requests_name_the_engines_own_flags(ridgeline):
    words = "--model llama-3.1-8b --gpu h100 --request-rate 8 --num-prompts 5 --input-len 9000 --output-len 16".split()
    # The budget of a step, 8192 by default, which TensorRT-LLM's prompts must fit in where they are not cut.
    done = ridgeline("run", *words, "--engine", "tensorrt-llm")
    said = " ".join((done.stdout + done.stderr).split())
    assert "W-rejected: 5 requests were rejected" in said and "max_num_tokens 8192, as prompts are not cut" in said
    assert "--free-gpu-memory-fraction, --max-num-tokens" in said and "--gpu-memory-utilization" not in said
    done = ridgeline("run", *words, "--engine", "sglang", "--max-model-len", 4096)
    said = " ".join((done.stdout + done.stderr).split())
    assert "--mem-fraction-static" in said and "--gpu-memory-utilization" not in said


def test_explain_shows_every_pool(ridgeline):
    words = ("explain", "--model", "llama-3.1-8b", "--gpu", "h100", "--pool", "{name: a, instances: 2}",
             "--pool", "{name: b, instances: 1, version: sglang, gpu: a100}")  # fmt: skip
    text = ridgeline(*words).stdout
    assert "pool a: 2 instances of llama-3.1-8b on h100" in text and "pool b: 1 instance of llama-3.1-8b on a100" in text
    assert "num_gpu_blocks" in text and "mem_fraction_static" in text
    pools = json.loads(ridgeline(*words, "--format", "json").stdout)["pools"]
    assert [pool["name"] for pool in pools] == ["a", "b"]
    assert pools[0]["memory"]["kv_tokens"] != pools[1]["memory"]["kv_tokens"]


def test_the_router_warns_by_the_tokens_that_explain_shows(ridgeline):
    cache = ("--num-gpu-blocks-override", 70, "--max-model-len", 1000)
    words = ("--model", "llama-3.1-8b", "--gpu", "h100", "--instances", 2, *cache)
    tokens = json.loads(ridgeline("explain", *words, "--format", "json").stdout)["memory"]["kv_tokens"]
    run = ("run", *SMALL, "--instances", 2, *cache, "--router", "llm-d", "--lru-capacity-per-server")
    said = " ".join(ridgeline(*run, 10000000).stdout.split())
    # Blocks of 64 tokens, of which as many are remembered as the cache holds.
    assert f"KV cache holds {tokens}:" in said and f"--lru-capacity-per-server {tokens // 64}," in said
    assert "W-router-memory" not in ridgeline(*run, tokens // 64).stdout
    # A cache that can hold the whole run evicts nothing.
    assert "W-router-memory" not in ridgeline("run", *SMALL, "--instances", 2, "--router", "llm-d").stdout


def test_costs_do_not_depend_on_the_core(ridgeline):
    words = ("--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", 20, "--num-prompts", 100, "--input-len", 200,
             "--output-len", 50, "--instances", 2, "--router", "llm-d", "--price-per-hour", 2,
             "--refresh-metrics-interval", "700ms")  # fmt: skip
    costs = {digest_of(ridgeline, *words, "--engine-core", core)[1]["summary"]["cluster"]["scaling"]["cost"]
             for core in ("fast", "reference")}  # fmt: skip
    assert len(costs) == 1


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
                     "--routing-out", "absent/x")  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: --routing-out: cannot write 'absent/x': No such file or directory")


WARNED = {
    "W-one-instance": ("--instances", 1, "--router", "llm-d", "--scorer", "queue-scorer=1"),
    "W-refresh-interval": ("--instances", 2, "--router", "llm-d", "--refresh-metrics-interval", "1000s"),
    "W-short-ttl": ("--instances", 2, "--router", "llm-d", "--flow-control", "--request-ttl", "1ms"),
    "W-none-apart": ("--instances", 2, "--prefill-instances", 1, "--decider", "never"),
    "W-all-apart": ("--instances", 2, "--prefill-instances", 1),
    "W-no-sessions": ("--instances", 2, "--router", "session"),
    "W-no-prefix-caching": ("--instances", 2, "--router", "llm-d", "--no-enable-prefix-caching"),
    "W-router-memory": ("--instances", 2, "--router", "llm-d", "--num-gpu-blocks-override", 70,
                        "--max-model-len", 1000),
}


@pytest.mark.parametrize("code", WARNED)
def test_what_is_warned_of(ridgeline, code):
    done = ridgeline("run", *SMALL, *WARNED[code])
    assert done.returncode == 0, done.stderr
    assert f"warning {code}: " in done.stdout + done.stderr
