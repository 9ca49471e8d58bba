"""What clients of a server write: written by a run, read back by validate and calibrate."""

import json
import os

import pytest

MODEL = ("--model", "llama-3.1-8b")
SERVER = (*MODEL, "--gpu", "h100")
CLIENTS = ("vllm-bench", "guidellm", "inference-perf", "aiperf")
# Prompts and answers of different lengths, so that every request has times of its own.
LENGTHS = (
    *("--num-prompts", "120", "--seed", "3"),
    *("--input-len", "{distribution: uniform, min: 100, max: 900}"),
    *("--output-len", "{distribution: uniform, min: 1, max: 120}"),
)
LOADS = {
    "open": ("--request-rate", "8"),
    "even": ("--request-rate", "4", "--arrivals", "constant"),
    "closed": ("--max-concurrency", "12"),
    "at once": ("--arrivals", "at-once"),
}


def written(ridgeline, name, client, *words):
    ran = ridgeline("run", *words, "--client-results", f"{client}={name}", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def errors_of(ridgeline, name, *words):
    ran = ridgeline("validate", name, *words, "--histories", "1", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    record = json.loads(ran.stdout)["records"][0]
    assert record["standing"] == "scored", record
    return {
        f"{figure}.{level}": error
        for figure, levels in record["error_pct"].items()
        for level, error in levels.items()
        if error is not None
    }


def calibrated(ridgeline, *words):
    ran = ridgeline("calibrate", *words, "--histories", "1", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_client_writes_comes_back(ridgeline, client, load):
    written(ridgeline, "r.json", client, *SERVER, *LENGTHS, *LOADS[load])
    errors = errors_of(ridgeline, "r.json", *SERVER)
    assert {"e2e.mean", "ttft.mean", "tpot.mean"} <= set(errors)
    assert max(map(abs, errors.values())) < 0.5, errors


def test_records_of_single_requests_come_back_alone(ridgeline):
    for client, records in (("inference-perf", "r_per_request.json"), ("aiperf", "r.jsonl")):
        written(ridgeline, "r.json", client, *SERVER, *LENGTHS, *LOADS["open"])
        errors = errors_of(ridgeline, records, *SERVER)
        assert max(map(abs, errors.values())) < 0.5, errors


def test_the_client_stops_at_the_last_token(ridgeline):
    words = (*SERVER, "--num-prompts", "20", "--request-rate", "2", "--input-len", "64", "--output-len", "1")
    written(ridgeline, "v.json", "vllm-bench", *words, "--close-time", "50ms")
    result = json.loads((ridgeline.folder / "v.json").read_text())
    assert abs(result["mean_e2el_ms"] - result["mean_ttft_ms"]) < 1e-9
    written(ridgeline, "v.json", "vllm-bench", *SERVER, *LENGTHS, *LOADS["open"])
    result = json.loads((ridgeline.folder / "v.json").read_text())
    gaps = [gap for itl in result["itls"] for gap in itl]
    assert [len(itl) + 1 for itl in result["itls"]] == result["output_lens"]
    assert abs(1000 * sum(gaps) / len(gaps) - result["mean_itl_ms"]) < 1e-6
    assert abs(1000 * max(gaps) - 0) > 0 and abs(sorted(gaps)[len(gaps) // 2] * 1000 - result["median_itl_ms"]) < 0.5


def test_the_file_says_the_sampling_it_ran_with(ridgeline):
    result = written(ridgeline, "v.json", "vllm-bench", *SERVER, *LENGTHS, *LOADS["open"])
    assert [w["hint"] for w in result["warnings"] if w["code"] == "W-client-sampling"] == ["--generation-config vllm"]
    assert json.loads((ridgeline.folder / "v.json").read_text())["generation_config"] == "auto"
    plain = (*SERVER, "--generation-config", "vllm")
    result = written(ridgeline, "v.json", "vllm-bench", *plain, *LENGTHS, *LOADS["open"])
    assert not [w for w in result["warnings"] if w["code"] == "W-client-sampling"]
    assert max(map(abs, errors_of(ridgeline, "v.json", *SERVER).values())) < 0.5


def at_rates(ridgeline, rates, *words, client="guidellm"):
    files = []
    for rate in rates:
        files.append(f"r{rate}.json")
        written(ridgeline, files[-1], client, *SERVER, "--num-prompts", "60", "--request-rate", str(rate), *words)
    return files


ONE_LENGTH = ("--input-len", "1024", "--output-len", "64")
VARIED = ("--input-len", "{distribution: uniform, min: 100, max: 3000}", "--output-len", "40")
# Name, constant that was set, its value in us, words of the run, words of the calibration.
TRUTHS = {
    "a constant before the first token": ("delivery_time", 9150.0, ("--delivery-time", "9150us", *ONE_LENGTH), ()),
    "the end of the stream": ("close_time", 30000.0, ("--close-time", "30ms", *ONE_LENGTH), ()),
    "a synchronous host": (
        *("host_step_time", 2500.0),
        ("--host-step-time", "2500us", "--no-async-scheduling", *ONE_LENGTH),
        ("--no-async-scheduling",),
    ),
    "a slow network, prompts of all lengths": ("delivery_time", 40000.0, ("--delivery-time", "40ms", *VARIED), ()),
}


@pytest.mark.parametrize("truth", TRUTHS)
def test_a_constant_that_was_set_comes_back(ridgeline, truth):
    name, value, run, calibration = TRUTHS[truth]
    files = at_rates(ridgeline, (2, 6, 10), *run)
    result = calibrated(ridgeline, *files, *SERVER, *calibration)
    fitted = {row["name"]: row for row in result["fitted"]}
    assert abs(fitted[name]["value"] - value) < 0.05 * value, result
    assert result["after"]["mean_abs_pct"] < 0.5
    assert "frontend_token_time" not in fitted or truth.endswith("lengths")


def test_a_cost_per_token_comes_back_from_different_lengths(ridgeline):
    files = []
    for length in (200, 1000, 3000):
        files.append(f"l{length}.json")
        words = ("--num-prompts", "40", "--request-rate", "2", "--input-len", str(length), "--output-len", "30")
        written(ridgeline, files[-1], "guidellm", *SERVER, *words, "--frontend-token-time", "9us")
    fitted = {row["name"]: row["value"] for row in calibrated(ridgeline, *files, *SERVER)["fitted"]}
    assert abs(fitted["frontend_token_time"] - 9) < 0.5, fitted


def test_one_length_does_not_tell_a_cost_per_token(ridgeline):
    files = at_rates(ridgeline, (2, 6), *ONE_LENGTH)
    result = calibrated(ridgeline, *files, *SERVER)
    reasons = {row["name"]: row["reason"] for row in result["left_out"]}
    assert reasons["frontend_token_time"].startswith("not told apart from delivery_time"), reasons


@pytest.mark.parametrize("gpu", ("a100-80gb", "l40s", "b200"))
def test_a_wrong_gpu_is_not_explained_away(ridgeline, gpu):
    files = at_rates(ridgeline, (2, 6), *ONE_LENGTH)
    ran = ridgeline("calibrate", *files, *MODEL, "--gpu", gpu, "--histories", "1", "-o", "mine.yaml")
    assert ran.returncode == 99, ran.stdout
    assert "kernels do not match: wrong GPU, precision or flags" in ran.stderr
    assert "mine.yaml" not in ridgeline.files()


def test_one_record_has_no_interval(ridgeline):
    files = at_rates(ridgeline, (4,), *ONE_LENGTH)
    ran = ridgeline("calibrate", *files, *SERVER, "--histories", "1", "-o", "mine.yaml")
    assert ran.returncode == 0, ran.stderr
    assert "–: one record" in ran.stdout
    assert "nine in ten" not in ran.stdout
    text = (ridgeline.folder / "mine.yaml").read_text()
    assert "llama-3.1-8b on h100" in text and "one record: no interval" in text
    assert calibrated(ridgeline, *files, *SERVER)["cross_validated"] is None


def record(**changes):
    return {
        **{"id": "one", "family": "own", "exp_name": "a", "stage": "0", "model": "llama-3.1-8b", "gpu": "h100"},
        **{"workload": {"replay_file": "log.csv"}, "measured": {"ttft_ms": {"mean": 40}}},
        **changes,
    }


def reason_of(ridgeline, *words):
    ran = ridgeline("validate", "r.jsonl", *words, "--format", "json")
    assert ran.returncode in (0, 2), (ran.returncode, ran.stderr)
    return ran.stdout + ran.stderr


def test_rows_past_the_range_of_simulated_time_are_named(ridgeline):
    header = "exp,phase,arrival_s,input_tokens,output_tokens\n"
    ridgeline.write("log.csv", header + "a,0,0,64,8\na,0,9300000,64,8\n")
    ridgeline.write("r.jsonl", json.dumps(record()))
    assert "log.csv: line 3: arrival_s" in reason_of(ridgeline)
    ridgeline.write("log.csv", header + "a,0,9300000,64,8\n")
    assert "line 2: arrival_s" in reason_of(ridgeline)


def test_measured_numbers_out_of_range_are_refused(ridgeline):
    ridgeline.write("log.csv", "arrival_s,input_tokens,output_tokens\n0,64,8\n")
    ridgeline.write("r.jsonl", json.dumps(record(measured={"ttft_ms": {"mean": 1e308}})))
    assert "measured.ttft.mean: 1e+308 is out of range" in reason_of(ridgeline)


def test_records_open_files_of_their_folder_alone(ridgeline):
    os.mkfifo(ridgeline.folder / "pipe")
    for name in ("/etc/passwd", "../../etc/passwd", "pipe"):
        ridgeline.write("r.jsonl", json.dumps(record(workload={"replay_file": name})))
        told = reason_of(ridgeline)
        assert "is outside the records' folder" in told or "is no regular file" in told
