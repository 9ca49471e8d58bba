"""The state of a run: one JSON object a line, appended as points finish, so that a run can be cut off anywhere.

The first line says on what and with what the others were measured. A last line without its end is what a run that was
killed leaves behind, and is dropped; anything else that is not as written here is refused with its line number.
"""

import json
import math
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from ridgeline_profiler.errors import UsageError
from ridgeline_profiler.points import ITEM_BYTES, Point
from ridgeline_profiler.results import MODES, STATUSES, Conditions, Result, Sustained
from ridgeline_profiler.statistics import Summary

FORMAT = "ridgeline-profile"
FORMAT_VERSION = 1
FILE_NAME = "state.jsonl"


@dataclass(frozen=True)
class Header:
    device: str
    folder: str
    backend: str
    seed: int
    # Versions of driver, libraries and this program; measurements under different ones are not mixed.
    environment: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "device": self.device,
            "folder": self.folder,
            "backend": self.backend,
            "seed": self.seed,
            "environment": dict(self.environment),
        }


class Malformed(ValueError):
    """What is wrong with a line; load() adds the place."""


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise Malformed(message)


def _field(record: dict[str, Any], name: str, kinds: type | tuple[type, ...], what: str) -> Any:
    _expect(name in record, f"has no '{name}'")
    value = record[name]
    _expect(isinstance(value, kinds) and not isinstance(value, bool), f"'{name}' is {value!r}, expected {what}")
    return value


def _number(record: dict[str, Any], name: str) -> float:
    value = float(_field(record, name, (int, float), "a number"))
    _expect(math.isfinite(value), f"'{name}' is not finite")
    return value


def _optional(record: dict[str, Any], name: str) -> float | None:
    return None if record.get(name) is None else _number(record, name)


def parse_header(record: dict[str, Any]) -> Header:
    _expect(record.get("format") == FORMAT, f"is no state of this program: 'format' is {record.get('format')!r}")
    version = record.get("version")
    _expect(version == FORMAT_VERSION, f"'version' is {version!r}, expected {FORMAT_VERSION}")
    environment = _field(record, "environment", dict, "an object")
    _expect(
        all(isinstance(value, str) for value in environment.values()), "'environment' holds something but text"
    )
    return Header(
        device=_field(record, "device", str, "text"),
        folder=_field(record, "folder", str, "text"),
        backend=_field(record, "backend", str, "text"),
        seed=_field(record, "seed", int, "an integer"),
        environment=tuple(sorted(environment.items())),
    )


def _parse_point(record: dict[str, Any]) -> Point:
    dtype = _field(record, "dtype", str, "text")
    _expect(dtype in ITEM_BYTES, f"'dtype' is '{dtype}', expected one of {', '.join(ITEM_BYTES)}")
    shape = _field(record, "shape", dict, "an object")
    for name, value in shape.items():
        _expect(
            isinstance(value, (int, str)) and not isinstance(value, bool),
            f"shape '{name}' is {value!r}, expected an integer or text",
        )
    return Point(_field(record, "operator", str, "text"), dtype, tuple(shape.items()))


def _parse_summary(record: dict[str, Any]) -> Summary:
    latency = _field(record, "latency_us", dict, "an object")
    samples = _field(latency, "samples", int, "an integer")
    summary = Summary(_number(latency, "median"), _number(latency, "p10"), _number(latency, "p90"), samples)
    _expect(samples >= 1, f"'samples' is {samples}, expected at least 1")
    _expect(
        0.0 < summary.p10_us <= summary.median_us <= summary.p90_us,
        f"latencies {summary.p10_us}, {summary.median_us}, {summary.p90_us} are not positive and in order",
    )
    return summary


def _parse_sustained(record: dict[str, Any]) -> Sustained | None:
    if record.get("sustained") is None:
        return None
    sustained = _field(record, "sustained", dict, "an object")
    return Sustained(_number(sustained, "latency_us"), _number(sustained, "power_w"))


