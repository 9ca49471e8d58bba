"""`run --steps-out` and `steps`: where the time went, operator by operator."""

import json

import pytest

from conftest import SHARED

RUN = ["run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "20", "--num-prompts", "30",
       "--input-len", "300", "--output-len", "40", "--steps-out", "steps.jsonl", "--format", "json"]


def records(ridgeline):
    return [json.loads(line) for line in (ridgeline.folder / "steps.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("more", [[], ["--no-jump"], ["--engine-core", "reference"], ["--latency", "v1"]])
def test_parts_sum_to_steps_and_steps_to_the_busy_time(ridgeline, more):
    done = ridgeline(*RUN, *more)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    busy = 0.0
    next_step = 0
    for record in records(ridgeline):
        assert record["step"] == next_step
        next_step += record["steps"]
        total = sum(part["us"] for part in record["parts"]) + record["rounding_us"]
        assert abs(total - record["busy_us"]) < 1e-6 * max(1.0, record["busy_us"])
        assert abs(record["rounding_us"]) < 1.0 * record["steps"]
        assert abs(sum(record["time_by_bottleneck"].values()) - (total - record["rounding_us"])) < 1e-3
        busy += record["busy_us"]
    assert next_step == result["summary"]["steps"]
    by_bottleneck = sum(result["summary"]["time_by_bottleneck"].values())
    scale = by_bottleneck / busy
    # The summary's unit is its own; the sums are the same time.
    assert any(abs(scale * unit - 1.0) < 1e-6 for unit in (1.0, 1e3, 1e6)), scale


def test_the_log_changes_nothing(ridgeline):
    logged = json.loads(ridgeline(*RUN).stdout)
    plain = json.loads(ridgeline(*[word for word in RUN if word not in ("--steps-out", "steps.jsonl")]).stdout)
    assert logged["digest"] == plain["digest"]


def test_summary(ridgeline):
    assert ridgeline(*RUN).returncode == 0
    done = ridgeline("steps", "steps.jsonl", "--format", "json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    log = records(ridgeline)
    assert summary["lines"] == len(log)
    assert summary["steps"] == sum(record["steps"] for record in log)
    for group in ("by_bottleneck", "by_phase", "by_operator"):
        share = sum(entry["share"] for entry in summary[group])
        assert abs(share - 1.0) < 1e-3, group
    assert {entry["name"] for entry in summary["by_phase"]} <= {"prefill", "decode", "mixed"}
    assert ridgeline("steps", "steps.jsonl").stdout.startswith(f"{summary['steps']} steps")


def test_rates_of_look_ups_and_what_holds_each_phase_up(ridgeline):
    made = ridgeline("kernels", "make", "--gpu", "h100", "--heads", "32-8-128", "--tp", "1", "-o", "made")
    assert made.returncode == 0, made.stderr
    done = ridgeline(*RUN, "--latency", "v2-final", "--bench-data", "made", "--debug")
    assert done.returncode == 0, done.stderr
    # 120 shapes of GEMM with 18 rows, 12 lengths of a prompt, 10 batches by 12 contexts.
    assert "loaded 2292 rows of 3 kernel tables from made (2160 gemm, 12 prefill attention, 120 decode" in done.stderr
    summary = json.loads(ridgeline("steps", "steps.jsonl", "--format", "json").stdout)
    log = records(ridgeline)
    lookups = sum(record["lookups"] for record in log)
    assert summary["table_lookups"] == lookups > 0
    assert summary["miss_rate"] == pytest.approx(sum(record["misses"] for record in log) / lookups)
    assert summary["hit_rate"] == pytest.approx(1 - summary["miss_rate"])
    sides = [record["bottleneck"] for record in log if record["bottleneck"] in ("memory", "compute")]
    turns = [pair for pair in zip(sides, sides[1:]) if pair[0] != pair[1]]
    assert summary["ridge_crossings"] == {
        "memory_to_compute": turns.count(("memory", "compute")),
        "compute_to_memory": turns.count(("compute", "memory")),
    }
    for phase in summary["by_phase"]:
        shares = summary["bottleneck_by_phase"][phase["name"]]
        assert sum(share["us"] for share in shares) == pytest.approx(phase["us"], rel=1e-3)
    assert "hits" in ridgeline("steps", "steps.jsonl").stdout


def test_logs_summaries_and_steps_keep_to_their_schemas(ridgeline):
    jsonschema = pytest.importorskip("jsonschema")

    def schema(name):
        return json.loads(ridgeline("schema", name).stdout)

    assert ridgeline(*RUN).returncode == 0
    for record in records(ridgeline):
        jsonschema.validate(record, schema("step-log"))
    jsonschema.validate(json.loads(ridgeline("steps", "steps.jsonl", "--format", "json").stdout), schema("steps"))
    of_a_step = schema("step")
    batch = ["step", "--model", "llama-3.1-8b", "--gpu", "h100", "--decode", "100,200", "--prefill", "0+512",
             "--format", "json"]
    for more in ([], ["--latency", "v1"], ["--compare", "v0,v1,kernel"]):
        one = json.loads(ridgeline(*batch, *more).stdout)
        jsonschema.validate(one, of_a_step)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**one, "models": []}, of_a_step)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "no step in it"),
        ("{\n", "bad.jsonl:1"),
        ('{"steps": 1, "busy_us": 2, "phase": "decode", "bottleneck": "memory", "parts": []}\n{"steps": 0}\n', "bad.jsonl:2"),
        ('{"steps": 1, "busy_us": "x", "phase": "decode", "bottleneck": "memory", "parts": []}\n', "busy_us"),
        ('{"steps": 1, "busy_us": 2, "phase": "decode", "bottleneck": "memory", "parts": 3}\n', "parts"),
    ],
)
def test_malformed_logs(ridgeline, text, message):
    ridgeline.write("bad.jsonl", text)
    done = ridgeline("steps", "bad.jsonl")
    assert done.returncode == 2 and message in done.stderr and done.stdout == ""


