"""`ridgeline kernels`: check, lookup and make."""

import json
import shutil

import pytest

from conftest import SHARED

H100 = SHARED / "kernels" / "blis_h100"


@pytest.fixture
def tables(ridgeline):
    made = ridgeline("kernels", "make", "--gpu", "h100", "--heads", "32-8-128", "--tp", "1,2", "-o", "tables")
    assert made.returncode == 0, made.stderr
    return ridgeline.folder / "tables"


def test_make_writes_what_check_passes_and_models_read(ridgeline, tables):
    assert sorted(str(path.relative_to(tables)) for path in tables.rglob("*.csv")) == [
        "gemm/h100/data.csv",
        "mha/decode/h100/32-8-128-tp1.csv",
        "mha/decode/h100/32-8-128-tp2.csv",
        "mha/prefill/h100/32-8-128.csv",
    ]
    check = ridgeline("kernels", "check", "tables", "--format", "json")
    assert check.returncode == 0, check.stderr
    report = json.loads(check.stdout)
    assert {finding["code"] for finding in report["findings"]} == {"made"}
    for kernel in report["kernels"]:
        assert kernel["convention"]["peak_tflops"] == pytest.approx(989, rel=1e-3)
        assert kernel["convention"]["agreeing_rows"] == kernel["rows"]
    for model in ("table", "v2-final"):
        step = ridgeline("step", "--model", "llama-3.1-8b", "--gpu", "h100", "--decode", "4096x8", "--latency", model,
                         "--bench-data", "tables", "--format", "json")
        assert step.returncode == 0, step.stderr
        assert json.loads(step.stdout)["step_us"] > 1000


def test_a_run_uses_the_tables(ridgeline, tables):
    words = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--latency", "table", "--bench-data", "tables",
             "--num-prompts", "20", "--request-rate", "10", "--input-len", "300", "--output-len", "50", "--format", "json")
    run = ridgeline(*words)
    assert run.returncode == 0, run.stderr
    stepped = ridgeline(*words, "--no-jump")
    assert json.loads(run.stdout)["digest"] == json.loads(stepped.stdout)["digest"]


def write_mfus_above_1(folder):
    """Tables of an H100 as users have met them: sound times, attention's MFUs shares of 148, FP8 GEMMs' of 989.5."""
    attention = "".join(
        f"bf16,{length},{2 * 32 * 128 * length**2 / (148e6 * mfu):.3f},{mfu}\n"
        for length, mfu in ((1024, 1.266), (4096, 4.222), (8192, 4.814), (16384, 4.782), (32768, 4.706))
    )
    gemm = "".join(
        f"{m},2048,6144,{2 * m * 2048 * 6144 / (989.5e6 * mfu):.3f},{mfu}\n"
        for m, mfu in ((16, 0.023), (1024, 1.019), (4096, 1.146))
    )
    decode = "".join(
        f"bf16,bf16,{batch},4096,{12 + batch * 4096 / 180:.3f},{4 * 4096 * batch * 4096 / (12 + batch * 4096 / 180) / 989.5e6:.5f}\n"
        for batch in (16, 64)
    )
    for name, text in (
        ("mha/prefill/h100/32-32-128.csv", "dtype,seq_len,latency_us,mfu\n" + attention),
        ("gemm/h100/data.csv", "m,k,n,latency_us,mfu\n" + gemm),
        ("mha/decode/h100/32-32-128-tp1.csv", "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\n" + decode),
    ):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)


