"""What an operator is to the rest of the program."""

from typing import TYPE_CHECKING, Protocol

from ridgeline_profiler.cases import Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.points import Cost, Point

if TYPE_CHECKING:
    from ridgeline_profiler.backends.numpy_env import NumpyEnv
    from ridgeline_profiler.backends.torch_env import TorchEnv


class Operator(Protocol):
    """One file in this folder: the grid, the counts, and how it runs under PyTorch and under numpy."""

    @property
    def name(self) -> str:
        """In keys, options and file names."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of a point's shape, in the order of its key and of the CSV's columns."""

    def points(self, target: Target) -> list[Point]:
        """Every point worth measuring on the target; those that cannot fit its memory are left out."""

    def cost(self, point: Point) -> Cost:
        """Operations and bytes of one call."""

    def resident_bytes(self, point: Point) -> float:
        """Device memory that one call's tensors take."""

    def torch_case(self, point: Point, env: "TorchEnv") -> Case:
        """The point on random data, on the GPU."""

    def numpy_case(self, point: Point, env: "NumpyEnv") -> Case:
        """The same work in plain numpy, on a CPU."""


# Share of the device's memory that a point's tensors may take, so that the caches and graphs beside them fit.
USABLE_MEMORY = 0.6


def fitting(operator: Operator, points: list[Point], target: Target) -> list[Point]:
    limit = USABLE_MEMORY * target.memory_bytes
    return [each for each in points if operator.resident_bytes(each) <= limit]
