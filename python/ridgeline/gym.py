"""A fleet's gateway as an environment of reinforcement learning, with the interface of Gymnasium.

Gymnasium need not be installed; where it is, RoutingEnv is one of its environments, with its spaces.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any, SupportsIndex

from . import _options
from ._errors import ConfigError, Problem
from ._policies import RequestView, Router

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._result import Result

    _Base = object
else:
    try:
        from gymnasium import Env as _Base
    except ImportError:
        _Base = object

FEATURES = ("requests", "tokens", "prefill_tokens", "waiting", "running", "kv_used", "age_s")
"""What an observation has of each instance: the fields of a Router's `instances` of the same names."""

REQUEST_FEATURES = ("prompt_tokens", "max_tokens", "priority", "since_last_s")
"""What it has of the request to send, and the seconds since the decision before."""


class _Abandoned(BaseException):
    """Ends a run whose episode is over before it is."""


class _Decision:
    """What a run in its thread tells the environment: a decision to take, or how it ended."""

    def __init__(self, request: RequestView | None = None, instances: Any = None, result: Any = None,
                 error: BaseException | None = None) -> None:
        self.request = request
        self.instances = instances
        self.result = result
        self.error = error


class _Asking(Router):
    """Hands each decision over and waits for the action."""

    def __init__(self) -> None:
        self.decisions: queue.Queue[_Decision] = queue.Queue()
        self.actions: queue.Queue[int | None] = queue.Queue()

    def route(self, request: RequestView, instances: NDArray[np.void]) -> int:
        self.decisions.put(_Decision(request, instances.copy()))
        action = self.actions.get()
        if action is None:
            raise _Abandoned
        return action

    def run(self, scenario: dict[str, Any]) -> None:
        try:
            self.decisions.put(_Decision(result=_options.run(**scenario, router=self)))
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that asked
            self.decisions.put(_Decision(error=error))


class RoutingEnv(_Base):
    """An episode is a run of the scenario that the keywords say (those of `rl.run`, with `instances`); a step is one
    decision of its gateway, an action the row of the instance that gets the request.

    An observation is a dict: `instances` has a row per instance with FEATURES, `request` has REQUEST_FEATURES.
    `info["action_mask"]` says which rows may be chosen. The rewards of an episode sum to minus the seconds that its
    requests took from end to end: at each decision minus the requests in the fleet times the seconds since the
    decision before (Little's law), and what is missing in the last one. `info["result"]` of the last step is the
    run's result.

    >>> env = rl.gym.RoutingEnv(model="llama-3.1-8b", gpu="h100", instances=2, request_rate=20, num_prompts=5,
    ...                         input_len=99, output_len=9)
    >>> observation, info = env.reset(seed=1)
    >>> observation["instances"].shape
    (2, 7)
    >>> done = False
    >>> while not done:
    ...     action = int(observation["instances"][:, 0].argmin())
    ...     observation, reward, done, truncated, info = env.step(action)
    >>> info["result"].summary.completed
    5
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, **scenario: Any) -> None:
        if "router" in scenario:
            raise TypeError("router: the environment is it")
        instances = scenario.get("instances")
        if not isinstance(instances, int) or instances < 1:
            raise ConfigError((Problem("instances", f"found {instances!r}, expected a number of them",
                                       "instances=4"),))
        self._scenario = dict(scenario, requests=True)
        self._count = instances
        self._seed = scenario.get("seed")
        self._asking: _Asking | None = None
        self._thread: threading.Thread | None = None
        self._spaces()

    def _spaces(self) -> None:
        try:
            import numpy as np
            from gymnasium import spaces
        except ImportError:
            return
        self.action_space = spaces.Discrete(self._count)
        self.observation_space = spaces.Dict({
            "instances": spaces.Box(0.0, np.inf, (self._count, len(FEATURES)), np.float64),
            "request": spaces.Box(-np.inf, np.inf, (len(REQUEST_FEATURES),), np.float64),
        })

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None,
              ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Starts a run. Without `seed`, the first episode has the scenario's, and each later one the next number.
        `options` are keywords of the run in place of the scenario's."""
        self.close()
        if seed is not None:
            self._seed = seed
        scenario = {**self._scenario, **(options or {})}
        if self._seed is not None:
            scenario["seed"] = self._seed
        self._seed = int(scenario.get("seed") or 1) + 1
        self._last_s = 0.0
        self._counted_s = 0.0
        self._asking = _Asking()
        self._thread = threading.Thread(target=self._asking.run, args=(scenario,), daemon=True)
        self._thread.start()
        decision = self._next()
        if decision.request is None:
            self._asking = None
            raise ConfigError((Problem("num_prompts", "the run ended without a decision", "at least one request"),))
        observation, info, _ = self._observed(decision)
        return observation, info

    def step(self, action: SupportsIndex) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Sends the request to the instance of that row, and goes on to the next decision."""
        if self._asking is None:
            raise RuntimeError("reset() comes first")
        chosen = int(action)
        if not 0 <= chosen < len(self._ids):
            raise ValueError(f"action: found {action}, expected 0 to {len(self._ids) - 1}")
        self._asking.actions.put(chosen)
        decision = self._next()
        if decision.request is not None:
            observation, info, reward = self._observed(decision)
            return observation, reward, False, False, info
        self._asking = None
        result: Result = decision.result
        took_s = float(result.requests.e2e_ms[~_is_nan(result.requests.e2e_ms)].sum()) / 1e3
        reward = -(took_s - self._counted_s)
        return self._observation, reward, True, bool(result.partial), {"result": result, "action_mask": self._mask}

    def close(self) -> None:
        """Ends a run that goes on."""
        if self._asking is not None and self._thread is not None:
            self._asking.actions.put(None)
            self._thread.join()
        self._asking = None

    def _next(self) -> _Decision:
        assert self._asking is not None
        decision = self._asking.decisions.get()
        if decision.error is not None:
            self._asking = None
            raise decision.error
        return decision

    def _observed(self, decision: _Decision) -> tuple[dict[str, Any], dict[str, Any], float]:
        import numpy as np

        rows, request = decision.instances, decision.request
        assert request is not None
        since_s = request.now_s - self._last_s
        in_fleet = int(rows["requests"].sum())
        self._last_s = request.now_s
        self._counted_s += in_fleet * since_s
        self._ids = rows["id"]
        instances = np.zeros((self._count, len(FEATURES)))
        for column, name in enumerate(FEATURES):
            instances[: len(rows), column] = rows[name][: self._count]
        self._mask = np.arange(self._count) < len(rows)
        self._observation = {
            "instances": instances,
            "request": np.array([request.prompt_tokens, request.max_tokens, request.priority, since_s], np.float64),
        }
        info = {"action_mask": self._mask, "request": request, "instance_ids": self._ids}
        return self._observation, info, -in_fleet * since_s


def _is_nan(values: Any) -> Any:
    import numpy as np

    return np.isnan(values)