def test_mfus_above_1_are_explained_and_warned_of(ridgeline):
    write_mfus_above_1(ridgeline.folder / "above")
    check = ridgeline("kernels", "check", "above")
    assert check.returncode == 1, check.stderr
    for words in (
        "148 TFLOP/s",
        "(the dense BF16 peak of h20), FLOPs: causal half, query heads; 5 of 5 rows agree",
        "cannot be 296 TFLOP/s, FLOPs: dense, query heads; length 8192 would be 1425 TFLOP/s, above the 989 of h100",
        "(the dense BF16 peak of h100), FLOPs: 2 m k n, FP8 kernels; 3 of 3 rows agree",
        "FLOPs: 2 m k n, BF16 kernels; m 4096, k 2048, n 6144 would be 1134 TFLOP/s, above the 989 of h100",
        "mfu-above-1 (7)",
        "wrong-peak (2)",
    ):
        assert words in check.stdout
    scenario = ("--model", "llama-2-7b", "--gpu", "h100", "--bench-data", "above")
    for words in (("step", "--prefill", "0+2048"), ("run", "--num-prompts", "2", "--arrivals", "at-once", "--input-len", "300", "--output-len", "5")):
        for model in ("v2-final", "table"):
            priced = ridgeline(words[0], *scenario, "--latency", model, *words[1:], "--format", "json")
            assert priced.returncode == 0, priced.stderr
            warned = [w["message"] for w in json.loads(priced.stdout)["warnings"] if w["code"] == "W-table-contradiction"]
            assert len(warned) == 2
            assert "148 TFLOP/s, the dense BF16 peak of h20" in warned[0]


def test_measured_tables_contradict_nothing(ridgeline):
    if not H100.is_dir():
        pytest.skip(f"no {H100}")
    check = ridgeline("kernels", "check", H100, "--format", "json")
    assert check.returncode == 0, check.stderr
    sheets = {kernel["kernel"]: kernel["convention"]["data_sheets"] for kernel in json.loads(check.stdout)["kernels"]}
    assert sheets == {
        "gemm": "the dense FP8 peak of h100",
        "prefill attention": "the dense BF16 peak of h100",
        "decode attention": "the dense BF16 peak of h100",
    }
    step = ridgeline("step", "--model", "llama-3.1-8b", "--gpu", "h100", "--decode", "100", "--latency", "v2-final",
                     "--bench-data", H100, "--format", "json")
    assert "W-table-contradiction" not in {warning["code"] for warning in json.loads(step.stdout)["warnings"]}


def test_lookup_shows_row_and_distance(ridgeline, tables):
    answer = ridgeline("kernels", "lookup", "gemm", "130,4096,4096", "--bench-data", "tables", "--format", "json")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert found["row"] == "m 128, k 4096, n 4096"
    assert found["distance"] == 2
    # Without a folder: the same tables, made on the spot.
    assert json.loads(ridgeline("kernels", "lookup", "gemm", "130,4096,4096", "--format", "json").stdout)["mfu"] == found["mfu"]
    decode = ridgeline("kernels", "lookup", "decode", "32-8-128", "8,4096,2", "--bench-data", "tables")
    assert "32-8-128 tp 2, batch 8, kv 4096" in decode.stdout
    prefill = ridgeline("kernels", "lookup", "prefill", "40-8-128", "3000", "--bench-data", "tables")
    assert "heads     8 away" in prefill.stdout


def test_lookup_names_what_is_missing_and_what_stands_in(ridgeline, tables):
    prefill = ridgeline("kernels", "lookup", "prefill", "40-8-128", "3000", "--bench-data", "tables")
    assert "missing   tables/mha/prefill/h100/40-8-128.csv: tables/mha/prefill/h100/32-8-128.csv stands in" in prefill.stdout
    decode = ridgeline("kernels", "lookup", "decode", "32-8-128", "8,4096,16", "--bench-data", "tables", "--format", "json")
    found = json.loads(decode.stdout)
    assert found["missing"] == "tables/mha/decode/h100/32-8-128-tp16.csv"
    assert found["made"] and found["file"] == "tables/mha/decode/h100/32-8-128-tp2.csv"
    exact = json.loads(
        ridgeline("kernels", "lookup", "decode", "32-8-128", "8,4096,2", "--bench-data", "tables", "--format", "json").stdout
    )
    assert exact["missing"] == ""
    # Without a folder no file is read.
    made = ridgeline("kernels", "lookup", "gemm", "130,4096,4096")
    assert "(made by the kernel model, no file is read)" in made.stdout


