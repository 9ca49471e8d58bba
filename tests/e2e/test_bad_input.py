"""Every kind of bad input: its exit code, what the message names, and that nothing was written."""

import json
import subprocess

import pytest
from conftest import SMALL

GOOD = """\
model: llama-3.1-8b
gpu: h100
workload: {request_rate: 8, num_prompts: 20, input_len: 64, output_len: 16}
"""
AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"

# Name of the file, its text, further flags, exit code, and the pieces that standard error must hold.
FILES = {
    "malformed YAML": ("s.yaml", "model: [llama\ngpu: h100\n", [], 2, ["s.yaml:"]),
    "malformed JSON": ("s.json", '{"model": "llama-3.1-8b", }', [], 2, ["s.json:1:"]),
    "not a map": ("s.yaml", "- model\n- gpu\n", [], 2, ["s.yaml:1:1", "expected a map"]),
    "an empty file": ("s.yaml", "", [], 2, ["s.yaml"]),
    "bytes that are no text": ("s.yaml", "model: \x00\x01\n", [], 2, ["s.yaml"]),
    "unknown key": (
        "s.yaml",
        GOOD + "sede: 1\n",
        [],
        2,
        ["error: sede: unknown key", " --> s.yaml:4:1", "hint: did you mean 'seed'?"],
    ),
    "unknown key in a section": (
        "s.yaml",
        GOOD + "engine: {max_num_sequences: 8}\n",
        [],
        2,
        ["engine.max_num_sequences: unknown key", "s.yaml:4:10", "max_num_seqs"],
    ),
    "empty text": (
        "s.yaml",
        GOOD + "latency: {hardware_config: ''}\n",
        [],
        2,
        ["latency.hardware_config: is empty", "s.yaml:4"],
    ),
    "duplicate key": ("s.yaml", GOOD + "gpu: h200\n", [], 2, ["gpu: given twice", "s.yaml:4:1"]),
    "out of range": (
        "s.yaml",
        GOOD + "engine:\n  block_size: 0\n",
        [],
        2,
        ["error: engine.block_size: 0 is out of range, expected 1 to 256", " --> s.yaml:5:15"],
    ),
    "wrong unit": ("s.yaml", GOOD + "slo: {ttft: 5GB}\n", [], 2, ["slo.ttft", '"5GB"', "s.yaml:4:13", "500ms"]),
    "target without a unit": (
        "s.yaml",
        GOOD + "slo: {tpot: 50}\n",
        [],
        2,
        ["slo.tpot: found 50, expected a time above 0 with its unit", "s.yaml:4:13", "hint: 50ms or 0.05s?"],
    ),
    "negative": (
        "s.yaml",
        GOOD.replace("8,", "-8,", 1),
        [],
        2,
        ["workload.request_rate: -8 is out of range", "s.yaml:3:26"],
    ),
    "NaN": ("s.yaml", GOOD.replace("8,", ".nan,", 1), [], 2, ["s.yaml:3:"]),
    "infinity": ("s.yaml", GOOD.replace("8,", "1e999,", 1), [], 2, ["s.yaml:3:"]),
    "text for a number": ("s.yaml", GOOD.replace("64", "many"), [], 2, ["workload.input_len", '"many"', "s.yaml:3:"]),
    "a fraction of a token": ("s.yaml", GOOD.replace("64", "64.5"), [], 2, ["workload.input_len", "64.5"]),
    "on for true": (
        "s.yaml",
        GOOD + "engine: {enable_prefix_caching: on}\n",
        [],
        2,
        ["engine.enable_prefix_caching", "write true"],
    ),
    "unknown network": (
        "s.yaml",
        GOOD.replace("llama-3.1-8b", "lama-3.1-8b"),
        [],
        2,
        ["model", '"lama-3.1-8b"', "s.yaml:1:8", "llama-3.1-8b"],
    ),
    "unknown GPU": ("s.yaml", GOOD.replace("h100", "h10"), [], 2, ["gpu", '"h10"', "s.yaml:2:6", "h100"]),
    "unknown engine": ("s.yaml", GOOD + "engine: {version: triton@1}\n", [], 2, ["engine.version", "vllm@0.15"]),
    "unknown step-time model": ("s.yaml", GOOD + "latency: {name: kernle}\n", [], 2, ["latency.name", "kernel"]),
    "heads that do not divide": (
        "s.yaml",
        GOOD + "engine: {tensor_parallel_size: 3}\n",
        [],
        2,
        ["engine.tensor_parallel_size", "3", "s.yaml:4:32"],
    ),
    "a network that does not fit": (
        "s.yaml",
        GOOD.replace("llama-3.1-8b", "llama-3.1-70b"),
        [],
        4,
        ["model: llama-3.1-70b does not fit", "weights", "it fits with --tensor-parallel-size 4", "s.yaml:1:8"],
    ),
    "a length that does not fit": (
        "s.yaml",
        GOOD + "engine: {num_gpu_blocks: 10, max_model_len: 1000}\n",
        [],
        4,
        ["engine.max_model_len", "1000 tokens", "s.yaml:4:"],
    ),
    "what would be ignored": (
        "s.yaml",
        GOOD,
        ["--arrivals", "at-once"],
        2,
        ["workload.request_rate: would be ignored", "s.yaml:3:26"],
    ),
    "all at once": (
        "s.yaml",
        GOOD + "sede: 1\nengine: {block_size: 0}\n",
        ["--burstiness", "x"],
        2,
        ["sede", "engine.block_size", "workload.burstiness"],
    ),
}


