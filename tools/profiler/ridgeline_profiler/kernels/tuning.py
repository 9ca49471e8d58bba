"""Choosing among launch configurations by running them, as serving engines ship tuned ones."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

C = TypeVar("C")

WARM_UP = 2
TRIES = 5
# Calls below this are timed in a graph: launched one by one they would show the host's time, which differs by kernel.
SHORT_MS = 1.0
CALLS_IN_GRAPH = 10


def fastest(candidates: Sequence[C], run: Callable[[C], object]) -> C:
    """The candidate with the shortest median time; one that cannot be launched (too much shared memory) is passed
    over. Without a GPU there is nothing to time, and the first is taken."""
    if len(candidates) == 1 or not torch.cuda.is_available():
        return candidates[0]
    best: tuple[float, C] | None = None
    problem: Exception | None = None
    for candidate in candidates:
        try:
            seconds = _median(lambda: run(candidate))
        except Exception as failure:  # Triton's launch errors have no common class
            problem = failure
            continue
        if best is None or seconds < best[0]:
            best = (seconds, candidate)
    if best is None:
        raise RuntimeError(f"no launch configuration runs: {problem}")
    return best[1]


def _median(run: Callable[[], object]) -> float:
    """Milliseconds of a call, or of a graph of calls where one is short."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            run()
        milliseconds = _median_of_tries(run, stream)
        if milliseconds < SHORT_MS:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                for _ in range(CALLS_IN_GRAPH):
                    run()
            milliseconds = _median_of_tries(graph.replay, stream) / CALLS_IN_GRAPH
    return milliseconds


def _median_of_tries(run: Callable[[], object], stream: Any) -> float:
    pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(TRIES)]
    for start, end in pairs:
        start.record(stream)
        run()
        end.record(stream)
    stream.synchronize()
    return sorted(start.elapsed_time(end) for start, end in pairs)[TRIES // 2]
