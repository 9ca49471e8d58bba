"""The files: InferSim's layout, the full CSV, the card and its provenance."""

import csv
import io
import json

import pytest
from samples import DATE, HEADER, failure, result

from ridgeline_profiler import planning
from ridgeline_profiler.devices import planned_gpu_target
from ridgeline_profiler.operators import BY_NAME
from ridgeline_profiler.output import card, full_csv, infersim, peaks
from ridgeline_profiler.output.files import decimal, write_text

TARGET = planned_gpu_target("h100", 1)


def rows(path):
    text = path.read_text(encoding="utf-8")
    # Readers without quoting must do.
    assert '"' not in text
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(
    "value, text", [(0.000012345678, "0.0000123457"), (1234567.0, "1234570"), (12.5, "12.5"), (1e-9, "0.000000001")]
)
def test_numbers_have_six_digits_and_no_exponent(value, text):
    assert decimal(value) == text


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a" / "b.csv"
    write_text(path, "one\n")
    write_text(path, "two\n")
    assert path.read_text() == "two\n"
    assert [each.name for each in path.parent.iterdir()] == ["b.csv"]


def test_gemm_tables_are_apart_by_type(tmp_path):
    results = [
        result("gemm", "bf16", 100.0, m=16, k=4096, n=4096),
        result("gemm", "bf16", 50.0, m=8, k=4096, n=4096),
        result("gemm", "fp8", 30.0, m=8, k=4096, n=4096),
        failure("gemm", "bf16", "no", m=4, k=4096, n=4096),
    ]
    infersim.write(tmp_path, HEADER, TARGET, results, {})
    table = rows(tmp_path / "gemm" / "h100" / "data.csv")
    assert [row["m"] for row in table] == ["8", "16"]
    # 2 * 8 * 4096^2 = 268,435,456 in 50 us is 5.36870912 TFLOP/s, of 989: 0.0054284217.
    assert table[0] == {"m": "8", "k": "4096", "n": "4096", "latency_us": "50.0000", "mfu": "0.005428422"}
    # 30 us of 1979: 8.9478485 / 1979 = 0.0045213989.
    assert rows(tmp_path / "gemm" / "h100-fp8" / "data.csv")[0]["mfu"] == "0.004521399"


def test_prefill_tables_have_whole_single_prompts(tmp_path):
    shape = dict(heads=32, kv_heads=8, head_dim=128)
    results = [
        result("prefill_attention", "bf16", 217.585, **shape, batch=1, past=0, new=4096),
        result("prefill_attention", "bf16", 38.0, **shape, batch=4, past=0, new=1024),
        result("prefill_attention", "bf16", 38.0, **shape, batch=1, past=1024, new=1024),
    ]
    infersim.write(tmp_path, HEADER, TARGET, results, {"bf16": 989.5e12})
    [row] = rows(tmp_path / "mha" / "prefill" / "h100" / "32-8-128.csv")
    assert (row["dtype"], row["seq_len"], row["latency_us"]) == ("bf16", "4096", "217.5850")
    # As inference-sim published this row: 0.638.
    assert float(row["mfu"]) == pytest.approx(0.638, abs=0.0005)


def test_decode_layouts_serve_every_network_that_they_are_a_shard_of(tmp_path):
    shape = dict(heads=16, kv_heads=4, head_dim=128, batch=2, context=1024)
    infersim.write(tmp_path, HEADER, TARGET, [result("decode_attention", "bf16", 20.0, **shape)], {})
    names = sorted(path.name for path in (tmp_path / "mha" / "decode" / "h100").iterdir())
    # 16-4 is half of 32-8; 64-8 over four ranks is 16-2, no match.
    assert names == ["32-8-128-tp2.csv"]
    [row] = rows(tmp_path / "mha" / "decode" / "h100" / names[0])
    # 4 * 2 * 16 * 128 * 1024 operations in 20 us of 989e12.
    assert float(row["mfu"]) == pytest.approx(4 * 2 * 16 * 128 * 1024 / 20e-6 / 989e12, rel=1e-5)
    assert (row["kv_dtype"], row["batch_size"], row["kv_len"]) == ("bf16", "2", "1024")


def test_mla_tables(tmp_path):
    results = [
        result("mla_decode", "bf16", 21.653, heads=128, latent=512, rope=64, batch=1, context=4096),
        result("mla_prefill", "bf16", 116.88, heads=128, nope=128, rope=64, value=128, past=0, new=1024),
    ]
    infersim.write(tmp_path, HEADER, TARGET, results, {})
    [decode] = rows(tmp_path / "mla" / "decode" / "h100" / "128-512-64.csv")
    [prefill] = rows(tmp_path / "mla" / "prefill" / "h100" / "128-128-64.csv")
    # The MFU of InferSim's H800 rows, same shapes and times.
    assert float(decode["mfu"]) == pytest.approx(0.053, abs=0.0005)
    assert float(prefill["mfu"]) == pytest.approx(0.372, abs=0.0005)


