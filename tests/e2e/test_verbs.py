"""The other verbs: step, explain, list, schema, help, version."""

import json
import re
from pathlib import Path

import pytest
from conftest import SMALL

DEPLOYMENT = "--model llama-3.1-8b --gpu h100".split()


def json_of(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_step_is_the_sum_of_its_parts(ridgeline):
    step = json_of(ridgeline("step", *DEPLOYMENT, "--decode", "700x32,64", "--prefill", "0+512", "--format", "json"))
    assert step["model"] == "kernel"
    total = sum(part["us"] for part in step["parts"]) + step["rounding_us"]
    assert total == pytest.approx(step["step_us"], rel=1e-12)
    assert step["bottleneck"] in ("compute", "memory", "network", "overhead")
    assert sum(step["time_by_bottleneck"].values()) == pytest.approx(step["step_us"], rel=1e-9) or sum(
        step["time_by_bottleneck"].values()
    ) * 1e6 == pytest.approx(step["step_us"], rel=1e-9)


@pytest.mark.parametrize("verb", ["run", "replay", "step", "explain"])
def test_every_result_marks_what_nothing_was_fitted_on(ridgeline, tmp_path, verb):
    (tmp_path / "trace.csv").write_text("arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,5\n")
    words = {
        "run": "--num-prompts 2 --request-rate 1 --input-len 100 --output-len 5",
        "replay": "--trace trace.csv",
        "step": "--decode 100x4",
        "explain": "",
    }[verb].split()

    def codes(model, gpu, *more):
        done = ridgeline(verb, "--model", model, "--gpu", gpu, *words, *more, "--format", "json")
        return {warning["code"] for warning in json_of(done)["warnings"] if warning["code"].startswith("W-un")}

    assert codes("llama-3.1-8b", "h100") == set()
    assert codes("llama-3.1-8b", "b200") == set()
    assert codes("llama-3.1-8b", "b300") == set()
    assert codes("llama-3.1-8b", "l4") == {"W-unmeasured-gpu"}
    assert "W-unmeasured-format" in codes("deepseek-r1-mxfp4", "b200", "--tp", "8")
    assert codes("llama-3.1-8b", "h100", "--engine-version", "vllm@1.2") == {"W-unmeasured-engine-version"}
    (tmp_path / "mine.yaml").write_text("name: mine\nbase: h100\narchitecture: rubin\n")
    assert codes("llama-3.1-8b", "mine.yaml") == {"W-unmeasured-gpu", "W-unknown-architecture"}


def test_more_work_takes_longer(ridgeline):
    def us(*words):
        return json_of(ridgeline("step", *DEPLOYMENT, *words, "--format", "json"))["step_us"]

    assert us("--decode", "100x8") < us("--decode", "100x64") < us("--decode", "5000x64")
    assert us("--prefill", "0+128", "--no-sample") < us("--prefill", "0+128")
    assert us("--decode", "10,10,10") == us("--decode", "10x3")


def test_a_step_of_fp8_lies_below_its_own_roof(ridgeline, tmp_path):
    done = ridgeline(
        "step", "--model", "llama-3.1-70b-fp8", "--gpu", "h200", "--decode", "1000x500", "--svg", "roof.svg"
    )
    assert done.returncode == 0, done.stderr
    svg = (tmp_path / "roof.svg").read_text()
    assert "fp8 peak 1.98 PFLOP/s" in svg and "bf16 peak 989 TFLOP/s" in svg
    text = ridgeline("explain", "--model", "llama-3.1-70b-fp8", "--gpu", "h200").stdout
    assert "ridge point fp8" in text and "412.3 FLOP/B" in text


def test_a_step_draws_itself(ridgeline):
    done = ridgeline("step", *DEPLOYMENT, "--decode", "700x32", "--svg", "roof.svg")
    assert done.returncode == 0, done.stderr
    assert "qkv_proj" in done.stdout
    assert (ridgeline.folder / "roof.svg").read_text().lstrip().startswith("<svg")


def test_models_side_by_side(ridgeline):
    both = json_of(ridgeline("step", *DEPLOYMENT, "--decode", "9", "--compare", "kernel,kernel", "--format", "json"))
    assert [model["model"] for model in both["models"]] == ["kernel", "kernel"]


@pytest.mark.parametrize(
    "words, pieces",
    [
        ([], ["nothing to price"]),
        (["--decode", "x"], ["--decode", '"x"', "CTXxCOUNT"]),
        (["--decode", "5x0"], ["--decode", '"5x0"']),
        (["--decode", "5,,6"], ['--decode: found ""']),
        (["--prefill", "512"], ["--prefill", '"512"', "PAST+NEW"]),
        (["--prefill", "0+0"], ["--prefill", '"0+0"']),
        (["--decode", "1x65537"], ["--decode"]),
        (["--decode", "1x65536", "--prefill", "0+1"], ["more than 65536 sequences"]),
        (["--decode", "1", "--compare", "kernel,krnl"], ["'krnl'", "kernel"]),
        (["--decode", "1", "--compare", "kernel", "--latency", "kernel"], ["--latency: would be ignored"]),
        (["--decode", "1", "--svg", "no/x.svg"], ["cannot write 'no/x.svg'"]),
        (["--decode", "1", "--request-rate", "4"], ["--request-rate: no such flag"]),
    ],
)
def test_bad_steps(ridgeline, words, pieces):
    done = ridgeline("step", *DEPLOYMENT, *words)
    assert done.returncode == 2
    for piece in pieces:
        assert piece in done.stderr
    assert ridgeline.files() == set()


def test_explain_adds_up(ridgeline):
    words = "explain --model llama-3.1-70b --gpu h100 --tp 4 --format json".split()
    explained = json_of(ridgeline(*words))
    assert explained["model"]["parameters_total"] == 70_553_706_496  # Meta's model card: 70.6 B
    # 80 layers x 2 (K, V) x 8 heads x 128 x 2 bytes.
    assert explained["model"]["kv_bytes_per_token"] == 80 * 2 * 8 * 128 * 2
    memory = explained["memory"]
    left = memory["budget_gib"] - memory["weights_gib"] - memory["reserve_gib"]
    assert memory["kv_cache_gib"] == pytest.approx(left)
    assert memory["budget_gib"] == pytest.approx(memory["usable_gib"] * memory["gpu_memory_utilization"])
    assert memory["num_gpu_blocks"] == int(memory["kv_cache_gib"] * 2**30 / memory["block_bytes"])
    # 989 TFLOP/s over 3.35 TB/s.
    assert explained["hardware"]["ridge_point_bf16_flop_per_byte"] == pytest.approx(989 / 3.35)
    origins = {entry["key"]: entry for entry in explained["provenance"]}
    assert origins["engine.tensor_parallel_size"]["origin"] == "flag"
    assert origins["engine.max_model_len"]["origin"] == "derived"
    assert origins["engine.block_size"]["origin"] == "default"
    assert "workload.num_prompts" not in [k for k, e in origins.items() if e["origin"] == "derived"]


def test_explain_says_where_in_the_file(ridgeline):
    ridgeline.write("s.yaml", "model: llama-3.1-8b\ngpu: h100\nengine: {block_size: 32}\n")
    explained = json_of(ridgeline("explain", "s.yaml", "--format", "json"))
    (entry,) = (e for e in explained["provenance"] if e["key"] == "engine.block_size")
    assert (entry["value"], entry["origin"], entry["source"]) == (32, "file", "s.yaml:3:22")
    assert "engine.block_size" in ridgeline("explain", "s.yaml").stdout


def test_explain_of_what_does_not_fit(ridgeline):
    done = ridgeline("explain", "--model", "llama-3.1-70b", "--gpu", "h100")
    assert done.returncode == 4
    assert "hint: it fits with --tensor-parallel-size 4" in done.stderr


@pytest.mark.parametrize("registry", "models gpus latency engines traces formats options".split())
def test_lists(ridgeline, registry):
    entries = json_of(ridgeline("list", registry, "--format", "json"))
    table = ridgeline("list", registry).stdout
    assert entries
    for entry in entries:
        assert entry["name"] in table and entry["summary"]


def test_every_listed_model_and_gpu_can_be_explained(ridgeline):
    for gpu in json_of(ridgeline("list", "gpus", "--format", "json")):
        done = ridgeline("explain", "--model", "llama-3.2-1b", "--gpu", gpu["name"], "--format", "json")
        assert done.returncode == 0, done.stderr
    for model in json_of(ridgeline("list", "models", "--format", "json")):
        done = ridgeline("explain", "--model", model["name"], "--gpu", "h200", "--tp", "4", "--format", "json")
        # The largest need more.
        assert done.returncode in (0, 4) or "does not divide" in done.stderr, done.stderr


@pytest.mark.parametrize(
    "words, piece",
    [
        (["list"], "models"),
        (["list", "model"], "did you mean 'models'?"),
        (["list", "models", "gpus"], "models gpus"),
        (["schema"], "scenario"),
        (["schema", "results"], "did you mean 'result'?"),
        (["help", "rnu"], "did you mean 'run'?"),
        (["version", "now"], 'unexpected "now"'),
        (["rnu"], "did you mean 'run'?"),
        (["--model", "x"], "the verb comes first"),
        (["sweep"], "run, list, status, merge"),
    ],
)
def test_bad_words(ridgeline, words, piece):
    done = ridgeline(*words)
    assert done.returncode == 2
    assert piece in done.stderr
    assert done.stdout == ""


def test_schemas_are_json(ridgeline):
    names = ["scenario", "result", "step", "steps", "step-log", "study"]
    for name in [*names, "request-jsonl", "request-jsonl-header"]:
        schema = json_of(ridgeline("schema", name))
        assert schema["type"] == "object"


def test_help(ridgeline):
    first = ridgeline("--help")
    assert first.returncode == 0 and first.stdout == ridgeline("help").stdout == ridgeline("-h").stdout
    assert first.stdout.count("\n  ridgeline ") == 3
    page = ridgeline("run", "--help")
    assert page.returncode == 0 and page.stdout == ridgeline("help", "run").stdout
    assert "--max-num-seqs" in page.stdout and "--requests-out" in page.stdout
    # Help is help whatever else was said.
    assert ridgeline("run", "--nonsense", "--help").returncode == 0
    options = ridgeline("help", "options").stdout
    for entry in json_of(ridgeline("list", "options", "--format", "json")):
        assert f"\n{entry['name']}  (--" in options


def test_the_examples_of_the_first_page_run(ridgeline):
    ridgeline.write("requests.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00.0,10,2\n")
    page = ridgeline("help", env={"COLUMNS": "80"}).stdout.replace("\\\n", "")
    examples = [line.split() for line in page.splitlines() if line.startswith("  ridgeline ")]
    assert len(examples) == 3
    for example in examples:
        assert ridgeline(*example[1:]).returncode == 0


def test_version(ridgeline):
    done = ridgeline("version")
    assert done.returncode == 0 and done.stdout == ridgeline("--version").stdout
    assert done.stdout.startswith("ridgeline ")
    assert ridgeline().returncode == 2


def test_licences_are_those_of_every_library(ridgeline):
    root = Path(__file__).resolve().parent.parent.parent
    shown = ridgeline("version", "--licenses").stdout
    assert shown == (root / "THIRD_PARTY_NOTICES").read_text(encoding="utf-8")
    # The libraries of [build] in apt-packages.txt are those that tools/third_party_notices.py names.
    build = (root / "apt-packages.txt").read_text(encoding="utf-8").split("[build]")[1].split("\n[")[0]
    # curl is loaded where `observe` asks for it, and no part of the program.
    libraries = set(re.findall(r"^(\S+-dev)\b", build, re.MULTILINE)) - {"libcurl4-openssl-dev"}
    noted = set(re.findall(r'"(\S+-dev)"', (root / "tools/third_party_notices.py").read_text(encoding="utf-8")))
    assert libraries == noted
    for name in ("fmt", "tl::expected", "yaml-cpp", "simdjson", "robin-map", "xxHash", "zlib", "Zstandard", "Boost"):
        assert f"\n{name}\n" in shown


def test_an_unloaded_request_takes_the_sum_of_its_steps(ridgeline):
    """Three tokens: the prompt's step, then two decodes over 512 and 513 tokens of context."""
    result = json_of(
        ridgeline(
            "run", *DEPLOYMENT, "--request-rate", "1", "--num-prompts", "1", "--input-len", "512",
            "--output-len", "3", "--request-path", "off", "--format", "json",
        )
    )["summary"]

    def step_ms(*words):
        return json_of(ridgeline("step", *DEPLOYMENT, *words, "--format", "json"))["step_us"] / 1e3

    assert result["ttft_ms"]["mean"] == pytest.approx(step_ms("--prefill", "0+512"), rel=1e-12)
    decodes = step_ms("--decode", "512") + step_ms("--decode", "513")
    assert result["tpot_ms"]["mean"] == pytest.approx(decodes / 2, rel=1e-9)


def test_tables_are_not_cut_in_a_pipe_nor_where_there_is_room(ridgeline):
    words = "step --model llama-3.1-70b-fp8 --gpu h200 --decode 1000x500 --prefill 0+777x3".split()
    shapes = [part["shape"] for part in json_of(ridgeline(*words, "--format", "json"))["parts"]]
    for env in ({}, {"COLUMNS": "250"}):
        table = ridgeline(*words, env=env).stdout
        assert all(shape in table for shape in shapes)
        assert "\u2026" not in table
    assert max(len(line) for line in ridgeline(*words, env={"COLUMNS": "90"}).stdout.splitlines()) <= 100


def test_durations_have_the_digits_of_their_literal(ridgeline):
    words = "explain --model llama-3.1-8b --gpu h100 --set hardware.num_sms=132 --host-step-time 400us".split()
    explained = json_of(ridgeline(*words, "--format", "json"))
    assert explained["config"]["serving"]["host_step_time"] == "0.0004s"
    assert "0.0004s" in ridgeline(*words).stdout


def test_explain_json_has_all_that_a_person_sees(ridgeline):
    words = "explain --model llama-3.1-70b --gpu h100 --tp 4 --max-model-len 8192".split()
    explained = json_of(ridgeline(*words, "--format", "json"))
    table = ridgeline(*words).stdout
    assert table.startswith(explained["deployment"] + "\n")
    memory = explained["memory"]
    assert memory["requests_of_max_model_len"] == memory["kv_tokens"] / 8192
    values = {entry["key"]: entry["value"] for entry in explained["provenance"]}
    assert values["model.hidden_size"] == 8192
    assert values["model.num_hidden_layers"] == 80
    assert values["hardware.num_sms"] == 132


@pytest.mark.parametrize("verb", ["list gpus", "explain", "step --decode 64x8"])
def test_quiet_prints_nothing(ridgeline, verb):
    words = [*verb.split(), "--format", "quiet"]
    done = ridgeline(*words, *([] if verb.startswith("list") else SMALL[:4]))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_quiet_has_nothing_for_standard_output(ridgeline):
    for words in ("run", *SMALL), ("list", "gpus"):
        done = ridgeline(*words, "--format", "quiet", "-o", "-")
        assert (done.returncode, done.stdout) == (2, "")
        assert "--output: --format quiet writes nothing to '-'" in done.stderr
    done = ridgeline("run", *SMALL, "--format", "quiet", "-o", "/dev/null")
    assert done.returncode == 2 and "writes nothing to '/dev/null'" in done.stderr


def test_a_file_that_was_not_written_is_not_named_as_written(ridgeline):
    done = ridgeline("run", *SMALL, "-o", "/dev/full")
    assert done.returncode == 2 and "cannot write '/dev/full'" in done.stderr
    assert "/dev/full" not in done.stdout


@pytest.mark.parametrize(
    "words", ["help", "help options", "help coming-from", "run --help", "list models", "list gpus", "list traces"]
)
def test_pages_fit_the_terminal(ridgeline, words):
    wide = ridgeline(*words.split()).stdout
    narrow = ridgeline(*words.split(), env={"COLUMNS": "80"}).stdout
    # Words that are longer than a line stay whole.
    assert [line for line in narrow.splitlines() if len(line) > 80 and len(line.split()) > 1] == []
    assert narrow.split() == wide.split()


def test_a_gpu_with_other_facts_than_its_name_stands_for_is_marked(ridgeline):
    def warned(text, *words):
        ridgeline.write("h100.yaml", text)
        done = ridgeline("step", "--model", "llama-3.1-8b", "--gpu", "./h100.yaml", "--decode", "9", "--format", "json",
                         *words)
        return [(warning["code"], warning["message"]) for warning in json_of(done)["warnings"]]

    assert warned("name: h100\nbase: h100\nmemory: 94GiB\n") == []
    changed = ("W-unmeasured-gpu", "no kernel was measured on h100 with another hardware.mem_bandwidth: a what-if")
    assert warned("name: h100\nbase: h100\nmem_bandwidth: 1TB/s\n") == [changed]
    assert warned("name: h100\nbase: h100\n", "--set", "hardware.mem_bandwidth=1TB/s") == [changed]
    odd = warned("name: h100\nbase: h100\nmem_bandwidth: 5.0GB/s\n")
    assert odd[1] == (
        "W-odd-gpu", "hardware.mem_bandwidth is 5 GB/s, GPUs of the catalogue have 273 GB/s to 8000 GB/s")


def test_a_key_with_the_unit_of_the_json_is_understood(ridgeline):
    done = ridgeline("explain", *SMALL[:4], "--set", "hardware.mem_bandwidth_bytes_per_s=4e12")
    assert done.returncode == 2 and "did you mean 'mem_bandwidth'?" in done.stderr


def test_a_batch_beyond_the_engines_limits_is_warned_of(ridgeline):
    def warned(*words):
        done = ridgeline("step", *DEPLOYMENT, *words, "--format", "json")
        return {warning["code"]: warning for warning in json_of(done)["warnings"]}

    assert warned("--decode", "700x32", "--prefill", "0+512") == {}
    seats = warned("--decode", "10x300", "--max-num-seqs", "256")
    assert list(seats) == ["W-beyond-max-num-seqs"]
    assert "has 300 sequences, max_num_seqs is 256" in seats["W-beyond-max-num-seqs"]["message"]
    budget = warned("--prefill", "0+9000", "--max-num-batched-tokens", "8192")
    assert "computes 9000 tokens, max_num_batched_tokens is 8192" in budget["W-beyond-token-budget"]["message"]
    length = warned("--decode", "5000", "--max-model-len", "5000")
    assert "has 5001 tokens, max_model_len is 5000" in length["W-beyond-max-model-len"]["message"]
    assert warned("--decode", "4999", "--max-model-len", "5000") == {}
    cache = warned("--decode", "100000x200")
    assert list(cache) == ["W-beyond-kv-cache"]
    # 100,001 tokens are 6,251 blocks of 16.
    assert "need 1250200 KV blocks" in cache["W-beyond-kv-cache"]["message"]


def test_a_step_of_a_data_parallel_deployment_is_one_ranks(ridgeline):
    done = ridgeline(
        "step", *"--model deepseek-v3 --gpu h200 --dp 8 --enable-expert-parallel --decode 100x8 --format json".split()
    )
    warnings = {warning["code"]: warning["message"] for warning in json_of(done)["warnings"]}
    assert warnings["W-data-parallel"] == (
        "--decode and --prefill are the batch of one of 8 data-parallel ranks, not of all"
    )


def test_a_step_does_not_warn_of_hosts_that_it_does_not_show(ridgeline):
    words = "--model llama-3.1-8b --gpu h100 --engine-version vllm@0.11 --async-scheduling".split()
    warned = [
        "W-async-waits" in {w["code"] for w in json_of(ridgeline(*verb, *words, "--format", "json"))["warnings"]}
        for verb in (("step", "--decode", "100x8"),
                     ("run", "--num-prompts", 2, "--arrivals", "at-once", "--input-len", 8, "--output-len", 4))
    ]
    assert warned == [False, True]


def test_steps_that_simulated_time_has_no_room_for_are_errors(ridgeline):
    slow = ("--set", "hardware.mem_bandwidth=1B/s")
    step = ridgeline("step", *DEPLOYMENT, *slow, "--decode", "700")
    assert step.returncode == 4
    assert "step: takes" in step.stderr and "expected at most 9200000 s" in step.stderr
    run = ridgeline("run", *SMALL, *slow)
    assert run.returncode == 4
    assert "set.hardware.mem_bandwidth: the run passes 9200000 s" in run.stderr
    # 16 GB of weights at 100 kB/s: 44 hours, which were 1,000 s for each operator.
    long = json_of(ridgeline("step", *DEPLOYMENT, "--set", "hardware.mem_bandwidth=100kB/s", "--decode", "7", "--format", "json"))
    assert 1.4e11 < long["step_us"] < 1.9e11
    assert abs(long["rounding_us"]) < 1.0


def test_verbs_write_files_as_they_print(ridgeline, tmp_path):
    steps = ("run", *SMALL, "--steps-out", "steps.jsonl", "--format", "quiet")
    assert ridgeline(*steps).returncode == 0
    for words in (
        ("step", *DEPLOYMENT, "--decode", "700x32"),
        ("step", *DEPLOYMENT, "--decode", "700x32", "--compare", "kernel,v0"),
        ("steps", "steps.jsonl"),
        ("list", "gpus"),
    ):
        shown = ridgeline(*words, "--ascii", "-o", "out.json", "-o", "out.txt")
        assert shown.returncode == 0, shown.stderr
        assert (tmp_path / "out.txt").read_text() == shown.stdout
        assert (tmp_path / "out.json").read_text() == ridgeline(*words, "--format", "json").stdout
        assert ridgeline(*words, "--format", "json", "-o", "-").stdout == (tmp_path / "out.json").read_text()
        refused = ridgeline(*words, "-o", "out.svg")
        assert refused.returncode == 2
        assert "found 'out.svg', expected a name that ends in one of .txt, .json" in refused.stderr
        assert not (tmp_path / "out.svg").exists()


def test_a_step_fits_a_terminal_of_80_columns(ridgeline):
    words = "--model deepseek-v3 --gpu h200 --tp 8 --decode 700x32 --prefill 0+512x3,100+7".split()
    for more in ((), ("--compare", "kernel,kernel-vllm")):
        shown = ridgeline("step", *words, *more, env={"COLUMNS": "80"})
        assert shown.returncode == 0, shown.stderr
        assert max(len(line) for line in shown.stdout.splitlines()) <= 80
