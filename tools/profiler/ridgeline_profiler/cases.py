"""A point made ready to run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


Call = Callable[[], object]


@dataclass
class Case:
    """Every callable in `calls` does the point's work once, on inputs of its own: run in turn they touch more
    memory than the L2 cache holds, so each finds its weights and caches cold, as in a network."""

    # The kernel or function that runs, as a reader would look it up.
    kernel: str
    calls: Sequence[Call]
    # Calls of the operator inside one callable.
    calls_inside: int = 1
    # Whether the calls are captured into a CUDA graph and replayed.
    graph: bool = True
    # For a kernel of ours: the relative error ||out - plain|| / ||plain|| of a first call, and its bound.
    check: Callable[[], float] | None = None
    tolerance: float = 0.0
    # For work that is timed elsewhere (several GPUs): returns samples in microseconds.
    sampler: Callable[[], list[float]] | None = None
    # Runs after the measurement.
    close: Callable[[], None] = field(default=lambda: None)


class Unsupported(Exception):
    """This device or this version of PyTorch cannot run the point; the reason is recorded, and the run goes on."""
