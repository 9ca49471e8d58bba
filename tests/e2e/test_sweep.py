"""`ridgeline sweep`: the same bytes for any number of shards, threads and kills."""

import csv
import gzip
import json
import random
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BINARY, SHARED

SWEEP = """
model: llama-3.1-8b
gpu: h100
workload: {request_rate: 8, num_prompts: 200, input_len: 128, output_len: 32}
axes:
  engine: {max_num_seqs: {from: 16, to: 64, factor: 2}, tensor_parallel_size: [1, 2, 3]}
  workload.request_rate: [2, 8]
  exclude: [{engine: {tensor_parallel_size: 2, max_num_seqs: 16}}]
"""
POINTS = 16


@pytest.fixture
def sweep(ridgeline):
    ridgeline.write("sweep.yaml", SWEEP)
    return ridgeline


def merged(sweep, store):
    done = sweep("sweep", "merge", store, "-o", f"{store}.ndjson")
    assert done.returncode == 0, done.stderr
    return (sweep.folder / f"{store}.ndjson").read_bytes()


@pytest.fixture
def whole(sweep):
    done = sweep("sweep", "run", "sweep.yaml", "--store", "whole", "--jobs", "1")
    assert done.returncode == 1, done.stderr
    assert "16 of 16 points, 6 refused in 'whole'" in done.stdout
    return merged(sweep, "whole")


def test_rows(sweep, whole):
    rows = [json.loads(line) for line in whole.splitlines()]
    assert [row["ordinal"] for row in rows] == list(range(POINTS))
    assert len({row["id"] for row in rows}) == POINTS
    assert rows[0]["point"] == {"engine.max_num_seqs": 16, "engine.tensor_parallel_size": 1, "workload.request_rate": 2}
    for row in rows:
        assert (row["status"] == "refused") == (row["point"]["engine.tensor_parallel_size"] == 3), row
    good = next(row for row in rows if row["status"] == "ok")
    alone = sweep("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", 2, "--num-prompts", 200,
                  "--input-len", 128, "--output-len", 32, "--max-num-seqs", 16, "--format", "json")
    assert json.loads(alone.stdout)["digest"] == good["result"]["digest"]
    assert json.loads(alone.stdout)["summary"]["ttft_ms"]["p99"] == good["result"]["ttft_ms"]["p99"]


def test_list_has_the_ids_of_the_rows(sweep, whole):
    listed = sweep("sweep", "list", "sweep.yaml")
    assert listed.returncode == 0, listed.stderr
    assert [json.loads(line)["id"] for line in listed.stdout.splitlines()] == \
        [json.loads(line)["id"] for line in whole.splitlines()]


def test_seven_shards_three_of_them_killed(sweep, whole):
    for shard in range(7):
        assert sweep("sweep", "run", "sweep.yaml", "--store", "seven", "--shard", f"{shard}/7").returncode == 0
    assert merged(sweep, "seven") == whole
    draw = random.Random(1)
    for shard in range(7):
        words = ["sweep", "run", "sweep.yaml", "--store", "killed", "--shard", f"{shard}/7", "--jobs", "1"]
        if shard in (1, 3, 6):
            process = sweep.start(*words)
            time.sleep(draw.uniform(0.0, 0.05))
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
        assert sweep(*words).returncode == 0
    # A line that a kill has torn.
    torn = sorted((sweep.folder / "killed" / "shards").iterdir())[0]
    torn.write_bytes(torn.read_bytes() + b'{"ordinal":3,"id":"ab')
    assert merged(sweep, "killed") == whole
    status = json.loads(sweep("sweep", "status", "killed", "--format", "json").stdout)
    assert status["torn_lines"] >= 1 and status["done"] == POINTS and status["refused"] == 6


def test_interrupt_leaves_a_whole_store(sweep, whole):
    words = ["sweep", "run", "sweep.yaml", "--store", "stopped", "--jobs", "1", "--num-prompts", "200000",
             "--axis", "workload.request_rate=2,8"]
    process = sweep.start(*words)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (0, 130), err
    if process.returncode == 130:
        assert "the same command goes on" in err
    assert sweep("sweep", "status", "stopped").returncode == 0


