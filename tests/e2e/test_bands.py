"""Error bands and the ranking of deployments: validate writes them, run names them."""

import json
import subprocess
import sys

import pytest
from conftest import SHARED, SOURCE, too_long_sanitized

RUNS = SHARED / "groundtruth"
BANDS = SOURCE / "data" / "accuracy" / "bands.yaml"
# As ./dev bands has them. ML.ENERGY's, which takes longest, gives neither TTFT, TPOT nor E2E.
FILES = [
    "experiments",
    "released",
    "new-gptoss-h200-spec",
    "new-gptoss-h200-sweep",
    "new-inferencex-power",
    "new-mlperf",
    "new-nebius-h200",
    "new-splitwise-power",
]
RUN = ("run", "--model", "llama-3.1-8b", "--num-prompts", 50, "--request-rate", 4, "--input-len", 512, "--output-len", 64)


def record(number, clients=2, tpot=7.0, **more):
    return {
        "id": f"r{number}",
        "family": "own",
        "stage": "point",
        "model": "meta-llama/Llama-2-7b-hf",
        "gpu": "H100-SXM-80GB",
        "tp": 1,
        "engine": "vllm",
        "engine_version": "0.11.0",
        "server": {"max_num_seqs": 8, "max_model_len": 4096},
        "workload": {
            "name": "fixed",
            "loop": "closed",
            "concurrency": clients,
            "num_requests": 8,
            "input": {"kind": "fixed", "nominal_tokens": 256},
            "output": {"kind": "fixed", "nominal_tokens": 16},
        },
        "measured": {"ttft_ms": {"mean": 40}, "tpot_ms": {"mean": tpot}},
        **more,
    }


def write(folder, records):
    path = folder / "runs.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def needs(*names):
    missing = [name for name in names if not (RUNS / f"{name}.jsonl").exists()]
    if missing:
        pytest.skip(f"needs {', '.join(missing)} of ../shared/groundtruth")


def times(text):
    """The bands of a time, by line."""
    return [line for line in text.splitlines() if any(f"metric: {name}," in line for name in ("ttft", "tpot", "e2e"))]


def test_bands_are_written_from_eight_records_on(ridgeline):
    path = write(ridgeline.folder, [record(n, clients=1 + n % 4, tpot=6 + n / 4) for n in range(8)])
    ran = ridgeline("validate", path, "--histories", 1, "--bands-out", "bands.yaml", "--format", "quiet")
    assert ran.returncode == 0, ran.stderr
    lines = times((ridgeline.folder / "bands.yaml").read_text())
    assert len(lines) == 2
    assert all('slice: "h100, dense, bf16, closed, vllm"' in line and "n: 8" in line for line in lines)
    few = write(ridgeline.folder, [record(n) for n in range(7)])
    ran = ridgeline("validate", few, "--histories", 1, "--bands-out", "few.yaml", "--format", "quiet")
    assert ran.returncode == 0, ran.stderr
    assert times((ridgeline.folder / "few.yaml").read_text()) == []


