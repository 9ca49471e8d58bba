"""A simulation that the caller drives: requests are submitted one by one, and says how far time goes."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Callable

from . import _native
from ._result import Record, Result

if TYPE_CHECKING:
    from ._policies import Autoscaler, Router, StepModel
    from ._verbs import Scenario


class Session:
    """A deployment whose requests come from your code, as long as it runs. The keywords are those of `rl.run`, without
    a workload; `router`, `step_model` and `autoscaling` may be policies of yours.

    Time stands still between calls. `step()` goes to the next thing that happens, `run_until()` to a time; both say
    what was computed and which requests ended, and `on_request` is called with each of these.

    >>> session = rl.Session(model="llama-3.1-8b", gpu="h100")
    >>> first = session.submit(prompt_tokens=512, output_tokens=64)
    >>> session.run_until(1.0).ended[0].id == first
    True
    >>> session.now
    1.0
    >>> session.finish().summary.completed
    1
    """

    def __init__(self, scenario: Scenario = None, *, on_request: Callable[[Record], None] | None = None,
                 requests: bool = True, steps: bool = False, series: bool = False, figures: bool = True,
                 router: Router | str | None = None, step_model: StepModel | None = None,
                 autoscaling: Autoscaler | Any = None, **options: Any) -> None:
        from . import _policies, _verbs
        from ._options import OPTIONS

        unknown = [name for name in options if name not in OPTIONS]
        if unknown:
            raise TypeError(f"Session() got an unexpected keyword argument {unknown[0]!r}")
        self._native = _native.Session()
        self._on_request = on_request
        self._now_s = 0.0
        self._result: Result | None = None
        given = dict(options, router=router, step_model=step_model, autoscaling=autoscaling)
        hosts = _policies.taken(given)
        document = _verbs._document(scenario, given)
        document["keep"] = [name for name, is_kept in (("requests", requests), ("steps", steps), ("series", series),
                                                       ("figures", figures)) if is_kept]
        policies = _policies.install(hosts, document)
        self._answer(*self._native.open(_verbs._bytes(document), policies))

    def submit(self, prompt_tokens: int, output_tokens: int, *, max_tokens: int | None = None, priority: int = 0,
               session: int | None = None, prefix_tokens: int | None = None, prefix_id: int = 0) -> int:
        """A request comes now: its id, from 0. `prefix_tokens` at the start of its prompt are those of all prompts
        with this `prefix_id`; `session` is a number that routers see; `max_tokens` is the client's limit.

        >>> session = rl.Session(model="llama-3.1-8b", gpu="h100")
        >>> [session.submit(100, 10) for _ in range(3)]
        [0, 1, 2]
        """
        found = self._call("submit", prompt_tokens=prompt_tokens, output_tokens=output_tokens, max_tokens=max_tokens,
                           priority=priority or None, session=session, prefix_tokens=prefix_tokens,
                           prefix_id=prefix_id or None)
        self._now_s = float(found["arrival_s"])
        return int(found["id"])

    def step(self) -> Record:
        """Simulates the next thing that happens, the end of an engine's step as a rule: {now_s, next_s, steps, tokens,
        ended}. `next_s` is when something happens after it, None where nothing is left (fleets read gauges for ever).

        >>> session = rl.Session(model="llama-3.1-8b", gpu="h100")
        >>> session.submit(prompt_tokens=100, output_tokens=2)
        0
        >>> done = session.step()
        >>> while done.next_s is not None:
        ...     done = session.step()
        >>> done.ended[0].outcome
        'finished'
        """
        return self._happened("step")

    def run_until(self, time: float | None = None, *, stop_at_request_end: bool = False) -> Record:
        """Simulates all that happens before `time` (seconds), or until every request has ended: as step() says it.
        `stop_at_request_end` stops as soon as a request has ended, so that a client can send its next one.

        >>> session = rl.Session(model="llama-3.1-8b", gpu="h100")
        >>> for _ in range(3):  # One client, which waits for each answer.
        ...     number = session.submit(prompt_tokens=100, output_tokens=10)
        ...     done = session.run_until(stop_at_request_end=True)
        >>> [request.id for request in done.ended]
        [2]
        """
        return self._happened("run_until", until_s=time, stop_at_request_end=stop_at_request_end or None)

    def abort(self, id: int) -> Record:
        """The client of a request gives up now; one that has ended stays as it is. As step() says it."""
        return self._happened("abort", id=id)

    def observe(self) -> Record:
        """The state now: requests that came and ended, running and waiting ones, KV blocks, steps; of all instances
        together.

        >>> session = rl.Session(model="llama-3.1-8b", gpu="h100")
        >>> session.submit(prompt_tokens=100, output_tokens=10)
        0
        >>> reached = session.step()  # The request has its seat.
        >>> session.observe().running
        1
        """
        return Record(self._call("observe"))

    def trace(self) -> str:
        """What was submitted and aborted, as the text of a file that `rl.replay` reads: with the same settings it gives
        the same digest."""
        return str(self._call("trace")["trace"])

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes trace() into a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.trace())

    def finish(self) -> Result:
        """Simulates to the end of all that was submitted, and sums up: as rl.run(). A second call gives it again."""
        if self._result is None:
            from ._verbs import _simulated

            code, handle = self._answer(*self._native.call("finish", b"{}"))
            result = Result(handle.json(), handle)
            self._result = result
            _simulated(code, result)
        return self._result

    @property
    def now(self) -> float:
        """Simulated seconds."""
        return self._now_s

    def close(self) -> None:
        """Gives the memory back; `with rl.Session(...) as session:` does."""
        self._native.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _happened(self, verb: str, **keys: Any) -> Record:
        tree = self._call(verb, **keys)
        self._now_s = float(tree["now_s"])
        found = Record(tree)
        if self._on_request is not None:
            for request in found.ended:
                self._on_request(request)
        return found

    def _call(self, verb: str, **keys: Any) -> dict[str, Any]:
        from ._verbs import _bytes, _plain

        document = {key: _plain(value, key) for key, value in keys.items() if value is not None}
        _, handle = self._answer(*self._native.call(verb, _bytes(document)))
        found: dict[str, Any] = json.loads(handle.json())
        return found

    def _answer(self, code: int, handle: _native.Handle, raised: BaseException | None) -> tuple[int, _native.Handle]:
        from ._verbs import _is_error, _raise

        if raised is not None:
            raise raised
        if _is_error(handle.json()):
            _raise(handle, code)
        return code, handle
