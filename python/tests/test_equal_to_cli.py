"""Random scenarios: the package gives the JSON of the command line, but for run_info and how it was asked."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ridgeline as rl
from ridgeline import _native, _verbs

from conftest import program

SCENARIOS = int(os.environ.get("RIDGELINE_PYTHON_SCENARIOS", "200"))


def random_keywords(draw: random.Random) -> dict[str, Any]:
    given: dict[str, Any] = {
        "model": draw.choice(["llama-3.1-8b", "qwen3-8b", "qwen3-30b-a3b", "mixtral-8x7b"]),
        "gpu": draw.choice(["h100", "h200", "a100-80gb", "b200"]),
        "tensor_parallel_size": draw.choice([1, 2, 4]),
        "num_prompts": draw.randint(1, 150),
        "seed": draw.randint(0, 1000),
        "input_len": draw.choice([1, 100, 1000, {"distribution": "uniform", "min": 10, "max": 900}]),
        "output_len": draw.choice([1, 20, 150, {"distribution": "lognormal", "mean": 60, "std": 40, "max": 400}]),
    }
    if draw.random() < 0.7:
        given["request_rate"] = draw.choice([0.5, 4, 25.5, 300])
    else:
        given["max_concurrency"] = draw.randint(1, 40)
    others: dict[str, list[Any]] = {
        "max_num_seqs": [1, 8, 256],
        "max_num_batched_tokens": [2048, 8192],
        "enable_prefix_caching": [True, False],
        "slo_ttft": ["50ms", "1.5s"],
        "slo_tpot": ["10ms"],
        "engine_version": ["vllm@0.10", "vllm@0.15", "sglang"],
        "prefix_len": [64, 300],
        "arrivals": ["constant", "poisson"],
        "warmup": ["100ms"],
    }
    for name, values in others.items():
        if draw.random() < 0.25:
            given[name] = draw.choice(values)
    if draw.random() < 0.25:
        given["instances"] = draw.randint(1, 4)
        if draw.random() < 0.5:
            given["router"] = draw.choice(["round-robin", "least-request", "power-of-two", "llm-d", "random"])
    return given


def flag_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        inner = ", ".join(f"{key}: {item}" for key, item in value.items())
        return "{" + inner + "}"
    return str(value)


def command(given: dict[str, Any]) -> list[str]:
    words = [program(), "run", "--format", "json"]
    for name, value in given.items():
        flag = "--" + name.replace("_", "-")
        words += [f"{flag}={flag_text(value)}"] if isinstance(value, bool) else [flag, flag_text(value)]
    return words


def without_run_info(tree: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key not in {"run_info", "command", "stated"}}


def test_random_scenarios_equal_the_command_line() -> None:
    draw = random.Random(int(os.environ.get("RIDGELINE_PYTHON_SEED", "27")))
    ran = 0
    for _ in range(SCENARIOS):
        given = random_keywords(draw)
        done = subprocess.run(command(given), capture_output=True, text=True)
        try:
            result = rl.run(**given)
        except rl.Error as error:
            assert done.returncode == (4 if isinstance(error, rl.Infeasible) else 2), (given, done.stderr, error)
            continue
        assert done.returncode == 0, (given, done.stderr)
        assert without_run_info(result.to_dict()) == without_run_info(json.loads(done.stdout)), given
        ran += 1
    assert ran > SCENARIOS / 2


C_PROGRAM = """
#include <stdio.h>
#include <string.h>
#include "ridgeline.h"

/* One call per line of standard input: its code and how long its answer is, then the answer. */
int main(void) {
  static char line[1 << 16];
  while (fgets(line, sizeof line, stdin)) {
    rl_result* result = NULL;
    size_t size = 0;
    int code = rl_call("run", line, strlen(line), NULL, &result);
    const char* answer = rl_json(result, &size);
    printf("%d %zu\\n", code, size);
    fwrite(answer, 1, size, stdout);
    rl_free(result);
  }
  return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_c_program_equals_the_command_line(tmp_path: Any) -> None:
    (tmp_path / "calls.c").write_text(C_PROGRAM)
    library = Path(_native._path())
    subprocess.run(["cc", "-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-I",
                    str(Path(__file__).resolve().parents[2] / "include"), str(tmp_path / "calls.c"), str(library),
                    f"-Wl,-rpath,{library.parent}", "-o", str(tmp_path / "calls")], check=True)
    draw = random.Random(int(os.environ.get("RIDGELINE_PYTHON_SEED", "2711")))
    all_given = [random_keywords(draw) for _ in range(SCENARIOS)]
    calls = b"".join(_verbs._bytes(_verbs._document(None, given)) + b"\n" for given in all_given)
    answers = subprocess.run([str(tmp_path / "calls")], input=calls, capture_output=True, check=True).stdout
    ran = 0
    for given in all_given:
        head, _, answers = answers.partition(b"\n")
        code, size = map(int, head.split())
        answer, answers = answers[:size], answers[size:]
        done = subprocess.run(command(given), capture_output=True, text=True)
        assert done.returncode == code, (given, done.stderr, answer)
        if code == 0:
            assert without_run_info(json.loads(answer)) == without_run_info(json.loads(done.stdout)), given
            ran += 1
    assert ran > SCENARIOS / 2


def test_replay_of_what_was_written(tmp_path: Any) -> None:
    trace = tmp_path / "requests.jsonl"
    subprocess.run(
        [program(), "run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "8", "--num-prompts", "50",
         "--input-len", "99", "--output-len", "9", "--format", "quiet", "--requests-out", str(trace)], check=True)
    done = subprocess.run([program(), "replay", str(trace), "--model", "llama-3.1-8b", "--gpu", "h200", "--format",
                           "json"], capture_output=True, text=True, check=True)
    replayed = rl.replay(trace, model="llama-3.1-8b", gpu="h200")
    assert without_run_info(replayed.to_dict()) == without_run_info(json.loads(done.stdout))
    rows = [json.loads(line) for line in trace.read_text().splitlines()]
    again = rl.replay(requests_from=rows, model="llama-3.1-8b", gpu="h200")
    assert again.digest == replayed.digest


def test_plan_and_sweep_equal_the_command_line(tmp_path: Any) -> None:
    given = ["--model", "llama-3.1-8b", "--request-rate", "4", "--input-len", "256", "--output-len", "32"]
    done = subprocess.run([program(), "plan", *given, "--max-num-batched-tokens", "8192", "--gpu", "h100,l40s", "--slo-ttft", "1s", "--effort", "quick",
                           "--jobs", "1", "--format", "json"], capture_output=True, text=True, check=True)
    plan = rl.plan(model="llama-3.1-8b", gpu=["h100", "l40s"], request_rate=4, input_len=256, output_len=32,
                   slo_ttft="1s", effort="quick", workers=1, max_num_batched_tokens=8192)
    theirs = json.loads(done.stdout)
    assert plan.to_dict()["answer"]["id"] == theirs["answer"]["id"]
    assert plan.pick.id == theirs["answer"]["id"]
    rows = tmp_path / "rows.ndjson"
    subprocess.run([program(), "sweep", "run", "--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", "64",
                    "--output-len", "8", "--num-prompts", "20", "--axis", "workload.request_rate=1,2,4", "--store",
                    str(tmp_path / "store"), "--jobs", "1", "-o", str(rows)], check=True)
    sweep = rl.sweep(model="llama-3.1-8b", gpu="h100", input_len=64, output_len=8, num_prompts=20,
                     request_rate=[1, 2, 4])
    assert sweep.points.to_list() == [json.loads(line) for line in rows.read_text().splitlines()]
