"""Structured outputs from outside: requests wait for their grammar, steps for their masks."""

import csv
import json

import pytest

RUN = "run --model llama-3.1-8b --gpu h100 --request-rate 16 --input-len 128 --output-len 64 --num-prompts 300 --seed 1".split()
TIMES = "--grammar-compile-time 400ms --grammar-mask-time 40us".split()
ALL = ("--structured-output-ratio", "1")


def run(ridgeline, *words):
    done = ridgeline(*RUN, *words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_first_requests_of_a_schema_wait_for_it(ridgeline, tmp_path):
    def ttfts(*words):
        run(ridgeline, *words, "--requests-out", "requests.csv")
        with (tmp_path / "requests.csv").open() as rows:
            return [float(row["ttft_ms"]) for row in csv.DictReader(rows)]

    free = ttfts()
    held = ttfts(*ALL, *TIMES)
    assert free[0] < 20
    assert 400 < held[0] < 450, "with those that waited beside it"
    assert max(held[30:]) < 100, "the grammar is kept: 30 requests are two seconds"
    each = ttfts(*ALL, "--structured-output-schemas", "1000000000", *TIMES)
    assert min(each) > 400, "a schema of its own for each"
    half = ttfts("--structured-output-ratio", "0.5", "--structured-output-schemas", "1000000000", *TIMES)
    passed = sum(ttft < 100 for ttft in half)
    assert 100 < passed < 200, "the others pass"


def test_masks_show_where_they_take_longer_than_the_forward_pass(ridgeline):
    def tpot(*words):
        return run(ridgeline, *words)["summary"]["tpot_ms"]["mean"]

    no_wait = (*ALL, "--grammar-compile-time", "0", "--grammar-mask-time")
    free = tpot()
    assert tpot(*no_wait, "40us") == pytest.approx(free, rel=0.01), "hidden"
    assert tpot(*no_wait, "2ms") > 1.5 * free
    old = ("--engine-version", "vllm@0.11")
    assert tpot(*old, *no_wait, "100us") > tpot(*old) + 0.2, "made before the forward pass"


@pytest.mark.parametrize("version", ["0.11", "0.15", "0.27"])
def test_the_twins_agree(ridgeline, version):
    words = ("--engine-version", version, "--structured-output-ratio", "0.6", "--structured-output-schemas", "20")
    words = (*words, "--grammar-compile-time", "200ms", "--grammar-mask-time", "600us")
    digests = {run(ridgeline, *words, *how)["digest"] for how in ((), ("--no-jump",), ("--engine-core", "reference"))}
    assert len(digests) == 1


def test_a_result_runs_again(ridgeline, tmp_path):
    result = run(ridgeline, *ALL)
    assert "W-grammar-times" in {warning["code"] for warning in result["warnings"]}
    (tmp_path / "again.json").write_text(json.dumps(result["config"]))
    again = ridgeline("run", "again.json", "--format", "json")
    assert json.loads(again.stdout)["digest"] == result["digest"]
    assert result["config"]["serving"]["grammar_compile_time"] == "0.1s"
    assert "grammar_compile_time" not in json.dumps(run(ridgeline)["config"]["serving"])


@pytest.mark.parametrize("engine", ["sglang", "tensorrt-llm"])
def test_other_engines_refuse_them(ridgeline, engine):
    done = ridgeline(*RUN, *ALL, "--engine", engine)
    assert done.returncode == 2
    assert f"workload.structured_output_ratio: structured outputs are not simulated for {engine}" in done.stderr


def test_ranks_of_experts_wait_for_grammars_too(ridgeline):
    words = "run --model qwen3-30b-a3b --gpu h200 --dp 2 --enable-expert-parallel --instances 2 --request-rate 4 --input-len 64 --output-len 20"
    words = (*words.split(), "--num-prompts", "40", "--format", "json")
    ttft = {}
    for more in ((), (*ALL, *TIMES)):
        done = ridgeline(*words, *more)
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)["summary"]
        assert summary["completed"] == 40
        ttft[more] = summary["ttft_ms"]["max"]
    assert ttft[(*ALL, *TIMES)] > 400 > ttft[()]
