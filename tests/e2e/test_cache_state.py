"""Prefix caches that a run hands to the next."""

import json

import pytest
BASE = ("--model", "llama-3.1-8b", "--gpu", "h100", "--seed", 1, "--requests-out", "-", "--format", "quiet")


def rows_of(count, start, shift=0.0):
    """Prompts of 24 families, each with a tail of its own; requests of a family come back."""
    return [
        {
            "arrival_s": round(0.05 * i + shift, 6),
            "input_tokens": 400 + 37 * (i % 7),
            "output_tokens": 5 + i % 11,
            "prompt": [[1 + (i * i + i // 5) % 24, 256 + 16 * (i % 5)]],
        }
        for i in range(start, start + count)
    ]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def hits(ridgeline, trace, *words):
    """cached_tokens and instances by request of a replay."""
    done = ridgeline("replay", "--trace", trace, *BASE, *words)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["cached_tokens"] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("blocks", [120, 400, 4000])
@pytest.mark.parametrize("core", ["fast", "reference"])
def test_a_run_in_two_pieces_finds_what_one_run_finds(ridgeline, tmp_path, blocks, core):
    first, second = rows_of(60, 0), rows_of(60, 60)
    words = ("--num-gpu-blocks", blocks, "--max-model-len", 1024, "--engine-core", core)
    whole = hits(ridgeline, write(tmp_path / "whole.jsonl", first + [{**r, "arrival_s": r["arrival_s"] + 60} for r in second]), *words)
    state = tmp_path / "caches.json"
    before = hits(ridgeline, write(tmp_path / "first.jsonl", first), *words, "--cache-state-out", state)
    after = write(tmp_path / "second.jsonl", second)
    warm = hits(ridgeline, after, *words, "--cache-state", state)
    cold = hits(ridgeline, after, *words)
    assert before + warm == whole
    assert sum(cold) < sum(warm)


def test_a_fleet_hands_over_the_cache_of_each_instance(ridgeline, tmp_path):
    first, second = rows_of(60, 0), rows_of(60, 60)
    for number, row in enumerate(first + second):
        row["session"] = row["prompt"][0][0]
        del number
    words = ("--num-gpu-blocks", 200, "--max-model-len", 1024, "--instances", 3, "--router", "session")
    whole = hits(ridgeline, write(tmp_path / "whole.jsonl", first + [{**r, "arrival_s": r["arrival_s"] + 60} for r in second]), *words)
    state = tmp_path / "caches.json"
    before = hits(ridgeline, write(tmp_path / "first.jsonl", first), *words, "--cache-state-out", state)
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads(state.read_text()), json.loads(ridgeline("schema", "cache-state").stdout))
    warm = hits(ridgeline, write(tmp_path / "second.jsonl", second), *words, "--cache-state", state)
    assert before + warm == whole


def test_a_state_of_something_else_is_refused(ridgeline, tmp_path):
    state = tmp_path / "caches.json"
    trace = write(tmp_path / "trace.jsonl", rows_of(5, 0))
    hits(ridgeline, trace, "--instances", 2, "--cache-state-out", state)
    llama, qwen = "llama-3.1-8b", "qwen3-8b"
    for model, words, message in (
        (llama, ("--instances", 3, "--cache-state", state), "holds the caches of 2 instances, expected 3"),
        (qwen, ("--instances", 2, "--cache-state", state), "holds KV of"),
        (llama, ("--cache-state", tmp_path / "none.json"), "none.json"),
        (llama, ("--no-enable-prefix-caching", "--cache-state", state), "enable_prefix_caching is off"),
    ):
        done = ridgeline("replay", "--trace", trace, "--model", model, "--gpu", "h100", *words)
        assert done.returncode == 2, done.stderr
        assert message in done.stderr, done.stderr
    state.write_text('{"schema_version": 1, "instances": [{"model": "m", "requests": [{"tokens": 0}]}]}')
    done = ridgeline("replay", "--trace", trace, "--model", "llama-3.1-8b", "--gpu", "h100", "--cache-state", state)
    assert done.returncode == 2 and "instances[0].requests[0].tokens" in done.stderr, done.stderr
