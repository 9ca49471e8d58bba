"""Medians and spreads. Latencies are skewed to the right, so means are not used anywhere."""

from collections.abc import Sequence
from dataclasses import dataclass


def percentile(sorted_values: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of the values lie, linear between neighbours."""
    if not sorted_values:
        raise ValueError("no values")
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share {share} is not between 0 and 1")
    place = share * (len(sorted_values) - 1)
    below = int(place)
    above = min(below + 1, len(sorted_values) - 1)
    weight = place - below
    return sorted_values[below] * (1.0 - weight) + sorted_values[above] * weight


@dataclass(frozen=True)
class Summary:
    """Microseconds per call: the median of the samples and their tenth and ninetieth percentile."""

    median_us: float
    p10_us: float
    p90_us: float
    samples: int

    @property
    def spread(self) -> float:
        """(p90 - p10) / median: 0 when every sample is the same."""
        return (self.p90_us - self.p10_us) / self.median_us


def summarize(samples_us: Sequence[float]) -> Summary:
    """The summary of positive, finite samples; anything else is a fault of the timer and is refused."""
    ordered = sorted(samples_us)
    if not ordered:
        raise ValueError("no samples")
    if not all(0.0 < sample < float("inf") for sample in ordered):
        raise ValueError("a sample is not a positive, finite time")
    return Summary(
        median_us=percentile(ordered, 0.5),
        p10_us=percentile(ordered, 0.1),
        p90_us=percentile(ordered, 0.9),
        samples=len(ordered),
    )