def check(ridgeline, done, code, pieces, before):
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    for piece in pieces:
        assert piece in done.stderr, f"{piece!r} is not in:\n{done.stderr}"
    assert done.stderr.startswith("error: ")
    assert ridgeline.files() == before


@pytest.mark.parametrize("name", FILES)
def test_scenario_files(ridgeline, name):
    file, text, flags, code, pieces = FILES[name]
    ridgeline.write(file, text)
    before = ridgeline.files()
    done = ridgeline("run", file, *flags, "-o", "r.json", "--requests-out", "log.csv")
    check(ridgeline, done, code, pieces, before)


FLAGS = {
    "unknown flag": (["--max-num-seq", "4"], ["--max-num-seq: no such flag", "did you mean --max-num-seqs?"]),
    "flag given twice": (["--seed", "1", "--seed", "2"], ["--seed: given twice", '"1"', '"2"']),
    "flag and its alias": (["--hardware", "h200"], ["--hardware: given twice", "--gpu"]),
    "missing value": (["--seed"], ["--seed: a value is missing"]),
    "empty value": (["--hardware-config", ""], ["--hardware-config: is empty"]),
    "value of a switch": (["--no-jump=3"], ["--no-jump: takes no value"]),
    "NaN": (["--burstiness", "nan"], ["workload.burstiness", '"nan"']),
    "bad format": (["--format", "jsn"], ["--format", '"jsn"', "did you mean json?"]),
    "bad colour": (["--color", "red"], ["--color", '"red"']),
    "bad core": (["--engine-core", "quick"], ["--engine-core", '"quick"']),
    "bad progress": (["--progress", "yes"], ["--progress", '"yes"']),
    "unknown patch of the network": (
        ["--set", "model.num_hidden_layer=4"],
        ["set.model.num_hidden_layer", "num_hidden_layers"],
    ),
    "unknown patch of the GPU": (["--set", "hardware.mem_bandwith=4TB/s"], ["hardware.mem_bandwith", "mem_bandwidth"]),
    "patch without a unit": (["--set", "hardware.mem_bandwidth=4"], ["set.hardware.mem_bandwidth", "unit"]),
    "patch of nothing": (["--set", "engine.x=4"], ["set.engine.x"]),
    "two files": (["a.yaml", "b.yaml"], ["expected one scenario file"]),
    "no such file": (["nothing.yaml"], ["no such file", "nothing.yaml"]),
}


@pytest.mark.parametrize("name", FLAGS)
def test_flags(ridgeline, name):
    flags, pieces = FLAGS[name]
    done = ridgeline("run", *SMALL, *flags, "-o", "r.json", "--requests-out", "log.csv")
    check(ridgeline, done, 2, pieces, set())


TRACES = {
    "missing": (None, ["no such file", "t.csv"]),
    "empty": ("", ["t.csv"]),
    "unknown format": ("a,b\n1,2\n", ["t.csv"]),
    "cut row": (AZURE + "2023-11-16 18:00:00.0,10,1\n2023-11-16 18:0", ["t.csv:3:", "expected 3 columns"]),
    "mixed-up columns": (
        AZURE + "2023-11-16 18:00:00.0,10,1\n10,1,2023-11-16 18:00:01.0\n",
        ["t.csv:3:", "TIMESTAMP", '"10"'],
    ),
    "mixed-up rows": (
        AZURE + "2023-11-16 18:00:09.0,10,1\n2023-11-16 18:00:01.0,10,1\n",
        ["t.csv:3:", "order"],
    ),
    "negative": (AZURE + "2023-11-16 18:00:00.0,-10,1\n", ["t.csv:2:", "ContextTokens", '"-10"']),
    "text": (AZURE + "2023-11-16 18:00:00.0,ten,1\n", ["t.csv:2:", "ContextTokens", '"ten"']),
    "every bad row": (
        AZURE + "2023-11-16 18:00:00.0,ten,1\n2023-11-16 18:00:00.0,1,0.5\n",
        ["t.csv:2:", "t.csv:3:", "GeneratedTokens"],
    ),
}


@pytest.mark.parametrize("name", TRACES)
def test_traces(ridgeline, name):
    text, pieces = TRACES[name]
    if text is not None:
        ridgeline.write("t.csv", text)
    before = ridgeline.files()
    words = "replay --trace t.csv --model llama-3.1-8b --gpu h100 -o r.json --requests-out log.csv".split()
    check(ridgeline, ridgeline(*words), 2, pieces, before)


