"""The state file: what is written comes back, a cut run goes on, and anything else is refused with its line."""

import json
from dataclasses import replace

import pytest
from samples import HEADER, failure, result

from ridgeline_profiler import state
from ridgeline_profiler.errors import UsageError

GEMM = result("gemm", "bf16", 12.5, m=1, k=2, n=3)
SKEWED = replace(result("sampling", "fp32", 7.0, sequences=1, vocab=9, method="argmax"), check_error=0.001)
LOST = failure("gemm", "fp8", "RuntimeError: no", m=1, k=2, n=3)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deeper" / state.FILE_NAME


def write(path, *results, previous=None):
    writer = state.Writer(path, HEADER, previous)
    for each in results:
        writer.add(each)
    writer.close()


def test_what_is_written_comes_back(path):
    write(path, GEMM, SKEWED, LOST)
    loaded = state.load(path)
    assert loaded.header == HEADER
    assert loaded.results == {each.point.key: each for each in (GEMM, SKEWED, LOST)}


def test_no_file_is_no_state(path):
    assert state.load(path) is None


def test_the_last_result_of_a_point_counts(path):
    again = replace(GEMM, summary=replace(GEMM.summary, median_us=13.0))
    write(path, GEMM, again)
    assert state.load(path).results == {GEMM.point.key: again}


@pytest.mark.parametrize("cut", [1, 20, 150])
def test_a_cut_line_is_dropped_and_overwritten(path, cut):
    write(path, GEMM, SKEWED)
    path.write_bytes(path.read_bytes()[:-cut])
    previous = state.load(path)
    assert list(previous.results) == [GEMM.point.key]
    write(path, LOST, previous=previous)
    assert list(state.load(path).results) == [GEMM.point.key, LOST.point.key]


def test_a_file_cut_in_its_header_starts_anew(path):
    path.parent.mkdir()
    path.write_text('{"format": "ridge')
    assert state.load(path) is None
    write(path, GEMM)
    assert list(state.load(path).results) == [GEMM.point.key]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def broken(path, number, change):
    """Rewrites one line of a good file with a change to its record."""
    records = lines(path)
    change(records[number - 1])
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


RESULT_FAULTS = {
    "no operator": (lambda r: r.pop("operator"), "has no 'operator'"),
    "status": (lambda r: r.update(status="fine"), "'status' is 'fine', expected one of ok, unsupported, failed"),
    "dtype": (lambda r: r.update(dtype="bf17"), "'dtype' is 'bf17'"),
    "mode": (lambda r: r.update(mode="magic"), "'mode' is 'magic'"),
    "text for number": (lambda r: r["latency_us"].update(median="12"), "'median' is '12', expected a number"),
    "true for number": (lambda r: r["latency_us"].update(samples=True), "'samples' is True"),
    "infinite": (lambda r: r["latency_us"].update(p90=float("inf")), "'p90' is not finite"),
    "nan": (lambda r: r["latency_us"].update(median=float("nan")), "'median' is not finite"),
    "negative": (lambda r: r["latency_us"].update(p10=-1.0), "not positive and in order"),
    "out of order": (lambda r: r["latency_us"].update(p90=1.0), "not positive and in order"),
    "no samples": (lambda r: r["latency_us"].update(samples=0), "expected at least 1"),
    "shape": (lambda r: r.update(shape=[1, 2]), "'shape' is [1, 2], expected an object"),
    "shape value": (lambda r: r["shape"].update(m=1.5), "shape 'm' is 1.5"),
    "conditions": (lambda r: r.update(conditions=None), "'conditions' is None"),
}


@pytest.mark.parametrize("fault", RESULT_FAULTS, ids=str)
def test_a_wrong_result_is_refused_with_its_line(path, fault):
    change, message = RESULT_FAULTS[fault]
    write(path, SKEWED, GEMM)
    broken(path, 3, change)
    with pytest.raises(UsageError) as problem:
        state.load(path)
    assert f"{path}:3: " in str(problem.value)
    assert message in str(problem.value)


HEADER_FAULTS = {
    "other program": (lambda r: r.update(format="x"), "is no state of this program"),
    "other version": (lambda r: r.update(version=99), "'version' is 99, expected 1"),
    "no seed": (lambda r: r.pop("seed"), "has no 'seed'"),
    "environment": (lambda r: r.update(environment={"torch": 2}), "something but text"),
}


@pytest.mark.parametrize("fault", HEADER_FAULTS, ids=str)
def test_a_wrong_header_is_refused(path, fault):
    change, message = HEADER_FAULTS[fault]
    write(path, GEMM)
    broken(path, 1, change)
    with pytest.raises(UsageError, match=f":1: .*{message}"):
        state.load(path)


@pytest.mark.parametrize(
    "line", [b"\xff\xfe", b"[1]", b"", b"{", b"[" * 100_000, b'"text"', b"\0"], ids=lambda line: repr(line[:4])
)
def test_rubbish_in_the_middle_is_refused(path, line):
    write(path, GEMM)
    whole = path.read_bytes()
    first_end = whole.index(b"\n") + 1
    path.write_bytes(whole[:first_end] + line + b"\n" + whole[first_end:])
    with pytest.raises(UsageError, match=":2: is n"):
        state.load(path)


def test_another_driver_is_another_measurement(path):
    now = replace(HEADER, environment=(("driver", "1.3"), ("torch", "2.9")))
    with pytest.raises(UsageError, match="driver '1.2' then, '1.3' now; choose another --out"):
        state.require_same(HEADER, now, path)
    # The seed is the first run's: it only orders the points.
    state.require_same(HEADER, replace(HEADER, seed=2), path)
