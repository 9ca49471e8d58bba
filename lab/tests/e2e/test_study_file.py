"""Studies that are files: written, run elsewhere, wrong."""

import json

import pytest

from conftest import SOURCE

EXAMPLE = SOURCE / "examples" / "studies" / "decode-by-ranks.yaml"
FILES = SOURCE / "lab" / "data" / "studies"


def report_of(ridgeline, *words):
    done = ridgeline("study", "run", *words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_new_study_runs_as_it_is(ridgeline, tmp_path):
    assert ridgeline("study", "new", "mine").returncode == 0
    report = report_of(ridgeline, "mine.yaml")
    assert report["study"] == "mine" and report["verdict_by_rule"] == "confirmed"
    assert [row["holds"] for row in report["tables"]["checks"]] == [True]
    again = ridgeline("study", "new", "mine")
    assert again.returncode == 2 and "mine.yaml is there already" in again.stderr
    assert ridgeline("study", "new", "../mine").returncode == 2


def test_the_example_was_written_from_the_page(ridgeline):
    report = report_of(ridgeline, EXAMPLE)
    steps = report["tables"]["steps"]
    worst = min(row["speedup"] for row in steps)
    assert report["verdict_by_rule"] == ("refuted" if worst < 1.8 else "confirmed")
    assert f"{worst:.2f}" in report["because"]
    assert [row["gpus"] for row in report["tables"]["under_load"]] == [2, 4, 2, 4]
    # A step is what `ridgeline step` prices.
    priced = ridgeline("step", "--model", "llama-3.1-70b", "--gpu", "h200", "--tp", "2", "--decode", "2048x8",
                       "--format", "json")
    assert steps[1]["two_us"] == round(json.loads(priced.stdout)["step_us"])
    smaller = report_of(ridgeline, EXAMPLE, "--gpu", "b200", "--model", "qwen2.5-32b")
    assert "Run here for qwen2.5-32b on b200." in smaller["held_fixed"]
    assert smaller["tables"]["steps"][0]["two_us"] < steps[0]["two_us"]


def test_the_study_on_the_page_runs(ridgeline, tmp_path):
    page = (SOURCE / "lab" / "docs" / "studies.md").read_text(encoding="utf-8")
    text = page.split("```yaml\n")[1].split("```")[0]
    path = tmp_path / "mine.yaml"
    path.write_text("".join(line + "\n" for line in text.splitlines() if not line.startswith("  floor:")))
    report = report_of(ridgeline, path)
    assert [(row["batch"], row["gpu"]) for row in report["tables"]["batches"]][:3] == [
        (1, "h100"), (1, "a100-80gb"), (8, "h100")]
    path.write_text(text)
    needs = ridgeline("study", "run", path)
    assert needs.returncode == 2 and "--bench-data: missing" in needs.stderr


@pytest.mark.parametrize("wrong, told", [
    (("claim: Going", "clame: Going"), ("claim", "missing")),
    (("latency: kernel", "latency: kernels"), ("arms.kernel.latency", "kernels")),
    (("gpu: h200", "gpu: h2000"), ("gpu", "h2000")),
    (("tensor_parallel_size: 2", "tensor_parallel_size: two"), ("fixed.tensor_parallel_size", "two")),
    (("workload.num_prompts: 100", "workload.num_promts: 100"), ("num_promts", "num_prompts")),
    (("batch: batch\n      two", "batch: bach\n      two"), ("tables.steps.columns.batch", "bach")),
    (("round(speedup(batch), 3)", "round(speedup(batch, 3)"), ("tables.steps.columns.speedup", "speedup")),
    (("grid: {rate: [1, 4]", "grid: {rate: 4"), ("tables.under_load.grid.rate", "expected a list")),
    (("{worst:.2f}, at a", "{worst:2q}, at a"), ("because", "2q")),
    (("baseline: us(batch, 2)", "base: us(batch, 2)"), ("effects.four GPUs for two.baseline", "missing")),
])
def test_each_problem_names_its_place(ridgeline, tmp_path, wrong, told):
    path = tmp_path / "wrong.yaml"
    text = EXAMPLE.read_text()
    assert wrong[0] in text
    path.write_text(text.replace(wrong[0], wrong[1]))
    done = ridgeline("study", "run", path)
    assert done.returncode == 2 and done.stdout == ""
    for part in told:
        assert part in done.stderr, done.stderr


def test_a_check_that_fails_ends_with_1(ridgeline, tmp_path):
    path = tmp_path / "strict.yaml"
    path.write_text(EXAMPLE.read_text().replace("us(b, 4) < us(b, 2)", "us(b, 4) > us(b, 2)"))
    done = ridgeline("study", "run", path)
    assert done.returncode == 1 and "| more GPUs never make a step longer | no |" in done.stdout


def test_a_study_in_cpp_stays_where_it_is(ridgeline):
    done = ridgeline("study", "run", "h6", "--gpu", "h200")
    assert done.returncode == 2 and "--gpu" in done.stderr and "'h6' is no study of a file" in done.stderr


def test_every_file_follows_the_schema(ridgeline):
    jsonschema = pytest.importorskip("jsonschema")
    yaml = pytest.importorskip("yaml")
    schema = json.loads(ridgeline("schema", "study").stdout)
    for path in (EXAMPLE, FILES / "new-study.txt", *FILES.glob("h*.yaml")):
        jsonschema.validate(yaml.safe_load(path.read_text()), schema)
    result = json.loads(ridgeline("schema", "study-result").stdout)
    jsonschema.validate(report_of(ridgeline, EXAMPLE), result)
