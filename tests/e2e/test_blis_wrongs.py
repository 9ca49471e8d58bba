"""What inference-sim gets wrong in clusters, by the numbers under which its faults are listed: each test fails where the
program does the same. W1, W15, W16, W25, W30, W76 and W79 have unit tests of these numbers."""

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
