"""rl.Session: a simulation that its caller drives."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ridgeline as rl

DEPLOYMENT: dict[str, Any] = dict(model="llama-3.1-8b", gpu="h100")
pytestmark = pytest.mark.filterwarnings("ignore")


def test_an_open_loop_is_the_replay_of_its_trace(tmp_path: Path) -> None:
    with rl.Session(**DEPLOYMENT, steps=True) as session:
        for turn in range(60):
            session.submit(200 + turn, 20, prefix_tokens=96, prefix_id=turn % 2)
            session.run_until(session.now + 0.01)
        session.abort(59)
        r = session.finish()
        session.save_trace(tmp_path / "session.jsonl")
    again = rl.replay(trace=tmp_path / "session.jsonl", **DEPLOYMENT)
    assert again.digest == r.digest and len(r.requests) == len(again.requests) == 60
    assert len(r.steps) > 0
    assert "W-session" in [warning.code for warning in r.warnings]


def test_a_closed_loop_keeps_its_clients_busy() -> None:
    heard: list[int] = []
    session = rl.Session(**DEPLOYMENT, on_request=lambda request: heard.append(request.id))
    for _ in range(4):
        session.submit(100, 10)
    while len(heard) < 40:
        for _ in session.run_until(stop_at_request_end=True).ended:
            session.submit(100, 10)
    assert session.observe().requests == 44
    assert heard == sorted(heard)
    assert session.finish().summary.completed == 44


def test_policies_of_the_caller_decide() -> None:
    class Last(rl.Router):
        def route(self, request: rl.RequestView, instances: Any) -> int:
            return len(instances) - 1

    session = rl.Session(**DEPLOYMENT, instances=3, router=Last())
    for _ in range(5):
        session.submit(100, 4)
    assert {request.instance for request in session.run_until().ended} == {2}
    assert "W-python-model" in [warning.code for warning in session.finish().warnings]


def test_an_exception_of_a_policy_comes_out() -> None:
    class Broken(rl.Router):
        def route(self, request: rl.RequestView, instances: Any) -> int:
            raise LookupError("no instance")

    session = rl.Session(**DEPLOYMENT, instances=2, router=Broken())
    session.submit(100, 4)
    with pytest.raises(LookupError, match="no instance"):
        session.run_until()


def test_control_c_ends_a_call_and_the_session_goes_on() -> None:
    session = rl.Session(**DEPLOYMENT)
    for _ in range(300):
        session.submit(1000, 100_000)
    threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        session.run_until()
    assert session.observe().running > 0
    assert session.step().tokens > 0


def test_wrong_calls_name_their_field() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'modell'"):
        rl.Session(modell="llama-3.1-8b")
    with pytest.raises(rl.ConfigError, match="workload: found one"):
        rl.Session(**DEPLOYMENT, request_rate=2)
    session = rl.Session(**DEPLOYMENT)
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: session.submit(0, 1), "prompt_tokens"),
        (lambda: session.submit(10, 1, prefix_tokens=11), "prefix_tokens"),
        (lambda: session.run_until(-1.0), "until_s"),
        (lambda: session.run_until(1e30), "until_s"),
        (lambda: session.abort(0), "id")]
    for call, field in calls:
        with pytest.raises(rl.ConfigError) as raised:
            call()
        assert raised.value.errors[0].field == field
    session.close()
    with pytest.raises(rl.ConfigError, match="is not open"):
        session.observe()


def test_a_request_that_cannot_fit_is_refused() -> None:
    session = rl.Session(**DEPLOYMENT)
    session.submit(10_000_000, 10)
    assert session.run_until().ended[0].outcome == "rejected"
    with pytest.raises(rl.Infeasible):
        session.finish()
