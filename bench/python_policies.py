#!/usr/bin/env python3
"""What policies in Python cost: processor time per request beside native ones, the best of several runs. Needs the package.

    RIDGELINE_LIBRARY=build/release/libridgeline.so PYTHONPATH=python bench/python_policies.py
"""

from __future__ import annotations

import time
import warnings
from typing import Any, Callable

import ridgeline as rl

warnings.simplefilter("ignore")
FLEET: dict[str, Any] = dict(model="llama-3.1-8b", gpu="h100", instances=64, request_rate=600, num_prompts=20_000,
                             input_len=512, output_len=64, seed=1, requests=False, figures=False)
ONE: dict[str, Any] = dict(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=2000, input_len=512,
                           output_len=256, seed=1, requests=False, figures=False)


class InTurn(rl.Router):
    turn = -1

    def route(self, request: rl.RequestView, instances: Any) -> int:
        self.turn += 1
        return self.turn % len(instances)


class LeastKv(rl.Router):
    def route(self, request: rl.RequestView, instances: Any) -> int:
        return int(instances["kv_used"].argmin())


class Line(rl.StepModel):
    def predict(self, batch: rl.Batch) -> float:
        return 0.007 + 1e-9 * batch.decode_context + 2e-5 * sum(new for _, new in batch.prefills)


class ClosedLine(Line):
    def affine(self, num_decodes: int) -> tuple[float, float]:
        return 0.007, 1e-9


def best(call: Callable[[], rl.Result], times: int = 9) -> tuple[float, rl.Result]:
    """Of this process: what else runs on the machine counts less than in wall time."""
    fastest = float("inf")
    for _ in range(times):
        start = time.process_time()
        result = call()
        fastest = min(fastest, time.process_time() - start)
    return fastest / result.summary.completed, result


def row(name: str, call: Callable[[], rl.Result]) -> None:
    seconds, r = best(call)
    print(f"{name:52} {seconds * 1e6:9.2f} us a request   {r.summary.steps:8d} steps")


row("64 instances, round-robin, native", lambda: rl.run(**FLEET, router="round-robin"))
row("64 instances, round-robin in Python", lambda: rl.run(**FLEET, router=InTurn()))
row("64 instances, aibrix-least-kv-cache, native", lambda: rl.run(**FLEET, router="aibrix-least-kv-cache"))
row("64 instances, the argmin of kv_used in Python", lambda: rl.run(**FLEET, router=LeastKv()))
row("1 instance, kernel, native", lambda: rl.run(**ONE))
row("1 instance, a line in Python, affine", lambda: rl.run(**ONE, step_model=ClosedLine()))
row("1 instance, a line in Python, step by step", lambda: rl.run(**ONE, step_model=Line()))
