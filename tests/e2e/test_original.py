"""The command line of the original simulator."""

import json
import re

import pytest

from conftest import SHARED, SOURCE

TABLES = SHARED / "kernels" / "blis_h100"
FINAL = {"H100": {"TFlopsPeak": 989.5, "BwPeakTBs": 3.35, "bwEfficiencyFactor": 0.82, "perLayerOverhead": 100}}


@pytest.fixture
def words(ridgeline):
    folder = ridgeline.folder / "model_configs"
    folder.mkdir()
    config = json.loads((SOURCE / "data" / "models" / "llama-3.1-8b.json").read_text())
    (folder / "config.json").write_text(json.dumps({k: v for k, v in config.items() if not k.startswith("ridgeline")}))
    ridgeline.write("hardware_config.json", json.dumps(FINAL))
    return ["run", "--model", "meta-llama/llama-3.1-8b-instruct", "--hardware", "h100", "--tp", "1",
            "--workload", "chatbot", "--model-config-folder", folder, "--hardware-config", "hardware_config.json",
            "--roofline", "--output", "result.json"]


def test_with_tables(ridgeline, words):
    if not TABLES.is_dir():
        pytest.skip(f"no {TABLES}")
    done = ridgeline(*words, "--bench-data-path", TABLES)
    assert done.returncode == 0, done.stderr
    result = json.loads((ridgeline.folder / "result.json").read_text())
    assert result["config"]["latency"]["name"] == "v2-final"
    assert result["config"]["latency"]["set"]["perLayerOverhead"] == 100
    assert result["summary"]["completed"] == 100


def test_without_tables_v1_names_what_the_file_lacks(ridgeline, words):
    done = ridgeline(*words)
    assert done.returncode == 2
    for key in ("v1 needs", "BwEffConstant", "mfuPrefill", "tpScalingExponent", "hardware_config.json"):
        assert key in done.stderr
    assert "result.json" not in ridgeline.files()


def test_without_a_file_v1_brings_its_own(ridgeline, words):
    at = words.index("--hardware-config")
    done = ridgeline(*words[:at], *words[at + 2 :])
    assert done.returncode == 0, done.stderr
    result = json.loads((ridgeline.folder / "result.json").read_text())
    assert result["config"]["latency"]["name"] == "v1"
    assert result["config"]["latency"]["set"]["tpScalingExponent"] == 0.3


def test_a_horizon_ends_users_without_a_number_of_requests(ridgeline):
    length = "{{type: constant, params: {{value: {}}}}}"
    ridgeline.write("w.yaml", (
        'version: "2"\nhorizon: 60000000\naggregate_rate: 0\nclients:\n  - id: a\n    concurrency: 8\n'
        "    think_time_us: 500000\n"
        f"    input_distribution: {length.format(500)}\n    output_distribution: {length.format(100)}\n"))
    run = ["run", "--model", "llama-3.1-8b", "--gpu", "h100", "--workload-spec", "w.yaml", "--format", "json"]
    summary = json.loads(ridgeline(*run).stdout)["summary"]
    # Eight users, each of which is served and then thinks.
    assert summary["completed"] == pytest.approx(8 * 60 / (0.5 + summary["e2e_ms"]["mean"] / 1000), rel=0.05)
    shorter = json.loads(ridgeline(*run, "--horizon", "30000000").stdout)["summary"]
    assert shorter["completed"] == pytest.approx(summary["completed"] / 2, rel=0.05)
    assert json.loads(ridgeline(*run, "--num-requests", "100").stdout)["summary"]["completed"] == 100
    # Answers take no time there.
    assert json.loads(ridgeline("trace", "w.yaml", "--format", "json").stdout)["requests"] == 960


def printed_commands():
    """Rows of the table of command lines: the words, the exit code, what is said."""
    page = (SOURCE / "lab" / "docs" / "original-words.md").read_text()
    table = page[page.index("| command | exit code |") :]
    rows = re.findall(r"^\| `([^`]+)` \| (\d+) \| (.+) \|$", table, re.MULTILINE)
    return [(words.split(), int(code), re.findall(r"`([^`]+)`", said)) for words, code, said in rows]


@pytest.mark.parametrize("words, code, said", [pytest.param(*row, id=" ".join(row[0])) for row in printed_commands()])
def test_a_printed_command_line_runs_or_says_what_is_missing(ridgeline, words, code, said):
    if "DIR" in words and not TABLES.is_dir():
        pytest.skip(f"no {TABLES}")
    folder = ridgeline.folder / "model_configs"
    folder.mkdir()
    config = json.loads((SOURCE / "data" / "models" / "llama-3.1-8b.json").read_text())
    (folder / "config.json").write_text(json.dumps({k: v for k, v in config.items() if not k.startswith("ridgeline")}))
    ridgeline.write("hardware_config.json", json.dumps({"H100": {"TFlopsPeak": 989.5, "BwPeakTBs": 3.35}}))
    done = ridgeline(*[TABLES if word == "DIR" else word for word in words])
    assert done.returncode == code, done.stderr
    assert said
    for text in said:
        assert text in " ".join((done.stdout + done.stderr).split())


