"""The command line of the original simulator."""

import json

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
