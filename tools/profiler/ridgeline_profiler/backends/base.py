"""What can run cases and time them."""

from dataclasses import dataclass
from typing import Protocol

from ridgeline_profiler.cases import Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.operators.base import Operator
from ridgeline_profiler.points import Point
from ridgeline_profiler.results import Conditions, Sustained


@dataclass(frozen=True)
class Measurement:
    """Microseconds per call of the operator, one value per replay."""

    samples_us: list[float]
    mode: str
    conditions: Conditions
    sustained: Sustained | None = None


class Backend(Protocol):
    name: str
    target: Target
    # Versions that a result depends on.
    environment: dict[str, str]
    # How a point is measured, in a sentence or two for the card.
    method: str

    def case(self, operator: Operator, point: Point) -> Case:
        """The point made ready; raises Unsupported where it cannot be."""

    def measure(self, case: Case, expected_us: float) -> Measurement:
        """Warms up, then times."""

    def is_out_of_memory(self, problem: Exception) -> bool:
        """Whether the problem is the point's size, and nothing is broken."""

    def release(self) -> None:
        """Gives memory back after a point; raises DeviceLost where the device answers no more."""

    def close(self) -> None:
        """Ends helpers."""
