"""full/<gpu>/<operator>.csv: every measured point with everything that is known of it."""

from pathlib import Path

from ridgeline_profiler.operators import BY_NAME
from ridgeline_profiler.output.files import Cell, csv_text, write_text
from ridgeline_profiler.results import Result
from ridgeline_profiler.state import Header, measured

# Behind `dtype` and the columns of the operator's shape.
COLUMNS = (
    "latency_us",
    "latency_p10_us",
    "latency_p90_us",
    "samples",
    "flops",
    "bytes",
    "kernel",
    "mode",
    "check_error",
    "clock_mhz",
    "memory_clock_mhz",
    "temperature_c",
    "power_w",
    "sustained_us",
    "sustained_w",
    "date",
    "device",
    "versions",
)


def versions_text(header: Header) -> str:
    return "; ".join(f"{name} {value}" for name, value in header.environment)


def row(result: Result, columns: tuple[str, ...], header: Header) -> list[Cell]:
    summary, now = result.summary, result.conditions
    assert summary is not None
    cost = BY_NAME[result.point.operator].cost(result.point)
    return [
        result.point.dtype,
        *(result.point.value(name) for name in columns),
        summary.median_us,
        summary.p10_us,
        summary.p90_us,
        summary.samples,
        # Whole numbers, but for halves in causal attention.
        int(cost.flops),
        int(cost.bytes),
        result.kernel,
        result.mode,
        result.check_error,
        now.clock_mhz,
        now.memory_clock_mhz,
        now.temperature_c,
        now.power_w,
        result.sustained and result.sustained.latency_us,
        result.sustained and result.sustained.power_w,
        result.date,
        header.device,
        versions_text(header),
    ]


def sort_key(result: Result) -> tuple[str, list[tuple[int, int, str]]]:
    """By data type, then by shape, numbers as numbers."""
    values = (value for _, value in result.point.shape)
    return result.point.dtype, [(0, each, "") if isinstance(each, int) else (1, 0, each) for each in values]


def write(folder: Path, header: Header, results: list[Result]) -> list[Path]:
    """One file per operator that has anything."""
    written = []
    for name, operator in BY_NAME.items():
        mine = sorted((each for each in measured(results) if each.point.operator == name), key=sort_key)
        if mine:
            path = folder / "full" / header.folder / f"{name}.csv"
            columns = ("dtype", *operator.columns, *COLUMNS)
            write_text(path, csv_text(columns, (row(each, operator.columns, header) for each in mine)))
            written.append(path)
    return written
