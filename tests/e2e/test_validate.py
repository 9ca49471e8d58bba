"""validate and calibrate on small files of measured runs."""

import json

import pytest
from conftest import SHARED

RECORD = {
    "id": "one",
    "family": "own",
    "stage": "point",
    "model": "meta-llama/Llama-2-7b-hf",
    "gpu": "H100-SXM-80GB",
    "tp": 1,
    "engine": "vllm",
    "engine_version": "0.11.0",
    "server": {"max_num_seqs": 8, "max_model_len": 4096},
    "workload": {
        "loop": "closed",
        "concurrency": 2,
        "num_requests": 6,
        "input": {"kind": "fixed", "nominal_tokens": 256},
        "output": {"kind": "fixed", "nominal_tokens": 16},
    },
    "measured": {"ttft_ms": {"mean": 40}, "tpot_ms": {"mean": 7}, "e2e_ms": {"mean": 150}},
    "predictions": {"other": {"tpot_ms": {"mean": 14}}},
}


def write(folder, *records):
    path = folder / "runs.jsonl"
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in records) + "\n")
    return path


def test_every_record_is_scored_or_left_out_with_a_reason(ridgeline):
    path = write(ridgeline.folder, RECORD, "{", {**RECORD, "id": "two", "gpu": "Abacus"})
    ran = ridgeline("validate", path, "--format", "json", "--histories", "1")
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    assert result["counts"] == {
        "records": 3,
        "scored": 1,
        "saturated": 0,
        "contradicted": 0,
        "unpredicted": 1,
        "unreadable": 1,
    }
    assert [record["standing"] for record in result["records"]] == ["scored", "unreadable", "unpredicted"]
    first = result["scores"][0]
    assert (first["axis"], first["value"], first["n"]) == ("all", "all", 1)
    assert result["peers"][0]["median_abs_pct"] == 100
    record = result["records"][0]
    error = 100 * (record["predicted"]["tpot"]["mean"] / 7 - 1)
    assert abs(record["error_pct"]["tpot"]["mean"] - error) < 1e-9


def test_scoring_nothing_is_no_success(ridgeline):
    path = write(ridgeline.folder, {**RECORD, "gpu": "Abacus"}, {**RECORD, "id": "two", "gpu": "Abacus"})
    ran = ridgeline("validate", path, "-o", "v.json")
    assert ran.returncode == 99
    assert "error: nothing was scored of 2 records: " in ran.stderr and "Abacus" in ran.stderr and "runs.jsonl:1" in ran.stderr
    assert json.loads((ridgeline.folder / "v.json").read_text())["scores"] == []


def test_a_median_is_shown_where_no_mean_was_measured(ridgeline):
    path = write(ridgeline.folder, {**RECORD, "measured": {"ttft_ms": {"p50": 40}, "tpot_ms": {"mean": 7, "p50": 7}}})
    lines = [line.split() for line in ridgeline("validate", path).stdout.splitlines() if line.startswith("all all")]
    assert [line[2:4] for line in lines] == [["ttft", "p50"], ["tpot", "mean"]]


def test_a_file_without_a_readable_record_is_the_wrong_file(ridgeline):
    path = write(ridgeline.folder, "root:x:0:0", "daemon:x:1:1")
    ran = ridgeline("validate", path)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "none of 2 records can be read" in ran.stderr
    assert f"{path}:1" in ran.stderr


def test_threads_change_no_byte(ridgeline):
    path = write(ridgeline.folder, RECORD, {**RECORD, "id": "two", "gpu": "A100-SXM-80GB"})
    one, two = (
        ridgeline("validate", path, "--format", "json", "--threads", threads).stdout for threads in (1, 2)
    )
    assert one == two


