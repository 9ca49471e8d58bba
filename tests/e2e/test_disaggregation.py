"""Prefill and decode on instances of their own, as `run` shows them."""

import json

import pytest

RUN = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", 2000, "--output-len", 60, "--seed", 3,
       "--request-rate", 12, "--num-prompts", 200, "--instances", 3)
APART = (*RUN, "--prefill-instances", 1, "--decode-instances", 2)


def result_of(ridgeline, *words):
    done = ridgeline(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_kv_moves_once_for_every_prompt_and_the_parts_are_the_whole(ridgeline):
    result = result_of(ridgeline, *APART)
    transfers = result["summary"]["cluster"]["transfers"]
    assert result["summary"]["completed"] == 200
    assert transfers["requests"] == transfers["count"] == 200
    assert transfers["failed"] == 0
    # 125 blocks of 16 tokens, 131 072 bytes a token.
    assert transfers["bytes"] == 200 * 125 * 16 * 131072
    assert 0 < transfers["link_utilisation"] < 1
    parts = transfers["ttft_parts_ms"]
    assert parts["setup"] == pytest.approx(2.0)
    assert parts["transfer"] == pytest.approx(transfers["ms"])
    path = result["summary"]["ttft_ms"]["mean"] - sum(parts.values())
    assert 0 < path < 10, "network, frontend and emission"
    rows = result["summary"]["cluster"]["per_instance"]
    assert rows[0]["requests"] == 200
    assert rows[0]["completed"] == 0
    assert rows[1]["completed"] + rows[2]["completed"] == 200


def test_the_parts_of_many_long_waits_are_the_whole(ridgeline):
    """80 million seconds, of all requests together: more picoseconds than 64 bits hold."""
    summary = result_of(ridgeline, *RUN[:5], "--input-len", 1000, "--output-len", 100, "--request-rate", 200, "--num-prompts", 100_000,
                        "--instances", 2, "--prefill-instances", 1, "--decode-instances", 1)["summary"]
    path = summary["ttft_ms"]["mean"] - sum(summary["cluster"]["transfers"]["ttft_parts_ms"].values())
    assert 0 < path < 10, "network, frontend and emission"


def test_both_engines_and_no_jump_give_one_digest(ridgeline):
    for extra in ((), ("--disaggregation", "production-stack", "--sharing", "fifo"),
                  ("--first-token", "prefill", "--router", "llm-d", "--gateway-latency", "1ms", "--notice-latency", "1ms"),
                  ("--disaggregation", "sglang"), ("--transfer-mode", "layer-wise", "--transfer-bandwidth", "5GB/s"),
                  ("--max-concurrency", 20, "--transfer-bandwidth", "2GB/s", "--fabric-bandwidth", "3GB/s")):
        words = (*APART, *extra)
        digest = result_of(ridgeline, *words)["digest"]
        assert result_of(ridgeline, *words, "--engine-core", "reference")["digest"] == digest, extra
        assert result_of(ridgeline, *words, "--no-jump")["digest"] == digest, extra


def test_never_apart_leaves_the_prefill_instance_idle(ridgeline):
    transfers = result_of(ridgeline, *APART, "--decider", "never")["summary"]["cluster"]["transfers"]
    assert transfers["requests"] == transfers["bytes"] == 0
    assert transfers["ms"] is None


def test_a_slow_link_delays_first_tokens_and_a_short_lease_loses_kv(ridgeline):
    fast = result_of(ridgeline, *APART)["summary"]
    slow = result_of(ridgeline, *APART, "--transfer-bandwidth", "5GB/s")["summary"]
    assert slow["ttft_ms"]["mean"] > fast["ttft_ms"]["mean"] + 40
    lost = (*APART, "--kv-lease", "1ms", "--transfer-setup", "5ms")
    failed = ridgeline(*lost)
    assert failed.returncode == 4
    assert "none of 200 requests got an answer" in failed.stderr
    computed = result_of(ridgeline, *lost, "--kv-load-failure-policy", "recompute")["summary"]
    assert computed["completed"] == 200
    assert computed["cluster"]["transfers"]["failed"] == 200


def test_a_run_ends_whose_only_seat_starts_over_again_and_again(ridgeline):
    """Before vLLM 0.20: a request that lacks blocks is preempted, and its first chunk fits again, while the next requests'
    KV keeps the other blocks."""
    words = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--engine", "vllm@0.15", "--instances", 2, "--prefill-instances", 1,
             "--decider", "always", "--no-enable-prefix-caching", "--max-num-seqs", 1, "--num-gpu-blocks-override", 130,
             "--max-num-batched-tokens", 512, "--max-model-len", 2048, "--request-rate", 20, "--num-prompts", 60,
             "--input-len", 900, "--output-len", 300, "--seed", 1)  # fmt: skip
    fast = result_of(ridgeline, *words)
    assert fast["summary"]["completed"] == 60
    assert result_of(ridgeline, *words, "--engine-core", "reference")["digest"] == fast["digest"]