def test_a_result_names_its_band(ridgeline):
    ran = ridgeline(*RUN, "--gpu", "h100", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    own = json.loads(ran.stdout)["expected_error"]["tpot"]
    assert own["slice"] == "h100, dense, bf16, open, vllm"
    assert own["outside"] == []
    assert own["records"] >= 8
    other = json.loads(ridgeline(*RUN, "--gpu", "l4", "--format", "json").stdout)["expected_error"]["tpot"]
    assert other["outside"] == ["gpu"]
    table = ridgeline(*RUN, "--gpu", "h100").stdout
    assert f"(median of {own['records']} records: {own['slice']})" in " ".join(table.split())


def test_another_model_of_step_times_has_no_band(ridgeline):
    ran = ridgeline(*RUN, "--gpu", "h100", "--latency", "kernel-first", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    assert "expected_error" not in json.loads(ran.stdout)


def test_the_page_shows_the_file():
    page = [sys.executable, SOURCE / "tools" / "bands_page.py", "--check"]
    done = subprocess.run(page, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@too_long_sanitized
def test_the_file_is_what_the_runs_give_and_nearly_all_are_predicted(ridgeline):
    needs(*FILES)
    paths = [RUNS / f"{name}.jsonl" for name in FILES]
    ran = ridgeline("validate", *paths, "--histories", 1, "--bands-out", "new.yaml", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    assert times((ridgeline.folder / "new.yaml").read_text()) == times(BANDS.read_text()), "run ./dev bands"
    for path in paths:
        standings = [one["standing"] for one in json.loads(ran.stdout)["records"] if one["file"] == str(path)]
        predicted = sum(standings.count(one) for one in ("scored", "saturated", "contradicted"))
        assert predicted >= 0.97 * len(standings), path.name


def test_the_ranking_of_measured_deployments(ridgeline):
    needs("experiments")
    ran = ridgeline("validate", "--ranking", RUNS / "experiments.jsonl", "--format", "json", "--fail-over", "violations@0.9=5")
    assert ran.returncode == 0, ran.stderr
    ranking = json.loads(ran.stdout)["ranking"]
    assert len(ranking["tpot_limits_ms"]) * len(ranking["ttft_limits_ms"]) == 72
    half, sure = ranking["by_confidence"]
    assert (half["confidence"], sure["confidence"]) == (0.5, 0.9)
    assert len(half["groups"]) == 13
    assert half["all"]["points"] == 147
    assert half["all"]["picks"] > 500
    assert half["all"]["regret_mean_pct"] < 2
    assert sum(one["picks"] for one in ranking["calibration"]) == half["all"]["picks"] + sure["all"]["picks"]


def test_a_ranking_over_its_limit_fails(ridgeline):
    path = write(
        ridgeline.folder,
        [record(n, clients=2**n, tpot=30.0 - 5 * n, measured={"ttft_ms": {"mean": 400}, "tpot_ms": {"mean": 30 - 5 * n}}) for n in range(4)],
    )
    ran = ridgeline("validate", path, "--ranking", "--histories", 1, "--fail-over", "regret@0.5=0")
    assert ran.returncode == 99, ran.stdout
    assert "ranking at 50 %" in ran.stdout
    without = ridgeline("validate", path, "--histories", 1, "--fail-over", "regret@0.5=0")
    assert without.returncode == 99
    assert "--ranking" in without.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fail-over", "regret@0.7=1"), "@0.5 or @0.9"),
        (("--fail-over", "luck@0.5=1"), "regret or violations"),
        (("--leave-out", "moon"), "network, gpu, format"),
        (("--bands-out", "no/such/folder/bands.yaml"), "--bands-out"),
    ],
)
def test_wrong_words_are_named_before_anything_runs(ridgeline, words, said):
    path = write(ridgeline.folder, [record(1)])
    ran = ridgeline("validate", path, *words)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert said in ran.stderr


def test_formats_can_be_left_out(ridgeline):
    path = write(ridgeline.folder, [record(1), record(2, clients=4), record(3, precision="fp8")])
    ran = ridgeline("validate", path, "--leave-out", "format", "--histories", 1, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    assert [row["value"] for row in json.loads(ran.stdout)["left_out"]] == ["16 bit", "FP8"]


def test_a_precision_names_a_checkpoint_and_says_so(ridgeline):
    path = write(ridgeline.folder, [record(1, model="MiniMaxAI/MiniMax-M2.5", precision="fp4", tp=4, gpu="B200-SXM")])
    ran = ridgeline("validate", path, "--histories", 1, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    assumed = json.loads(ran.stdout)["records"][0]["assumed"]
    assert any("the checkpoint minimax-m2.5-nvfp4" in one for one in assumed)


def test_systems_of_several_instances_are_shared_out(ridgeline):
    whole = record(1, clients=8)
    whole["num_gpus"] = 4
    whole["measured"]["output_tokens_per_s"] = 500
    alone = {**record(2, clients=2), "measured": whole["measured"]}
    path = write(ridgeline.folder, [whole, alone])
    ran = ridgeline("validate", path, "--histories", 1, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    four, one = json.loads(ran.stdout)["records"]
    assert any("4 instances" in said for said in four["assumed"])
    ratio = four["predicted"]["output_throughput"]["mean"] / one["predicted"]["output_throughput"]["mean"]
    assert 3.5 < ratio < 4.5
    assert abs(four["predicted"]["tpot"]["mean"] / one["predicted"]["tpot"]["mean"] - 1) < 0.1
