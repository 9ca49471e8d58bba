"""What clients of a server write: written by a run, read back by validate and calibrate."""

import json
import os

import pytest
from conftest import too_long_sanitized

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
    assert reasons["frontend_token_time"].startswith("cannot be separated from delivery_time"), reasons


@too_long_sanitized
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


RANKS = ("--model", "qwen3-30b-a3b", "--gpu", "h200", "--data-parallel-size", "8", "--enable-expert-parallel")


@pytest.mark.parametrize("load", [("--request-rate", "16"), ("--max-concurrency", "24"), ("--max-concurrency", "4"),
                                  ("--arrivals", "at-once")])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_sees_all_data_parallel_ranks(ridgeline, client, load):
    if client == "inference-perf" and load == ("--max-concurrency", "4"):
        pytest.skip("its file does not say how many clients there are: four reach four of the ranks")
    result = written(ridgeline, "r.json", client, *RANKS, *LENGTHS, *load)
    # Percentiles of 15 requests and of each of them eight times lie between other neighbours.
    errors = {name: error for name, error in errors_of(ridgeline, "r.json", *RANKS).items() if name.endswith(".mean")}
    assert {"e2e.mean", "ttft.mean", "tpot.mean", "output_throughput.mean"} <= set(errors)
    assert max(map(abs, errors.values())) < 0.5, errors
    if client == "vllm-bench":
        file, whole = json.loads((ridgeline.folder / "r.json").read_text()), result["deployment"]
        assert file["num_prompts"] == len(file["start_times"]) == whole["requests"] == 120
        assert file["output_throughput"] == pytest.approx(whole["output_throughput"], rel=0.2)
        assert file["request_rate"] == whole["request_rate"] or load[0] != "--request-rate"


def test_calibrate_shares_the_load_among_data_parallel_ranks(ridgeline):
    for rate in ("8", "24"):
        written(ridgeline, f"{rate}.json", "vllm-bench", *RANKS, *LENGTHS, "--request-rate", rate,
                "--generation-config", "vllm", "--delivery-time", "30ms")
    result = calibrated(ridgeline, "8.json", "24.json", *RANKS)
    fitted = {row["name"]: row["value"] for row in result["fitted"]}
    assert fitted["delivery_time"] == pytest.approx(30000, rel=0.02)
    assert result["after"]["median_abs_pct"] < 0.5


def test_a_calibration_runs_as_it_is(ridgeline):
    files = at_rates(ridgeline, (1, 4), *ONE_LENGTH)
    ran = ridgeline("calibrate", *files, *SERVER, "--max-num-seqs", "64", "--histories", "1",
                    "-o", "mine.yaml", "-o", "mine.json")
    assert ran.returncode == 0, ran.stderr
    runs = []
    for name in ("mine.yaml", "mine.json"):
        ran = ridgeline("run", name, "--request-rate", "2", "--num-prompts", "20", "--input-len", "64", "--output-len", "8", "--format", "json")
        assert ran.returncode == 0, ran.stderr
        runs.append(json.loads(ran.stdout))
    config = runs[0]["config"]
    assert (config["model"], config["gpu"], config["engine"]["max_num_seqs"]) == ("llama-3.1-8b", "h100", 64)
    assert runs[0]["digest"] == runs[1]["digest"]
    assert json.loads((ridgeline.folder / "mine.json").read_text())["serving"]
    refused = ridgeline("calibrate", *files, *SERVER, "-o", "mine.csv")
    assert refused.returncode == 2 and "expected a name that ends in .yaml, .yml or .json" in refused.stderr
    assert not (ridgeline.folder / "mine.csv").exists()


def test_a_calibration_of_two_servers_names_what_they_share(ridgeline):
    written(ridgeline, "8b.json", "vllm-bench", *SERVER, *LENGTHS, "--request-rate", "2")
    written(ridgeline, "14b.json", "vllm-bench", "--model", "qwen3-14b", "--gpu", "h100", *LENGTHS, "--request-rate", "2")
    ran = ridgeline("calibrate", "8b.json", "14b.json", "--gpu", "h100", "--histories", "1", "-o", "mine.yaml")
    assert ran.returncode == 0, ran.stderr
    text = (ridgeline.folder / "mine.yaml").read_text()
    assert "\nmodel:" not in text and "\ngpu: h100\n" in text
    assert "as the records differ in it: model" in text


