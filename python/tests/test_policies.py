"""Policies in Python: copies of native ones, and everything that can go wrong inside."""

from __future__ import annotations

import functools
import signal
import sys
import threading
import time
import traceback
from typing import Any

import numpy as np
import pytest

import ridgeline as rl

from conftest import having


class InTurn(rl.Router):
    def __init__(self) -> None:
        self.turn = 0

    def route(self, request: rl.RequestView, instances: Any) -> int:
        self.turn += 1
        return (self.turn - 1) % len(instances)


def test_a_copy_of_round_robin_gives_its_digest(fleet: dict[str, Any]) -> None:
    assert rl.run(**fleet, router=InTurn()).digest == rl.run(**fleet, router="round-robin").digest


def test_a_copy_of_the_rotating_vllm_balancer_reads_gauges(fleet: dict[str, Any]) -> None:
    ages = []

    class Looks(rl.Router):
        def route(self, request: rl.RequestView, instances: Any) -> int:
            assert instances.dtype.names[:2] == ("id", "requests") and request.prompt_tokens == 512
            assert 0 <= instances["kv_used"].max() <= 1
            ages.append(float(instances["age_s"].max()))
            return int((instances["waiting"] + instances["running"] + instances["requests"]).argmin())

    r = rl.run(**fleet, router=Looks())
    assert r.summary.completed == 200 and 0 < max(ages) <= 0.05
    counts = np.bincount(r.requests.instance)
    assert len(counts) == 3 and counts.min() > 30


def test_a_router_that_reads_the_cache(fleet: dict[str, Any]) -> None:
    seen = []

    class Sticky(rl.Router):
        reads_cache = True

        def route(self, request: rl.RequestView, instances: Any) -> int:
            seen.append(int(instances["cached_tokens"].max()))
            return int(instances["cached_tokens"].argmax())

    rl.run(**fleet, prefix_len=256, router=Sticky())
    assert max(seen) >= 256


class FromSteps(rl.StepModel):
    """The step times of a native model, batch by batch."""

    def __init__(self, latency: str) -> None:
        self.latency = latency
        self.asked = 0

    @functools.lru_cache(maxsize=None)
    def priced(self, batch: rl.Batch) -> rl.StepTime:
        self.asked += 1
        step = rl.step(
            model="llama-3.1-8b", gpu="h100", latency=self.latency,
            decode=",".join(map(str, batch.decode_lengths or ())) or None,
            prefill=",".join(f"{past}+{new}" for past, new in batch.prefills) or None).to_dict()
        # Whole picoseconds, written in microseconds.
        times = {name: round(value * 1e6) / 1e12 for name, value in step["time_by_bottleneck"].items()}
        return rl.StepTime(**times, cpu=round(step["cpu_us"] * 1e6) / 1e12)

    reads_lengths = True

    def predict(self, batch: rl.Batch) -> rl.StepTime:
        return self.priced(batch)


def test_a_copy_of_a_native_step_model_gives_its_digest() -> None:
    given: dict[str, Any] = dict(model="llama-3.1-8b", gpu="h100", request_rate=4, num_prompts=8, input_len=100,
                                 output_len=12, seed=1)
    for latency in ("v0", "v1"):
        model = FromSteps(latency)
        assert rl.run(**given, step_model=model).digest == rl.run(**given, latency=latency).digest
        assert model.asked > 10
    # `step` takes a step apart by its operators, and a run of `kernel` splits it as a whole: times are equal.
    ours, native = rl.run(**given, step_model=FromSteps("kernel")), rl.run(**given, latency="kernel")
    assert ours.requests == native.requests


class Line(rl.StepModel):
    def predict(self, batch: rl.Batch) -> float:
        return 0.004 + 2e-5 * sum(new for _, new in batch.prefills) + 1e-9 * batch.decode_context


class ClosedLine(Line):
    def affine(self, num_decodes: int) -> tuple[float, float]:
        return 0.004, 1e-9


def test_the_closed_form_changes_no_result(small: dict[str, Any]) -> None:
    stepped, jumped = rl.run(**small, step_model=Line()), rl.run(**small, step_model=ClosedLine())
    assert stepped.digest == jumped.digest
    assert (jumped.run_info.jumped_share or 0) > 0.5 > (stepped.run_info.jumped_share or 0)


