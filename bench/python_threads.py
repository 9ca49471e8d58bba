#!/usr/bin/env python3
"""How much two threads of one process do in the time of one: runs per second of wall time, in turn, the best of several
rounds; and their digests, which must be those of one thread. Needs the package, and two cores that do nothing else.

    RIDGELINE_LIBRARY=build/release/libridgeline.so PYTHONPATH=python bench/python_threads.py
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ridgeline as rl

warnings.simplefilter("ignore")
RUNS = 40
ROUNDS = 5
LEAST_RATIO = 1.8
GIVEN: dict[str, Any] = dict(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=20_000, input_len=512,
                             output_len=256)


def digest(seed: int) -> str:
    return rl.run(**GIVEN, seed=seed).digest


def timed(threads: int) -> tuple[float, float, list[str]]:
    """Seconds of wall time and of processor time for all runs, and their digests."""
    with ThreadPoolExecutor(threads) as pool:
        start, worked = time.perf_counter(), time.process_time()
        digests = list(pool.map(digest, range(RUNS)))
        return time.perf_counter() - start, time.process_time() - worked, digests


def main() -> int:
    digest(0)  # Loads the library.
    load = os.getloadavg()[0]
    wall, worked = ({1: float("inf"), 2: float("inf")} for _ in range(2))
    seen = set()
    for _ in range(ROUNDS):
        for threads in wall:
            seconds, processor, digests = timed(threads)
            wall[threads] = min(wall[threads], seconds)
            worked[threads] = min(worked[threads], processor)
            seen.add(tuple(digests))
    for threads, seconds in wall.items():
        print(f"threads {threads}: {RUNS} runs of {GIVEN['num_prompts']} requests in {seconds:.2f} s "
              f"({worked[threads]:.2f} s of processor time), {RUNS / seconds:.1f} runs/s")
    ratio = wall[1] / wall[2]
    print(f"ratio {ratio:.2f}, expected {LEAST_RATIO} or more on two free cores (load before: {load:.1f}); "
          f"digests {'equal' if len(seen) == 1 else 'differ'}")
    return 0 if ratio >= LEAST_RATIO and len(seen) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
