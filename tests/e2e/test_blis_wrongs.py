"""What inference-sim gets wrong, by the numbers under which its faults are listed: each test fails where the program does
the same. docs/internals/fleet.md says which numbers have their test elsewhere."""

import csv
import json

import pytest
from conftest import SMALL

MODEL = ("--model", "llama-3.1-8b", "--gpu", "h100")
APART = ("run", *MODEL, "--instances", 4, "--prefill-instances", 1, "--request-rate", 8, "--num-prompts", 100,
         "--input-len", 3000, "--output-len", 20)  # fmt: skip
SCALED = ("run", *MODEL, "--instances", 2, "--router", "least-request", "--request-rate", 60, "--num-prompts", 3000,
          "--input-len", 300, "--output-len", 200, "--autoscaling", "hpa", "--target", 20, "--min-replicas", 2,
          "--max-replicas", 3, "--price-per-hour", 2)  # fmt: skip


def cluster_of(ridgeline, *words):
    done = ridgeline(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["summary"]["cluster"]


def summary_of(ridgeline, *words):
    done = ridgeline(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["summary"]


def test_w2_gpus_hold_their_own_part_of_the_kv_cache(ridgeline):
    """Two GPUs hold 2 B - W bytes of KV in all, of budgets B and weights W, and one B - W: for 63.6 and 15 GiB 2.3 times as
    many tokens. inference-sim counts the ranks twice and gets 4.6 times."""
    held = [json.loads(ridgeline("explain", *MODEL, "--tensor-parallel-size", size, "--format", "json").stdout)["memory"]
            for size in (1, 2)]  # fmt: skip
    assert 2 < held[1]["kv_tokens"] / held[0]["kv_tokens"] < 2.6


def test_w5_time_without_a_token_counts(ridgeline):
    """Requests that are preempted hold their place without a token for seconds: the times between their tokens still add up
    to the time from the first to the last of them."""
    words = ("run", *MODEL, "--request-rate", 20, "--num-prompts", 300, "--input-len", 200, "--output-len", 400,
             "--num-gpu-blocks", 300, "--max-model-len", 1000, "--requests-out", "log.csv")  # fmt: skip
    summary = summary_of(ridgeline, *words)
    assert summary["preemptions"] > 100
    rows = list(csv.DictReader((ridgeline.folder / "log.csv").open()))
    decoding_ms = sum(float(row["server_e2e_ms"]) - float(row["server_ttft_ms"]) for row in rows)
    gaps = 300 * (400 - 1)
    assert summary["itl_ms"]["mean"] * gaps == pytest.approx(decoding_ms, rel=1e-9)


def test_w8_prefill_on_another_gpu_takes_its_time(ridgeline):
    """Prompts on an A100 take three times as long as on an H100, by its peak; tokens come from the same instances."""
    times = []
    for gpu in ("h100", "a100"):
        summary = summary_of(
            ridgeline, "run", "--model", "llama-3.1-8b", "--pool", f"{{name: p, instances: 1, gpu: {gpu}}}", "--pool",
            "{name: d, instances: 3, gpu: h100}", "--prefill-instances", 1, "--request-rate", 4, "--num-prompts", 50,
            "--input-len", 3000, "--output-len", 20)  # fmt: skip
        times.append((summary["ttft_ms"]["mean"], summary["itl_ms"]["mean"]))
    assert times[1][0] > 2 * times[0][0]
    assert times[1][1] == pytest.approx(times[0][1], rel=0.02)


def test_w9_w53_an_instance_has_the_gpu_of_its_pool(ridgeline):
    pools = cluster_of(ridgeline, "run", "--model", "llama-3.1-8b", "--pool", "{name: h, instances: 1, gpu: h100}", "--pool",
                       "{name: a, instances: 1, gpu: a100}", "--request-rate", 1, "--num-prompts", 20, "--input-len", 100,
                       "--output-len", 50)["per_pool"]  # fmt: skip
    assert [(pool["name"], pool["gpu"]) for pool in pools] == [("h", "h100"), ("a", "a100-80gb")]
    # A step of decodes reads the weights: 3.35 TB/s against 2.04.
    assert 1.5 < pools[1]["tpot_ms"]["mean"] / pools[0]["tpot_ms"]["mean"] < 2.2


TIERED = ("run", *MODEL, "--request-rate", 4, "--num-prompts", 200, "--input-len", 80, "--prefix-len", 1920,
          "--num-prefixes", 40, "--output-len", 40, "--num-gpu-blocks", 700, "--cpu-bytes-to-use", "20GiB", "--seed", 3)  # fmt: skip


def test_w19_a_transfer_holds_up_its_own_request_alone(ridgeline):
    """A prefix is 1920 tokens of 128 KiB: 252 ms at 1 GB/s, which no other request's tokens wait for."""
    summary = summary_of(ridgeline, *TIERED, "--read-bandwidth", "1GB/s")
    host = next(tier for tier in summary["cluster"]["kv_offload"]["tiers"] if tier["tier"] == "host")
    assert host["read_ms"] > 240 and host["loads"] > 50
    assert summary["itl_ms"]["max"] < 200


def test_w20_kv_from_the_host_takes_its_time(ridgeline):
    slow, fast = (summary_of(ridgeline, *TIERED, "--read-bandwidth", rate) for rate in ("4GB/s", "50GB/s"))
    hits = [one["cluster"]["kv_offload"]["hit_rate"] for one in (slow, fast)]
    assert min(hits) > 0.5
    # 252 MB take 63 ms against 5.
    assert slow["ttft_ms"]["p50"] > fast["ttft_ms"]["p50"] + 30


def test_w26_a_fleet_serves_several_networks(ridgeline):
    """Each request goes to the pool of its model; one for a model that none serves ends as that, and is counted."""
    rows = [{"arrival_s": i / 4, "input_tokens": 100, "output_tokens": 10, "model": name}
            for i, name in enumerate(["small", "large", "small", "none"] * 5)]  # fmt: skip
    ridgeline.write("models.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    summary = summary_of(ridgeline, "replay", "--trace", "models.jsonl", "--gpu", "h100", "--pool",
                         "{name: s, instances: 1, model: llama-3.1-8b, models: [small]}", "--pool",
                         "{name: l, instances: 1, model: qwen3-14b, models: [large]}")  # fmt: skip
    small, large = summary["cluster"]["per_pool"]
    assert (small["completed"], large["completed"]) == (10, 5)
    assert large["tpot_ms"]["mean"] > 1.5 * small["tpot_ms"]["mean"]
    assert summary["completed"] == 15 and summary["failed"]["no_such_model"] == 5


def test_w24_the_next_turn_waits_for_what_the_client_sees(ridgeline):
    """Not for the engine's last step: the answer has to reach the client first."""
    ridgeline.write(
        "turns.yaml",
        "ridgeline_workload: 1\nsources:\n- client: {arrivals: constant, request_rate: 1, input_len: 100, output_len: 20,\n"
        "    session: {turns: 3, think_s: 0}}\n  duration_s: 5\n",
    )
    words = ("replay", "--trace", "turns.yaml", *MODEL, "--requests-out", "log.csv", "--instances", 2)
    done = ridgeline(*words)
    assert done.returncode == 0, done.stderr
    turns = {}
    for row in csv.DictReader((ridgeline.folder / "log.csv").open()):
        turns.setdefault(row["session"], []).append((float(row["arrival_s"]), float(row["e2e_ms"]), float(row["server_e2e_ms"])))
    assert turns and all(len(rows) == 3 for rows in turns.values())
    for rows in turns.values():
        rows.sort()
        for (arrival, e2e, server_e2e), (after, _, _) in zip(rows, rows[1:]):
            assert after >= arrival + e2e / 1000 - 1e-9 and e2e > server_e2e


def test_w27_an_autoscaler_keeps_its_bounds_and_says_what_it_did(ridgeline):
    scaling = cluster_of(ridgeline, *SCALED)["scaling"]
    assert scaling["policy"] == "hpa" and scaling["events"]
    assert {2, 3} >= {count for event in scaling["events"] for count in (event["from"], event["to"])}
    assert scaling["cost"] == pytest.approx(2 * scaling["gpu_hours"])


def test_w28_both_legs_are_of_one_request(ridgeline):
    """Session and adapter go with the second leg, and no prompt waits for a prefill instance that is not there."""
    ridgeline.write(
        "turns.yaml",
        "ridgeline_workload: 1\nsources:\n- client: {request_rate: 4, input_len: 200, output_len: 20,\n"
        "    session: {turns: 4, think_s: 0.1}}\n  duration_s: 10\n",
    )
    words = ("replay", "--trace", "turns.yaml", *MODEL, "--instances", 4, "--prefill-instances", 1, "--router", "session",
             "--routing-out", "picks.jsonl", "--requests-out", "log.csv")  # fmt: skip
    done = ridgeline(*words)
    assert done.returncode == 0, done.stderr
    sessions = {int(row["request_id"]): row["session"] for row in csv.DictReader((ridgeline.folder / "log.csv").open())}
    picks = {}
    for line in (ridgeline.folder / "picks.jsonl").read_text().splitlines():
        pick = json.loads(line)
        picks.setdefault(sessions[pick["request"]], set()).add(pick["pick"])
    assert len(picks) > 1 and all(len(instances) == 1 for instances in picks.values())
    assert len(set().union(*picks.values())) > 1
    refused = ridgeline("run", *SMALL, "--instances", 1, "--prefill-instances", 1)
    assert refused.returncode == 2 and "one of each at least" in refused.stderr


def test_w38_ranks_of_several_hosts_pay_for_the_network_between_them(ridgeline):
    """Eight H100s are a host; with sixteen ranks the tokens of experts leave it."""
    words = ("step", "--model", "qwen3-30b-a3b", "--gpu", "h100", "--enable-expert-parallel", "--decode", "1000x64",
             "--format", "json")  # fmt: skip
    network = [json.loads(ridgeline(*words, "--data-parallel-size", ranks).stdout)["time_by_bottleneck"]["network"]
               for ranks in (8, 16)]  # fmt: skip
    assert network[1] > 3 * network[0]


def test_w47_prefill_and_decode_have_tensor_parallel_sizes_of_their_own(ridgeline):
    """Prompts on two GPUs take less than three quarters of the time; what decodes is one GPU as before. Limits of partial
    prefills are refused, as vLLM does."""
    times = []
    for size in (1, 2):
        summary = summary_of(
            ridgeline, "run", "--model", "llama-3.1-8b", "--pool",
            f"{{name: p, instances: 1, gpu: h100, tensor_parallel_size: {size}}}", "--pool", "{name: d, instances: 1, gpu: h100}",
            "--prefill-instances", 1, "--request-rate", 1, "--num-prompts", 50, "--input-len", 3000, "--output-len", 20)  # fmt: skip
        times.append((summary["cluster"]["transfers"]["ttft_parts_ms"]["prefill"], summary["itl_ms"]["mean"]))
    assert times[1][0] < 0.75 * times[0][0]
    assert times[1][1] == pytest.approx(times[0][1], rel=0.05)
    refused = ridgeline("run", *SMALL, "--max-long-partial-prefills", 2)
    assert refused.returncode == 2 and "engine.max_long_partial_prefills: 2 is refused" in refused.stderr


def test_w68_requests_of_the_warm_up_are_not_measured(ridgeline):
    words = ("run", *MODEL, "--request-rate", 10, "--num-prompts", 200, "--input-len", 100, "--output-len", 20,
             "--seed", 3, "--requests-out", "log.csv")  # fmt: skip
    summary = summary_of(ridgeline, *words, "--warmup", "5s")
    late = [row for row in csv.DictReader((ridgeline.folder / "log.csv").open()) if float(row["arrival_s"]) >= 5]
    assert summary["completed"] == len(late) < 200
    mean = sum(float(row["e2e_ms"]) for row in late) / len(late)
    assert summary["e2e_ms"]["mean"] == pytest.approx(mean, rel=1e-6)
    assert summary["itl_ms"]["mean"] is None and summary["tpot_ms"]["mean"] > 0  # That of all is none of the rest.
    for client in ("vllm-bench", "guidellm"):
        summary_of(ridgeline, *words, "--warmup", "5s", "--client-results", f"{client}=b.json")
        file = json.loads((ridgeline.folder / "b.json").read_text())
        counts = ([file[key] for key in ("num_prompts", "completed")] + [len(file[key]) for key in ("ttfts", "itls", "start_times")]
                  if client == "vllm-bench" else [file["benchmarks"][0]["metrics"]["time_to_first_token_ms"]["successful"]["count"]])
        assert set(counts) == {len(late)}, counts
        if client == "vllm-bench":
            gaps = [gap for gaps in file["itls"] for gap in gaps]
            assert file["mean_itl_ms"] == pytest.approx(1e3 * sum(gaps) / len(gaps), rel=1e-9)
    # What the engine alone counts is of all, in the figures that divide by time or tokens too.
    words = (*words, "--cpu-bytes-to-use", "10GB", "--prefix-len", 500, "--num-prefixes", 100)
    whole, part = summary_of(ridgeline, *words), summary_of(ridgeline, *words, "--warmup", "15s")
    assert 0 < part["completed"] < 80
    for name in ("watts_per_gpu", "joules_per_output_token"):
        assert part["power"][name] == pytest.approx(whole["power"][name], rel=1e-6), name
    assert summary_of(ridgeline, *words, "--warmup", "0s")["cluster"]["per_instance"] == whole["cluster"]["per_instance"]
    links = [[tier["write_utilisation"] for tier in one["cluster"]["kv_offload"]["tiers"]] for one in (part, whole)]
    assert links[0] == pytest.approx(links[1], rel=1e-6)


def test_w52_an_autoscaler_follows_the_load_of_saturated_replicas(ridgeline):
    words = ("run", *MODEL, "--instances", 1, "--router", "least-request", "--autoscaling", "wva", "--max-replicas", 4,
             "--request-rate", 60, "--num-prompts", 6000, "--input-len", 1000, "--output-len", 200)  # fmt: skip
    scaling = cluster_of(ridgeline, *words)["scaling"]
    assert scaling["policy"] == "wva" and max(event["to"] for event in scaling["events"]) > 1


def test_w54_prefill_and_decode_of_ranks_that_share_experts(ridgeline):
    summary = summary_of(ridgeline, "run", "--model", "qwen3-30b-a3b", "--gpu", "h100", "--enable-expert-parallel",
                         "--data-parallel-size", 2, "--instances", 4, "--prefill-instances", 2, "--request-rate", 4,
                         "--num-prompts", 50, "--input-len", 1000, "--output-len", 20)  # fmt: skip
    assert summary["completed"] == summary["cluster"]["transfers"]["count"] == 50
    assert summary["cluster"]["lock_step"]["ranks"] == 2


def test_w57_costs_are_counted(ridgeline):
    words = ("run", *SMALL, "--instances", 2, "--price-per-hour", 3)
    scaling = cluster_of(ridgeline, *words)["scaling"]
    # Two instances of one GPU until the last answer.
    assert scaling["cost"] == pytest.approx(3 * scaling["replica_seconds"] / 3600)
    assert scaling["gpu_hours"] == pytest.approx(scaling["replica_seconds"] / 3600)
    # The price is a GPU's, however many an instance has; of pools, and of prefill and decode, too.
    wide = cluster_of(ridgeline, *words, "--tensor-parallel-size", 2)["scaling"]
    assert wide["gpu_hours"] == pytest.approx(2 * wide["replica_seconds"] / 3600)
    assert wide["cost"] == pytest.approx(3 * wide["gpu_hours"])
    assert " USD" in ridgeline(*words, "--tensor-parallel-size", 2).stdout
    pools = ("--pool", "{name: a, instances: 1, tensor_parallel_size: 4, price_per_hour: 2}", "--pool", "{name: b, instances: 1}")
    cluster = cluster_of(ridgeline, "run", *SMALL, *pools, "--price-per-hour", 5)
    for pool, price in zip(cluster["per_pool"], (2, 5)):
        assert pool["cost"] == pytest.approx(price * pool["gpu_hours"])
    assert cluster["scaling"]["cost"] == pytest.approx(sum(pool["cost"] for pool in cluster["per_pool"]))


def test_w59_every_counter_is_in_the_document(ridgeline):
    cluster = cluster_of(ridgeline, "run", *SMALL, "--instances", 2, "--admission", "token-bucket", "--token-bucket-capacity",
                         128, "--token-bucket-refill-rate", 1, "--tenant", "auto")  # fmt: skip
    assert cluster["admission"]["rejected"]["token_bucket"] == 18
    assert cluster["per_tenant"][0]["rejected"] == 18
    assert cluster["routing"]["decisions"] == 2
    assert {"count", "bytes", "failed", "ms"} <= set(cluster_of(ridgeline, *APART)["transfers"])


def test_w61_decisions_are_written_and_regret_is_counted(ridgeline):
    words = ("run", *MODEL, "--instances", 4, "--router", "llm-d", "--request-rate", 80, "--num-prompts", 500,
             "--input-len", 300, "--output-len", 100, "--refresh-metrics-interval", "1s")  # fmt: skip
    cluster = cluster_of(ridgeline, *words, "--routing-audit", "--routing-out", "picks.jsonl")
    assert 0 < cluster["routing"]["regret"] < 1
    picks = [json.loads(line) for line in (ridgeline.folder / "picks.jsonl").read_text().splitlines()]
    assert len(picks) == 500 and all(pick["pick"] in pick["instances"] for pick in picks)


def test_w60_distributions_are_whole(ridgeline):
    summary = summary_of(ridgeline, "run", *SMALL, "--slo-ttft", "1us")
    assert {"mean", "std", "p50", "p90", "p95", "p99", "max"} <= set(summary["ttft_ms"])
    # A goodput of zero is said, not left out.
    assert summary["goodput"] == 0


def test_w63_there_is_no_load_that_was_not_asked_for(ridgeline):
    done = ridgeline("run", *MODEL, "--input-len", 100, "--output-len", 10)
    assert done.returncode == 2 and "workload.request_rate: missing" in done.stderr


def test_w64_what_would_be_ignored_is_refused(ridgeline):
    for words, path in (
        (("--router", "llm-d"), "cluster.router.name"),
        (("--instances", 2, "--kv-events-delay", "1ms"), "cluster.gateway.kv_events_delay"),
        (("--instances", 2, "--request-ttl", "1s"), "cluster.admission.request_ttl"),
        (("--instances", 2, "--transfer-setup", "1ms"), "cluster.kv_transfer.transfer_setup"),
        (("--instances", 2, "--max-retries", 1), "cluster.retries.max_retries"),
    ):
        done = ridgeline("run", *SMALL, *words)
        assert done.returncode == 2 and f"error: {path}: would be ignored" in done.stderr, (words, done.stderr)


def test_w70_instances_fail_and_requests_are_sent_again(ridgeline):
    words = ("run", *MODEL, "--instances", 3, "--router", "least-request", "--request-rate", 60, "--num-prompts", 600,
             "--input-len", 4000, "--output-len", 20, "--fault", "crash@3s+4s:1", "--max-retries")  # fmt: skip
    lost = cluster_of(ridgeline, *words, 0)
    again = cluster_of(ridgeline, *words, 3)
    assert lost["faults"][0]["failed_requests"] > 0 and lost["retries"]["attempts"] == 0
    assert again["retries"]["retried_requests"] > 0 and again["retries"]["wasted_tokens"] > 0


def test_w71_a_cache_that_holds_nothing_is_refused(ridgeline):
    done = ridgeline("run", "--model", "llama-3.1-70b", "--gpu", "h100", "--request-rate", 1, "--num-prompts", 5, "--input-len", 9,
                     "--output-len", 9)  # fmt: skip
    assert done.returncode == 4 and "--tensor-parallel-size" in done.stderr


def test_w72_a_flag_wins_over_the_file(ridgeline):
    ridgeline.write("s.yaml", "model: llama-3.1-8b\ngpu: h100\nengine: {num_gpu_blocks: 500, max_model_len: 4096}\n"
                    "workload: {request_rate: 8, num_prompts: 5, input_len: 64, output_len: 16}\n")  # fmt: skip
    done = ridgeline("run", "s.yaml", "--num-gpu-blocks", 700, "--format", "json")
    assert json.loads(done.stdout)["config"]["engine"]["num_gpu_blocks"] == 700


def test_w74_an_instance_without_an_answer_has_no_latencies(ridgeline):
    prefill, *decode = cluster_of(ridgeline, *APART)["per_instance"]
    assert prefill["completed"] == 0 and prefill["requests"] == 100
    assert set(prefill["ttft_ms"].values()) == {None}
    assert all(instance["ttft_ms"]["mean"] > 0 for instance in decode)


def test_w80_transfers_say_how_they_shared_the_wires(ridgeline):
    slow = cluster_of(ridgeline, *APART, "--transfer-bandwidth", "4GB/s")["transfers"]
    fast = cluster_of(ridgeline, *APART, "--transfer-bandwidth", "50GB/s")["transfers"]
    assert slow["wait_ms"] > fast["wait_ms"] >= 0
    assert slow["link_utilisation"] > 5 * fast["link_utilisation"] > 0


def test_w78_a_log_has_the_times_of_its_run(ridgeline):
    summary = summary_of(ridgeline, "run", *SMALL, "--requests-out", "log.csv")
    rows = list(csv.DictReader((ridgeline.folder / "log.csv").open()))
    mean = sum(float(row["e2e_ms"]) for row in rows) / len(rows)
    assert mean == pytest.approx(summary["e2e_ms"]["mean"], rel=1e-6)
