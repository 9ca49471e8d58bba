"""validate on logs of servers' starts, and on their first requests."""

import json
import os
from pathlib import Path

import pytest

RUNS = Path(os.environ.get("RIDGELINE_SHARED_DIR", "")) / "groundtruth"

START = {
    "id": "one",
    "family": "own",
    "stage": "startup",
    "model": "llama-3.1-8b",
    "gpu": "H100-SXM-80GB",
    "tp": 1,
    "engine": "vllm",
    "engine_version": "0.15.1",
    "server": {"max_model_len": 8192},
    "workload": {},
    "measured": {"torch_compile_s": 14, "log_start_to_ready_s": 100, "load_weights_s": 8, "download_s": 60},
}


def needs(name):
    if not (RUNS / name).exists():
        pytest.skip(f"needs {name} of ../shared/groundtruth")
    return RUNS / name


def validated(ridgeline, path, *flags, returncode=0):
    ran = ridgeline("records", path, "--format", "json", "--histories", 1, *flags)
    assert ran.returncode == returncode, ran.stderr
    return json.loads(ran.stdout)


def medians(result):
    return {row["metric"]: row["median_abs_pct"] for row in result["scores"] if row["axis"] == row["value"] == "all"}


def test_a_start_is_scored_part_by_part(ridgeline):
    path = ridgeline.folder / "runs.jsonl"
    path.write_text(json.dumps(START) + "\n")
    result = validated(ridgeline, path)
    assert result["counts"]["scored"] == 1
    record = result["records"][0]
    assert set(record["measured"]) == {
        "torch_compile_s", "log_start_to_ready_s", "load_weights_s", "ready_but_weights_s"}
    # 32 layers of the 36 whose compiling was measured.
    assert record["predicted"]["torch_compile_s"]["mean"] == pytest.approx(15.5 * 32 / 36)
    assert record["predicted"]["load_weights_s"]["mean"] == pytest.approx(8.03, abs=0.02)
    assert record["error_pct"]["torch_compile_s"]["mean"] == pytest.approx(100 * (15.5 * 32 / 36 / 14 - 1))
    assert any("download_s" in doubt for doubt in record["doubts"])
    assert {row["axis"] for row in result["scores"]} <= {"all", "family", "model", "gpu", "tp", "stage"}
    table = ridgeline("records", path)
    assert "starts of servers" in table.stdout and "torch_compile_s" in table.stdout
    assert "of measured is not predicted: download_s" in table.stderr
    assert ridgeline("records", path, "--fail-over", "torch_compile_s=5").returncode == 0
    assert ridgeline("records", path, "--fail-over", "torch_compile_s=1").returncode == 99


def test_a_start_without_a_known_network_says_why(ridgeline):
    path = ridgeline.folder / "runs.jsonl"
    path.write_text(json.dumps({**START, "model": "abacus-1b"}) + "\n")
    record = validated(ridgeline, path, returncode=99)["records"][0]
    assert record["standing"] == "unpredicted" and "abacus-1b" in record["reason"]


def test_measured_starts_are_predicted(ridgeline):
    result = validated(ridgeline, needs("new-coldstart.jsonl"))
    assert result["counts"]["scored"] == 4
    of_memory = medians(result)
    assert of_memory["model_gib_per_gpu"] < 1 and of_memory["kv_gib"] < 4 and of_memory["kv_cache_tokens"] < 3
    # A common host, and a slow one; how fast weights come is not known.
    for ranks, flags in ((1, ()), (4, ("--host-class", 8)), (8, ("--host-class", 8))):
        records = [one for one in validated(ridgeline, RUNS / "new-coldstart.jsonl", *flags)["records"] if one["tp"] == ranks]
        assert records
        for record in records:
            errors = {name: abs(level["mean"]) for name, level in record["error_pct"].items()}
            for name in ("profile_run_s", "torch_compile_s", "graph_capture_s", "init_engine_s"):
                assert errors[name] < 20, (record["id"], name)
            assert errors["ready_but_weights_s"] < 10, record["id"]


def test_stalls_are_fitted_without_each_network(ridgeline):
    result = validated(ridgeline, needs("released.jsonl"), "--leave-out", "first-use")
    rows = {row["value"]: row for row in result["left_out"]}
    assert list(rows)[0] == "nothing" and {"mixtral-8x7b", "mixtral-8x22b", "llama-3.1-8b"} <= set(rows)
    # The constants as they are are what the fit on all networks finds.
    assert rows["nothing"]["fitted"] == "first_use_time=1.000s, first_use_ranges=32"
    assert rows["nothing"]["e2e"] == rows["nothing"]["e2e_without"]
    # A dense network has no stalls, whatever was fitted; one of experts is predicted worse unseen.
    assert rows["llama-3.1-8b"]["ttft"] == rows["llama-3.1-8b"]["ttft_without"]
    for network in ("mixtral-8x7b", "mixtral-8x22b"):
        assert rows[network]["ttft_without"]["mean_abs_pct"] > rows[network]["ttft"]["mean_abs_pct"]


def test_no_first_requests_are_an_error(ridgeline):
    path = ridgeline.folder / "runs.jsonl"
    path.write_text(json.dumps(START) + "\n")
    ran = ridgeline("records", path, "--leave-out", "first-use")
    assert ran.returncode == 2
    assert "no first requests to fit stalls on" in ran.stderr