def test_a_replay_needs_a_trace(ridgeline):
    done = ridgeline("replay", "--model", "llama-3.1-8b", "--gpu", "h100")
    check(ridgeline, done, 2, ["workload.trace: missing", "--trace FILE"], set())


OUTPUTS = {
    "no such folder": (["-o", "no/r.json"], ["cannot write 'no/r.json'", "No such file"]),
    "a folder": (["-o", "."], ["cannot write '.'"]),
    "unknown extension": (["-o", "r.xml"], ["'r.xml'", ".json"]),
    "unknown log": (["--requests-out", "log.txt"], ["'log.txt'", ".csv"]),
    "one of two": (["-o", "ok.json", "-o", "no/r.json"], ["cannot write 'no/r.json'"]),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_unwritable_outputs_are_found_before_the_run(ridgeline, name):
    flags, pieces = OUTPUTS[name]
    # A run of many minutes, were it started.
    words = "run --model llama-3.1-8b --gpu h100 --request-rate 1000 --num-prompts 4000000000 --input-len 9 --output-len 9"
    check(ridgeline, ridgeline(*words.split(), *flags), 2, pieces, set())


def test_a_full_disk_is_an_error(ridgeline):
    with open("/dev/full", "w") as full:
        done = ridgeline("run", *SMALL, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert "cannot write standard output: No space left on device" in done.stderr


OWN_KEYS = {
    "latency.bench_data": "--latency v2-final --bench-data nowhere",
    "latency.bench_data ": "--latency table --bench-data nowhere",
    "latency.constants": "--latency-constants nowhere.yaml",
    "latency.hardware_config": "--latency v1 --hardware-config nowhere.json",
}


@pytest.mark.parametrize("key", OWN_KEYS)
def test_an_unreadable_file_is_blamed_on_its_own_key(ridgeline, key):
    done = ridgeline("run", *SMALL, *OWN_KEYS[key].split())
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {key.strip()}: "), done.stderr
    assert "latency.name" not in done.stderr


def test_a_start_past_the_trace_is_blamed_on_its_own_key(ridgeline):
    ridgeline.write("t.csv", "arrival_s,input_tokens,output_tokens\n0,10,1\n1,20,2\n")
    done = ridgeline("replay", *SMALL[:4], "--trace", "t.csv", "--trace-start", "9s")
    assert done.returncode == 2
    assert done.stderr.startswith("error: workload.trace_start: 9 s is out of range")


def test_the_hint_of_a_conflict_is_plain(ridgeline):
    done = ridgeline("run", *SMALL, "--prefix-choice", "zipf")
    assert done.returncode == 2
    assert "hint: remove this setting, or the one that it conflicts with" in done.stderr


def test_control_characters_of_names_are_escaped(ridgeline):
    """A terminal would obey them, and a line break would pass off a second message."""
    name = "a\x1b[2J\nerror: b\x9bc\r"
    shown = r"a\x1b[2J\nerror: b\xc2\x9bc\x0d"
    ridgeline.write("s.yaml", json.dumps({"model": name, "gpu": name, name: 1}))
    for words in (["--router", name, "--instances", 2], [f"--{name}"], ["--request-rate", name], ["s.yaml"], [name]):
        done = ridgeline("run", *SMALL, *words)
        assert done.returncode == 2
        assert shown in done.stderr, done.stderr
        assert not set(done.stderr) & {"\x1b", "\x9b", "\r"}


def test_control_characters_of_names_are_escaped_on_standard_output(ridgeline):
    """As in errors: names of folders, files and pools in tables. Data formats keep them."""
    name = "a\x1b[2J\x9bc\r"
    shown = r"a\x1b[2J\xc2\x9bc\x0d"
    pools = {"pools": [{"name": name, "instances": 1}, {"name": "b", "instances": 1}]}
    fleet = {"model": "llama-3.1-8b", "gpu": "h100", "cluster": pools,
             "workload": {"request_rate": 4, "num_prompts": 4, "input_len": 64, "output_len": 4}}
    ridgeline.write(f"{name}.json", json.dumps(fleet))
    ridgeline.write("s.yaml", "model: llama-3.1-8b\ngpu: h100\n"
                    "workload: {request_rate: 4, num_prompts: 4, input_len: 64, output_len: 4}\n")
    for words in (
        ("deploy", "s.yaml", "--save-dir", name),
        ("sweep", "run", "s.yaml", "--axis", "request_rate=1,2", "--store", f"{name}-store"),
        ("explain", f"{name}.json"),
        ("kernels", "make", "--gpu", "h100", "--heads", "32-8-128", "--tp", "1", "-o", f"{name}-tables"),
        ("kernels", "check", f"{name}-tables"),
    ):
        done = ridgeline(*words)
        assert done.returncode == 0, done.stderr
        assert shown in done.stdout, done.stdout
        assert not set(done.stdout) & {"\x1b", "\x9b", "\r"}, words
    done = ridgeline("explain", f"{name}.json", "--format", "json")
    assert json.loads(done.stdout)["config"]["cluster"]["pools"][0]["name"] == name
