"""The program as a user runs it, without a GPU."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import PROFILER, profiler


def snapshot(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_dry_run_needs_nothing_installed_and_writes_nothing(tmp_path):
    # -I -S: neither site packages nor the environment; the standard library alone.
    command = f"import sys; sys.path.insert(0, {str(PROFILER)!r}); from ridgeline_profiler.cli import main; "
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", command + "sys.exit(main(['--dry-run', '--budget', '60']))"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("h100: ")
    assert "; in 1 h 00 min: " in done.stdout
    assert {line.split()[0] for line in done.stdout.splitlines()[3:]} >= {"gemm", "decode_attention", "forward_pass"}
    assert snapshot(tmp_path) == {}


def test_dry_run_of_several_gpus_plans_collectives():
    operators = ("--ops", "copy,collective")
    assert "collective" not in profiler("--dry-run", *operators).stdout
    assert "collective" in profiler("--dry-run", "--gpus", 4, *operators).stdout


@pytest.mark.parametrize(
    "words, message",
    [
        (["--budget", "0"], "'0' is no positive number of minutes"),
        (["--budget", "soon"], "'soon' is no positive number"),
        (["--budget", "nan"], "'nan' is no positive number"),
        (["--peak-bf16", "-1"], "'-1' is no positive number of TFLOP/s"),
        (["--ops", "gemm,gem"], "no operator 'gem': expected some of copy"),
        (["--backend", "tpu"], "invalid choice: 'tpu'"),
        (["--out"], "expected one argument"),
    ],
)
def test_bad_usage(words, message, tmp_path):
    done = profiler(*words)
    assert done.returncode == 2
    assert message in done.stderr


def test_without_a_gpu_it_says_what_is_missing(tmp_path):
    done = profiler("--out", tmp_path / "k", env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "PyTorch" in done.stderr
    assert not (tmp_path / "k").exists()


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A whole run of the CPU backend."""
    pytest.importorskip("numpy", reason="python3-numpy is not installed")
    folder = tmp_path_factory.mktemp("run") / "kernels"
    done = profiler("--backend", "cpu", "--out", folder, "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert ", 0 unsupported, 0 failed, 0 left; " in done.stdout
    return folder


def test_the_cpu_backend_fills_every_table(measured):
    files = snapshot(measured)
    tables = {name for name in files if name.endswith(".csv")}
    assert {
        "gemm/cpu/data.csv",
        "mha/prefill/cpu/4-2-16.csv",
        "mha/decode/cpu/4-2-16-tp2.csv",
        "mla/prefill/cpu/8-16-16.csv",
        "mla/decode/cpu/8-32-16.csv",
        "grouped_gemm/decode/cpu/data.csv",
        "full/cpu/forward_pass.csv",
        "full/cpu/decoder_layer.csv",
    } <= tables
    assert b"it describes no GPU" in files["CARD.md"]
    provenance = json.loads(files["provenance.json"])
    assert (provenance["backend"], provenance["points"].keys()) == ("cpu", {"ok"})
    # The full files hold every point of the state but its header.
    rows = sum(files[name].count(b"\n") - 1 for name in tables if name.startswith("full/"))
    assert rows == files["state.jsonl"].count(b"\n") - 1


def test_tables_made_again_from_the_state_are_the_same(measured):
    before = snapshot(measured)
    done = profiler("--backend", "cpu", "--out", measured, "--quiet")
    assert done.returncode == 0
    assert snapshot(measured) == before


def test_a_budget_can_be_followed_by_the_rest(tmp_path, numpy):
    folder = tmp_path / "kernels"
    # A point is planned to take a third of a second, so that none fits into 0.06 s: not one is begun.
    nothing = profiler("--backend", "cpu", "--out", folder, "--budget", 0.001, "--ops", "copy,rms_norm")
    assert nothing.returncode == 0
    # 2 copies and 2 widths of 4 norms.
    assert "0 points measured, 0 unsupported, 0 failed, 10 left; " in nothing.stdout
    some = profiler("--backend", "cpu", "--out", folder, "--budget", 1, "--ops", "copy")
    assert "2 points measured, 0 unsupported, 0 failed, 0 left; " in some.stdout
    lines = (folder / "state.jsonl").read_text().splitlines()
    rest = profiler("--backend", "cpu", "--out", folder, "--ops", "copy,rms_norm")
    assert "2 points are there already" in rest.stderr
    assert "10 points measured, 0 unsupported, 0 failed, 0 left; " in rest.stdout
    after = (folder / "state.jsonl").read_text().splitlines()
    # With the header; what was there stayed.
    assert (len(after), after[: len(lines)]) == (11, lines)


def test_a_killed_run_goes_on(tmp_path, numpy):
    folder = tmp_path / "kernels"
    command = [sys.executable, "-m", "ridgeline_profiler", "--backend", "cpu", "--out", str(folder), "--quiet"]
    process = subprocess.Popen(command, cwd=PROFILER, stdout=subprocess.DEVNULL)
    state = folder / "state.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not state.exists() or state.read_bytes().count(b"\n") < 5):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = state.read_bytes()
    kept = kept[: kept.rfind(b"\n") + 1]
    assert kept.count(b"\n") >= 5
    done = profiler("--backend", "cpu", "--out", folder, "--quiet")
    assert done.returncode == 0
    assert ", 0 left; " in done.stdout
    assert state.read_bytes().startswith(kept)


def test_a_malformed_state_is_refused_and_left_alone(measured, tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    text = (measured / "state.jsonl").read_bytes().replace(b'"median": ', b'"median": "', 1)
    (folder / "state.jsonl").write_bytes(text)
    done = profiler("--backend", "cpu", "--out", folder, "--quiet")
    assert done.returncode == 2
    assert f"error: {folder}/state.jsonl:2: is no JSON" in done.stderr
    assert snapshot(folder) == {"state.jsonl": text}


def test_a_state_of_another_machine_is_refused(measured, tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    text = (measured / "state.jsonl").read_text().replace('"device": "CPU under numpy"', '"device": "Other"', 1)
    (folder / "state.jsonl").write_text(text)
    done = profiler("--backend", "cpu", "--out", folder)
    assert done.returncode == 2
    assert "device 'Other' then, 'CPU under numpy' now; choose another --out" in done.stderr


def test_an_output_that_cannot_be_made_is_said(tmp_path, numpy):
    (tmp_path / "file").write_text("")
    done = profiler("--backend", "cpu", "--out", tmp_path / "file" / "kernels")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
