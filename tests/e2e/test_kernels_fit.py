"""`ridgeline kernels fit`: constants from measured operators, and what then uses them."""

import json

import pytest

# The H100's datasheet.
BANDWIDTH = 3.35e12
SMS = 132
# A decode kernel of our own: 21 us, 0.9 us per wave of (sequence, KV head) pairs, 87 % of the bandwidth.
FIXED, WAVE, EFFICIENCY = 21e-6, 0.9e-6, 0.87


def decode_us(heads, kv_heads, batch, context):
    """Keys and values of 128 elements in 16 bit, each token's queries read and outputs written."""
    moved = batch * ((context + 1) * kv_heads * 128 * 2 * 2 + heads * 128 * 2 * 2)
    return 1e6 * (FIXED + WAVE * batch * kv_heads / SMS + moved / (EFFICIENCY * BANDWIDTH))


def profile(ridgeline, gpu="h100", change=lambda line: line):
    folder = ridgeline.folder / "measured" / "full" / gpu
    folder.mkdir(parents=True)
    lines = ["dtype,heads,kv_heads,head_dim,batch,context,latency_us"]
    # Unlike shares of query heads, so that waves of these and of KV heads differ.
    for kv_heads, heads in ((2, 32), (8, 16)):
        for batch in (8, 32, 128, 512):
            for context in (3072, 10000, 65536):
                time = decode_us(heads, kv_heads, batch, context)
                lines.append(f"bf16,{heads},{kv_heads},128,{batch},{context},{time:.6f}")
    (folder / "decode_attention.csv").write_text("\n".join(map(change, lines)) + "\n")


def test_fit_finds_what_made_the_table_and_the_model_takes_it(ridgeline):
    profile(ridgeline)
    fit = ridgeline("kernels", "fit", "measured", "-o", "columns.yaml", "--format", "json")
    assert fit.returncode == 0, fit.stderr
    (found,) = json.loads(fit.stdout)["fits"]
    assert (found["operator"], found["gpu"]) == ("decode_attention", "h100")
    assert found["rows"] == 24 - 1  # One has less KV than 1.3 times the L2: 2 heads, 8 sequences, 3,072 tokens, 25 MB.
    assert found["p90_error"] < 0.003
    assert found["constants"]["bandwidth_efficiency"] == pytest.approx(EFFICIENCY, rel=0.005)
    assert found["constants"]["kv_head_wave_us"] == pytest.approx(0.9, rel=0.1)

    words = ("step", "--model", "llama-3.1-8b", "--gpu", "h100", "--decode", "8192x64", "--format", "json")
    own = json.loads(ridgeline(*words, "--latency-constants", "columns.yaml").stdout)
    builtin = json.loads(ridgeline(*words).stdout)
    assert own != builtin

    table = ridgeline("kernels", "fit", "measured")
    assert table.returncode == 0
    assert "decode attention" in table.stdout


WAYS = ("one_shot", "two_shot", "nccl")


def way_of(ranks, kibibytes):
    if kibibytes >= 8192:
        return "nccl"
    return "one_shot" if ranks == 2 or kibibytes < (512 if ranks <= 4 else 256) else "two_shot"


def exchange_us(ranks, size):
    """All-reduces of our own: 5 us and 0.3 per further rank in one shot, 10 and 1 in two, 30 us of NCCL's; 60, 70 and
    80 % of 450 GB/s. (The two shots wait and move at once: 1.5th powers.)"""
    link = 450e3
    way = way_of(ranks, size >> 10)
    if way == "nccl":
        return 30 + 2 * (ranks - 1) / ranks * size / (0.8 * link)
    if way == "one_shot":
        return 5 + 0.3 * (ranks - 2) + (ranks - 1) * size / (0.6 * link)
    return ((10 + ranks - 2) ** 1.5 + (2 * size / (0.7 * link)) ** 1.5) ** (2 / 3)