def test_the_result_says_who_decided(small: dict[str, Any]) -> None:
    r = rl.run(**small, step_model=Line())
    assert r.config["latency"]["class"].endswith("Line") and len(r.config["latency"]["source_sha256"]) == 64
    assert "W-python-model" in [warning.code for warning in r.warnings]
    assert "expected_error" not in r.to_dict()


class Steady(rl.Autoscaler):
    interval = "2s"

    def __init__(self, replicas: Any) -> None:
        self.replicas = replicas
        self.seen: list[rl.PoolView] = []

    def scale(self, pool: rl.PoolView) -> Any:
        self.seen.append(pool)
        return self.replicas


def test_an_autoscaler_decides(small: dict[str, Any]) -> None:
    scaler = Steady(3)
    r = rl.run(**having(small, num_prompts=600), instances=1, max_replicas=4, autoscaling=scaler)
    assert len(scaler.seen) > 3 and max(view.size for view in scaler.seen) == 3
    assert r.config["cluster"]["autoscaling"]["name"]["class"].endswith("Steady")
    with pytest.raises(TypeError, match=r"Steady.scale\(\) gave str"):
        rl.run(**small, instances=1, max_replicas=4, autoscaling=Steady("3"))
    with pytest.raises(rl.ConfigError, match="-3 replicas"):
        rl.run(**small, instances=1, max_replicas=4, autoscaling=Steady(-3))


class Gives(rl.Router):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def route(self, request: rl.RequestView, instances: Any) -> int:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


def test_exceptions_come_out_where_they_were_raised(fleet: dict[str, Any]) -> None:
    for raised in (ZeroDivisionError("mine"), SystemExit(3), KeyboardInterrupt(), MemoryError()):
        with pytest.raises(type(raised)) as problem:
            rl.run(**fleet, router=Gives(raised))
        assert problem.value is raised
        assert any(frame.name == "route" for frame in traceback.extract_tb(problem.value.__traceback__))
    assert rl.run(**fleet).summary.completed == 200


def test_wrong_answers_of_a_router(fleet: dict[str, Any]) -> None:
    wrong: tuple[Any, ...] = ("1", None, 1.0, True, [0])
    for answer in wrong:
        with pytest.raises(TypeError, match=r"Gives.route\(\) gave"):
            rl.run(**fleet, router=Gives(answer))
    for answer in (3, -2, -7, 2**70):
        with pytest.raises(rl.ConfigError):
            rl.run(**fleet, router=Gives(answer))
    assert rl.run(**fleet, router=Gives(np.int64(1))).requests.instance.tolist() == [1] * 200
    with pytest.raises(rl.Infeasible):
        rl.run(**fleet, router=Gives(-1))
    with pytest.raises(TypeError, match="expected an object: InTurn"):
        rl.run(**fleet, router=InTurn)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError):
        rl.run(**fleet, router=rl.Router())


def test_wrong_answers_of_a_step_model(small: dict[str, Any]) -> None:
    class Answers(rl.StepModel):
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def predict(self, batch: rl.Batch) -> Any:
            return self.answer

    for answer in (-1.0, float("nan"), float("inf"), 1e9):
        with pytest.raises(rl.ConfigError, match="0 decodes with 0 tokens of context, a prompt chunk 0.512"):
            rl.run(**small, step_model=Answers(answer))
    wrong: tuple[Any, ...] = (None, "1", [1.0])
    for answer in wrong:
        with pytest.raises(TypeError, match=r"Answers.predict\(\) gave"):
            rl.run(**small, step_model=Answers(answer))


def test_what_is_kept_of_a_decision_is_safe_to_read(fleet: dict[str, Any]) -> None:
    kept: list[Any] = []

    class Keeps(rl.Router):
        def route(self, request: rl.RequestView, instances: Any) -> int:
            kept.append((request, instances))
            return 0

    rl.run(**fleet, router=Keeps())
    assert [request.id for request, _ in kept] == list(range(200))
    assert all(len(instances) == 3 for _, instances in kept)


def test_an_interrupt_inside_a_policy(fleet: dict[str, Any]) -> None:
    class Slow(rl.Router):
        def route(self, request: rl.RequestView, instances: Any) -> int:
            time.sleep(0.01)
            return 0

    main = threading.main_thread().ident or 0
    threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        rl.run(**having(fleet, num_prompts=1000), router=Slow())
    assert time.monotonic() - start < 1.0
    assert "ridgeline" not in repr(sys.unraisablehook)
