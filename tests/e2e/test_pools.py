"""Pools of instances that differ, as `run` and `replay` show them."""

import json

HEAD = "model: llama-3.1-8b\ngpu: h100\nseed: 3\n"
LENGTHS = ("--input-len", 100, "--output-len", 10)
WORK = "workload: {input_len: 300, output_len: 40, request_rate: 60, num_prompts: 300}\n"
TWO = "{name: big, instances: 2}, {name: old, instances: 1, gpu: a100, version: vllm@0.10, price_per_hour: 1.5}"


def scenario(tmp_path, cluster, head=HEAD, work=WORK):
    file = tmp_path / "fleet.yaml"
    file.write_text(head + work + "cluster: {" + cluster + "}\n")
    return file


def result_of(ridgeline, *words):
    done = ridgeline(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_pools_differ_and_sum_to_the_whole(ridgeline, tmp_path):
    for router in ("round-robin", "llm-d", "llm-d-precise", "dynamo"):
        file = scenario(tmp_path, f"router: {router}, pools: [{TWO}]")
        result = result_of(ridgeline, "run", file)
        cluster = result["summary"]["cluster"]
        big, old = cluster["per_pool"]
        assert big["gpu"] != old["gpu"] and (big["instances"], old["instances"]) == (2, 1)
        assert big["requests"] + old["requests"] == 300
        assert sum(one["requests"] for one in cluster["per_instance"][:2]) == big["requests"]
        assert old["tpot_ms"]["p50"] > big["tpot_ms"]["p50"]
        assert "cost" in old and "cost" not in big
        assert abs(old["cost"] - 1.5 * old["gpu_hours"]) < 1e-9
        for more in (("--engine-core", "reference"), ("--no-jump",)):
            assert result_of(ridgeline, "run", file, *more)["digest"] == result["digest"]


def test_a_result_runs_again_from_its_own_config(ridgeline, tmp_path):
    result = result_of(ridgeline, "run", scenario(tmp_path, f"spread: 0.1, pools: [{TWO}]"))
    again = tmp_path / "again.json"
    again.write_text(json.dumps(result["config"]))
    assert result_of(ridgeline, "run", again)["digest"] == result["digest"]


def test_one_pool_is_a_cluster_without_pools(ridgeline, tmp_path):
    plain = result_of(ridgeline, "run", scenario(tmp_path, "instances: 3"))
    pool = result_of(ridgeline, "run", scenario(tmp_path, "pools: [{name: all, instances: 3}]"))
    assert pool["digest"] == plain["digest"]


def test_spread_makes_instances_differ(ridgeline, tmp_path):
    even = result_of(ridgeline, "run", scenario(tmp_path, "instances: 3"))
    spread = result_of(ridgeline, "run", scenario(tmp_path, "instances: 3, spread: 0.2"))
    assert spread["digest"] != even["digest"]
    tpots = [one["tpot_ms"]["mean"] for one in spread["summary"]["cluster"]["per_instance"]]
    assert max(tpots) > 1.1 * min(tpots)


def trace(tmp_path, models):
    file = tmp_path / "trace.jsonl"
    rows = [
        {"arrival_s": 0.02 * i, "input_tokens": 200, "output_tokens": 20, **({"model": name} if name else {})}
        for i, name in enumerate(models)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_a_request_goes_to_a_pool_of_its_model(ridgeline, tmp_path):
    file = scenario(
        tmp_path,
        "pools: [{name: a, instances: 2, models: [chat]}, {name: b, instances: 1, model: qwen3-8b, models: [code]}]",
        work="",
    )
    requests = trace(tmp_path, ["chat", "code", None, "other"] * 20)
    done = ridgeline("replay", file, "--trace", requests, "--format", "json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)["summary"]
    a, b = summary["cluster"]["per_pool"]
    assert (a["requests"], b["requests"]) == (40, 20)
    assert summary["failed"]["no_such_model"] == 20
    assert "W-no-such-model" in done.stdout


def test_bad_pools_are_refused_with_one_line(ridgeline, tmp_path):
    for cluster, code, words in (
        ("instances: 2, pools: [{name: a, instances: 1}]", 2, "stands beside cluster.pools"),
        ("pools: [{name: a, instances: 0}]", 2, "cluster.pools[0].instances"),
        ("pools: [{name: a, instances: 1}, {name: a, instances: 1}]", 2, "'a' is listed twice"),
        ("pools: [{name: a, instances: 1, model: lama-3.1-8b}]", 2, "cluster.pools[0].model"),
        ("pools: [{name: a, instances: 1}, {name: big, instances: 1, model: llama-3.1-70b}]", 4, "pool 'big'"),
        (
            "disaggregation: {prefill_instances: 1}, pools: [{name: p, instances: 1}, "
            "{name: d, instances: 1, block_size: 32}]",
            2,
            "block_size",
        ),
    ):
        done = ridgeline("run", scenario(tmp_path, cluster))
        assert done.returncode == code, (cluster, done.stderr)
        assert words in done.stderr, done.stderr


def test_pools_of_other_engines_are_refused_where_they_cannot_follow(ridgeline):
    run = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", 5, "--num-prompts", 20, *LENGTHS)
    for words, expected in (
        (
            ("--pool", "{name: s, instances: 2, version: sglang}", "--pool", "{name: v, instances: 2}", "--prefill-instances", 2),
            "pool 's' runs sglang",
        ),
        (("--pool", "{name: d, instances: 2, max_running_requests: 4}"), "max_running_requests would be ignored"),
        (("--pool", "{name: d, instances: 2, version: sglang, max_num_seqs: 4}"), "max_num_seqs would be ignored"),
        (
            ("--pool", "{name: a, instances: 2, enable_prefix_caching: false}", "--cpu-bytes-to-use", "100GiB"),
            "enable_prefix_caching is off",
        ),
    ):
        done = ridgeline(*run, *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert expected in done.stderr


def test_an_autoscaler_adds_to_the_one_pool(ridgeline):
    words = ("--pool", "{name: p, instances: 1, weight: 2}", "--autoscaling", "hpa", "--target", 5, "--max-replicas", 3)
    run = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", 512, "--output-len", 50)
    result = result_of(ridgeline, *run, "--request-rate", 5, "--num-prompts", 50, *words)
    cluster = result["summary"]["cluster"]
    assert [one["requests"] for one in cluster["per_pool"]] == [50]
    # At 5 requests per second one is enough: the other two places stay empty.
    assert cluster["scaling"]["events"] == [] and len(cluster["per_instance"]) == 1


SCALED = ("name: a, instances: 1, max_replicas: 3, price_per_hour: 1, gpu: a100", "name: b, instances: 1, max_replicas: 2, price_per_hour: 3")
QUICK = "scaling_interval: 2s, metrics_interval: 1s, cold_start: {load: 1s, compile: 500ms, capture: 0s}"
LONG = "workload: {input_len: 300, output_len: 100, request_rate: 60, num_prompts: 1500}\n"


def test_pools_scale_each_by_itself_or_by_price(ridgeline, tmp_path):
    def scaled(autoscaling, a="", b=""):
        one, two = SCALED
        text = f"router: least-request, pools: [{{{one}{a}}}, {{{two}{b}}}], autoscaling: {{{autoscaling}, {QUICK}}}"
        file = scenario(tmp_path, text, work=LONG)
        result = result_of(ridgeline, "run", file)
        assert result_of(ridgeline, "run", file, "--engine-core", "reference")["digest"] == result["digest"]
        cluster = result["summary"]["cluster"]
        again = tmp_path / "again.json"
        again.write_text(json.dumps(result["config"]))
        assert result_of(ridgeline, "run", again)["digest"] == result["digest"]
        assert abs(sum(one["gpu_hours"] for one in cluster["per_pool"]) - cluster["scaling"]["replica_seconds"] / 3600) < 1e-9
        assert sum(one["requests"] for one in cluster["per_pool"]) == 1500
        return [(event["pool"], event["from"], event["to"]) for event in cluster["scaling"]["events"]]

    # Both are on target but for the pool whose own target is lower.
    assert scaled("name: hpa, target: 500", a=", target: 2")[0] == ("a", 1, 3)
    assert scaled("name: schedule", a=", replicas_at: [[2s, 2]]", b=", replicas_at: [[4s, 2], [9s, 1]]") == [
        ("a", 1, 2), ("b", 1, 2), ("b", 2, 1)]
    # One more of the cheap pool first, one fewer of the dear pool.
    events = scaled("name: wva", a=", max_num_seqs: 8", b=", max_num_seqs: 8")
    ups = [event for event in events if event[2] > event[1]]
    assert ups and ups[0][0] == "a", events


def test_a_pool_of_another_model_sleeps_on(ridgeline, tmp_path):
    text = ("router: least-request, pools: [{name: a, instances: 1, min_replicas: 0}, "
            "{name: b, instances: 1, min_replicas: 0, model: qwen3-8b}], "
            "autoscaling: {name: wva, max_replicas: 2, metrics_interval: 5s, scaling_interval: 5s}")
    work = "workload: {input_len: 100, output_len: 10, request_rate: 1, num_prompts: 1500}\n"
    events = result_of(ridgeline, "run", scenario(tmp_path, text, work=work))["summary"]["cluster"]["scaling"]["events"]
    assert [(event["pool"], event["at_s"], event["to"]) for event in events][0] == ("b", 600, 0), events
    assert all(event["pool"] == "b" for event in events)


def test_a_price_draws_no_power(ridgeline, tmp_path):
    file = scenario(tmp_path, "instances: 2")
    free, priced = (result_of(ridgeline, "run", file, *price)["summary"]["power"] for price in ((), ("--price-per-hour", "2")))
    assert priced == free


def test_a_warm_up_is_simulated_and_not_measured(ridgeline, tmp_path):
    file = scenario(tmp_path, "instances: 2")
    whole = result_of(ridgeline, "run", file)
    warm = result_of(ridgeline, "run", file, "--warmup", "2s")
    assert warm["digest"] == whole["digest"]
    before = warm["summary"]["warmup_requests"]
    assert 0 < before < 300
    assert warm["summary"]["completed"] == 300 - before
    assert sum(one["requests"] for one in warm["summary"]["cluster"]["per_instance"]) == 300 - before
