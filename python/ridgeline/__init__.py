"""Ridgeline: a simulator and capacity planner for LLM inference serving.

>>> import ridgeline as rl
>>> r = rl.run(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=100, input_len=512, output_len=64, seed=1)
>>> r.summary.completed
100
>>> r.requests.ttft_ms.shape
(100,)

The guide is docs/python.md. Numpy, pandas and the shared library are loaded when they are first needed.
"""

from __future__ import annotations

from ._errors import ConfigError, Error, Infeasible, InternalError, Problem, ResultWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import gym as gym
    from ._columns import Requests, Steps, Table
    from ._options import calibrate, explain, plan, replay, run, step, sweep, validate
    from ._policies import (
        Autoscaler,
        Batch,
        PoolView,
        ReplicaView,
        RequestView,
        Router,
        StepModel,
        StepTime,
        Workload,
    )
    from ._result import Comparison, Figure, Plan, Record, Result, Rows, Sweep
    from ._results import Summary
    from ._session import Session
    from ._study import Study, StudyReport
    from ._verbs import (
        compare,
        empirical,
        gpus,
        load,
        lognormal,
        models,
        normal,
        options,
        trace,
        uniform,
    )

__version__ = "0.1.0"

_HOMES = {
    "_options": ("run", "replay", "explain", "step", "sweep", "plan", "validate", "calibrate"),
    "_verbs": (
        "compare", "empirical", "gpus", "load", "lognormal", "models", "normal", "options", "trace",
        "uniform",
    ),
    "_policies": (
        "Autoscaler", "Batch", "PoolView", "ReplicaView", "RequestView", "Router", "StepModel", "StepTime",
        "Workload",
    ),
    "_result": ("Comparison", "Figure", "Plan", "Record", "Result", "Rows", "Sweep"),
    "_results": ("Summary",),
    "_session": ("Session",),
    "_study": ("Study", "StudyReport"),
    "_columns": ("Requests", "Steps", "Table"),
}

__all__ = [
    "Autoscaler", "Batch", "Comparison", "ConfigError", "Error", "Figure", "Infeasible", "InternalError", "Plan",
    "PoolView", "Problem", "Record", "ReplicaView", "RequestView", "Requests", "Result", "ResultWarning", "Router",
    "Rows", "Session", "StepModel", "StepTime", "Steps", "Study", "StudyReport", "Summary", "Sweep", "Table", "Workload",
    "calibrate", "compare", "empirical", "explain", "gpus", "load", "lognormal", "models", "normal", "options", "plan", "replay",
    "run", "step", "sweep", "trace", "uniform", "validate",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        """What is asked for is loaded then: `import ridgeline` alone takes milliseconds."""
        if name == "gym":
            from importlib import import_module

            return import_module(".gym", __name__)
        for home, names in _HOMES.items():
            if name in names:
                from importlib import import_module

                value = getattr(import_module("." + home, __name__), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module 'ridgeline' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: object) -> None:
    """`%load_ext ridgeline` gives `%%ridgeline`, a cell that is a scenario in YAML.

    >>> rl.load_ipython_extension  # doctest: +ELLIPSIS
    <function load_ipython_extension at ...>
    """
    from ._notebook import register

    register(shell)
