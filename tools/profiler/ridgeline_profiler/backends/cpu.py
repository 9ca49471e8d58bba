"""Every operator in numpy on tiny shapes: proves the chain from plan to tables where there is no GPU.

Its times say nothing about any GPU."""

import platform
import time
from collections.abc import Callable, Sequence

from ridgeline_profiler import VERSION, timing
from ridgeline_profiler.backends.base import Measurement
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.cases import Case
from ridgeline_profiler.devices import cpu_target
from ridgeline_profiler.errors import UsageError
from ridgeline_profiler.operators.base import Operator
from ridgeline_profiler.points import Point
from ridgeline_profiler.results import Conditions

# Few and short: a CPU's purpose here is to run through.
SAMPLES = 5
SHORT_US = 100.0


class CpuBackend:
    name = "cpu"
    method = f"A point: one warm-up, then {SAMPLES} samples of wall time. Latencies are medians."

    def __init__(self, seed: int):
        try:
            self._env = NumpyEnv(seed)
        except ImportError as problem:
            raise UsageError("the cpu backend needs numpy (Debian: python3-numpy)") from problem
        self.target = cpu_target()
        self.environment = {
            "profiler": VERSION,
            "python": platform.python_version(),
            "numpy": self._env.np.__version__,
        }

    def case(self, operator: Operator, point: Point) -> Case:
        return operator.numpy_case(point, self._env)

    def measure(self, case: Case, expected_us: float) -> Measurement:
        times = max(1, min(timing.CALLS_IN_REPLAY, int(SHORT_US / max(expected_us, 1.0))))
        _seconds(case.calls, times)
        divisor = times * len(case.calls) * case.calls_inside
        samples = [_seconds(case.calls, times) * 1e6 / divisor for _ in range(SAMPLES)]
        return Measurement(samples, "eager", Conditions())

    def is_out_of_memory(self, problem: Exception) -> bool:
        return isinstance(problem, MemoryError)

    def release(self) -> None:
        pass

    def close(self) -> None:
        pass


def _seconds(calls: Sequence[Callable[[], object]], times: int) -> float:
    start = time.perf_counter_ns()
    for _ in range(times):
        for call in calls:
            call()
    # A clock tick at least: a coarse clock must not give zero.
    return max(1, time.perf_counter_ns() - start) * 1e-9
