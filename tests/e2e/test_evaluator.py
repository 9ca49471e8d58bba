"""Measurements in the files of inference-sim's evaluator, and models compared on them."""

import json
import re
import shutil

import pytest

from conftest import SHARED

ORIGINAL = SHARED / "original"
TABLES = SHARED / "kernels" / "blis_h100"
FOLDER = ORIGINAL / "ground_truth" / "jan20-codellama-prefill-1"

EXPERIMENT = {
    "experiment_name": "small", "model": "meta-llama/Llama-3.1-8B-Instruct",
    "vllm_config": {"tensor_parallelism": 1, "max_model_len": 4096, "max_num_batched_tokens": 2048, "max_num_seqs": 64,
                    "app": "chatbot"},
    "workload_config": {"rate_type": "constant", "max_requests": 20, "rate": [2, 4], "data": {
        "prefix_tokens": 256, "prompt_tokens": 200, "prompt_tokens_stdev": 40, "prompt_tokens_min": 10,
        "prompt_tokens_max": 400, "output_tokens": 20}},
    "total_kv_blocks": 4000,
    "qps_sweeps": [{"qps": 2.0, "ttft_mean_ms": 20.0, "itl_mean_ms": 7.0, "e2e_mean_ms": 150.0},
                   {"qps": 4.0, "ttft_mean_ms": 21.0, "itl_mean_ms": 7.5, "e2e_mean_ms": 160.0}],
}


def written(ridgeline, **changes):
    ridgeline.write("truth.json", json.dumps({"experiments": [{**EXPERIMENT, **changes}]}))


