"""How far a run is, on standard error: a bar on a terminal, else a line now and then."""

import time
from typing import TextIO

BAR = 24
LINE_SECONDS = 10.0


def clock_text(seconds: float) -> str:
    """2 h 05 min, 3 min 20 s or 45 s."""
    whole = max(0, round(seconds))
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole} s"


class Estimate:
    """Time left: the planned seconds of what is left, times how the run so far compares with its plan."""

    def __init__(self, planned_seconds: float):
        self._planned_left = planned_seconds
        self._planned_done = 0.0
        self._taken = 0.0

    def add(self, planned: float, taken: float) -> None:
        self._planned_left -= planned
        self._planned_done += planned
        self._taken += taken

    @property
    def ratio(self) -> float:
        """Seconds per planned second; 1 until something was measured."""
        return self._taken / self._planned_done if self._planned_done > 0.0 else 1.0

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._planned_left) * self.ratio


class Progress:
    def __init__(self, total: int, out: TextIO | None):
        self._total = total
        self._out = out
        self._done = 0
        self._last_line = time.monotonic()
        self._is_terminal = out is not None and out.isatty()

    def show(self, seconds_left: float, key: str) -> None:
        """After one more point."""
        self._done += 1
        if self._out is None:
            return
        text = f"{self._done}/{self._total}, {clock_text(seconds_left)} left, {key}"
        if self._is_terminal:
            full = BAR * self._done // max(1, self._total)
            self._out.write(f"\r\x1b[K[{'#' * full}{'.' * (BAR - full)}] {text[:100]}")
            self._out.flush()
        elif time.monotonic() - self._last_line >= LINE_SECONDS or self._done == self._total:
            self._last_line = time.monotonic()
            self._out.write(f"{text}\n")

    def finish(self) -> None:
        if self._out is not None and self._is_terminal:
            self._out.write("\n")
