"""Measured passes beside predictions, with a program that pretends to be ridgeline."""

import sys

import pytest
from conftest import profiler
from samples import HEADER, failure, result

from ridgeline_profiler import compare, state
from ridgeline_profiler.errors import UsageError
from ridgeline_profiler.networks import find_network
from ridgeline_profiler.whole.pass_shape import PassShape

STEP = dict(network="llama-3.1-8b", tp=1, layers=32)
DECODE = dict(prefills=0, past=0, new=0, decodes=32, context=1024)
PREFILL = dict(prefills=2, past=1024, new=512, decodes=0, context=0)
# 1000 us and a pause of 40 that a pass has not; it writes down how it was called.
ANSWER = """import json, pathlib, sys
pathlib.Path(__file__).with_suffix('.called').open('a').write(' '.join(sys.argv[1:]) + chr(10))
print(json.dumps({"step_us": 1040.0, "parts": [{"operator": "gemm", "us": 1000.0}, {"operator": "step_gap", "us": 40.0}]}))
"""


@pytest.fixture
def pretended(tmp_path):
    """A function that makes an executable of a Python text."""

    def make(text):
        path = tmp_path / "pretended"
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o755)
        return path

    return make


def write(folder, *results):
    writer = state.Writer(folder / state.FILE_NAME, HEADER, None)
    for each in results:
        writer.add(each)
    writer.close()


def test_words_of_a_mixed_step():
    shape = PassShape(find_network("llama-3.1-8b"), 1, 32, 1, 1024, 512, 32, 700)
    words = " ".join(compare.step_words(shape, "h100"))
    assert words == (
        "step --model llama-3.1-8b --gpu h100 --tensor-parallel-size 1 --decode 700x32 --prefill 1024+512x1"
        " --generation-config vllm --format json"
    )


def test_table_of_a_run(pretended, tmp_path):
    folder = tmp_path / "kernels"
    write(
        folder,
        result("forward_pass", "bf16", 800.0, **STEP, **DECODE),
        result("forward_pass", "bf16", 1250.0, **STEP, **PREFILL),
        result("gemm", "bf16", 3.0, m=1, k=2, n=3),
        failure("forward_pass", "bf16", "no", **{**STEP, **DECODE, "decodes": 1}),
    )
    binary = pretended(ANSWER)
    done = profiler("--out", folder, "--compare", binary, "--step-flags", "--latency 'a b'")
    assert (done.returncode, done.stderr) == (0, "")
    # 1000 against 800 is +25 %, against 1250 is -20 %: median 22.5, p90 24.5, largest 25.
    assert "| llama-3.1-8b: 32 decodes at 1024 | 800.0 | 1000.0 | +25.0 |" in done.stdout
    assert "| llama-3.1-8b: 2 x 1024+512 | 1250.0 | 1000.0 | -20.0 |" in done.stdout
    assert "2 passes, absolute error 22.5 % in the median, 24.5 % at p90, 25.0 % at most" in done.stdout
    called = binary.with_suffix(".called").read_text().splitlines()
    assert len(called) == 2
    assert all(" --gpu h100 " in line and line.endswith(" --latency a b") for line in called)


@pytest.mark.parametrize(
    "text, message",
    [
        ("import sys; print('error: no such model', file=sys.stderr); sys.exit(2)", "exit code 2: error: no such model"),
        ("print('{}')", "printed no step as JSON"),
        ("print('[1]')", "printed no step as JSON"),
        ("print('step 12 us')", "printed no step as JSON"),
    ],
)
def test_a_binary_that_does_not_answer(pretended, text, message):
    shape = PassShape(find_network("llama-3.1-8b"), 1, 32, 0, 0, 0, 1, 100)
    with pytest.raises(UsageError, match=message):
        compare.predict(str(pretended(text)), shape, "h100", ())


def test_no_binary(tmp_path):
    shape = PassShape(find_network("llama-3.1-8b"), 1, 32, 0, 0, 0, 1, 100)
    with pytest.raises(UsageError, match="cannot be run: No such file"):
        compare.predict(str(tmp_path / "none"), shape, "h100", ())


def test_nothing_to_compare(tmp_path):
    assert "no such state; measure first" in profiler("--out", tmp_path / "none", "--compare", "x").stderr
    write(tmp_path, result("gemm", "bf16", 3.0, m=1, k=2, n=3))
    done = profiler("--out", tmp_path, "--compare", "x")
    assert done.returncode == 2
    assert "holds no measured forward_pass" in done.stderr
