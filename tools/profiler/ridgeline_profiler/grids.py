"""The values that shapes are made of, and how much each adds to what is known.

An axis is measured from coarse to fine: its ends and its middle first, then the middles of what lies between. A
value's level is the pass in which it comes. A point's tier is the largest level among its axes, plus what its
operator adds; whatever is cut off by a budget is thus always the finest part of the grid.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from ridgeline_profiler.devices import Target

# Tokens of a GEMM, which are also those of norms and activations.
GPU_TOKENS = (
    1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192,
    16384, 32768, 65536,
)  # fmt: skip
TINY_TOKENS = (1, 4, 16, 64)


def tokens(target: Target) -> tuple[int, ...]:
    return TINY_TOKENS if target.is_tiny else GPU_TOKENS


def pick(target: Target, gpu: Sequence[int], tiny: Sequence[int]) -> tuple[int, ...]:
    return tuple(tiny if target.is_tiny else gpu)


def dyadic_levels(count: int) -> list[int]:
    """The level of each of `count` sorted values: 0 for both ends and the middle, then 1, 2, ..."""
    levels = [-1] * count
    if count == 0:
        return levels
    levels[0] = levels[-1] = 0
    intervals = [(0, count - 1)]
    level = 0
    while intervals:
        finer = []
        for low, high in intervals:
            middle = (low + high) // 2
            if middle in (low, high):
                continue
            levels[middle] = level
            finer += [(low, middle), (middle, high)]
        intervals = finer
        level += 1
    return levels


def leveled(values: Sequence[int]) -> list[tuple[int, int]]:
    """(value, level) of a sorted axis."""
    return list(zip(values, dyadic_levels(len(values))))


T = TypeVar("T")


def spread_order(shapes: Sequence[T], place: Callable[[T], Sequence[float]]) -> list[T]:
    """The same shapes, each as far as can be (in logarithms) from all before it; the first stays first."""
    left = [(shape, [math.log(value) for value in place(shape)]) for shape in shapes]
    ordered: list[T] = []
    distances = [math.inf] * len(left)
    while left:
        at = max(range(len(left)), key=lambda index: distances[index])
        shape, chosen = left.pop(at)
        distances.pop(at)
        ordered.append(shape)
        for index, (_, other) in enumerate(left):
            distances[index] = min(distances[index], math.dist(chosen, other))
    return ordered


# A first pass takes this many shapes of a spread-out list; each further level doubles what there is.
FIRST_SHAPES = 4


def rank_level(rank: int) -> int:
    """The level of the shape at `rank` of a list in spread_order: 0 for the first four, 1 up to eight, ..."""
    return max(0, (rank // FIRST_SHAPES).bit_length())