@pytest.mark.parametrize(
    "words, problem",
    [
        ((), "expected one of: check, fit, lookup, make"),
        (("chek",), "did you mean 'check'?"),
        (("check",), "found 0 folders, expected one"),
        (("check", "nowhere"), "no such folder"),
        (("lookup", "gem", "1,2,3"), "expected gemm M,K,N"),
        (("lookup", "gemm", "1,2"), "found 2 numbers"),
        (("lookup", "gemm", "1,2,x"), 'found "x", expected a whole number'),
        (("lookup", "prefill", "32-8", "1"), "expected HEADS-KVHEADS-HEADDIM"),
        (("lookup", "decode", "32-8-128", "1,2,3,4"), "expected BATCH,KV or BATCH,KV,TP"),
        (("lookup", "gemm", "1,2,3", "--latency-lookup", "cubic"), "cubic"),
        (("make", "-o", "x", "--tp", "0"), 'found "0", expected a whole number'),
        (("make", "-o", "x", "--heads", "40"), 'found "40", expected HEADS-KVHEADS-HEADDIM'),
        (("make", "-o", "x", "--heads", "40-40-128", "--tp", "16"), "16 does not divide the 40 query heads"),
        (("make",), "--output: is missing"),
        (("make", "-o", "x", "--gpu", "h1000"), "h1000"),
    ],
)
def test_wrong_words_are_named(ridgeline, words, problem):
    wrong = ridgeline("kernels", *words)
    assert wrong.returncode == 2
    assert problem in wrong.stderr
    assert not list(ridgeline.folder.rglob("*.csv"))


@pytest.mark.parametrize(
    "old, new, problem",
    [
        ("m,k,n,latency_us,mfu", "m,k,n,latency,mfu", "latency_us: the column is missing"),
        ("m,k,n,latency_us,mfu,source,expected_error_pct\n", "", ":1:1"),
        ("\n2,512,512,", "\ntwo,512,512,", "data.csv:3:1"),
        ("\n2,512,512,", "\n-2,512,512,", "data.csv:3:1"),
        ("\n2,512,512,", "\n1,512,512,", "repeats the shape of line 2"),
        ("\n2,512,512,", "\n2,512,512,nan,", "data.csv:3:1"),
    ],
)
def test_corrupt_tables_are_refused_by_every_reader(ridgeline, tables, old, new, problem):
    path = tables / "gemm" / "h100" / "data.csv"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    readers = [
        ("kernels", "check", "tables"),
        ("kernels", "lookup", "gemm", "1,1,1", "--bench-data", "tables"),
        ("step", "--model", "llama-3.1-8b", "--gpu", "h100", "--decode", "1", "--latency", "table", "--bench-data", "tables"),
    ]
    for words in readers:
        refused = ridgeline(*words)
        assert refused.returncode == 2, words
        assert problem in refused.stderr, words
        assert "data.csv" in refused.stderr


def test_check_names_a_row_whose_latency_was_changed(ridgeline):
    if not H100.is_dir():
        pytest.skip("the measured kernel tables are not beside the checkout")
    copy = ridgeline.folder / "copy"
    shutil.copytree(H100, copy, copy_function=shutil.copyfile)
    path = copy / "gemm" / "h100" / "data.csv"
    lines = path.read_text().splitlines()
    cells = lines[40].split(",")
    assert float(cells[4]) >= 0.01
    cells[3] = str(float(cells[3]) * 1.3)
    lines[40] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n")
    check = ridgeline("kernels", "check", "copy", "--format", "json")
    assert check.returncode == 1
    odd = [finding for finding in json.loads(check.stdout)["findings"] if finding["code"] == "impossible-row"]
    assert [finding["line"] for finding in odd] == [41]
    assert ridgeline("kernels", "check", H100).returncode == 0