def test_usage(ridgeline):
    assert ridgeline("steps").returncode == 2
    done = ridgeline("steps", "missing.jsonl")
    assert done.returncode == 2 and "missing.jsonl" in done.stderr


def test_folded_stacks_are_the_time_of_the_parts(ridgeline):
    assert ridgeline(*RUN).returncode == 0
    folded = ridgeline("steps", "steps.jsonl", "--format", "folded")
    assert folded.returncode == 0, folded.stderr
    lines = [line.rsplit(" ", 1) for line in folded.stdout.splitlines()]
    assert all(stack.count(";") == 2 for stack, _ in lines)
    expected = sum(part["us"] for record in records(ridgeline) for part in record["parts"])
    assert abs(sum(int(us) for _, us in lines) - expected) <= len(lines)
    done = ridgeline("steps", "steps.jsonl", "-o", "run.folded", "--format", "quiet")
    assert done.returncode == 0, done.stderr
    assert (ridgeline.folder / "run.folded").read_text() == folded.stdout


@pytest.mark.skipif(not (SHARED / "kernels" / "blis_h100").is_dir(), reason="no measured tables")
def test_a_record_has_both_sides_of_each_part(ridgeline):
    load = ["--model", "llama-3.1-8b", "--gpu", "h100", "--num-prompts", "2", "--request-rate", "2", "--input-len", "300",
            "--output-len", "3"]
    for model in (["--latency", "v2-final", "--bench-data", SHARED / "kernels" / "blis_h100"], []):
        done = ridgeline("run", *load, *model, "--steps-out", "s.jsonl")
        assert done.returncode == 0, done.stderr
        record = json.loads((ridgeline.folder / "s.jsonl").read_text().splitlines()[0])
        part = next(part for part in record["parts"] if part["operator"] in ("q_proj", "qkv_proj"))
        # V2 takes the longer of arithmetic and bytes; in the kernel model the two overlap in part.
        longer = max(part["compute_us"], part["memory_us"])
        assert part["us"] == pytest.approx(longer) if model else longer < part["us"] < 2 * longer
        assert part["source"] and part["weight_bytes"] > 0 and record["kv_bytes"] > 0
        if model:
            assert part["mfu"] > 0 and part["row"] >= 2
            weights = next(side for side in record["hidden"] if side["operator"] == "weights")
            assert weights["bytes"] > 13e9
            assert any("MFU" in side["source"] for side in record["hidden"] + record["parts"])


@pytest.mark.skipif(not (SHARED / "kernels" / "blis_h100").is_dir(), reason="no measured tables")
def test_debug_names_tables_once_and_each_lookup_when_asked(ridgeline):
    run = ["run", "--model", "llama-3.1-8b", "--gpu", "h100", "--num-prompts", "1", "--request-rate", "2", "--input-len", "300",
           "--output-len", "2", "--latency", "v2-final", "--bench-data", SHARED / "kernels" / "blis_h100", "--format", "quiet"]
    tables = "llama-3.1-8b, heads 32-8-128, reads data.csv, 32-8-128.csv, 32-8-128-tp1.csv"
    plain = ridgeline(*run, "--debug")
    assert plain.stderr.count(tables) == 1 and "step 0:" not in plain.stderr
    every = ridgeline(*run, "--debug=lookups")
    assert every.stderr.count(tables) == 1
    assert "step 0: prefill q_proj 300x4096x4096: data.csv, MFU" in every.stderr
    assert ridgeline(*run, "--debug=what").returncode == 2
