"""The process among others: signals, pipes, descriptors, time."""

import json
import os
import signal
import subprocess
import time

import pytest
from conftest import BINARY, SMALL

# Hours of simulated time and minutes of ours, by the plain engine.
LONG = (
    "run --model llama-3.1-8b --gpu h100 --request-rate 20 --num-prompts 2000000 --input-len 300 --output-len 200"
    " --engine-core reference --format json"
).split()


def test_ctrl_c_prints_what_there_is(ridgeline):
    process = ridgeline.start(*LONG, "-o", "r.json", "--requests-out", "log.csv")
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    result = json.loads(out)
    assert result["partial"] is True
    summary = result["summary"]
    assert 0 < summary["completed"] < 2_000_000
    assert summary["failed"]["unfinished"] > 0
    assert json.loads((ridgeline.folder / "r.json").read_text())["digest"] == result["digest"]
    rows = (ridgeline.folder / "log.csv").read_text().splitlines()
    assert len(rows) - 1 == summary["completed"] + summary["failed"]["unfinished"]
    assert ridgeline.files() == {"r.json", "log.csv"}


def test_a_reader_that_leaves_is_no_error(ridgeline):
    process = ridgeline.start("help", "options")
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr.read() == ""


@pytest.mark.parametrize("descriptor", [0, 1, 2])
def test_closed_descriptors(ridgeline, descriptor):
    words = " ".join(["run", *SMALL, "-o", "r.json"])
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec '{BINARY}' {words} {descriptor}{'<' if descriptor == 0 else '>'}&-"],
        cwd=ridgeline.folder,
        env=ridgeline.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == (2 if descriptor == 1 else 0), done.stderr
    # Nothing of what is printed has gone into the file.
    assert json.loads((ridgeline.folder / "r.json").read_text())["summary"]["completed"] == 20


def test_progress_stays_off_unless_it_is_a_terminal(ridgeline):
    process = ridgeline.start(*LONG)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert err == ""


def test_progress_on_a_terminal_goes_away_again(ridgeline):
    try:
        master, slave = os.openpty()
    except OSError as error:
        pytest.skip(f"no pseudo-terminal here: {error}")
    process = subprocess.Popen(
        [BINARY, *LONG], cwd=ridgeline.folder, env=ridgeline.env, stdout=subprocess.PIPE, stderr=slave
    )
    os.close(slave)
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    text = b""
    try:
        while chunk := os.read(master, 65536):
            text += chunk
    except OSError:
        pass  # the other end is closed
    os.close(master)
    assert b"of 2 000 000 requests" in text
    assert text.endswith(b"\r\x1b[K")


@pytest.mark.skipif(bool(os.environ.get("RIDGELINE_SANITIZE")), reason="sanitizers start slowly")
def test_help_is_there_at_once(ridgeline):
    def seconds():
        start = time.perf_counter()
        assert ridgeline("--help").returncode == 0
        return time.perf_counter() - start

    # The fastest of many: what the program needs, not what else the machine does.
    assert min(seconds() for _ in range(30)) < 0.020