def test_pushed_kv_comes_earlier_and_the_parts_are_the_whole(ridgeline):
    slow = (*APART, "--transfer-bandwidth", "5GB/s")
    modes = {mode: result_of(ridgeline, *slow, "--transfer-mode", mode)["summary"]
             for mode in ("after-prefill", "push", "layer-wise")}
    for summary in modes.values():
        transfers = summary["cluster"]["transfers"]
        assert transfers["count"] == 200
        assert transfers["bytes"] == 200 * 125 * 16 * 131072
        path = summary["ttft_ms"]["mean"] - sum(transfers["ttft_parts_ms"].values())
        assert 0 < path < 10, "network, frontend and emission"
    parts = modes["layer-wise"]["cluster"]["transfers"]["ttft_parts_ms"]
    assert parts["hand_over"] == 0
    assert parts["transfer"] < modes["push"]["cluster"]["transfers"]["ttft_parts_ms"]["transfer"] / 2
    assert modes["layer-wise"]["ttft_ms"]["mean"] < modes["push"]["ttft_ms"]["mean"] - 20
    named = result_of(ridgeline, *slow, "--disaggregation", "sglang")["summary"]
    assert named["cluster"]["transfers"] == modes["push"]["cluster"]["transfers"]


@pytest.mark.parametrize(("model", "latent"), [("llama-3.1-8b", False), ("deepseek-v2-lite", True)])
def test_pools_of_other_tensor_parallel_sizes(ridgeline, model, latent):
    def transfers(prefill, decode, cards):
        pools = [word for name, size in (("p", prefill), ("d", decode)) for word in
                 ("--pool", f"{{name: {name}, instances: 1, gpu: h100, tensor_parallel_size: {size}}}")]
        return result_of(ridgeline, "run", "--model", model, "--gpu", "h100", "--input-len", 2000, "--output-len", 60,
                         "--request-rate", 1, "--num-prompts", 20, "--prefill-instances", 1, "--network-cards", cards,
                         "--transfer-bandwidth", "50GB/s", *pools)["summary"]["cluster"]["transfers"]

    one = transfers(1, 1, "gpu")
    assert transfers(2, 1, "gpu")["bytes"] == one["bytes"]
    assert transfers(1, 2, "gpu")["bytes"] == one["bytes"] * (2 if latent else 1)
    both, host = transfers(2, 2, "gpu"), transfers(2, 2, "host")
    assert both["bytes"] == host["bytes"]
    assert both["ms"] == pytest.approx(host["ms"] / 2, rel=0.2)
    assert transfers(1, 2, "gpu")["ms"] == pytest.approx(host["ms"], rel=0.2), "one pair"


