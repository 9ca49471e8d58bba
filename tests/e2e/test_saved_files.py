"""What is written: all of it or nothing, by any number of processes, and never by what others left; what was changed is seen."""

import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BINARY, SMALL, SOURCE, measures_memory

DEPLOYED = ["--model", "llama-3.1-8b", "--gpu", "h100"]
DEPLOY = ["deploy", *SMALL]


def whole(folder):
    """The files of one deployment, none of another."""
    prediction = json.loads((folder / "prediction.json").read_text())
    for name in ("scenario.yaml", "serve.sh", "bench.sh"):
        assert prediction["scenario_digest"] in (folder / name).read_text(), name
    return {path.name for path in folder.iterdir()} == {"prediction.json", "scenario.yaml", "serve.sh", "bench.sh"}


def test_twenty_at_once_end_well(ridgeline):
    for _ in range(2):  # Into a new folder, and into one that is there.
        running = [ridgeline.start(*DEPLOY, "--seed", seed, "--save-dir", "out") for seed in map(str, range(20))]
        assert [process.wait(timeout=100) for process in running] == [0] * 20
        assert whole(ridgeline.folder / "out")
        assert ridgeline.files() == {"out"}


def test_a_kill_leaves_nothing_half_written(ridgeline):
    draw = random.Random(5)
    start = time.monotonic()
    assert ridgeline(*DEPLOY, "--save-dir", "out").returncode == 0
    took = time.monotonic() - start
    for seed in range(15):
        process = ridgeline.start(*DEPLOY, "--seed", str(seed), "--save-dir", "out")
        time.sleep(draw.uniform(0.5, 1.0) * took)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        for path in (ridgeline.folder / "out").iterdir():
            if not path.name.startswith("."):
                assert path.read_text().endswith("\n"), path
    assert ridgeline(*DEPLOY, "--save-dir", "out").returncode == 0
    left = [path for path in (ridgeline.folder / "out").iterdir() if path.name.startswith(".ridgeline-")]
    for path in left:
        shutil.rmtree(path)
    assert whole(ridgeline.folder / "out")


def test_what_others_made_stays(ridgeline):
    for name in ("out.part", "out.partial", "out"):
        (ridgeline.folder / name).mkdir()
        (ridgeline.folder / name / "mine").write_text("mine")
    (ridgeline.folder / "out" / ".ridgeline-part").mkdir()
    assert ridgeline(*DEPLOY, "--save-dir", "out").returncode == 0
    assert all((ridgeline.folder / name / "mine").read_text() == "mine" for name in ("out.part", "out.partial", "out"))
    assert (ridgeline.folder / "out" / ".ridgeline-part").is_dir()


def test_a_folder_in_the_way_of_a_plan_is_found_first(ridgeline):
    plan = ["plan", "--model", "llama-3.1-8b", "--gpu", "h100,h200", "--request-rate", "2", "--input-len", "200", "--output-len", "20",
            "--slo-ttft", "500ms", "--save-dir", "out"]
    assert ridgeline(*plan).returncode == 0
    (ridgeline.folder / "out" / "top1" / "serve.sh").write_text("mine")
    (ridgeline.folder / "out" / "top2" / "serve.sh").unlink()
    (ridgeline.folder / "out" / "top2" / "serve.sh").mkdir()
    done = ridgeline(*plan)
    assert done.returncode == 2 and "top2/serve.sh': it is a folder" in done.stderr, done.stderr
    assert (ridgeline.folder / "out" / "top1" / "serve.sh").read_text() == "mine"


def test_tables_stay_in_their_folder(ridgeline):
    text = (SOURCE / "data" / "hardware" / "h100.yaml").read_text()
    ridgeline.write("gpu.yaml", text.replace("name: h100", "name: ../../../x", 1))
    done = ridgeline("kernels", "make", "--gpu", "gpu.yaml", "--heads", "32-8-128", "-o", "tables")
    assert done.returncode == 2 and "is not in the folder" in done.stderr
    assert ridgeline.files() == {"gpu.yaml"}


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk, which only root may")
def test_a_full_disk_leaves_nothing(ridgeline):
    script = ('mkdir disk && mount -t tmpfs -o size=16k none disk && cd disk && echo old > serve.sh && '
              '(yes | head -c 8000 > fill) && "$@"; code=$?; ls -A; exit $code')
    done = subprocess.run(["unshare", "-m", "bash", "-c", script, "x", BINARY, *DEPLOY, "--save-dir", "."], cwd=ridgeline.folder,
                          capture_output=True, text=True, timeout=60, check=False)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("nothing can be mounted here")
    assert done.returncode == 2 and "No space left on device" in done.stderr, done.stderr
    assert done.stdout.split() == ["fill", "serve.sh"]


SWEEP = ["--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "8", "--num-prompts", "20", "--input-len", "64", "--output-len", "16",
         "--axis", "seed=1,2,3,4", "--store", "store"]