def parse_result(record: dict[str, Any]) -> Result:
    status = _field(record, "status", str, "text")
    _expect(status in STATUSES, f"'status' is '{status}', expected one of {', '.join(STATUSES)}")
    common = {
        "point": _parse_point(record),
        "status": status,
        "date": _field(record, "date", str, "text"),
        "seconds": _number(record, "seconds"),
    }
    if status != "ok":
        return Result(**common, reason=_field(record, "reason", str, "text"))
    mode = _field(record, "mode", str, "text")
    _expect(mode in MODES, f"'mode' is '{mode}', expected one of {', '.join(MODES)}")
    conditions = _field(record, "conditions", dict, "an object")
    return Result(
        **common,
        kernel=_field(record, "kernel", str, "text"),
        mode=mode,
        summary=_parse_summary(record),
        check_error=_optional(record, "check_error"),
        conditions=Conditions(
            *(_optional(conditions, name) for name in ("clock_mhz", "memory_clock_mhz", "temperature_c", "power_w"))
        ),
        sustained=_parse_sustained(record),
    )


def result_to_json(result: Result) -> dict[str, Any]:
    record: dict[str, Any] = {
        "operator": result.point.operator,
        "dtype": result.point.dtype,
        "shape": dict(result.point.shape),
        "status": result.status,
        "date": result.date,
        "seconds": result.seconds,
    }
    if result.summary is None:
        return {**record, "reason": result.reason}
    return {
        **record,
        "kernel": result.kernel,
        "mode": result.mode,
        "latency_us": {
            "median": result.summary.median_us,
            "p10": result.summary.p10_us,
            "p90": result.summary.p90_us,
            "samples": result.summary.samples,
        },
        "check_error": result.check_error,
        "conditions": asdict(result.conditions),
        "sustained": None if result.sustained is None else asdict(result.sustained),
    }


def _parse_line(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as problem:
        raise Malformed(f"is no JSON: {problem}") from problem
    except RecursionError as problem:
        raise Malformed("is nested too deep") from problem
    _expect(isinstance(record, dict), "is no JSON object")
    return record


@dataclass
class State:
    """What a state file held. `results` has the last result of each point."""

    header: Header
    results: dict[str, Result]
    # Length of the part that is whole; a cut last line lies behind it.
    good_bytes: int


def load(path: Path) -> State | None:
    """None where there is no file, or none that got as far as its header."""
    if not path.exists():
        return None
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise UsageError(f"{path}: cannot be read: {problem.strerror}") from problem
    good_bytes = data.rfind(b"\n") + 1
    header: Header | None = None
    results: dict[str, Result] = {}
    for number, line in enumerate(data[:good_bytes].split(b"\n")[:-1], 1):
        try:
            record = _parse_line(line)
            if header is None:
                header = parse_header(record)
            else:
                result = parse_result(record)
                results[result.point.key] = result
        except Malformed as problem:
            raise UsageError(f"{path}:{number}: {problem}; move the file away to start anew") from problem
    return None if header is None else State(header, results, good_bytes)


class Writer:
    """Appends results; each is on disk before the next point starts."""

    def __init__(self, path: Path, header: Header, previous: State | None):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TextIO
        if previous is None:
            self._file = path.open("w", encoding="utf-8", newline="\n")
            self._append(header.to_json())
        else:
            os.truncate(path, previous.good_bytes)
            self._file = path.open("a", encoding="utf-8", newline="\n")

    def _append(self, record: dict[str, Any]) -> None:
        self._file.write(json.dumps(record, allow_nan=False) + "\n")
        self._file.flush()

    def add(self, result: Result) -> None:
        self._append(result_to_json(result))

    def close(self) -> None:
        self._file.close()


def require_same(previous: Header, header: Header, path: Path) -> None:
    """Refuses to go on where the old results were measured on or with something else."""
    before = {"device": previous.device, "backend": previous.backend, **dict(previous.environment)}
    now = {"device": header.device, "backend": header.backend, **dict(header.environment)}
    different = [
        f"{name} '{before.get(name, 'none')}' then, '{now.get(name, 'none')}' now"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    ]
    if different:
        raise UsageError(f"{path}: was measured otherwise: {'; '.join(different)}; choose another --out")


def measured(results: Iterable[Result]) -> list[Result]:
    return [result for result in results if result.summary is not None]