def test_tables(sweep, whole):
    done = sweep("sweep", "merge", "whole", "--format", "csv")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert len(rows) == POINTS
    first = json.loads(whole.splitlines()[0])
    assert float(rows[0]["ttft_ms.p99"]) == first["result"]["ttft_ms"]["p99"]
    assert rows[0]["engine.max_num_seqs"] == "16"


def test_missing_points_are_said(sweep):
    assert sweep("sweep", "run", "sweep.yaml", "--store", "part", "--shard", "0/2").returncode == 0
    done = sweep("sweep", "merge", "part", "-o", "part.ndjson")
    assert done.returncode == 2 and "lacks 8 of 16 points" in done.stderr
    assert not (sweep.folder / "part.ndjson").exists()
    assert sweep("sweep", "merge", "part", "-o", "part.ndjson", "--partial").returncode == 0
    assert "8 missing" in sweep("sweep", "status", "part").stdout


def test_a_shard_does_not_send_to_a_merge_that_would_fail(sweep):
    first = sweep("sweep", "run", "sweep.yaml", "--store", "part", "--shard", "0/2").stdout
    assert "8 points are missing: run the other shards" in first and "sweep merge" not in first
    last = sweep("sweep", "run", "sweep.yaml", "--store", "part", "--shard", "1/2").stdout
    assert "missing" not in last and "ridgeline sweep merge part -o results.csv" in last
    # 3 ranks do not divide the 8 heads of keys and values: 3 numbers of sequences by 2 rates.
    assert "6 of these: engine.tensor_parallel_size: " in last


@pytest.mark.parametrize("output, piece", [
    ("res", "names no format, expected .ndjson or .csv"),
    ("r.json", "names no format, expected .ndjson or .csv"),
    ("none/r.csv", "cannot write 'none/r.csv'"),
])
def test_an_output_that_cannot_be_written_fails_before_the_run(sweep, output, piece):
    done = sweep("sweep", "run", "sweep.yaml", "--store", "s", "-o", output)
    assert done.returncode == 2 and piece in done.stderr
    assert not (sweep.folder / "s").exists()


def test_a_damaged_store_is_named(sweep, whole):
    (sweep.folder / "whole" / "sweep.json").write_text('{"digest"')
    for words in (["run", "sweep.yaml", "--store", "whole"], ["status", "whole"]):
        done = sweep("sweep", *words)
        assert done.returncode == 2 and "'whole/sweep.json' is damaged: " in done.stderr


def test_refused_points_are_seen(sweep, whole):
    # Once all points have rows, and on standard error where the results go elsewhere.
    done = sweep("sweep", "run", "sweep.yaml", "--store", "whole", "-o", "-", "--format", "ndjson")
    assert (done.returncode, done.stdout.encode()) == (1, whole)
    assert done.stderr.startswith("16 of 16 points, 6 refused\n6 of these: ")
    # A scheduler would start a shard again; a network that does not fit is an answer.
    assert sweep("sweep", "run", "sweep.yaml", "--store", "whole", "--shard", "0/1").returncode == 0
    fits = sweep("sweep", "run", "--request-rate", 1, "--num-prompts", 10, "--input-len", 64, "--output-len", 16,
                 "--gpu", "h100", "--axis", "model=llama-3.1-8b,llama-3.1-70b", "--store", "s", "-o", "s.csv")
    assert (fits.returncode, fits.stdout) == (0, "")
    assert fits.stderr.startswith("2 of 2 points, 1 infeasible\n1 of these: ")


def test_no_point_runs(ridgeline):
    done = ridgeline("sweep", "run", "--model", "llama-3.1-70b", "--request-rate", 1, "--num-prompts", 10,
                     "--input-len", 64, "--output-len", 16, "--axis", "gpu=h100,l40s", "--store", "s")
    assert done.returncode == 4, done.stderr
    assert "2 infeasible" in done.stdout