def test_a_changed_digit_of_a_store_is_seen(ridgeline):
    assert ridgeline("sweep", "run", *SWEEP, "-o", "w.csv").returncode == 0
    merged = (ridgeline.folder / "w.csv").read_text()
    shard = next((ridgeline.folder / "store" / "shards").iterdir())
    rows = shard.read_text()
    draw = random.Random(7)
    digits = [found.start() for found in re.finditer(r"\d", rows) if found.start() > rows.index("\n")]
    for at in draw.sample(digits, 12):
        shard.write_text(rows[:at] + str((int(rows[at]) + 1) % 10) + rows[at + 1:])
        line = rows.count("\n", 0, at) + 1
        for words in (["merge", "store", "-o", "m.csv"], ["status", "store"], ["run", *SWEEP]):
            done = ridgeline("sweep", *words)
            assert done.returncode == 2 and f"{shard.relative_to(ridgeline.folder)}:{line}" in done.stderr, (words, done.stderr)
        assert not (ridgeline.folder / "m.csv").exists()
    # A row of an earlier version is taken, and said to be one.
    shard.write_text(re.sub(r',"checksum":"[0-9a-f]+"', "", rows, count=1))
    done = ridgeline("sweep", "merge", "store", "-o", "m.csv")
    assert done.returncode == 0 and "W-no-checksum: 1 row of 'store'" in done.stderr
    assert (ridgeline.folder / "m.csv").read_text() == merged


def test_of_different_sweeps_at_once_one_has_the_folder(ridgeline):
    running = [ridgeline.start("sweep", "run", *SWEEP, "--max-num-seqs", str(16 + i)) for i in range(8)]
    said = [(process.communicate(timeout=100)[1], process.returncode) for process in running]
    assert sorted(code for _, code in said) == [0] + [2] * 7
    assert all("holds another sweep" in err for err, code in said if code == 2)
    assert ridgeline("sweep", "merge", "store", "-o", "m.csv").returncode == 0


def test_a_merge_replaces_no_row_that_it_reads(ridgeline):
    assert ridgeline("sweep", "run", *SWEEP).returncode == 0
    shard = next((ridgeline.folder / "store" / "shards").iterdir())
    rows = shard.read_text()
    done = ridgeline("sweep", "merge", "store", "-o", shard)
    assert done.returncode == 2 and "is read by this command" in done.stderr
    assert shard.read_text() == rows


def test_a_changed_digit_of_what_a_plan_found_is_seen(ridgeline):
    plan = ["plan", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "2", "--input-len", "200", "--output-len", "20",
            "--slo-ttft", "500ms", "--store", "found"]
    assert ridgeline(*plan).returncode == 0
    file = next(path for path in (ridgeline.folder / "found" / "evaluations").iterdir() if path.stat().st_size)
    rows = file.read_text()
    assert ridgeline(*plan).returncode == 0
    at = rows.index("values") + 9
    file.write_text(rows[:at] + str((int(rows[at]) + 1) % 10 if rows[at].isdigit() else "1") + rows[at + 1:])
    done = ridgeline(*plan)
    assert done.returncode == 2 and f"{file.relative_to(ridgeline.folder)}:1" in done.stderr, done.stderr


def peak_memory(ridgeline, *words):
    """Exit code, messages and the most memory, in MiB."""
    process = ridgeline.start(*words)
    _, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, err, usage.ru_maxrss / 1024


@measures_memory
@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_small_file_takes_little_memory(ridgeline, kind):
    head, blanks, tail = b'[{"conversations":[{"from":"human","value":"', b"a" * (1 << 20), b'"}]}]'
    if kind == "gz":
        with gzip.open(ridgeline.folder / "t.json.gz", "wb", 9) as file:
            file.write(head)
            for _ in range(150):
                file.write(blanks)
            file.write(tail)
    else:
        if shutil.which("zstd") is None:
            pytest.skip("zstd is not installed")
        with open(ridgeline.folder / "t.json.zst", "wb") as file:
            packer = subprocess.Popen(["zstd", "-q", "-c"], stdin=subprocess.PIPE, stdout=file)
            packer.stdin.write(head)
            for _ in range(600):
                packer.stdin.write(blanks)
            packer.communicate(tail, timeout=60)
    code, err, memory = peak_memory(ridgeline, "trace", f"t.json.{kind}")
    assert code == 2 and "unpacks to more than the limit of" in err and err.count("error:") == 1, err
    assert memory < 250, memory


@measures_memory
def test_no_file_is_read_whole_beyond_its_limit(ridgeline):
    for name, words in (("a.json", ["report"]), ("a.yaml", ["run", *DEPLOYED]), ("a.json", ["validate", *DEPLOYED]),
                        ("a.json", ["trace"])):
        with open(ridgeline.folder / name, "wb") as file:
            file.write(b'[{"conversations":[{"from":"human","value":"' if words == ["trace"] else b"{")
            file.truncate(3 << 30)  # Takes no room on the disk.
        code, err, memory = peak_memory(ridgeline, words[0], name, *words[1:])
        assert code == 2 and err.count("error:") == 1, err
        assert memory < 2500 if words == ["trace"] else memory < 400, (words, memory)
