"""`ridgeline-lab records`: error bands, the ranking of deployments, what is left out."""

import json
import math
import subprocess
from pathlib import Path

import pytest
from conftest import BINARY, SHARED, SOURCE, too_long_sanitized

RUNS = SHARED / "groundtruth"
BANDS = SOURCE / "data" / "accuracy" / "bands.yaml"
# As ./dev bands has them.
FILES = [
    "experiments",
    "released",
    "new-gptoss-h200-spec",
    "new-gptoss-h200-sweep",
    "new-inferencex-power",
    "new-ml-energy",
    "new-mlperf",
    "new-nebius-h200",
    "new-splitwise-power",
]


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


def unseen(count):
    """Records of so many deployments that came after the constants."""
    return [record(n, tpot=6 + n / 4, family="t3-own", tp=2 ** (n % 4), num_gpus=2 ** (n % 4), precision=("bf16", "fp8")[n // 4 % 2],
                   gpu=("H100-SXM-80GB", "H200-SXM-141GB", "A100-SXM-80GB")[n // 8]) for n in range(count)]


def test_bands_are_written_from_twenty_deployments_on(ridgeline):
    path = write(ridgeline.folder, unseen(24))
    ran = ridgeline("records", path, "--histories", 1, "--bands-out", "bands.yaml", "--coverage-left-out", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    bands = (ridgeline.folder / "bands.yaml").read_text()
    assert "fitted: []\nbands:\n" in bands and bands.count("groups: 24, records: 24") == 2 * 5, bands  # TTFT and TPOT: five slices
    every = json.loads(ran.stdout)["coverage"][0]
    assert (every["slice"], every["fitted"], every["groups"], every["records"]) == ("every slice", False, 24, 24)
    for form, row in (("markdown", "| tpot | every slice | unseen | 24 | 24 | "), ("html", "<tr><td>tpot</td><td>every slice</td><td>unseen</td><td>24</td>")):
        assert row in ridgeline("records", path, "--histories", 1, "--coverage-left-out", "--format", form).stdout, form
    few = write(ridgeline.folder, unseen(19))
    ran = ridgeline("records", few, "--histories", 1, "--bands-out", "few.yaml", "--format", "quiet")
    assert ran.returncode == 0, ran.stderr
    assert (ridgeline.folder / "few.yaml").read_text().endswith("bands: []\n")
    for form in ("table", "markdown", "html"):
        said = ridgeline("records", few, "--histories", 1, "--coverage-left-out", "--format", form).stdout
        assert "a band needs 20 deployments" in said and "these records are of 19" in said, form
    assert json.loads(ridgeline("records", few, "--histories", 1, "--coverage-left-out", "--format", "json").stdout)["coverage"] == []


@too_long_sanitized
def test_the_file_is_what_the_runs_give_and_nearly_all_are_predicted(ridgeline):
    needs(*FILES, "turn3-numbers")
    paths = [RUNS / f"{name}.jsonl" for name in FILES]
    ran = ridgeline("records", *paths, *sorted(RUNS.glob("turn3-*.jsonl")), "--histories", 1, "--coverage-left-out", "--bands-out", "new.yaml", "--format", "json")
    assert ran.returncode == 0, ran.stderr
    assert (ridgeline.folder / "new.yaml").read_text() == BANDS.read_text(), "run ./dev bands"
    for path in paths:
        standings = [one["standing"] for one in json.loads(ran.stdout)["records"] if one["file"] == str(path)]
        predicted = sum(standings.count(one) for one in ("scored", "saturated", "contradicted"))
        assert predicted >= 0.97 * len(standings), path.name
    # Deployments left out lie within their bands as often as these say.
    rows = {(row["metric"], row["slice"], row["fitted"]): row for row in json.loads(ran.stdout)["coverage"]}
    for metric in ("ttft", "tpot", "output_throughput"):
        row = rows[metric, "every slice", False]
        assert row["groups"] > 60, row
        for by in ("", "_records"):
            assert 85 <= row[f"inside_p90{by}_pct"] <= 97 and 40 <= row[f"inside_p50{by}_pct"] <= 60, row
    # All of 23 deployments lie inside a band of 90 % one time in eleven.
    assert all(80 <= row["inside_p90_pct"] <= (99 if row["groups"] >= 40 else 100) for row in rows.values() if row["groups"] >= 20)
    assert BANDS.stat().st_size <= 65536


def test_the_ranking_of_measured_deployments(ridgeline):
    needs("experiments")
    ran = ridgeline("records", "--ranking", RUNS / "experiments.jsonl", "--format", "json", "--fail-over", "violations@0.9=5")
    assert ran.returncode == 0, ran.stderr
    ranking = json.loads(ran.stdout)["ranking"]
    assert len(ranking["tpot_limits_ms"]) * len(ranking["ttft_limits_ms"]) == 72
    assert ranking["bands"] == "shipped"  # Twelve deployments alone.
    half, sure = ranking["by_confidence"]
    assert (half["confidence"], sure["confidence"]) == (0.5, 0.9)
    assert len(half["groups"]) == 13
    assert half["all"]["points"] == 147
    assert half["all"]["picks"] > 500
    assert half["all"]["regret_mean_pct"] < 2
    assert sum(one["picks"] for one in ranking["calibration"]) == half["all"]["picks"] + sure["all"]["picks"]


@too_long_sanitized
def test_picks_hold_as_often_as_was_said_of_deployments_left_out(ridgeline):
    needs("experiments", "released", "turn3-numbers")
    ran = ridgeline("records", RUNS / "experiments.jsonl", RUNS / "released.jsonl", *sorted(RUNS.glob("turn3-*.jsonl")), "--ranking", "--histories", 1, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    ranking = json.loads(ran.stdout)["ranking"]
    assert ranking["bands"] == "left_out"
    bins = {round(100 * one["from"]): one for one in ranking["calibration"]}
    # Not less often, by two standard errors of so many deployments; more often where bands hold records and deployments.
    slack = 2 * math.sqrt(bins[50]["said"] * (1 - bins[50]["said"]) / bins[50]["deployments"])
    assert -slack < bins[50]["held"] - bins[50]["said"] < 0.3, bins[50]
    assert 0.85 <= bins[90]["held"] <= 0.95 and 0.85 <= bins[90]["held_by_deployment"] <= 0.95, bins[90]
    assert bins[90]["deployments"] >= 20
    assert abs(bins[95]["held"] - bins[95]["said"]) < 0.02 and bins[95]["said"] <= 0.99, bins[95]
    assert ranking["by_confidence"][1]["all"]["violations_pct"] <= 5


def test_a_ranking_over_its_limit_fails(ridgeline):
    path = write(
        ridgeline.folder,
        [record(n, clients=2**n, tpot=30.0 - 5 * n, measured={"ttft_ms": {"mean": 400}, "tpot_ms": {"mean": 30 - 5 * n}}) for n in range(4)],
    )
    ran = ridgeline("records", path, "--ranking", "--histories", 1, "--fail-over", "violations@0.5=0")
    assert ran.returncode == 99, ran.stdout
    assert "ranking at 50 %" in ran.stdout
    without = ridgeline("records", path, "--histories", 1, "--fail-over", "regret@0.5=0")
    assert without.returncode == 99
    assert "--ranking" in without.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fail-over", "regret@0.7=1"), "@0.5 or @0.9"),
        (("--fail-over", "luck@0.5=1"), "regret or violations"),
        (("--leave-out", "moon"), "network, gpu, format"),
        (("--coverage", "--coverage-left-out"), "give one of them"),
        (("--bands-out", "no/such/folder/bands.yaml"), "--bands-out"),
    ],
)
def test_wrong_words_are_named_before_anything_runs(ridgeline, words, said):
    path = write(ridgeline.folder, [record(1)])
    ran = ridgeline("records", path, *words)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert said in ran.stderr


def test_formats_can_be_left_out(ridgeline):
    path = write(ridgeline.folder, [record(1), record(2, clients=4), record(3, precision="fp8")])
    ran = ridgeline("records", path, "--leave-out", "format", "--histories", 1, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    assert [row["value"] for row in json.loads(ran.stdout)["left_out"]] == ["16 bit", "FP8"]


def test_a_precision_names_a_checkpoint_and_says_so(ridgeline):
    path = write(ridgeline.folder, [record(1, model="MiniMaxAI/MiniMax-M2.5", precision="fp4", tp=4, gpu="B200-SXM")])
    ran = ridgeline("records", path, "--histories", 1, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    assumed = json.loads(ran.stdout)["records"][0]["assumed"]
    assert any("the checkpoint minimax-m2.5-nvfp4" in one for one in assumed)


def test_systems_of_several_instances_are_shared_out(ridgeline):
    whole = record(1, clients=8)
    whole["num_gpus"] = 4
    whole["measured"]["output_tokens_per_s"] = 500
    alone = {**record(2, clients=2), "measured": whole["measured"]}
    path = write(ridgeline.folder, [whole, alone])
    ran = ridgeline("records", path, "--histories", 1, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    four, one = json.loads(ran.stdout)["records"]
    assert any("4 instances" in said for said in four["assumed"])
    ratio = four["predicted"]["output_throughput"]["mean"] / one["predicted"]["output_throughput"]["mean"]
    assert 3.5 < ratio < 4.5
    assert abs(four["predicted"]["tpot"]["mean"] / one["predicted"]["tpot"]["mean"] - 1) < 0.1


def test_validate_with_such_a_flag_is_passed_on(ridgeline):
    path = write(ridgeline.folder, [record(1), record(2, clients=4), record(3, clients=8)])
    words = (path, "--ranking", "--histories", 1, "--format", "json")
    assert ridgeline("validate", *words).stdout == ridgeline("records", *words).stdout
    saved = ridgeline.write("saved.json", ridgeline("records", *words).stdout)
    for form in ("table", "markdown", "html", "csv"):
        direct = ridgeline("records", path, "--ranking", "--histories", 1, "--format", form).stdout
        lab = Path(BINARY).parent / "ridgeline-lab"
        shown = subprocess.run([lab, "report", saved, "--format", form], capture_output=True, text=True, check=True).stdout
        assert shown == direct, form


@pytest.mark.parametrize(
    ("network", "mixed_us", "decodes_us"),
    [
        ("llama-3.1-8b", 7515.222935, 2664.953369),
        ("qwen3-30b-a3b", 11690.529408, 4338.435328),  # 128 experts.
        ("mixtral-8x7b", 10906.191855, 4950.648662),
        ("gpt-oss-120b", 12605.888801, 3283.783301),
    ],
)
def test_kernel_first_is_frozen(ridgeline, network, mixed_us, decodes_us):
    for words, expected in (("--decode 700x32 --prefill 0+512", mixed_us), ("--decode 1500x4", decodes_us)):
        given = f"--model {network} --gpu h100 --tp 8 --latency kernel-first {words} --format json"
        assert json.loads(ridgeline("step", *given.split()).stdout)["step_us"] == expected
