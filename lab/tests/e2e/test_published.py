"""The published studies of rooflines, value by value, on any machine: their figures are transcribed in
published_tables.py. Where the measured kernels are beside the checkout, test_study.py compares whole files."""

import json

import pytest

from conftest import SANITIZED
from published_tables import DECODE_MFU, GEMM_MFU, PREFILL_MFU, PUBLISHED

# By each study's own rule of refutation; H29 fails by the rule that it set itself.
VERDICTS = {"h6": "confirmed", "h27": "confirmed", "h28": "confirmed", "h29": "refuted", "h33": "confirmed",
            "h34": "confirmed", "h35": "confirmed"}
# The latency column, which no roofline reads.
UNREAD = 1


def write_table(folder, path, columns, rows):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text("\n".join([columns, *(",".join(map(str, row)) for row in rows)]) + "\n")


@pytest.fixture
def kernel_tables(tmp_path):
    """The transcribed MFUs in the layout of --bench-data."""
    folder = tmp_path / "tables"
    write_table(folder, "gemm/h100/data.csv", "m,k,n,latency_us,mfu",
                [(m, k, n, UNREAD, mfu) for (k, n), column in GEMM_MFU.items() for m, mfu in column.items()])
    write_table(folder, "mha/prefill/h100/32-8-128.csv", "dtype,seq_len,latency_us,mfu",
                [("bf16", length, UNREAD, mfu) for length, mfu in PREFILL_MFU.items()])
    write_table(folder, "mha/decode/h100/32-8-128-tp1.csv", "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu",
                [("bf16", "bf16", batch, length, UNREAD, mfu) for (batch, length), mfu in DECODE_MFU.items()])
    return folder


def is_row(row, columns, expected):
    """Whether a row of ours has these values, real numbers to the last published digit."""
    return all(row[column] == pytest.approx(value, rel=1e-9, abs=0) if not isinstance(value, (str, int)) else
               row[column] == value for column, value in zip(columns, expected))


@pytest.mark.parametrize("study", sorted(VERDICTS))
def test_published_figures(ridgeline, kernel_tables, study):
    done = ridgeline("study", "run", study, "--bench-data", kernel_tables, "--format", "json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    compared = 0
    for _, table, columns, rows in (entry for entry in PUBLISHED if entry[0] == study):
        for expected in rows:
            ours = [row for row in report["tables"][table] if row[columns[0]] == expected[0]]
            assert any(is_row(row, columns, expected) for row in ours), (table, columns, expected, ours)
            compared += 1
    assert compared > 0
    assert report["verdict_by_rule"] == VERDICTS[study]


# Whole fleets over minutes, which read no table; the first are run by test_fleet_studies.py.
FLEETS_RUN_BESIDE = {"admitter", "distserve", "llmd-04", "llmd-37", "llmd-eks", "llmd-latency", "llmd-sticky", "sglang-cache"}
OTHER_FLEETS = {"dynamo-pd", "kv-tiers", "llmd-73", "pd-threshold", "staleness"}


def test_every_study_runs_on_small_tables(ridgeline, kernel_tables):
    listed = {line.split()[0] for line in ridgeline("study", "list").stdout.splitlines()}
    assert listed > FLEETS_RUN_BESIDE | OTHER_FLEETS
    for study in sorted(listed - {"streaming"} - FLEETS_RUN_BESIDE - (OTHER_FLEETS if SANITIZED else set())):
        done = ridgeline("study", "run", study, "--bench-data", kernel_tables)
        assert done.returncode == 0 and "**Claim.**" in done.stdout, (study, done.stderr)


def test_tables_without_latencies_are_no_stream(ridgeline, kernel_tables):
    done = ridgeline("study", "run", "streaming", "--bench-data", kernel_tables)
    assert (done.returncode, done.stdout) == (2, "")
    assert "decode tables of heads 32-8-128: 0 of 11 rows take more than 27 us" in done.stderr
