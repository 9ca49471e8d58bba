"""Measures the points of a plan, one after the other."""

import datetime
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from ridgeline_profiler.backends.base import Backend
from ridgeline_profiler.cases import Unsupported
from ridgeline_profiler.errors import DeviceLost
from ridgeline_profiler.planning import Planned
from ridgeline_profiler.progress import Estimate, Progress
from ridgeline_profiler.results import Result
from ridgeline_profiler.statistics import summarize


@dataclass
class Outcome:
    """How a run went; `left` points were not tried for lack of time."""

    measured: int = 0
    unsupported: int = 0
    failed: int = 0
    left: int = 0


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def measure_point(backend: Backend, planned: Planned) -> Result:
    """Any failure of a point is a result too; only a device that is gone, and the user, end the run."""
    start = time.monotonic()

    def result(status: str, **rest: object) -> Result:
        seconds = round(time.monotonic() - start, 3)
        return Result(planned.point, status, _now(), seconds, **rest)  # type: ignore[arg-type]

    try:
        case = backend.case(planned.operator, planned.point)
        try:
            error = None if case.check is None else case.check()
            if error is not None and not (math.isfinite(error) and error <= case.tolerance):
                return result("failed", reason=f"wrong: relative error {error:.3g}, allowed {case.tolerance:.3g}")
            measurement = backend.measure(case, planned.expected_us)
        finally:
            case.close()
        return result(
            "ok",
            kernel=case.kernel,
            mode=measurement.mode,
            summary=summarize(measurement.samples_us),
            check_error=error,
            conditions=measurement.conditions,
            sustained=measurement.sustained,
        )
    except Unsupported as problem:
        return result("unsupported", reason=str(problem))
    except DeviceLost:
        raise
    except Exception as problem:  # a kernel may fail in any way; the other points must not suffer
        if backend.is_out_of_memory(problem):
            return result("unsupported", reason="out of device memory")
        lines = str(problem).strip().splitlines()
        return result("failed", reason=f"{type(problem).__name__}: {lines[0] if lines else 'no message'}")


def run(
    backend: Backend,
    plan: list[Planned],
    budget_seconds: float | None,
    record: Callable[[Result], None],
    progress: Progress,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Records every point that is tried. Under a budget a point that would not end in time, judged by how the run has
    gone so far, is passed over."""
    start = clock()
    estimate = Estimate(sum(each.seconds for each in plan))
    outcome = Outcome()
    for planned in plan:
        before = clock()
        if budget_seconds is not None and before - start + planned.seconds * estimate.ratio > budget_seconds:
            outcome.left += 1
            continue
        result = measure_point(backend, planned)
        record(result)
        backend.release()
        estimate.add(planned.seconds, clock() - before)
        outcome.measured += result.status == "ok"
        outcome.unsupported += result.status == "unsupported"
        outcome.failed += result.status == "failed"
        left = estimate.seconds_left
        if budget_seconds is not None:
            left = min(left, budget_seconds - (clock() - start))
        progress.show(left, planned.point.key)
    progress.finish()
    return outcome
