"""What is measured, in which order, and how long it will take.

The order is by tier (grids.py: coarse before fine), and random within a tier, so that a slow drift of clocks or
temperature does not look like an effect of shape. It depends on the seed and the points' keys alone: a run that was
cut off goes on in the same order, and leaving operators out does not change the order of the others.
"""

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ridgeline_profiler import timing
from ridgeline_profiler.devices import Target
from ridgeline_profiler.operators.base import Operator
from ridgeline_profiler.points import Cost, Point


@dataclass(frozen=True)
class Planned:
    point: Point
    operator: Operator
    # Time of a call and of the whole measurement, before anything is known.
    expected_us: float
    seconds: float


def expected_call_us(cost: Cost, target: Target) -> float:
    """Roofline at an assumed share of the peaks, behind an assumed launch."""
    rate = timing.ASSUMED_EFFICIENCY
    seconds = max(
        cost.flops / (rate * target.assumed_flops), cost.bytes / (rate * target.assumed_bandwidth)
    )
    return timing.ASSUMED_LAUNCH_US + seconds * 1e6


def order_key(seed: int, point: Point) -> tuple[int, bytes]:
    return point.tier, hashlib.sha256(f"{seed}/{point.key}".encode()).digest()


def make_plan(
    operators: Iterable[Operator], target: Target, seed: int, sustain_seconds: float = 0.0
) -> list[Planned]:
    """Every point of the operators, in the order of measurement."""
    planned = []
    for operator in operators:
        for point in operator.points(target):
            expected = expected_call_us(operator.cost(point), target)
            seconds = timing.estimated_seconds(expected, sustain_seconds)
            planned.append(Planned(point, operator, expected, seconds))
    return sorted(planned, key=lambda each: order_key(seed, each.point))


def remaining(plan: list[Planned], done: Collection[str]) -> list[Planned]:
    return [each for each in plan if each.point.key not in done]


def within_budget(plan: list[Planned], budget_seconds: float | None) -> list[Planned]:
    """The points that a run of this budget takes, by the estimates: in order, passing over those too long for what is
    left."""
    if budget_seconds is None:
        return plan
    taken, left = [], budget_seconds
    for each in plan:
        if each.seconds <= left:
            taken.append(each)
            left -= each.seconds
    return taken
