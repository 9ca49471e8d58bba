"""The loop over the plan, with a backend that only pretends."""

from dataclasses import replace

import pytest

from ridgeline_profiler import planning
from ridgeline_profiler.backends.base import Measurement
from ridgeline_profiler.cases import Case, Unsupported
from ridgeline_profiler.devices import planned_gpu_target
from ridgeline_profiler.errors import DeviceLost
from ridgeline_profiler.operators import BY_NAME
from ridgeline_profiler.progress import Estimate, Progress, clock_text
from ridgeline_profiler.results import Conditions
from ridgeline_profiler.runner import measure_point, run
from ridgeline_profiler.telemetry import parse_smi_line

TARGET = planned_gpu_target("h100", 1)


class TooBig(Exception):
    pass


class Pretending:
    """`problem` is raised when a case is made; time passes by `seconds` per point."""

    name, method, environment, target = "pretending", "", {}, TARGET

    def __init__(self, samples=(3.0, 1.0, 2.0), problem=None, check=None, seconds=1.0):
        self.samples, self.problem, self.check, self.seconds = list(samples), problem, check, seconds
        self.now, self.released, self.closed, self.measured = 0.0, 0, 0, 0

    def case(self, operator, point):
        if self.problem is not None:
            raise self.problem
        case = Case("pretended", [lambda: None], check=self.check, tolerance=0.01)

        def close():
            self.closed += 1

        case.close = close
        return case

    def measure(self, case, expected_us):
        self.now += self.seconds
        self.measured += 1
        return Measurement(self.samples, "graph", Conditions(clock_mhz=1000.0))

    def is_out_of_memory(self, problem):
        return isinstance(problem, TooBig)

    def release(self):
        self.released += 1

    def close(self):
        pass


@pytest.fixture
def plan():
    return planning.make_plan([BY_NAME["copy"]], TARGET, 1)


def test_a_result_has_the_median_and_the_conditions(plan):
    result = measure_point(Pretending(), plan[0])
    assert (result.status, result.summary.median_us, result.summary.samples) == ("ok", 2.0, 3)
    assert (result.kernel, result.mode, result.conditions.clock_mhz) == ("pretended", "graph", 1000.0)


@pytest.mark.parametrize(
    "problem, status, reason",
    [
        (Unsupported("needs more"), "unsupported", "needs more"),
        (TooBig("6 GiB"), "unsupported", "out of device memory"),
        (ValueError("first\nsecond"), "failed", "ValueError: first"),
        (RuntimeError(), "failed", "RuntimeError: no message"),
    ],
)
def test_a_problem_is_a_result(plan, problem, status, reason):
    result = measure_point(Pretending(problem=problem), plan[0])
    assert (result.status, result.reason, result.summary) == (status, reason, None)


@pytest.mark.parametrize("problem", [DeviceLost("gone"), KeyboardInterrupt()])
def test_a_lost_device_and_the_user_end_the_run(plan, problem):
    with pytest.raises(type(problem)):
        measure_point(Pretending(problem=problem), plan[0])


@pytest.mark.parametrize("error", [0.02, float("nan"), float("inf")])
def test_a_wrong_kernel_is_not_measured(plan, error):
    backend = Pretending(check=lambda: error)
    result = measure_point(backend, plan[0])
    assert result.status == "failed"
    assert result.reason.startswith("wrong: relative error")
    assert (backend.measured, backend.closed) == (0, 1)


def test_a_right_kernel_has_its_error_recorded(plan):
    assert measure_point(Pretending(check=lambda: 0.004), plan[0]).check_error == 0.004


@pytest.mark.parametrize("samples", [[], [0.0, 1.0], [float("nan")]])
def test_a_broken_timer_is_a_failure(plan, samples):
    result = measure_point(Pretending(samples=samples), plan[0])
    assert result.status == "failed"


def test_a_run_records_every_point_and_gives_memory_back(plan):
    backend, recorded = Pretending(), []
    outcome = run(backend, plan, None, recorded.append, Progress(len(plan), None))
    assert [each.point for each in recorded] == [each.point for each in plan]
    assert (outcome.measured, outcome.left, backend.released) == (len(plan), 0, len(plan))


def test_a_budget_learns_from_the_points_before(plan):
    # Seven points planned at 1 s that take 3: after the first, the others count as 3 s. 10 s are enough for three:
    # at 9 s the next would end at 12.
    slow = [replace(each, seconds=1.0) for each in plan]
    backend, recorded = Pretending(seconds=3.0), []
    outcome = run(backend, slow, 10.0, recorded.append, Progress(7, None), clock=lambda: backend.now)
    assert (len(plan), len(recorded), outcome.left) == (7, 3, 4)


def test_a_budget_passes_over_what_is_too_long(plan):
    long_first = [replace(plan[0], seconds=100.0), *(replace(each, seconds=1.0) for each in plan[1:])]
    backend, recorded = Pretending(), []
    outcome = run(backend, long_first, 10.0, recorded.append, Progress(7, None), clock=lambda: backend.now)
    assert [each.point for each in recorded] == [each.point for each in plan[1:]]
    assert outcome.left == 1


def test_estimate_scales_with_what_was_seen():
    estimate = Estimate(10.0)
    assert estimate.seconds_left == 10.0
    # 2 planned seconds took 3: 8 left, times 1.5.
    estimate.add(2.0, 3.0)
    assert estimate.seconds_left == pytest.approx(12.0)


@pytest.mark.parametrize("seconds, text", [(0.2, "0 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")])
def test_clock_text(seconds, text):
    assert clock_text(seconds) == text


def test_telemetry_lines():
    assert parse_smi_line("1755, 2619, 41, 312.50\n") == Conditions(1755.0, 2619.0, 41.0, 312.5)
    assert parse_smi_line("1755, 2619, 41, [N/A]") == Conditions(1755.0, 2619.0, 41.0, None)
    assert parse_smi_line("No devices were found") is None
