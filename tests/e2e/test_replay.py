"""`replay`: recorded traces."""

import json

import pytest

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


def test_the_azure_conversations(ridgeline, azure_trace):
    words = f"replay --trace {azure_trace} --model llama-3.1-70b --gpu h100 --tensor-parallel-size 4 --format json"
    done = ridgeline(*words.split())
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)["summary"]
    # Counted in the file itself: rows, and the sums of its two columns.
    assert summary["completed"] == 19_366
    assert summary["total_input_tokens"] == 22_361_870
    assert summary["total_output_tokens"] == 4_088_665


def test_a_part_of_a_trace(ridgeline):
    rows = "".join(f"2023-11-16 18:00:{second:02}.0000000,100,{second + 1}\n" for second in range(10))
    ridgeline.write("t.csv", AZURE + rows)
    words = "replay --trace t.csv --model llama-3.1-8b --gpu h100 --format json".split()

    def tokens(*flags):
        done = ridgeline(*words, *flags)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["summary"]["total_output_tokens"]

    assert tokens() == sum(range(1, 11))
    assert tokens("--num-prompts", "3") == 1 + 2 + 3
    assert tokens("--trace-start", "8s") == 9 + 10


def test_a_faster_replay_arrives_sooner(ridgeline):
    ridgeline.write("t.csv", AZURE + "2023-11-16 18:00:00.0,10,1\n2023-11-16 18:00:40.0,10,1\n")
    words = "replay --trace t.csv --model llama-3.1-8b --gpu h100 --format json --requests-out r.jsonl".split()
    for speed, expected in (("1", 40.0), ("4", 10.0)):
        assert ridgeline(*words, "--trace-speed-up", speed).returncode == 0
        records = [json.loads(line) for line in (ridgeline.folder / "r.jsonl").read_text().splitlines()]
        assert records[-1]["arrival_s"] == pytest.approx(expected)