def validated(ridgeline, *words):
    done = ridgeline("validate", *words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_the_aggregators_file(ridgeline):
    written(ridgeline)
    found, said = validated(ridgeline, "truth.json")
    assert said == ""
    first, second = found["records"]
    assert first["standing"] == "scored" and first["clock"] == "server" and first["gpu"] == "H100"
    assert any("GPU H100" in line for line in first["assumed"])
    predicted = first["predicted"]
    # His time per token holds the prefill's share: well above the decode step's.
    assert predicted["itl"]["mean"] > (predicted["e2e"]["mean"] - predicted["ttft"]["mean"]) / 19
    assert predicted["itl"]["mean"] == pytest.approx(predicted["e2e"]["mean"] / 20, rel=0.05)
    # The prefix is in the cache before the first rate.
    assert first["state"]["cached_share"] == pytest.approx(256 / 456, abs=0.05)
    assert second["workload"] == "chatbot"


def test_tensor_parallelism_is_read(ridgeline):
    written(ridgeline, vllm_config={**EXPERIMENT["vllm_config"], "tensor_parallelism": 2})
    two = validated(ridgeline, "truth.json")[0]["records"][0]
    written(ridgeline)
    one = validated(ridgeline, "truth.json")[0]["records"][0]
    assert two["tp"] == 2 and two["predicted"]["e2e"]["mean"] < 0.8 * one["predicted"]["e2e"]["mean"]


def test_unknown_keys_are_warned_of(ridgeline):
    written(ridgeline, vllm_config={**EXPERIMENT["vllm_config"], "tensor_parallel": 4})
    done = ridgeline("validate", "truth.json")
    assert "vllm_config.tensor_parallel is not read" in done.stderr


def test_his_own_words(ridgeline):
    written(ridgeline)
    found, _ = validated(ridgeline, "truth.json", "--vllm-version", "v0.11.0", "--max-prompts", "5")
    assert found["records"][0]["state"]["completed"] == 5
    assert not any("engine version" in line for line in found["records"][0]["assumed"])


def test_axes_are_crossed(ridgeline):
    written(ridgeline)
    found, _ = validated(ridgeline, "truth.json", "--by", "batch,phase", "--figure", "e2e")
    rows = [row for row in found["scores"] if row["axis"] == "batch, phase"]
    assert sum(row["n"] for row in rows if row["metric"] == "e2e") == 2
    assert re.fullmatch(r"[\d-]+, (prefill|decode|mixed)", rows[0]["value"])
    text = ridgeline("validate", "truth.json", "--by", "batch,phase", "--figure", "e2e").stdout
    assert "ttft" not in text[: text.index("read\n")]
    assert ridgeline("validate", "truth.json", "--by", "turns").returncode == 2


def test_a_missing_e2e_is_made_of_ttft_and_tpot(ridgeline):
    record = {"id": "one", "deployment": {"model": "llama-3.1-8b", "gpu": "h100"},
              "load": {"num_prompts": 8, "max_concurrency": 1, "input_len": 100, "output_len": 11},
              "figures": {"ttft_ms": {"mean": 20}, "tpot_ms": {"mean": 7}}}
    ridgeline.write("runs.jsonl", json.dumps(record) + "\n")
    found, _ = validated(ridgeline, "runs.jsonl", "--by", "phase")
    assert found["records"][0]["measured"]["e2e"]["mean"] == 90.0
    assert found["derived_e2e"] == 1
    assert "1 records is TTFT" in ridgeline("validate", "runs.jsonl", "--by", "phase").stdout


def test_models_are_compared(ridgeline):
    written(ridgeline)
    found, _ = validated(ridgeline, "truth.json", "--compare", "v1,kernel")
    assert found["models"] == ["v1", "kernel"]
    row = next(row for row in found["comparison"] if row["metric"] == "e2e")
    one, other = row["models"]
    assert other["gain_points"] == pytest.approx(one["mean_abs_pct"] - other["mean_abs_pct"])
    assert other["low_95"] <= other["gain_points"] <= other["high_95"]
    assert one["nearest"] + other["nearest"] == row["records"] == 2
    alone, _ = validated(ridgeline, "truth.json", "--latency", "v1")
    mean = next(row for row in alone["scores"] if row["axis"] == "all" and row["metric"] == "e2e")
    assert one["mean_abs_pct"] == pytest.approx(mean["mean_abs_pct"])
    for shape in ("table", "markdown", "html", "csv"):
        assert "kernel" in ridgeline("validate", "truth.json", "--compare", "v1,kernel", "--format", shape).stdout
    assert "expected two or more" in ridgeline("validate", "truth.json", "--compare", "v1").stderr
    assert "names the models" in ridgeline("validate", "truth.json", "--compare", "v1,kernel", "--latency", "v0").stderr


@pytest.mark.skipif(not ORIGINAL.is_dir(), reason="no measurements of the evaluator")
def test_a_measured_experiment(ridgeline):
    for path in (FOLDER, ORIGINAL):
        found, _ = validated(ridgeline, path)
        assert [record["standing"] for record in found["records"]] == ["scored"] * 5
        for record in found["records"]:
            assert record["sources"]
            for figure in ("e2e", "ttft", "server_e2e", "server_ttft", "server_itl", "prefill", "decode"):
                assert abs(record["error_pct"][figure]["mean"]) < 15, (record["id"], figure)
    # What the aggregator makes of the folder is what the folder says.
    truth = json.loads((ORIGINAL / "combined_ground_truth.json").read_text())["experiments"][0]["qps_sweeps"]
    for point, record in zip(truth, found["records"][2:]):
        measured = record["measured"]
        assert measured["server_ttft"]["mean"] == pytest.approx(point["ttft_mean_ms"], rel=1e-9)
        assert measured["server_e2e"]["p90"] == pytest.approx(point["e2e_p90_ms"], rel=1e-9)
        assert measured["server_itl"]["mean"] == pytest.approx(point["itl_mean_ms"], rel=1e-9)


@pytest.mark.skipif(not ORIGINAL.is_dir() or not TABLES.is_dir(), reason="no measurements or no tables")
def test_a_measured_experiment_by_three_models(ridgeline):
    found, _ = validated(ridgeline, ORIGINAL / "combined_ground_truth.json", "--compare", "v1,v2-final,kernel",
                         "--bench-data", TABLES)
    row = found["comparison"][0]
    assert (row["axis"], row["metric"], row["records"]) == ("all", "e2e", 3)
    assert row["clear_winner"] == "kernel"


@pytest.mark.skipif(not ORIGINAL.is_dir(), reason="no measurements of the evaluator")
def test_files_of_an_experiment_that_are_missing_are_said(ridgeline):
    copy = ridgeline.folder / "runs"
    shutil.copytree(FOLDER, copy / "one")
    for name in ("traces.json", "vllm.log"):
        (copy / "one" / name).chmod(0o644)
        (copy / "one" / name).unlink()
    found, _ = validated(ridgeline, "runs")
    assumed = " ".join(found["records"][0]["assumed"])
    assert "no traces.json" in assumed and "no vllm.log" in assumed
    assert "server_e2e" not in found["records"][0]["measured"]
    empty = ridgeline.folder / "empty"
    empty.mkdir()
    done = ridgeline("validate", "empty")
    assert done.returncode == 2 and "holds no guidellm-results.json" in done.stderr
