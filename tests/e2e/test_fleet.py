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
