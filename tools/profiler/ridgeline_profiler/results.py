"""What became of a point."""

from dataclasses import dataclass

from ridgeline_profiler.points import Point
from ridgeline_profiler.statistics import Summary

# Measured; not possible on this device or version; gone wrong.
STATUSES = ("ok", "unsupported", "failed")
# Graph replay, or launches one by one.
MODES = ("graph", "eager")


@dataclass(frozen=True)
class Conditions:
    """The device while the point ran; None where it does not say."""

    clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None


@dataclass(frozen=True)
class Sustained:
    """The same calls repeated without a pause for seconds: clocks and power have settled under the power limit."""

    # Mean time of a call.
    latency_us: float
    # Mean power, from the device's energy counter.
    power_w: float


@dataclass(frozen=True)
class Result:
    point: Point
    status: str
    # UTC, to the second.
    date: str
    # Wall time that the point took.
    seconds: float
    # Why it was not measured.
    reason: str = ""
    kernel: str = ""
    mode: str = ""
    summary: Summary | None = None
    # Relative error of a kernel of ours against a plain one.
    check_error: float | None = None
    conditions: Conditions = Conditions()
    # None where it was not asked for, or the device counts no energy.
    sustained: Sustained | None = None
