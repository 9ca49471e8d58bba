"""What a run shows in a terminal: tall plots, histograms in a wide table, and --watch."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import time

RUN = ["run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "8", "--num-prompts", "300",
       "--input-len", "512", "--output-len", "128", "--slo-ttft", "50ms"]
SCENARIO = "model: llama-3.1-8b\ngpu: h100\nworkload: {{request_rate: {}, num_prompts: 100, input_len: 512, output_len: 64}}\n"


def test_tall_plots(ridgeline):
    line, tall = (ridgeline(*RUN, *words).stdout for words in (["--plot"], ["--plot", "tall"]))
    assert tall.count("\n") - line.count("\n") == 6 * 3  # Three more lines for each of six pictures.
    assert any("\u2800" < c <= "\u28ff" for c in tall) and not any("\u2800" < c <= "\u28ff" for c in line)
    assert max(map(len, tall.splitlines())) <= 100
    plain = ridgeline(*RUN, "--plot=tall", "--ascii").stdout
    assert plain.isascii() and plain.count("\n") == tall.count("\n")
    refused = ridgeline(*RUN, "--plot=high")
    assert refused.returncode == 2 and "expected nothing or tall" in refused.stderr


def on_terminal(ridgeline, columns, *words):
    """What a run prints to a terminal of that many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen([*ridgeline.command(), *words, "--color", "never"], cwd=ridgeline.folder,
                               env=ridgeline.env, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # The other end is closed.
            break
        if not piece:
            break
        text += piece
    os.close(ours)
    assert process.wait() == 0
    return text.decode().replace("\r\n", "\n")


def test_a_wide_terminal_has_histograms_in_the_table(ridgeline):
    wide = on_terminal(ridgeline, 130, *RUN)
    rows = {row.split()[0]: row for row in wide.splitlines() if row[:1].isalpha()}
    for name in ("TTFT", "TPOT", "E2E"):
        assert "\u2588" in rows[name] and len(rows[name]) <= 130
    assert "\u2588" not in rows["ITL"] and "least to greatest" in wide
    assert "\u2588" not in on_terminal(ridgeline, 100, *RUN)
    assert "\u2588" not in ridgeline(*RUN).stdout  # Not a terminal.
    digests = {text.split("digest")[1].split()[0] for text in (wide, ridgeline(*RUN).stdout)}
    assert len(digests) == 1


def test_watch_runs_again_when_the_file_is_saved(ridgeline):
    ridgeline.write("s.yaml", SCENARIO.format(8))
    process = ridgeline.start("run", "s.yaml", "--watch")

    def read_until(stream, wanted):
        lines = []
        while not lines or wanted not in lines[-1]:
            lines.append(stream.readline())
            assert lines[-1], lines  # The process has ended.
        return "".join(lines)

    read_until(process.stderr, "watching s.yaml")
    ridgeline.write("s.yaml", SCENARIO.format(12))
    read_until(process.stderr, "watching s.yaml")
    ridgeline.write("s.yaml", SCENARIO.format("many"))
    assert "workload.request_rate" in read_until(process.stderr, "watching s.yaml")
    os.rename(ridgeline.write("new.yaml", SCENARIO.format(12)), ridgeline.folder / "s.yaml")  # As editors do.
    read_until(process.stderr, "watching s.yaml")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out.count("TTFT ") >= 1 and out.count("digest") == 1  # One table.
    assert "workload.request_rate: 8" in out and "-> 12" in out
    assert "TTFT p99" in out and "%" in out and out.rstrip().endswith("the same result")


def test_watch_needs_a_file_and_the_table(ridgeline):
    for words, said in ((RUN, "needs the file"), (["run", "s.yaml", "--format", "json"], "--format table")):
        done = ridgeline(*words, "--watch")
        assert done.returncode == 2 and said in done.stderr and "--watch" in done.stderr