def test_models_side_by_side(ridgeline):
    load = ["--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "2", "--num-prompts", "20", "--input-len", "300",
            "--output-len", "20"]
    done = ridgeline("run", *load, "--compare", "kernel,v0,v1", "--format", "json")
    assert done.returncode == 0, done.stderr
    models = json.loads(done.stdout)["models"]
    assert [result["config"]["latency"]["name"] for result in models] == ["kernel", "v0", "v1"]
    for result in models:
        alone = ridgeline("run", *load, "--latency", result["config"]["latency"]["name"], "--format", "json")
        assert json.loads(alone.stdout)["digest"] == result["digest"]
    table = ridgeline("run", *load, "--compare", "kernel,v1").stdout
    assert re.search(r"^ +kernel +v1$", table, re.MULTILINE)
    assert re.search(r"^E2E ratio +1\.00 ", table, re.MULTILINE)
    assert ridgeline("run", *load, "--compare", "kernel", "--steps-out", "s.jsonl").returncode == 2
    assert ridgeline("run", *load, "--compare", "kernel,v9").returncode == 2


def test_the_table_of_printed_commands_was_found():
    rows = printed_commands()
    assert len(rows) >= 20
    assert {code for _, code, _ in rows} == {0, 2}


def test_made_tables_are_labelled_in_every_output(ridgeline):
    made = ridgeline("kernels", "make", "--gpu", "h100", "--heads", "32-8-128", "--tp", "1", "-o", "made")
    assert made.returncode == 0, made.stderr
    chosen = ["--model", "llama-3.1-8b", "--gpu", "h100", "--bench-data", "made", "--latency"]
    load = ["--num-prompts", "5", "--request-rate", "1", "--input-len", "64", "--output-len", "8"]
    record = {
        "id": "one", "family": "own", "model": "meta-llama/Llama-3.1-8B-Instruct", "gpu": "H100-SXM-80GB", "tp": 1,
        "engine": "vllm", "engine_version": "0.11.0", "server": {"max_num_seqs": 8, "max_model_len": 4096},
        "workload": {"loop": "closed", "concurrency": 2, "num_requests": 6,
                     "input": {"kind": "fixed", "nominal_tokens": 256},
                     "output": {"kind": "fixed", "nominal_tokens": 16}},
        "measured": {"ttft_ms": {"mean": 40}, "e2e_ms": {"mean": 150}},
    }
    ridgeline.write("runs.jsonl", json.dumps(record) + "\n")
    for model in ("v2-final", "table"):
        for words in (["step", *chosen, model, "--decode", "64"],
                      ["step", *chosen[:-1], "--compare", f"{model},kernel", "--decode", "64"],
                      ["run", *chosen, model, *load], ["explain", *chosen, model, *load]):
            for shape in ("table", "json"):
                done = ridgeline(*words, "--format", shape)
                assert done.returncode == 0, done.stderr
                assert "W-made-tables" in done.stdout + done.stderr, words
                assert shape == "table" or "W-made-tables" in done.stdout, words
        done = ridgeline("validate", "runs.jsonl", "--latency", model, "--bench-data", "made", "--format", "json")
        assert "W-made-tables" in done.stdout, done.stderr
    assert "W-made-tables" in ridgeline("validate", "runs.jsonl", "--latency", "table", "--bench-data", "made").stdout
    for shape in ("markdown", "json"):
        assert "W-made-tables" in ridgeline("study", "run", "h28", "--bench-data", "made", "--format", shape).stdout
    assert "made (3)" in ridgeline("kernels", "check", "made").stdout
    lookup = ridgeline("kernels", "lookup", "gemm", "8,4096,4096", "--bench-data", "made").stdout
    assert "made/gemm/h100/data.csv:" in lookup and ", made by the kernel model" in lookup


def test_tables_under_another_name_of_the_gpu(ridgeline):
    made = ridgeline("kernels", "make", "--gpu", "a100-80gb", "--heads", "32-8-128", "--tp", "1", "-o", "made")
    assert made.returncode == 0, made.stderr
    for kind in ("gemm", "mha/prefill", "mha/decode"):
        folder = ridgeline.folder / "made" / kind
        next(folder.iterdir()).rename(folder / "a100")
    step = ["step", "--model", "llama-3.1-8b", "--latency", "v2-final", "--bench-data", "made", "--decode", "64"]
    for gpu in ("a100-80gb", "A100-SXM", "a100"):
        done = ridgeline(*step, "--gpu", gpu)
        assert done.returncode == 0, done.stderr
    assert ridgeline(*step, "--gpu", "h100").returncode == 2


@pytest.mark.parametrize("preset, mean", [("chatsweep", 215), ("codesweep", 28), ("long-context", 343)])
def test_presets_that_are_lengths_are_workloads(ridgeline, preset, mean):
    done = ridgeline("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--workload", preset, "--max-model-len", "131072",
                     "--format", "json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["summary"]["completed"] == 100
    assert result["summary"]["total_output_tokens"] / 100 == pytest.approx(mean, rel=0.3)
    assert "expected one of" in ridgeline("run", "--model", "a", "--gpu", "h100", "--workload", "agentic").stderr


def test_fused_qkv_of_a_file_is_read(ridgeline):
    if not TABLES.is_dir():
        pytest.skip(f"no {TABLES}")
    ridgeline.write("hw.json", json.dumps({"H100": {**FINAL["H100"], "fuseQKV": True}}))
    step = ["step", "--model", "llama-3.1-8b", "--gpu", "h100", "--latency", "v2-final", "--bench-data", TABLES,
            "--decode", "100", "--hardware-config", "hw.json"]
    done = ridgeline(*step)
    assert done.returncode == 0, done.stderr
    assert "W-without-effect" in done.stdout + done.stderr and "q_proj " in done.stdout
    assert "qkv_proj " in ridgeline(*step, "--latency-set", "tensor_parallel=shard").stdout
