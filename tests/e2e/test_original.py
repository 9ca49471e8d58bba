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
