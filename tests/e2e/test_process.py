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
    process = ridgeline.start(*LONG, "-o", "r.json", "--requests-out", "log.csv", "--client-results", "vllm-bench=v.json")
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    result = json.loads(out)
    assert result["partial"] is True
    # A log of a part says so, and a client's result of a part is none.
    partial = [w["message"] for w in result["warnings"] if w["code"] == "W-partial"]
    assert "'v.json' is not written" in partial[0] and "'log.csv' holds the requests sent by then" in partial[1]
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


RUN = ["run", *SMALL]


def run_of(requests):
    return [str(requests) if word == "20" else word for word in RUN]


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGXFSZ"])
def test_a_signal_leaves_no_half_file_behind(ridgeline, name):
    assert ridgeline(*run_of(2000), "--client-results", "vllm-bench=b.json").returncode == 0
    process = ridgeline.start(
        *"validate b.json --model llama-3.1-8b --gpu h100 --histories 1000 --threads 1 -o v.json".split()
    )
    wait_for(lambda: len(ridgeline.files()) == 2)  # v.json.partial-PID
    number = getattr(signal, name)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert (out, ridgeline.files()) == ("", {"b.json"})
    assert err.startswith("error: ") and name in err and err.count("\n") == 1


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_run_prints_what_there_is_for_other_signals_too(ridgeline, name):
    process = ridgeline.start(*LONG, "-o", "r.json")
    time.sleep(1.5)
    number = getattr(signal, name)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert json.loads(out)["partial"] is True
    assert ridgeline.files() == {"r.json"}


@pytest.mark.parametrize("router", ["jsq-oracle", "llm-d", "round-robin"])
def test_an_interrupted_fleet_prints_what_there_is(ridgeline, router):
    words = "run --model llama-3.1-8b --gpu h100 --request-rate 160 --num-prompts 3000000 --input-len 512 --output-len 256"
    process = ridgeline.start(*words.split(), "--instances", "8", "--router", router, "--seed", "1", "--format", "json")
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    result = json.loads(out)
    assert result["partial"] is True and result["summary"]["failed"]["unfinished"] > 0


def test_nohup_keeps_a_run_going(ridgeline):
    process = subprocess.Popen(
        ["/bin/sh", "-c", f"trap '' HUP; exec '{BINARY}' {' '.join(LONG)}"],
        cwd=ridgeline.folder,
        env=ridgeline.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(0.7)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def limited(ridgeline, limit, *words):
    return subprocess.run(
        ["/bin/sh", "-c", f"ulimit {limit}; exec '{BINARY}' {' '.join(map(str, words))}"],
        cwd=ridgeline.folder,
        env=ridgeline.env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.skipif(bool(os.environ.get("RIDGELINE_SANITIZE")), reason="sanitizers reserve memory")
def test_out_of_memory_says_what_needs_less(ridgeline):
    done = limited(ridgeline, "-v 100000", *run_of(10_000_000), "-o", "r.json")
    assert done.returncode == 70
    assert done.stderr.startswith("error: out of memory")
    assert "hint: --percentiles sketch" in done.stderr
    assert ridgeline.files() == set()


def test_a_file_size_limit_leaves_no_half_file(ridgeline):
    done = limited(ridgeline, "-f 100", *run_of(100_000), "--requests-out", "r.csv")
    assert done.returncode == 128 + signal.SIGXFSZ
    assert "ulimit -f" in done.stderr
    assert ridgeline.files() == set()


TRACE = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,374,44\n2023-11-16 18:15:47.68,374,44\n"


@pytest.mark.parametrize(
    "flag, words",
    [
        ("--output", "convert in.csv --to mooncake -o OUT"),
        ("--requests-out", "replay --model llama-3.1-8b --gpu h100 --trace in.csv --requests-out OUT"),
        ("--steps-out", "replay --model llama-3.1-8b --gpu h100 --trace in.csv --steps-out OUT"),
        ("--client-results", "replay --model llama-3.1-8b --gpu h100 --trace in.csv --client-results guidellm=OUT"),
    ],
)
@pytest.mark.parametrize("name", ["in.csv", "./in.csv", "soft.csv", "hard.csv"])
def test_no_output_replaces_an_input(ridgeline, flag, words, name):
    path = ridgeline.write("in.csv", TRACE)
    (ridgeline.folder / "soft.csv").symlink_to("in.csv")
    (ridgeline.folder / "hard.csv").hardlink_to(path)
    done = ridgeline(*words.replace("OUT", name).split())
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {flag}: '{name}' is read by this command")
    assert path.read_text() == TRACE
    assert ridgeline.files() == {"in.csv", "soft.csv", "hard.csv"}


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_no_picture_replaces_the_trace_that_it_shows(ridgeline, link):
    path = ridgeline.write("in.csv", TRACE)
    getattr(ridgeline.folder / "picture.svg", link)(path)
    done = ridgeline("trace", "in.csv", "--svg", "picture.svg")
    assert done.returncode == 2
    assert done.stderr.startswith("error: --svg: 'picture.svg' is read by this command")
    assert path.read_text() == TRACE


def test_no_output_replaces_a_scenario_or_a_measured_file(ridgeline):
    scenario = ridgeline.write("c.yaml", "model: llama-3.1-8b\ngpu: h100\n")
    text = scenario.read_text()
    assert ridgeline("run", "c.yaml", *SMALL[4:], "--steps-out", "c.yaml").returncode == 2
    assert scenario.read_text() == text
    assert ridgeline(*RUN, "--client-results", "vllm-bench=b.json").returncode == 0
    measured = (ridgeline.folder / "b.json").read_text()
    for verb in ("calibrate", "validate"):
        assert ridgeline(verb, "b.json", *SMALL[:4], "-o", "b.json").returncode == 2
    assert (ridgeline.folder / "b.json").read_text() == measured


def test_two_outputs_are_two_files(ridgeline):
    done = ridgeline(*RUN, "--requests-out", "a.csv", "-o", "./a.csv")
    assert done.returncode == 2
    assert "is also another output" in done.stderr
    assert ridgeline.files() == set()


@pytest.mark.skipif(bool(os.environ.get("RIDGELINE_SANITIZE")), reason="sanitizers reserve memory")
def test_a_log_without_lines_does_not_fill_the_memory(ridgeline):
    done = limited(ridgeline, "-v 1000000", "steps", "/dev/zero")
    assert done.returncode == 2
    assert done.stderr.startswith("error: is longer than 67108864 bytes, expected a line of a step log")