def test_the_profilers_exchanges_are_fitted(ridgeline):
    folder = ridgeline.folder / "measured" / "full" / "h100"
    folder.mkdir(parents=True)
    lines = ["dtype,kind,algorithm,ranks,kibibytes,latency_us"]
    for ranks in (2, 4, 8):
        for size in (4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536, 262144):
            time = exchange_us(ranks, size << 10)
            # Ways that vLLM does not go at a size are slower, and must not count.
            lines += [f"bf16,all_reduce,{way},{ranks},{size},{time + 50 * (way != way_of(ranks, size)):.6f}" for way in WAYS]
    (folder / "collective.csv").write_text("\n".join(lines) + "\n")
    fit = ridgeline("kernels", "fit", "measured", "--format", "json")
    assert fit.returncode == 0, fit.stderr
    (found,) = json.loads(fit.stdout)["fits"]
    assert (found["operator"], found["rows"]) == ("all_reduce", 39)
    assert found["p90_error"] < 0.005
    assert found["constants"]["one_shot_us"] == pytest.approx(5, rel=0.02)
    assert found["constants"]["one_shot_efficiency"] == pytest.approx(0.6, rel=0.02)
    assert found["constants"]["two_shot_us"] == pytest.approx(10, rel=0.05)


def test_a_model_without_constants_refuses_them(ridgeline):
    profile(ridgeline)
    assert ridgeline("kernels", "fit", "measured", "-o", "columns.yaml").returncode == 0
    words = ("explain", "--model", "llama-3.1-8b", "--gpu", "h100", "--latency", "v1")
    refused = ridgeline(*words, "--latency-constants", "columns.yaml")
    assert refused.returncode == 2
    assert "latency.constants" in refused.stderr


@pytest.mark.parametrize(
    "words, problem",
    [
        ((), "found 0 folders"),
        (("nowhere",), "nowhere"),
        (("measured", "--version", "newest"), "expected a version of vLLM"),
        (("measured", "--version", "gem_8bit=0.1"), "did you mean 'gemm_8bit'?"),
    ],
)
def test_wrong_words_are_named(ridgeline, words, problem):
    profile(ridgeline)
    wrong = ridgeline("kernels", "fit", *words, "-o", "columns.yaml")
    assert wrong.returncode == 2
    assert problem in wrong.stderr
    assert not (ridgeline.folder / "columns.yaml").exists()


@pytest.mark.parametrize(
    "gpu, change, problem",
    [
        ("h100", lambda line: line.replace("bf16,32,2,128,8,", "bf16,32,2,128,-8,"), "batch"),
        ("h100", lambda line: line.replace("context", "kontext"), "kontext"),
        ("h100", lambda line: line[: len(line) // 2], "decode_attention.csv"),
        ("h1000", lambda line: line, "'h1000'"),
    ],
)
def test_bad_tables_are_named(ridgeline, gpu, change, problem):
    profile(ridgeline, gpu, change)
    wrong = ridgeline("kernels", "fit", "measured", "-o", "columns.yaml")
    assert wrong.returncode == 2
    assert problem in wrong.stderr
    assert not (ridgeline.folder / "columns.yaml").exists()


def test_too_few_rows_are_not_fitted(ridgeline):
    profile(ridgeline, change=lambda line: line if line.startswith(("dtype", "bf16,32,2,128,8,")) else "")
    few = ridgeline("kernels", "fit", "measured")
    assert few.returncode == 2
    assert "no operator has rows enough" in few.stderr


def test_a_bad_constants_file_is_named(ridgeline):
    (ridgeline.folder / "own.yaml").write_text("columns: [{name: h100, architecture: hopper, gemm: {}}]\n")
    wrong = ridgeline(
        "step", "--model", "llama-3.1-8b", "--gpu", "h100", "--decode", "8", "--latency-constants", "own.yaml"
    )
    assert wrong.returncode == 2
    assert "own.yaml" in wrong.stderr
    assert "gemm" in wrong.stderr
