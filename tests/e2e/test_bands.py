"""Error bands: run names them."""

import json
import subprocess
import sys

from conftest import SOURCE

RUN = ("run", "--model", "llama-3.1-8b", "--num-prompts", 50, "--request-rate", 4, "--input-len", 512, "--output-len", 64)


def test_a_result_names_its_band(ridgeline):
    ran = ridgeline(*RUN, "--gpu", "h100", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    own = json.loads(ran.stdout)["expected_error"]["tpot"]
    assert own["fitted"] and own["unknown"] == [] and own["groups"] >= 20
    other = json.loads(ridgeline(*RUN, "--gpu", "l4", "--format", "json").stdout)["expected_error"]["tpot"]
    assert other["unknown"] == ["gpu"] and not other["fitted"]
    assert all(other[of]["low"] < own[of]["low"] and other[of]["high"] > own[of]["high"] for of in ("p50_pct", "p90_pct"))
    table = " ".join(ridgeline(*RUN, "--gpu", "l4").stdout.split())
    assert f"as {other['groups']} unseen deployments ({other['slice']})" in table and "the nearest that was has another gpu" in table, table
    assert f"as {own['groups']} measured deployments ({own['slice']})" in " ".join(ridgeline(*RUN, "--gpu", "h100").stdout.split())


def test_latencies_of_an_overload_have_no_band(ridgeline):
    words = [word if word != 4 else 400 for word in RUN]
    words[words.index("--num-prompts") + 1] = 4000
    ran = ridgeline(*words, "--gpu", "h100", "--format", "json")
    result = json.loads(ran.stdout)
    assert result["summary"]["overload"] and sorted(result["expected_error"]) == ["output_throughput", "tpot", "watts_per_gpu"]
    assert "<small>the queue grows: it says how long the run is</small>" in ridgeline(*words, "--gpu", "h100", "--format", "html").stdout


def test_a_rate_of_output_that_is_given_has_no_band(ridgeline):
    ran = ridgeline(*RUN, "--gpu", "h100", "--format", "json")
    assert "output_throughput" not in json.loads(ran.stdout)["expected_error"]  # 4 requests a second came, and 4 went.
    table = " ".join(ridgeline(*RUN, "--gpu", "h100").stdout.split())
    assert "above 0: predicted too high" in table and "output −" not in table, table
    page = ridgeline(*RUN, "--gpu", "h100", "--format", "html").stdout
    assert "<small>set by the rate of requests</small>" in page
    closed = ridgeline(*RUN[:-6], "--max-concurrency", 4, "--input-len", 512, "--output-len", 64, "--gpu", "h100", "--format", "json")
    assert "output_throughput" in json.loads(closed.stdout)["expected_error"]


def test_another_model_of_step_times_has_no_band(ridgeline):
    ran = ridgeline(*RUN, "--gpu", "h100", "--latency", "kernel-first", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    assert "expected_error" not in json.loads(ran.stdout)


def test_the_page_shows_the_file():
    page = [sys.executable, SOURCE / "tools" / "bands_page.py", "--check"]
    done = subprocess.run(page, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