def test_a_file_given_twice_is_refused(ridgeline):
    files = at_rates(ridgeline, (1,), *ONE_LENGTH)
    os.symlink(files[0], ridgeline.folder / "link.json")
    ridgeline.write("copy.json", (ridgeline.folder / files[0]).read_text())
    for again in (files[0], f"./{files[0]}", "link.json", "copy.json"):
        for verb in ("calibrate", "validate"):
            ran = ridgeline(verb, files[0], again, *SERVER)
            assert ran.returncode == 2, ran.stdout
            assert f"'{again}' holds the same records as '{files[0]}'" in ran.stderr


# What is left with the constants fitted is more than the model's own error, and another server explains it.
@too_long_sanitized
@pytest.mark.parametrize("truth, flag", [
    (("--model", "llama-3.1-8b", "--gpu", "gh200"), "--gpu gh200"),
    (("--model", "llama-3.1-8b", "--gpu", "h100", "--no-async-scheduling", "--host-step-time", "4ms"), "--no-async-scheduling"),
])
def test_errors_that_are_left_name_what_would_explain_them(ridgeline, truth, flag):
    for rate in (1, 8, 16):
        written(ridgeline, f"{rate}.json", "vllm-bench", *truth, *LENGTHS, "--request-rate", str(rate))
    ran = ridgeline("calibrate", "1.json", "8.json", "16.json", *SERVER, "--histories", "1", "--format", "json")
    assert ran.returncode in (0, 99), ran.stderr
    assert flag in " ".join(ran.stderr.split()), ran.stderr
    assert json.loads(ran.stdout)["alternatives"][0]["flag"] == flag


def test_a_fit_that_leaves_little_names_no_other_server(ridgeline):
    files = at_rates(ridgeline, (1, 8), *ONE_LENGTH)
    ran = ridgeline("calibrate", *files, *SERVER, "--histories", "1", "--format", "json")
    assert ran.returncode == 0 and "W-kernels-in-doubt" not in ran.stderr
    assert json.loads(ran.stdout)["alternatives"] == []


def test_odd_parts_of_a_measured_file_are_named(ridgeline):
    written(ridgeline, "v.json", "vllm-bench", *SERVER, *LENGTHS, *LOADS["open"])
    sound = json.loads((ridgeline.folder / "v.json").read_text())
    for change, message in (
        ({"input_lens": [-7, *sound["input_lens"][1:]]}, "1 of 120 requests: input_lens[0] is -7"),
        ({"start_times": [None, *sound["start_times"][1:]]}, "1 of 120 requests: start_times[0] is null or NaN"),
        ({"ttfts": sound["ttfts"][1:]}, "ttfts has 119 items, expected 120"),
        ({"mean_ttft_ms": float("nan")}, "mean_ttft_ms is null or NaN"),
        ({"duration": sound["duration"] / 2}, "duration is"),
    ):
        ridgeline.write("odd.json", json.dumps({**sound, **change}))
        ran = ridgeline("validate", "odd.json", *SERVER, "--histories", "1")
        assert ran.returncode == 0, ran.stderr
        assert message in " ".join(ran.stderr.split()), ran.stderr


