"""Results for tests, made up: no measurement."""

from ridgeline_profiler.points import point
from ridgeline_profiler.results import Conditions, Result
from ridgeline_profiler.state import Header
from ridgeline_profiler.statistics import Summary

HEADER = Header("NVIDIA H100 80GB HBM3", "h100", "cuda", 1, (("driver", "1.2"), ("torch", "2.9")))
DATE = "2026-01-02T03:04:05Z"


def result(operator, dtype, median_us, kernel="some kernel", **shape):
    summary = Summary(median_us, 0.9 * median_us, 1.25 * median_us, 20)
    conditions = Conditions(1755.0, 2619.0, 41.0, None)
    return Result(
        point(operator, dtype, 0, **shape),
        "ok",
        DATE,
        0.5,
        kernel=kernel,
        mode="graph",
        summary=summary,
        check_error=None,
        conditions=conditions,
    )


def failure(operator, dtype, reason, status="failed", **shape):
    return Result(point(operator, dtype, 0, **shape), status, DATE, 0.1, reason=reason)
