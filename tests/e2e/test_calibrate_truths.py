"""Servers that differ from the model in kernels and host: `./dev properties calibrate` makes more of them."""

import json

import calibrate_truths
import pytest
from conftest import BINARY, too_long_sanitized


@too_long_sanitized
@pytest.mark.parametrize("name, seeds", [("bandwidth -10 %, host x 1.6", 5), ("the same, asynchronous", 2),
                                         ("bandwidth +5 %, host x 0.8", 4)])
def test_what_the_kernels_may_explain_lies_in_the_interval(name, seeds):
    counts = calibrate_truths.try_all(BINARY, name, seeds, 11, 2)
    hits, of = counts["delivery_time" if "asynchronous" in name else "host_step_time"]
    assert hits >= of - 1, counts


LENGTHS = ("--input-len", "400", "--output-len", "100")


def result_of(ridgeline, *words):
    ran = ridgeline("run", *words, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_a_run_of_the_measured_server_has_its_own_band(ridgeline):
    truth = ("--model", "llama-3.1-8b", "--gpu", "h100", "--no-async-scheduling", "--set", "hardware.mem_bandwidth=3.015TB/s",
             "--host-step-time", "640us", "--generation-config", "vllm", "--num-prompts", "80")
    files = []
    for clients in (1, 2, 4, 8):
        files.append(f"{clients}.json")
        result_of(ridgeline, *truth, *LENGTHS, "--max-concurrency", str(clients), "--client-results", f"vllm-bench={files[-1]}")
    ran = ridgeline("calibrate", *files, *truth[:5], "--histories", "1", "-o", "mine.yaml", "-o", "mine.json")
    assert ran.returncode == 0, ran.stderr
    load = ("--num-prompts", "80", *LENGTHS, "--max-concurrency")
    for name in ("mine.yaml", "mine.json"):
        run = result_of(ridgeline, name, *load, "6")
        measured = result_of(ridgeline, *truth, *LENGTHS, "--max-concurrency", "6", "--seed", "5")
        for metric, figures in (("tpot", "tpot_ms"), ("ttft", "ttft_ms"), ("e2e", "e2e_ms")):
            band = run["expected_error"][metric]
            assert band["slice"] == "this server" and band["unknown"] == []
            error = 100 * (run["summary"][figures]["mean"] / measured["summary"][figures]["mean"] - 1)
            assert band["p90_pct"]["low"] <= error <= band["p90_pct"]["high"], (metric, error, band)
        assert run["expected_error"]["tpot"]["p90_pct"]["high"] < 3
        assert run["expected_error"]["output_throughput"]["slice"] == "this server"
    assert "as 4 measurements of this server" in " ".join(ridgeline("run", "mine.yaml", *load, "6").stdout.split())
    # What was not measured is as wide as without a calibration.
    for words in (("6", "--tensor-parallel-size", "2"), ("6", "--gpu", "h200"), ("6", "--model", "qwen3-8b"),
                  ("6", "--enforce-eager"), ("64",)):
        run = result_of(ridgeline, "mine.yaml", *load, *words)
        assert run["expected_error"]["tpot"]["slice"] != "this server", words
        band = run["expected_error"]["tpot"]["p90_pct"]
        assert band["high"] - band["low"] > 15, (words, band)
    rate = result_of(ridgeline, "mine.yaml", "--num-prompts", "80", *LENGTHS, "--request-rate", "4")
    assert rate["expected_error"]["tpot"]["slice"] != "this server"
    # Written down again, it is still that server; edited, it is not.
    (ridgeline.folder / "again.json").write_text(json.dumps(run_config(ridgeline, load)))
    assert result_of(ridgeline, "again.json")["expected_error"]["tpot"]["slice"] == "this server"
    text = (ridgeline.folder / "mine.yaml").read_text()
    ridgeline.write("edited.yaml", text.replace("\ngpu: h100\n", "\ngpu: h200\n"))
    assert result_of(ridgeline, "edited.yaml", *load, "6")["expected_error"]["tpot"]["slice"] != "this server"
    ridgeline.write("odd.yaml", text.replace("records: 4", "records: some"))
    refused = ridgeline("run", "odd.yaml", *load, "6")
    assert refused.returncode == 2 and "calibrated.records" in refused.stderr


def run_config(ridgeline, load):
    return result_of(ridgeline, "mine.yaml", *load, "6")["config"]
