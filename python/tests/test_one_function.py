"""Each verb is one function: the command line and a call of the C API give the same tree and the same exit code."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ridgeline import _native

from conftest import program

SCENARIO: dict[str, Any] = {"model": "llama-3.1-8b", "gpu": "h100",
                            "workload": {"request_rate": 4, "input_len": 64, "output_len": 8, "num_prompts": 20}}
FLAGS = ["--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "4", "--input-len", "64", "--output-len", "8"]
WORKLOAD = [*FLAGS, "--num-prompts", "20"]
QUESTION: dict[str, Any] = {**SCENARIO, "workload": {"request_rate": 4, "input_len": 64, "output_len": 8},
                            "slo": {"ttft": "500ms"}}

# The verb, its words, and the same as a document. {folder} is a folder of the test's own.
CASES: list[tuple[str, list[str], dict[str, Any]]] = [
    ("run", WORKLOAD, SCENARIO),
    ("run", [*WORKLOAD, "--series"], {**SCENARIO, "keep": ["series"]}),
    ("run", [*WORKLOAD, "--compare", "kernel,v1"], {**SCENARIO, "compare": ["kernel", "v1"]}),
    ("run", [*FLAGS, "--num-prompts", "0"], {**SCENARIO, "workload": {**SCENARIO["workload"], "num_prompts": 0}}),
    ("run", [*WORKLOAD, "--max-model-len", "32"], {**SCENARIO, "engine": {"max_model_len": 32}}),
    ("replay", ["--model", "llama-3.1-8b", "--gpu", "h100", "--trace", "{folder}/trace.csv"],
     {"model": "llama-3.1-8b", "gpu": "h100", "workload": {"trace": "{folder}/trace.csv"}}),
    ("step", ["--model", "llama-3.1-8b", "--gpu", "h100", "--decode", "700x32"],
     {"model": "llama-3.1-8b", "gpu": "h100", "decode": "700x32"}),
    ("step", ["--model", "llama-3.1-8b", "--gpu", "h100", "--decode", "7", "--compare", "kernel,v1"],
     {"model": "llama-3.1-8b", "gpu": "h100", "decode": "7", "compare": ["kernel", "v1"]}),
    ("explain", ["--model", "llama-3.1-8b", "--gpu", "h100"], {"model": "llama-3.1-8b", "gpu": "h100"}),
    ("explain", ["--model", "llama-3.1-405b", "--gpu", "l40s"], {"model": "llama-3.1-405b", "gpu": "l40s"}),
    ("list", ["gpus"], {"kind": "gpus"}),
    ("list", ["gpu"], {"kind": "gpu"}),
    ("list", ["models", "--path", "{folder}"], {"kind": "models", "path": "{folder}"}),
    ("schema", ["result"], {"name": "result"}),
    ("schema", ["nothing"], {"name": "nothing"}),
    ("steps", ["{folder}/steps.jsonl"], {"file": "{folder}/steps.jsonl"}),
    ("report", ["{folder}/run.json"], {"file": "{folder}/run.json"}),
    ("trace", ["{folder}/trace.csv", "--block-size", "4"], {"file": "{folder}/trace.csv", "block_size": 4}),
    ("trace", ["{folder}/none.csv"], {"file": "{folder}/none.csv"}),
    ("kernels lookup", ["gemm", "128,4096,4096"], {"question": ["gemm", "128,4096,4096"]}),
    ("kernels lookup", ["gemm", "128"], {"question": ["gemm", "128"]}),
    ("kernels check", ["{folder}/none"], {"folder": "{folder}/none"}),
    ("calibrate", ["{folder}/none"], {"files": ["{folder}/none"]}),
    ("validate", ["{folder}/none"], {"files": ["{folder}/none"]}),
    ("plan", ["{folder}/question.json", "--effort", "quick"], {**QUESTION, "effort": "quick"}),
    ("plan", FLAGS, {**SCENARIO, "workload": {"request_rate": 4, "input_len": 64, "output_len": 8}}),
    ("deploy", [*WORKLOAD, "--save-dir", "{folder}/out"], {**SCENARIO, "save_dir": "{folder}/out"}),
    ("deploy", WORKLOAD, SCENARIO),
    ("upgrade", [*WORKLOAD, "--from", "vllm@0.14"], {**SCENARIO, "from": "vllm@0.14"}),
]


def at(value: Any, folder: Path) -> Any:
    return json.loads(json.dumps(value).replace("{folder}", str(folder)))


def bare(tree: Any) -> Any:
    """A tree without what differs between two runs, or names the flag or the line that a value came from."""
    if isinstance(tree, dict):
        return {key: bare(value) for key, value in tree.items() if key not in {"run_info", "provenance", "command", "stated"}}
    return [bare(item) for item in tree] if isinstance(tree, list) else tree


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("verbs")
    (made / "question.json").write_text(json.dumps(QUESTION))
    (made / "trace.csv").write_text("arrival_s,input_tokens,output_tokens\n0,9,3\n1,9,3\n")
    subprocess.run([program(), "run", *WORKLOAD, "--steps-out", str(made / "steps.jsonl"), "-o", str(made / "run.json")],
                   check=True, capture_output=True)
    return made


@pytest.mark.parametrize(("verb", "words", "document"), CASES, ids=[f"{i} {case[0]}" for i, case in enumerate(CASES)])
def test_the_command_line_and_a_call_give_the_same(
        verb: str, words: list[str], document: dict[str, Any], folder: Path) -> None:
    done = subprocess.run([program(), *verb.split(), *at(words, folder), "--format", "json"], capture_output=True, text=True)
    code, handle, _ = _native.call(verb, json.dumps(at(document, folder)).encode())
    answer = json.loads(handle.json())
    assert done.returncode == code, (done.stderr, answer)
    if done.stdout:
        assert bare(json.loads(done.stdout)) == bare(answer)
    else:
        assert "errors" in answer
