"""Columns: equal to the summary bit for bit, views of the library's memory, and their exits."""

from __future__ import annotations

import copy
import ctypes
import gc
import json
import pickle
import subprocess
from typing import Any

import numpy as np
import pytest

import ridgeline as rl

from conftest import program, having


def test_percentiles_and_means_equal_the_summary_bit_for_bit(small: dict[str, Any]) -> None:
    for rate in (2, 20, 200):
        r = rl.run(**having(small, request_rate=rate, num_prompts=997))
        for name in ("ttft", "tpot", "e2e", "queue_time"):
            ticks = r.requests[f"{name}_ps"]
            ticks = ticks[ticks >= 0]
            told = getattr(r.summary, f"{name}_ms")
            for percent in (50, 90, 95, 99):
                assert np.percentile(ticks, percent) / 1e9 == getattr(told, f"p{percent}"), (name, percent)
            assert int(ticks.sum()) / len(ticks) / 1e9 == pytest.approx(told.mean, rel=1e-15)
            assert ticks.max() / 1e9 == told.max
            in_ms = r.requests[f"{name}_ms"]
            assert (in_ms[~np.isnan(in_ms)] == ticks / 1e9).all()
        assert int(r.requests.output_tokens.sum()) == r.summary.total_output_tokens
        assert int(r.requests.prompt_tokens.sum()) == r.summary.total_input_tokens


def test_rows_equal_the_command_lines_as_text(small: dict[str, Any], tmp_path: Any) -> None:
    path = tmp_path / "rows.jsonl"
    words = [f"--{key.replace('_', '-')}={value}" for key, value in small.items()]
    subprocess.run([program(), "run", *words, "--format", "quiet", "--requests-out", str(path)], check=True)
    frame = rl.run(**small).requests.to_pandas(sort=True)
    for line, row in zip(path.read_text().splitlines(), frame.itertuples()):
        told = json.loads(line)
        assert (told["request_id"], told["input_tokens"], told["output_tokens"], told["outcome"]) == (
            row.id, row.prompt_tokens, row.output_tokens, row.outcome)
        assert told["arrival_s"] == row.arrival_ps / 1e12 and told["ttft_ms"] == row.ttft_ms


def test_views_share_memory_and_cannot_be_written(small: dict[str, Any]) -> None:
    r = rl.run(**small)
    column = r.requests.arrival_ps
    assert np.shares_memory(column, np.asarray(r.requests.arrival_ps))
    with pytest.raises(ValueError):
        column[0] = 1
    kept = column.copy()
    del r
    gc.collect()
    rl.run(**small)  # Other results come and go.
    assert (column == kept).all()


def test_what_was_not_kept_says_how(small: dict[str, Any]) -> None:
    r = rl.run(**small, requests=False)
    with pytest.raises(rl.ConfigError, match="requests=True"):
        r.requests
    with pytest.raises(rl.ConfigError, match="steps=True"):
        r.steps
    with pytest.raises(rl.ConfigError, match="series=True"):
        r.series
    with pytest.raises(AttributeError, match="no column 'ttft'"):
        rl.run(**small).requests.ttft


def test_pickle_and_deepcopy(small: dict[str, Any]) -> None:
    r = rl.run(**small)
    again = pickle.loads(pickle.dumps(r))
    assert again == r and again.summary == r.summary and repr(again) == repr(r)
    assert again.requests == r.requests
    assert again.figure("clock").svg == r.figure("clock").svg
    assert "<!doctype html>" in again.report("html")
    assert copy.deepcopy(r) == r
    frame = again.requests.to_pandas()
    assert len(frame) == 200 and frame.outcome.unique().tolist() == ["finished"]


def test_a_run_of_nothing_has_empty_columns() -> None:
    with pytest.raises(rl.Infeasible) as problem:
        rl.run(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=3, input_len=999, output_len=9,
               max_model_len=100)
    outcome = problem.value.result.requests
    assert outcome.words("outcome")[outcome.outcome[0]] == "rejected"
    assert np.isnan(outcome.ttft_ms).all() and (outcome.ttft_ps == -1).all()


# A consumer of the Arrow C interface that follows it to the letter.


class Schema(ctypes.Structure):
    pass


Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))),
    ("private_data", ctypes.c_void_p),
]


class Array(ctypes.Structure):
    pass


Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", ctypes.POINTER(Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))), ("private_data", ctypes.c_void_p),
]


class Stream(ctypes.Structure):
    pass


Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))), ("private_data", ctypes.c_void_p),
]


def stream_in(capsule: Any) -> Stream:
    pointer = ctypes.pythonapi["PyCapsule_GetPointer"]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Stream.from_address(pointer(capsule, b"arrow_array_stream"))


def test_arrow_by_a_consumer_to_the_letter(small: dict[str, Any]) -> None:
    r = rl.run(**small)
    capsule = r.requests.__arrow_c_stream__()
    stream = stream_in(capsule)
    schema, batch, end = Schema(), Array(), Array()
    assert stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)) == 0
    assert stream.get_next(ctypes.byref(stream), ctypes.byref(batch)) == 0
    assert stream.get_next(ctypes.byref(stream), ctypes.byref(end)) == 0 and not end.release
    stream.release(ctypes.byref(stream))
    del capsule
    kept = {name: r.requests[name].copy() for name in r.requests.columns}
    del r
    gc.collect()
    assert schema.format == b"+s" and schema.n_children == batch.n_children == len(kept)
    formats = {"int64": b"l", "int32": b"i", "float64": b"g", "uint8": b"C"}
    for i, (name, values) in enumerate(kept.items()):
        kind, column = schema.children[i].contents, batch.children[i].contents
        assert kind.name.decode() == name and kind.format == formats[str(values.dtype)]
        assert column.length == 200 and column.offset == 0 and column.n_buffers == 2
        data = (ctypes.c_char * values.nbytes).from_address(column.buffers[1])
        assert bytes(data) == values.tobytes()
        nulls = (values == -1) if values.dtype.kind == "i" else np.isnan(values.astype(float))
        assert column.null_count == nulls.sum()
        if column.null_count:
            bits = np.frombuffer(ctypes.string_at(column.buffers[0], 25), np.uint8)
            assert (np.unpackbits(bits, bitorder="little")[:200] == ~nulls).all()
    schema.release(ctypes.byref(schema))
    batch.release(ctypes.byref(batch))
    assert not schema.release and not batch.release


def test_pyarrow_and_polars_where_they_are(small: dict[str, Any]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(rl.run(**small).requests)
    assert table.num_rows == 200