@pytest.mark.parametrize("words, piece", [
    (["run", "sweep.yaml", "--shard", "8/8"], "expected I/N"),
    (["run", "sweep.yaml", "--jobs", "0"], "expected 1 to 1024"),
    (["run", "sweep.yaml", "--max-num-seqs", "5"], "is varied by an axis and stated by a flag"),
    (["run", "sweep.yaml", "--axis", "engine.max_num_seqs={from: 1, to: 4}"], "a continuous range"),
    (["run", "sweep.yaml", "--axis", "engine.max_num_seq=5"], "did you mean engine.max_num_seqs?"),
    (["run", "sweep.yaml", "--measure", "speed"], 'found "speed", expected run'),
    (["run", "sweep.yaml", "--shards", "8"], "has no meaning for `sweep run`"),
    (["run", "missing.yaml"], "missing.yaml"),
    (["run"], "axes: is missing or is empty"),
    (["run", "sweep.yaml", "--axis", "gpu=h100,h1000"], "did you mean 'h100'?"),
    (["run", "sweep.yaml", "--axis", "gpu=h100,"], '"gpu=h100," has an empty value'),
    (["run", "sweep.yaml", "--axis", "gpu=H100,h100"], "gpu: H100 and h100 are the same"),
    (["status", "nothing"], "holds no sweep"),
    (["status"], "expected the folder of one store"),
    (["merge", "sweep.yaml", "--jobs", "2"], "has no meaning for `sweep merge`"),
    (["submit", "sweep.yaml", "--engine", "slrum"], "did you mean slurm?"),
    (["submit", "sweep.yaml"], "expected slurm, parallel, kubernetes"),
    (["mrege"], "did you mean 'merge'?"),
])
def test_bad_words(sweep, words, piece):
    done = sweep("sweep", *words)
    assert done.returncode == 2, done.stdout
    assert piece in done.stderr


def test_another_sweep_in_the_folder(sweep, whole):
    done = sweep("sweep", "run", "sweep.yaml", "--store", "whole", "--seed", "2")
    assert done.returncode == 2 and "holds another sweep" in done.stderr


@pytest.mark.parametrize("engine", ["slurm", "parallel"])
def test_scripts_are_sound_shell(sweep, engine):
    done = sweep("sweep", "submit", "sweep.yaml", "--engine", engine, "--shards", 8, "--store", "s", "-o", "job.sh")
    assert done.returncode == 0, done.stderr
    assert subprocess.run(["bash", "-n", sweep.folder / "job.sh"], check=False).returncode == 0


def test_an_array_task_and_gnu_parallel_give_the_same_bytes(sweep, whole):
    env = {"RIDGELINE": BINARY}
    sweep("sweep", "submit", "sweep.yaml", "--engine", "slurm", "--shards", 8, "--store", "array", "-o", "job.sh")
    for task in range(8):
        subprocess.run(["bash", "job.sh"], cwd=sweep.folder, check=True, timeout=60,
                       env={**sweep.env, **env, "SLURM_ARRAY_TASK_ID": str(task)})
    assert merged(sweep, "array") == whole
    if shutil.which("parallel") is None:
        pytest.skip("GNU parallel is not installed")
    sweep("sweep", "submit", "sweep.yaml", "--engine", "parallel", "--shards", 8, "--store", "many", "-o", "many.sh")
    subprocess.run(["bash", "many.sh"], cwd=sweep.folder, check=True, timeout=120, env={**sweep.env, **env},
                   stdout=subprocess.DEVNULL)
    assert (sweep.folder / "many" / "merged.ndjson").read_bytes() == whole


def test_the_job_of_kubernetes_meets_its_schema(sweep):
    yaml = pytest.importorskip("yaml")
    jsonschema = pytest.importorskip("jsonschema")
    path = SHARED / "schemas" / "kubernetes-core.json.gz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    done = sweep("sweep", "submit", "sweep.yaml", "--engine", "kubernetes", "--shards", 8)
    job = yaml.safe_load(done.stdout)
    jsonschema.validate(job, json.loads(gzip.decompress(path.read_bytes()))["kinds"]["Job"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**job, "specs": {}}, json.loads(gzip.decompress(path.read_bytes()))["kinds"]["Job"])
    assert job["spec"]["completions"] == 8