def test_grouped_rows_need_both_halves(tmp_path):
    shape = dict(hidden=2048, width=768, experts=128, local_experts=128, top_k=8, routing="balanced")
    results = [
        result("grouped_gemm", "bf16", 100.0, part="up", tokens=4096, **shape),
        result("grouped_gemm", "bf16", 60.0, part="down", tokens=4096, **shape),
        result("grouped_gemm", "bf16", 60.0, part="up", tokens=8192, **shape),
        result("grouped_gemm", "bf16", 9.0, part="up", tokens=4, **shape),
        result("grouped_gemm", "bf16", 9.0, part="down", tokens=4, **shape),
    ]
    infersim.write(tmp_path, HEADER, TARGET, results, {})
    [prefill] = rows(tmp_path / "grouped_gemm" / "prefill" / "h100" / "data.csv")
    assert (prefill["seq_len_per_gpu"], prefill["tokens_per_expert"]) == ("4096", "256")
    # 4096 * 8 pairs * 2 * 2048 * 1536 operations in 100 us of 989e12.
    assert float(prefill["up_mfu"]) == pytest.approx(4096 * 8 * 2 * 2048 * 1536 / 1e-4 / 989e12, rel=1e-5)
    [decode] = rows(tmp_path / "grouped_gemm" / "decode" / "h100" / "data.csv")
    # Four tokens on 128 experts: less than one each, and the layout counts whole ones.
    assert (decode["batch_size_per_gpu"], decode["tokens_per_expert"]) == ("4", "1")


def test_peaks_are_given_or_the_datasheets_or_measured():
    results = [result("gemm", "bf16", 2.0, m=1000, k=1000, n=1000), result("gemm", "bf16", 1.0, m=8, k=8, n=8)]
    assert peaks.peak_of("bf16", "NVIDIA L40S", results, {"bf16": 5.0}).value == 5.0
    assert peaks.peak_of("fp8_block", "NVIDIA L40S", results, {}).value == 733e12
    # 2e9 operations in 2 us.
    unknown = peaks.peak_of("bf16", "Some GPU", results, {})
    assert unknown.value == pytest.approx(1e15)
    assert "best bf16 gemm" in unknown.source
    assert peaks.peak_of("fp8", "Some GPU", results, {}) is None


def test_full_csv_has_everything_once(tmp_path):
    results = [
        result("gemm", "fp8", 30.0, m=8, k=4096, n=4096),
        result("gemm", "bf16", 50.0, m=16, k=4096, n=4096),
        result("gemm", "bf16", 50.0, m=8, k=4096, n=4096),
        failure("gemm", "bf16", "no", m=4, k=4096, n=4096),
        result("sampling", "fp32", 9.0, sequences=4, vocab=1000, method="argmax"),
    ]
    written = full_csv.write(tmp_path, HEADER, results)
    assert [path.relative_to(tmp_path).as_posix() for path in written] == ["full/h100/gemm.csv", "full/h100/sampling.csv"]
    table = rows(written[0])
    assert [(row["dtype"], row["m"]) for row in table] == [("bf16", "8"), ("bf16", "16"), ("fp8", "8")]
    assert table[0] == {
        "dtype": "bf16",
        "m": "8",
        "k": "4096",
        "n": "4096",
        "latency_us": "50",
        "latency_p10_us": "45",
        "latency_p90_us": "62.5",
        "samples": "20",
        "flops": "268435456",
        # 2 * (4096^2 + 8 * 4096 + 8 * 4096)
        "bytes": "33685504",
        "kernel": "some kernel",
        "mode": "graph",
        "check_error": "",
        "clock_mhz": "1755",
        "memory_clock_mhz": "2619",
        "temperature_c": "41",
        "power_w": "",
            "sustained_us": "",
            "sustained_w": "",
        "date": DATE,
        "device": "NVIDIA H100 80GB HBM3",
        "versions": "driver 1.2; torch 2.9",
    }


def test_card_says_what_is_missing(tmp_path):
    plan = planning.make_plan([BY_NAME["copy"], BY_NAME["launch_gap"]], TARGET, 1)
    results = [
        result("copy", "bf16", 1000.0, megabytes=1024),
        failure("copy", "bf16", "RuntimeError: broken", megabytes=4096),
        failure("launch_gap", "fp32", "not here", status="unsupported", mode="graph"),
    ]
    card.write(tmp_path, HEADER, "A point: as it is.", plan, results, {})
    text = (tmp_path / "CARD.md").read_text(encoding="utf-8")
    # 2 GiB in 1 ms is 2.147 TB/s; of seven copies one was measured and one failed: five are left.
    assert "| copy bandwidth | 2.147 TB/s | `copy/bf16/megabytes=1024` |" in text
    assert "| copy | 7 | 1 | 0 | 1 | 5 | 35.0 / 35.0 |" in text
    assert "| launch_gap | 2 | 0 | 1 | 0 | 1 | – |" in text
    assert "* `copy/bf16/megabytes=4096`: RuntimeError: broken" in text
    assert "describes no GPU" not in text
    record = json.loads((tmp_path / "provenance.json").read_text())
    assert record["points"] == {"failed": 1, "ok": 1, "unsupported": 1}
    assert record["environment"] == {"driver": "1.2", "torch": "2.9"}


def test_card_of_nothing(tmp_path):
    card.write(tmp_path, HEADER, "A point: as it is.", [], [], {})
    assert "Nothing was measured" in (tmp_path / "CARD.md").read_text(encoding="utf-8")
