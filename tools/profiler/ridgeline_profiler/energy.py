"""Mean power from an energy counter that moves in steps."""

from collections.abc import Sequence
from dataclasses import dataclass

# Share of a sustained run that is left to the clocks to settle.
SETTLING_SHARE = 0.3


@dataclass(frozen=True)
class Reading:
    # On a clock that only goes forward.
    seconds: float
    joules: float
    # Batches of replays that had ended.
    batches: int


def settled_span(readings: Sequence[Reading]) -> tuple[Reading, Reading] | None:
    """The first and last reading behind the settling part at which the counter had just moved; None where it moved
    fewer than twice."""
    if not readings:
        return None
    settled = readings[0].seconds + SETTLING_SHARE * (readings[-1].seconds - readings[0].seconds)
    moved = [
        now
        for before, now in zip(readings, readings[1:])
        if now.seconds >= settled and now.joules > before.joules
    ]
    return (moved[0], moved[-1]) if len(moved) > 1 else None