def test_broken_rows_beside_totals_are_named(ridgeline):
    for client, beside in (("aiperf", "r.jsonl"), ("inference-perf", "r_per_request.json")):
        written(ridgeline, "r.json", client, *SERVER, *LENGTHS, *LOADS["open"])
        text = (ridgeline.folder / beside).read_text()
        if client == "aiperf":
            lines = text.splitlines()
            text = "\n".join([*lines[:4], lines[4][:20], *lines[5:]]) + "\n"
        else:
            rows = json.loads(text)
            rows[4]["info"]["output_token_times"][0] = None
            text = json.dumps(rows)
        ridgeline.write(beside, text)
        for name in ("r.json", beside):
            ran = ridgeline("validate", name, *SERVER, "--histories", "1", "--format", "json")
            assert ran.returncode == 0, ran.stderr
            [record] = json.loads(ran.stdout)["records"]
            assert record["standing"] == "scored"
            [reason] = record["left_out"]
            assert reason.startswith("1 of 120 requests: " + ("line 5" if client == "aiperf" else "request 5")), reason
            assert "W-rows-left-out" in ran.stderr
        rows = (ridgeline.folder / beside).read_text()
        ridgeline.write(beside, rows[: len(rows) // 2] if client == "inference-perf" else "\n".join(rows.splitlines()[:60]))
        ran = ridgeline("validate", "r.json", *SERVER, "--histories", "1")
        assert f"{beside}" in ran.stderr and "it is not used" in " ".join(ran.stderr.split()), ran.stderr


def calibration(ridgeline, *words):
    ran = ridgeline("calibrate", *words, "--histories", "1", "--format", "json")
    return ran.returncode, json.loads(ran.stdout), " ".join(ran.stderr.split())


def test_a_record_that_is_not_fitted_is_named(ridgeline):
    for rate in ("6", "60"):
        written(ridgeline, f"{rate}.json", "vllm-bench", *SERVER, "--num-prompts", "600", "--request-rate", rate, *ONE_LENGTH[:2],
                "--output-len", "512", "--max-num-seqs", "64")
    code, result, said = calibration(ridgeline, "6.json", "60.json", *SERVER, "--max-num-seqs", "64")
    assert code == 0 and "W-record-unused" in said and "60.json" in said and "is saturated" in said, said
    [unused] = result["unused_records"]
    assert unused["standing"] == "saturated" and "completed of" in unused["reason"]
    ran = ridgeline("calibrate", "60.json", *SERVER, "--max-num-seqs", "64")
    assert ran.returncode == 2 and "none of 1 records can be used: 60.json" in ran.stderr, ran.stderr


# The last answers of a short run outlast the mean one.
def test_an_unloaded_run_is_not_saturated(ridgeline):
    lengths = (*LENGTHS[4:6], "--output-len", "{distribution: uniform, min: 1, max: 700}")
    for seed in range(2, 7):
        for client in ("vllm-bench", "guidellm"):
            written(ridgeline, "r.json", client, *SERVER, "--num-prompts", "300", "--request-rate", "6", "--seed", str(seed), *lengths)
            errors_of(ridgeline, "r.json", *SERVER)  # checks that the record is scored


def test_a_synchronous_server_is_told_from_one_file(ridgeline):
    [file] = at_rates(ridgeline, (4,), *ONE_LENGTH, "--no-async-scheduling", "--host-step-time", "2500us")
    code, result, said = calibration(ridgeline, file, *SERVER, "--no-async-scheduling")
    fitted = {row["name"]: row["value"] for row in result["fitted"]}
    assert code == 0 and abs(fitted["host_step_time"] - 2500) < 50, (result, said)
    assert result["left_pct"] < 0.5


@too_long_sanitized
def test_a_constant_at_its_bound_is_named(ridgeline):
    [file] = at_rates(ridgeline, (6,), *ONE_LENGTH)
    code, result, said = calibration(ridgeline, file, *SERVER, "--quantization", "fp8")
    assert [row["name"] for row in result["fitted"] if row["at_bound"]] == ["close_time"]
    assert code == 99 and "W-at-bound: close_time ended at its bound of 100000 us" in said, said
    assert result["left_without_bounds_pct"] > 15


@too_long_sanitized
def test_a_host_that_could_stand_in_for_kernels_is_named(ridgeline):
    files = at_rates(ridgeline, (3, 6, 9), *VARIED, client="vllm-bench")
    code, result, said = calibration(ridgeline, *files, *SERVER, "--quantization", "fp8", "--no-async-scheduling")
    host = [row["value"] for row in result["fitted"] if row["name"] == "host_step_time"]
    assert code == 0 and host[0] > 1200 and "W-host-step: host_step_time is fitted at" in said, (code, host, said)
    code, result, said = calibration(ridgeline, *files, *SERVER)
    assert code == 0 and "W-host-step" not in said, said


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
        reason = reason_of(ridgeline)
        assert "is outside the records' folder" in reason or "is no regular file" in reason