@pytest.mark.parametrize("mode", ["push", "layer-wise"])
def test_pushed_requests_have_stories_and_survive_faults(ridgeline, mode, tmp_path):
    out = tmp_path / "requests.jsonl"
    words = (*RUN[:-2], "--instances", 4, "--prefill-instances", 2, "--fault", "crash@3s+2s:0", "--fault", "crash@9s+2s:3",
             "--fault", "hang@6s+1s:1", "--transfer-bandwidth", "2GB/s", "--max-retries", 3, "--transfer-mode", mode)
    result = result_of(ridgeline, *words, "--requests-out", out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    served = [row for row in rows if row.get("transfer_ms")]
    assert len(served) > 150
    assert result_of(ridgeline, *words, "--engine-core", "reference")["digest"] == result["digest"]
    assert result_of(ridgeline, *words, "--no-jump")["digest"] == result["digest"]


@pytest.mark.parametrize("policy", ["fail", "recompute"])
def test_instances_of_either_kind_may_die(ridgeline, policy):
    words = (*RUN[:-2], "--instances", 4, "--prefill-instances", 2, "--fault", "crash@3s+2s:0", "--fault", "crash@9s+2s:3",
             "--fault", "hang@6s+1s:1", "--transfer-bandwidth", "2GB/s", "--kv-load-failure-policy", policy)
    result = result_of(ridgeline, *words)
    transfers = result["summary"]["cluster"]["transfers"]
    assert transfers["failed"] == transfers["failed_by_crash"] > 0
    assert transfers["recomputed"] == (transfers["failed"] if policy == "recompute" else 0)
    assert transfers["decode_lost"] > 0
    # Some fail where they arrive: their instance is not back yet.
    failed = result["summary"]["failed"]["failed"]
    assert failed >= sum(fault["failed_requests"] for fault in result["summary"]["cluster"]["faults"]) + (
        transfers["failed"] - transfers["recomputed"])
    again = result_of(ridgeline, *words, "--max-retries", 3)["summary"]
    assert again["failed"]["failed"] < failed
    assert again["cluster"]["retries"]["attempts"] > 0
    assert result_of(ridgeline, *words, "--engine-core", "reference")["digest"] == result["digest"]
    assert result_of(ridgeline, *words, "--threads", 2)["digest"] == result["digest"]


def test_a_section_says_what_flags_say(ridgeline, tmp_path):
    scenario = tmp_path / "apart.yaml"
    scenario.write_text(
        "model: llama-3.1-8b\ngpu: h100\nseed: 3\n"
        "workload: {input_len: 2000, output_len: 60, request_rate: 12, num_prompts: 200}\n"
        "cluster:\n"
        "  instances: 3\n"
        "  disaggregation: {prefill_instances: 1, decode_instances: 2, decider: prefix-based-pd-decider,"
        " non_cached_tokens: 16}\n"
        "  kv_transfer: {kv_connector: nixl, transfer_bandwidth: 50GB/s, transfer_setup: 2ms, sharing: max-min,"
        " transfer_mode: after-prefill, kv_load_failure_policy: fail, kv_lease: 30s}\n"
    )
    assert result_of(ridgeline, "run", scenario)["digest"] == result_of(ridgeline, *APART)["digest"]


def test_links_fail_and_come_back(ridgeline):
    plain = result_of(ridgeline, *APART)
    never = result_of(ridgeline, *APART, "--fault", "link-down@2h+1s:0")
    assert never["digest"] == plain["digest"]
    down = result_of(ridgeline, *APART, "--fault", "link-down@1s+4s:0", "--fabric-bandwidth", "400GB/s",
                     "--fault", "link-degraded@1s+9sx0.01")
    card, fabric = down["summary"]["cluster"]["faults"]
    if card["kind"] != "link-down":
        card, fabric = fabric, card
    assert card == {"kind": "link-down", "host": 0, "at_s": 1, "over_s": 5, "failed_requests": 0}
    assert "host" not in fabric and fabric["over_s"] == 10
    assert down["summary"]["completed"] == plain["summary"]["completed"]
    assert down["summary"]["ttft_ms"]["max"] > plain["summary"]["ttft_ms"]["max"] + 3000
    table = ridgeline(*APART, "--fault", "link-down@1s+4s:0").stdout
    assert "link-down of host 0 at 1.00 s, over after 4.00 s" in table


@pytest.mark.parametrize(("words", "expected"), [
    (("--prefill-instances", 1, "--decode-instances", 3), "1 prefill and 3 decode instances are not the 3"),
    (("--prefill-instances", 3), "3 of 3 instances compute prompts alone"),
    (("--decider", "always"), "cluster.disaggregation.decider: would be ignored"),
    (("--transfer-bandwidth", "50GB/s"), "cluster.kv_transfer.transfer_bandwidth: would be ignored"),
    (("--prefill-instances", 1, "--decider", "alway"), "did you mean 'always'?"),
    (("--prefill-instances", 1, "--disaggregation", "dinamo"), "did you mean 'dynamo'?"),
    (("--prefill-instances", 1, "--prefill-router", "randm"), "did you mean 'random'?"),
    (("--prefill-instances", 1, "--decider", "always", "--non-cached-tokens", 5), "the decider always does not read it"),
    (("--prefill-instances", 1, "--transfer-bandwidth", 50), "expected a rate with its unit"),
    (("--prefill-instances", 1, "--transfer-bandwidth", "1kB/s"), "expected 1MB/s to 1000TB/s"),
    (("--prefill-instances", 1, "--sharing", "fair"), "max-min"),
    (("--prefill-instances", 1, "--network-cards", "gpu", "--instances-per-host", 2), "each GPU has a network card"),
    (("--prefill-instances", 1, "--transfer-mode", "pull"), "after-prefill, push, layer-wise"),
    (("--prefill-instances", 1, "--transfer-mode", "push", "--kv-lease", "5s"), "pushed KV waits for no reader"),
    (("--prefill-instances", 1, "--transfer-mode", "push", "--stage-order", "prefill-first"), "both instances are chosen"),
    (("--prefill-instances", 1, "--disaggregation", "sglang", "--first-token", "prefill"), "before there is a token"),
])
def test_what_contradicts_itself_is_refused(ridgeline, words, expected):
    done = ridgeline(*RUN, *words)
    assert done.returncode == 2
    assert expected in done.stderr