def test_thresholds_decide_the_exit_code(ridgeline):
    path = write(ridgeline.folder, RECORD)
    assert ridgeline("validate", path, "--fail-over", "e2e=1000,p95:tpot=1000").returncode == 0
    assert ridgeline("validate", path, "--fail-over", "p99:e2e=1000").returncode == 0
    assert ridgeline("validate", path, "--fail-over", "p99:e2e=0").returncode == 99
    assert ridgeline("validate", path, "--fail-over", "tpot=0").returncode == 99
    assert ridgeline("validate", path, "--fail-over", "speed=1").returncode == 2
    assert ridgeline("validate", path, "--fail-over", "e2e").returncode == 2
    # Nothing of its power is known.
    assert ridgeline("validate", path, "--fail-over", "watts_per_gpu=1000").returncode == 99


def test_power_is_scored_where_nothing_else_was_measured(ridgeline):
    power = {"power": {"mean_w_per_gpu": 420, "joules_per_output_token": 1.5}}
    path = write(ridgeline.folder, {**RECORD, "measured": power})
    ran = ridgeline("validate", path, "--histories", "1", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    [record] = result["records"]
    assert record["measured"] == {"watts_per_gpu": {"mean": 420}, "joules_per_output_token": {"mean": 1.5}}
    watts = record["predicted"]["watts_per_gpu"]["mean"]
    assert 209 < watts < 683
    assert abs(record["error_pct"]["watts_per_gpu"]["mean"] - 100 * (watts / 420 - 1)) < 1e-9
    for form in ("table", "markdown", "csv", "html"):
        out = ridgeline("validate", path, "--histories", "1", "--format", form)
        assert "joules_per_output_token" in out.stdout, form
    assert ridgeline("validate", path, "--fail-over", "watts_per_gpu=1000").returncode == 0
    assert ridgeline("validate", path, "--fail-over", "joules_per_output_token=0").returncode == 99


def test_power_below_an_idle_gpus_is_left_out(ridgeline):
    measured = {**RECORD["measured"], "power": {"mean_share_of_tdp": 0.18, "tdp_w": 700}}
    alone = {**RECORD, "id": "alone", "measured": {"power": {"mean_w_per_gpu": 69}}}
    ran = ridgeline("validate", write(ridgeline.folder, {**RECORD, "measured": measured}, alone), "--format", "json")
    assert ran.returncode == 0, ran.stderr
    # 130 of 700 W.
    assert "one: watts_per_gpu is 126, expected 130 at least" in ran.stderr
    kept, refused = json.loads(ran.stdout)["records"]
    assert kept["standing"] == "scored" and "tpot" in kept["error_pct"]
    assert "watts_per_gpu" not in kept["measured"] and len(kept["doubts"]) == 1
    assert refused["standing"] == "unpredicted" and refused["reason"].startswith("watts_per_gpu is 69, expected 130")


def test_a_sweep_that_does_not_follow_its_concurrency_is_scored_apart(ridgeline):
    def point(clients, tpot):
        workload = {**RECORD["workload"], "concurrency": clients, "num_requests": 2 * clients}
        server = {**RECORD["server"], "max_num_seqs": clients}
        return {**RECORD, "id": f"c{clients}", "workload": workload, "server": server,
                "measured": {"tpot_ms": {"mean": tpot}}}

    flat = ridgeline(
        "validate", write(ridgeline.folder, point(8, 20), point(64, 20.9)), "--format", "json", "--histories", "1")
    assert flat.returncode == 99 and "error: nothing was scored of 2 records: " in flat.stderr, flat.stderr
    why = "the time per token does not grow with the concurrency (20.0 ms with 8 requests in flight, 20.9 with 64)"
    assert flat.stderr.count(why) == 2  # The warning, and the error.
    result = json.loads(flat.stdout)
    assert result["counts"]["contradicted"] == 2 and result["counts"]["scored"] == 0
    assert {(row["axis"], row["value"]) for row in result["scores"]} == {("all", "contradicted")}
    assert all(record["reason"].startswith(why) for record in result["records"])
    steep = ridgeline("validate", write(ridgeline.folder, point(8, 20), point(64, 21)), "--format", "json", "--histories", "1")
    assert json.loads(steep.stdout)["counts"]["scored"] == 2


def test_points_near_the_front_ends_limit_are_named(ridgeline):
    workload = {
        "loop": "closed",
        "concurrency": 256,
        "num_requests": 256,
        "input": {"kind": "fixed", "nominal_tokens": 64},
        "output": {"kind": "fixed", "nominal_tokens": 256},
    }

    def bounds(*flags, **server):
        record = {**RECORD, "model": "meta-llama/Llama-3.1-8B", "workload": workload, "server": server}
        ran = ridgeline("validate", write(ridgeline.folder, record), "--format", "json", "--histories", "1", *flags)
        result = json.loads(ran.stdout)
        state = result["records"][0]["state"]
        values = {row["value"] for row in result["scores"] if row["axis"] == "bound"}
        return values, state["front_end_bound"], state["front_end_near"]

    # The process is at work for some 0.8 of a step. A host that is known is bound or is not.
    assert bounds() == ({"front end near"}, False, True)
    assert bounds(stream_interval=20) == ({"engine"}, False, False)
    assert bounds("--frontend-output-time", "60us") == ({"engine"}, False, False)
    assert bounds("--frontend-output-time", "140us") == ({"front end"}, True, False)


def test_a_fleet_is_predicted_or_refused_by_its_policy(ridgeline):
    fleet = {**RECORD, "cluster": {"instances": 2, "policy": "Round Robin"}}
    unknown = {**fleet, "id": "unknown", "cluster": {"instances": 4, "policy": "tea leaves"}}
    wrong = {**fleet, "id": "wrong", "cluster": {"instances": "four", "policy": "random"}}
    system = {**RECORD, "id": "two", "tp": None, "num_gpus": 8}
    ran = ridgeline("validate", write(ridgeline.folder, fleet, unknown, wrong, system), "--format", "json")
    assert ran.returncode == 0, ran.stderr
    two, refused, misread, alike = json.loads(ran.stdout)["records"]
    assert two["standing"] == "scored"
    assert (refused["standing"], refused["reason"]) == (
        "unpredicted", "cluster.policy: there is no router for tea leaves")
    assert misread["standing"] == "unreadable"
    assert misread["reason"].startswith("cluster.instances: found")
    assert alike["standing"] == "scored"
    assert "tensor parallelism 1: the least that holds the network" in alike["assumed"]


def test_prefill_and_decode_apart_are_predicted(ridgeline):
    side = {"instances": 1, "tp": 1}
    apart = {
        **RECORD,
        "cluster": {"prefill": side, "decode": side, "transfer": "RDMA over InfiniBand"},
        "workload": {"loop": "low load", "input": {"kind": "fixed", "nominal_tokens": 512}},
        "measured": {"ttft_ms": {"mean": 40}, "kv_transfer_ms": 15},
    }
    path = write(ridgeline.folder, apart)
    [record] = json.loads(ridgeline("validate", path, "--format", "json").stdout)["records"]
    # 512 tokens of 32 layers, 4,096 values of K and V, 2 bytes: 268 MB at 18 GB/s, after 0.4 ms.
    assert abs(record["predicted"]["kv_transfer"]["mean"] - (0.4 + 268.4 / 18)) < 0.05
    assert any("answers of one token" in assumed for assumed in record["assumed"])
    assert ridgeline("validate", path, "--fail-over", "kv_transfer=5").returncode == 0
    assert ridgeline("validate", path, "--fail-over", "kv_transfer=0").returncode == 99


def test_sides_that_differ_and_data_parallel_ranks_are_predicted(ridgeline):
    two, one = {"instances": 1, "tp": 2}, {"instances": 1, "tp": 1}
    low = {"loop": "low load", "input": {"kind": "fixed", "nominal_tokens": 512}}
    differ = {
        **RECORD,
        "cluster": {"prefill": two, "decode": one, "transfer": "RoCE"},
        "workload": low,
        "measured": {"ttft_ms": {"mean": 40}, "kv_transfer_ms": 15},
    }
    wide = {"instances": 1, "tp": 1, "dp": 2, "ep": 2}
    ranks = {
        **differ,
        "id": "ranks",
        "model": "Qwen/Qwen3-30B-A3B",
        "cluster": {"prefill": wide, "decode": wide, "transfer": "RDMA"},
    }
    router = {**RECORD, "id": "router", "dp": 2, "cluster": {"instances": 2, "policy": "round robin"}}
    mixed = {**ranks, "id": "mixed", "cluster": {"prefill": wide, "decode": one}}
    path = write(ridgeline.folder, differ, ranks, router, mixed)
    ran = ridgeline("validate", path, "--histories", 1, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    differ, ranks, router, mixed = json.loads(ran.stdout)["records"]
    # The side with one GPU has one pair of cards: as above.
    assert abs(differ["predicted"]["kv_transfer"]["mean"] - (0.4 + 268.4 / 18)) < 0.05
    # 48 layers of 4 heads of 128 values: 50 MB.
    assert abs(ranks["predicted"]["kv_transfer"]["mean"] - (0.4 + 50.33 / 18)) < 0.05
    assert not any("one is simulated" in assumed for assumed in ranks["assumed"] + router["assumed"])
    assert router["standing"] == "scored"
    assert mixed["reason"] == (
        "cluster: prefill of tp 1 and dp 2, decode of tp 1 and dp 1: data-parallel ranks are simulated where both are alike")


PUBLISHED_FLEETS = {  # Records, of which predicted, and what the others' reasons say.
    "new-llmd-routing": (30, 30, ""),
    "new-kthena-routing": (3, 0, "gpu is missing"),
    "new-pd-disaggregated": (5, 3, "model and gpu are missing"),
}


@pytest.mark.parametrize("name", PUBLISHED_FLEETS)
def test_published_fleets_are_predicted_or_say_what_they_lack(ridgeline, name):
    path = SHARED / "groundtruth" / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"needs {name} of ../shared/groundtruth")
    ran = ridgeline("validate", path, "--histories", 1, "--format", "json")
    known, predicted, reason = PUBLISHED_FLEETS[name]
    assert ran.returncode == (0 if predicted else 99), ran.stderr
    records = json.loads(ran.stdout)["records"]
    assert len(records) == known
    assert sum(record["predicted"] is not None for record in records) == predicted
    assert {record["reason"] for record in records if record["predicted"] is None} <= {reason}
    for record in records:
        overloaded = record["measured"].get("ttft", {}).get("p90", 0) > 10_000
        assert (record["standing"] == "saturated") == overloaded, record["id"]


def test_records_off_by_a_fifth_are_named(ridgeline):
    far = {**RECORD, "id": "far", "measured": {**RECORD["measured"], "e2e_ms": {"mean": 1}}}
    path = write(ridgeline.folder, RECORD, far)
    result = json.loads(ridgeline("validate", path, "--format", "json").stdout)
    assert "far" in [outlier["id"] for outlier in result["outliers"]]
    assert all(abs(outlier["error_pct"]) > 20 for outlier in result["outliers"])
    worst = max(result["records"], key=lambda record: abs(record["error_pct"]["e2e"]["mean"]))
    assert result["outliers"][0]["id"] == worst["id"]
    axes = {row["axis"] for row in result["scores"]}
    assert {"stage", "phase", "batch", "context"} <= axes
    assert "over 20 %" in ridgeline("validate", path).stdout


def test_files_are_written_by_their_extension(ridgeline):
    path = write(ridgeline.folder, RECORD)
    assert ridgeline("validate", path, "-o", "v.csv", "-o", "v.html", "-o", "v.md", "-o", "v.json").returncode == 0
    assert (ridgeline.folder / "v.csv").read_text().startswith("id,family")
    assert "</html>" in (ridgeline.folder / "v.html").read_text()
    assert "# Predicted and measured" in (ridgeline.folder / "v.md").read_text()
    json.loads((ridgeline.folder / "v.json").read_text())


def test_bad_usage(ridgeline):
    assert ridgeline("validate").returncode == 2
    assert ridgeline("validate", "none.jsonl").returncode == 2
    path = write(ridgeline.folder, RECORD)
    assert ridgeline("validate", path, "--histories", "0").returncode == 2


def test_a_calibration_is_a_scenario(ridgeline):
    records = []
    for clients in (1, 4, 8):
        workload = {**RECORD["workload"], "concurrency": clients, "num_requests": 3 * clients}
        records.append({**RECORD, "id": str(clients), "workload": workload})
    path = write(ridgeline.folder, *records)
    ran = ridgeline("calibrate", path, "-o", "mine.yaml", "--fit", "delivery_time", "--histories", "1")
    assert ran.returncode == 0, ran.stderr
    assert "delivery_time" in (ridgeline.folder / "mine.yaml").read_text()
    ran = ridgeline(
        *("run", "mine.yaml", "--model", "llama-2-7b", "--gpu", "h100", "--request-rate", "5"),
        *("--num-prompts", "5", "--input-len", "64", "--output-len", "8"),
    )
    assert ran.returncode == 0, ran.stderr


def test_an_undetermined_constant_is_refused(ridgeline):
    path = write(ridgeline.folder, {**RECORD, "engine_version": "0.15.1"})
    ran = ridgeline("calibrate", path, "--fit", "host_step_time", "--histories", "1")
    assert ran.returncode == 2
    assert "cannot be fitted" in ran.stderr


def scored(ridgeline, *records):
    done = ridgeline("validate", write(ridgeline.folder, *records), "--format", "json", "--histories", "1")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["records"]


def test_other_engines_are_simulated_with_the_settings_that_a_record_names(ridgeline):
    sglang = {**RECORD, "engine": "sglang", "engine_version": "0.5.9", "server": {"chunked_prefill_size": 128}}
    whole = {**sglang, "id": "whole", "server": {"chunked_prefill_size": 4096}}
    tensorrt = {**RECORD, "id": "trt", "engine": "trtllm", "engine_version": "1.2.0rc6", "server": {"max_batch_size": 8}}
    other = {**RECORD, "id": "tgi", "engine": "tgi"}
    records = scored(ridgeline, sglang, whole, tensorrt, other)
    assert [record["standing"] for record in records] == ["scored", "scored", "scored", "unpredicted"]
    assert "tgi is not simulated, only vllm, sglang and tensorrt-llm" in records[3]["reason"]
    # A prompt of 256 tokens in two chunks takes two steps.
    assert records[0]["predicted"]["ttft"]["mean"] > records[1]["predicted"]["ttft"]["mean"] + 3


def test_flags_and_recipes_of_a_record_are_settings(ridgeline):
    moe = {
        **RECORD,
        "model": "openai/gpt-oss-120b",
        "gpu": "H200-SXM-141GB",
        "engine_version": "0.18.0",
        "workload": {**RECORD["workload"], "input": {"kind": "fixed", "nominal_tokens": 1000}},
    }
    marlin = {**moe, "id": "marlin", "recipe": {"moe": "marlin"}}
    launched = {**moe, "id": "launched", "tp": 8}
    captured = {**launched, "id": "captured", "server": {**moe["server"], "max_cudagraph_capture_size": 2048}}
    plain, marlin, launched, captured = (
        record["predicted"]["ttft"]["mean"] for record in scored(ridgeline, moe, marlin, launched, captured)
    )
    # Another kernel takes another time; a larger graph spares the host's launches.
    assert marlin != plain
    assert captured < launched
