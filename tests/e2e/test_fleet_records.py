"""What --requests-out says of each request of a fleet."""

import csv
import json
from decimal import Decimal

import pytest

RUN = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", 300, "--output-len", 40, "--seed", 3)
OPEN = (*RUN, "--request-rate", 60, "--num-prompts", 300, "--gateway-latency", "2ms", "--notice-latency", "1ms")
PARTS = ("gateway_ms", "instance_queue_ms", "prefill_ms", "transfer_ms", "delivery_ms")


def records_of(ridgeline, *words):
    done = ridgeline(*OPEN, *words, "--requests-out", "-", "--format", "quiet")
    assert done.returncode == 0, done.stderr
    return [json.loads(line, parse_float=Decimal, parse_int=Decimal) for line in done.stdout.splitlines()]


CASES = {
    "plain": ("--instances", 3, "--router", "least-request"),
    "retried": ("--instances", 3, "--fault", "crash@2s:1", "--max-retries", 3, "--max-num-seqs", 4),
    "queued": ("--instances", 2, "--flow-control", "--saturation-detector", "concurrency-detector", "--max-concurrency", 3),
    "apart": ("--instances", 3, "--prefill-instances", 1, "--decider", "always", "--transfer-bandwidth", "5GB/s"),
    "apart, first token early": (
        *("--instances", 3, "--prefill-instances", 1, "--decider", "always", "--transfer-bandwidth", "5GB/s"),
        *("--first-token", "prefill"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_parts_of_a_ttft_sum_to_it_exactly(ridgeline, case):
    records = records_of(ridgeline, *CASES[case])
    assert len(records) == 300
    for record in records:
        if record["ttft_ms"] is not None:
            assert sum(record[part] for part in PARTS) == record["ttft_ms"]
            assert all(record[part] >= 0 for part in PARTS)
            assert record["gateway_ms"] >= 2
        assert record["num_attempts"] == len(record["attempts"])
        assert record["attempts"][-1]["instance"] == record["instance"]
    assert any(record["transfer_ms"] for record in records) == (case == "apart")
    reference = records_of(ridgeline, *CASES[case], "--engine-core", "reference")
    assert reference == records


def test_an_attempt_that_was_lost_stays_in_the_record(ridgeline):
    records = records_of(ridgeline, *CASES["retried"])
    retried = [record for record in records if record["num_attempts"] > 1]
    assert retried
    for record in retried:
        first, last = record["attempts"][0], record["attempts"][-1]
        assert (first["instance"], first["why"], first["tokens"]) == (1, "failed", 0)
        assert record["outcome"] != "finished" or last["why"] == "finished"
        assert first["sent_s"] <= first["end_s"] <= last["sent_s"]


def test_two_legs_are_two_attempts(ridgeline):
    for record in records_of(ridgeline, *CASES["apart"]):
        assert [attempt["share"] for attempt in record["attempts"]] == ["prefill", "decode"]
        assert record["attempts"][0]["instance"] == 0


def test_csv_has_the_same_numbers_and_reads_back(ridgeline, tmp_path):
    file = tmp_path / "requests.csv"
    assert ridgeline(*OPEN, *CASES["plain"], "--requests-out", file, "--format", "quiet").returncode == 0
    rows = list(csv.DictReader(file.open()))
    for row, record in zip(rows, records_of(ridgeline, *CASES["plain"]), strict=True):
        assert [Decimal(row[part]) for part in PARTS] == [record[part] for part in PARTS]
        assert row["instance"] == str(record["instance"])
    for path in (file, tmp_path / "requests.jsonl"):
        if not path.exists():
            assert ridgeline(*OPEN, *CASES["plain"], "--requests-out", path, "--format", "quiet").returncode == 0
        done = ridgeline("replay", path, "--model", "llama-3.1-8b", "--gpu", "h100", "--format", "json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["summary"]["completed"] == 300


def test_without_a_cluster_nothing_is_added(ridgeline):
    done = ridgeline(*RUN, "--request-rate", 9, "--num-prompts", 5, "--requests-out", "-", "--format", "quiet")
    assert "attempts" not in done.stdout and "gateway_ms" not in done.stdout and done.stdout
