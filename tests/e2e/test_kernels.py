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
    assert report["findings"] == []
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
    assert not found["made"]
    exact = json.loads(
        ridgeline("kernels", "lookup", "decode", "32-8-128", "8,4096,2", "--bench-data", "tables", "--format", "json").stdout
    )
    assert exact["missing"] == ""
    # Without a folder no file is read.
    made = ridgeline("kernels", "lookup", "gemm", "130,4096,4096")
    assert "(made by the kernel model, no file read: " in made.stdout


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
