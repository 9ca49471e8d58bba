"""From keywords to a call of the library, and from its answer to a result."""

from __future__ import annotations

import datetime
import json
import math
import os
import time
import warnings as python_warnings
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, NoReturn, Sequence

from . import _native
from ._errors import ConfigError, Infeasible, InternalError, Problem, ResultWarning, as_keywords, problems_of
from ._result import Comparison, Plan, Record, Result, Rows, Sweep, Trace, flat

if TYPE_CHECKING:
    from typing import Union

    Time = Union[str, float, int, datetime.timedelta]
    Target = Union[str, datetime.timedelta]
    Length = Union[int, str, Mapping[str, Any]]
    Scenario = Union[None, str, os.PathLike[str], Mapping[str, Any], Result]
    Progress = Union[None, bool, Callable[[float, int, int], None]]

_INTERRUPTED = 130
_USAGE, _INFEASIBLE = 2, 4
_MOST_WORKERS = 1024
_NO_NUMBER = "W-no-number"
_LONGEST_INTEGER = 2**63 - 1


def uniform(min: int, max: int) -> dict[str, Any]:
    """Lengths that are equally likely from `min` to `max` tokens.

    >>> rl.uniform(min=10, max=20)
    {'distribution': 'uniform', 'min': 10, 'max': 20}
    """
    return {"distribution": "uniform", "min": min, "max": max}


def normal(mean: float, std: float, min: int | None = None, max: int | None = None) -> dict[str, Any]:
    """Lengths by a normal distribution, in tokens.

    >>> rl.normal(mean=256, std=64, max=512)
    {'distribution': 'normal', 'mean': 256, 'std': 64, 'max': 512}
    """
    return _spread("normal", mean, std, min, max)


def lognormal(mean: float, std: float, min: int | None = None, max: int | None = None) -> dict[str, Any]:
    """Lengths by a lognormal distribution of that mean and standard deviation, in tokens.

    >>> rl.lognormal(mean=256, std=200, max=2048)
    {'distribution': 'lognormal', 'mean': 256, 'std': 200, 'max': 2048}
    """
    return _spread("lognormal", mean, std, min, max)


def empirical(values: Sequence[int], weights: Sequence[float] | None = None) -> dict[str, Any]:
    """Lengths drawn from a list, by weights where there are some.

    >>> rl.empirical([100, 200], weights=[3, 1])
    {'distribution': 'empirical', 'values': [100, 200], 'weights': [3, 1]}
    """
    found: dict[str, Any] = {"distribution": "empirical", "values": list(values)}
    if weights is not None:
        found["weights"] = list(weights)
    return found


def _spread(name: str, mean: float, std: float, low: int | None, high: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {"distribution": name, "mean": mean, "std": std}
    if low is not None:
        found["min"] = low
    if high is not None:
        found["max"] = high
    return found


# To JSON


def _plain(value: Any, field: str) -> Any:
    """A value as JSON has it. What JSON cannot say is refused here, with its field."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ConfigError((Problem(field, f"found {value!r}, expected Unicode text",
                                       "it holds half of a surrogate pair"),)) from None
        return value
    if isinstance(value, int):
        if abs(value) > _LONGEST_INTEGER:
            raise ConfigError((Problem(field, "found an integer of more than 64 bits", "a smaller number"),))
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ConfigError((Problem(field, f"found {value}, expected a finite number",
                                       "leave it out for the default"),))
        return float(value)
    if isinstance(value, datetime.timedelta):
        return f"{value.total_seconds()}s"
    if isinstance(value, os.PathLike):
        return _plain(os.fspath(value), field)
    if isinstance(value, (bytes, bytearray)):
        raise TypeError(f"{field}: found {type(value).__name__}, expected text: decode() makes it")
    if isinstance(value, Mapping):
        return {_key(key, field): _plain(item, f"{field}.{key}") for key, item in value.items()}
    if hasattr(value, "tolist") and hasattr(value, "dtype"):  # numpy's scalars and arrays
        return _plain(value.tolist(), field)
    if isinstance(value, (list, tuple, range)) or (isinstance(value, Iterable) and hasattr(value, "__len__")):
        return [_plain(item, field) for item in value]
    raise TypeError(f"{field}: found {type(value).__name__}, expected a text, a number, a list or a mapping")


def _key(key: Any, field: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{field}: found the key {key!r}, expected a text")
    return str(_plain(key, field))


def _put(document: dict[str, Any], path: str, value: Any) -> None:
    *sections, key = path.split(".")
    for section in sections:
        document = document.setdefault(section, {})
    document[key] = value


def _base(scenario: Any) -> Any:
    if scenario is None:
        return None
    if isinstance(scenario, Result):
        return scenario.config
    if isinstance(scenario, Mapping):
        return _plain(scenario, "scenario")
    if isinstance(scenario, (str, os.PathLike)):
        return _plain(os.fspath(scenario), "scenario")
    raise TypeError(f"scenario: found {type(scenario).__name__}, expected a path, a mapping or a Result")


def _document(scenario: Any, given: dict[str, Any], own: Iterable[str] = ()) -> dict[str, Any]:
    """The document of a call: the base, and each option at its path. `own` are keys that stand beside them."""
    from ._options import OPTIONS

    document: dict[str, Any] = {}
    base = _base(scenario)
    if base is not None:
        document["base"] = base
    for name, value in given.items():
        if value is None:
            continue
        if name in own:
            document[name] = _plain(value, name)
        elif name in OPTIONS:
            _put(document, OPTIONS[name][0], _plain(value, name))
    return document


def _bytes(document: dict[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False).encode()


# Calls


class _Bar:
    """A bar of tqdm where that is installed, else one line; after the first second."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.bar: Any = None
        self.shown = False

    def __call__(self, now_s: float, done: int, total: int) -> None:
        if time.monotonic() - self.start < 1.0:
            return
        if self.bar is None:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                print(f"\r{done} of {total if total >= 0 else 'so many'} done", end="", flush=True)
                self.shown = True
                return
            self.bar = tqdm(total=total if total >= 0 else None)
        self.bar.n = done
        self.bar.refresh()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        elif self.shown:
            print()


def _raise(handle: _native.Handle, code: int) -> NoReturn:
    problems = problems_of(json.loads(handle.json()))
    cls = {_USAGE: ConfigError, _INFEASIBLE: Infeasible}.get(code, InternalError)
    raise cls(problems)


def _is_error(text: bytes) -> bool:
    return text.lstrip()[:12].startswith(b"{") and b'"errors"' in text[:40]


def _call(
    verb: str,
    document: dict[str, Any],
    progress: Progress = None,
    policies: _native.Policies | None = None,
    on_thread: bool = False,
    make: Callable[[bytes, _native.Handle], Any] | None = None,
) -> tuple[int, Any]:
    """The exit code, and what `make` makes of the answer (by default a Record)."""
    bar = _Bar() if progress is True else None
    hear = bar if bar else progress if callable(progress) else None
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise TypeError(f"progress: found {type(progress).__name__}, expected True or a function")
    try:
        code, handle, raised = _native.call(verb, _bytes(document), hear, policies, on_thread)
    finally:
        if bar:
            bar.close()
    text = handle.json()
    is_error = _is_error(text)
    build = make or (lambda found, _: Record(json.loads(found)))
    if raised is not None:
        if isinstance(raised, KeyboardInterrupt):
            raised.partial = None if is_error else build(text, handle)  # type: ignore[attr-defined]
        raise raised
    if is_error:
        _raise(handle, code)
    return code, build(text, handle)


def _warn(result: Result) -> None:
    for warning in result._tree["warnings"]:  # Not the typed ones: those are made where they are asked for.
        if warning["code"] == _NO_NUMBER:
            continue  # NaN says the same.
        text = f"{warning['code']}: {warning['message']}" + (f" (hint: {warning['hint']})" if warning["hint"] else "")
        text = as_keywords(text)
        python_warnings.warn(ResultWarning(text), stacklevel=6)


# What stands between the documents of the callers and those of the library for each verb.


def _simulate(verb: str, scenario: Any, given: dict[str, Any]) -> Result:
    from . import _policies

    hosts = _policies.taken(given)
    keep = []
    if given.pop("requests") is not False:
        keep.append("all-requests" if given.get("_all") else "requests")
    if given.pop("steps"):
        keep.append("steps")
    series = given.pop("series")
    if series is not False:
        keep.append("series")
    elif given["figures"]:
        keep.append("figures")
    given.pop("figures")
    progress = given.pop("progress")
    rows = given.pop("requests_from")
    with _policies.trace_of(rows) as trace:
        if trace is not None:
            given["trace"] = trace
        document = _document(scenario, given)
        document["keep"] = keep
        if series is not False and series is not True:
            document["series_buckets"] = _plain(series, "series")
        policies = _policies.install(hosts, document)
        code, result = _call(verb, document, progress, policies, make=Result)
    return _simulated(code, result)


def _simulated(code: int, result: Result) -> Result:
    if code == _INFEASIBLE:
        error = Infeasible((Problem("requests", "no request got an answer", "error.result holds the run",
                                    code="infeasible"),))
        error.result = result
        raise error
    _warn(result)
    return result


def _with_all(given: dict[str, Any]) -> dict[str, Any]:
    if given["requests"] is True:
        given["_all"] = True
    return given


def run(scenario: Any, given: dict[str, Any]) -> Result:
    return _simulate("run", scenario, _with_all(given))


def replay(scenario: Any, given: dict[str, Any]) -> Result:
    if isinstance(scenario, (str, os.PathLike)) and given.get("trace") is None and given["requests_from"] is None:
        name = os.fspath(scenario)
        if not str(name).endswith((".yaml", ".yml")):
            given["trace"], scenario = name, None
    return _simulate("replay", scenario, _with_all(given))


def explain(scenario: Any, given: dict[str, Any]) -> Record:
    found: Record = _call("explain", _document(scenario, given))[1]
    return found


def step(scenario: Any, given: dict[str, Any]) -> Record:
    if not given["samples"]:
        given["samples"] = False
    found: Record = _call("step", _document(scenario, given, ("decode", "prefill", "samples", "compare")))[1]
    return found


def _split_axes(given: dict[str, Any], own: Iterable[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options that hold one value, and those of which each of several is tried."""
    from ._options import OPTIONS
    from ._policies import Autoscaler, Router

    single: dict[str, Any] = {}
    axes: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, (Router, Autoscaler)):
            raise TypeError(f"{name}: a policy in Python runs on one thread: call rl.run() for each point")
        if name in own or value is None or isinstance(value, (str, bytes, Mapping)):
            single[name] = value
            continue
        items = _plain(value, name)
        is_list_option = OPTIONS[name][1] == "list"
        if isinstance(items, list) and (not is_list_option or any(isinstance(item, list) for item in items)):
            axes[OPTIONS[name][0]] = items
        else:
            single[name] = value
    return single, axes


def _workers(given: dict[str, Any], document: dict[str, Any], key: str) -> None:
    workers = given.pop("workers")
    if workers is None:
        return
    if not isinstance(workers, int) or isinstance(workers, bool):
        raise TypeError(f"workers: found {type(workers).__name__}, expected an int")
    if not 1 <= workers <= _MOST_WORKERS:
        raise ConfigError((Problem("workers", f"found {workers}, expected 1 to {_MOST_WORKERS}",
                                   "leave it out for one per core"),))
    document[key] = workers


def sweep(scenario: Any, given: dict[str, Any]) -> Sweep:
    own = ("axes", "measure", "workers", "progress")
    axes_given = given.pop("axes")
    progress = given.pop("progress")
    single, axes = _split_axes(given, own)
    document = _document(scenario, {k: v for k, v in single.items() if k != "workers"}, ("measure",))
    if not axes and not axes_given and scenario is None:
        raise ConfigError((Problem("axes", "nothing varies: no option has several values", 'gpu=["h100", "h200"]'),))
    if axes or axes_given:
        document["axes"] = {**_plain(axes_given or {}, "axes"), **axes}
    _workers(given, document, "jobs")
    found: Sweep = _call("sweep", document, progress, on_thread=True, make=Sweep)[1]
    return found


def plan(scenario: Any, given: dict[str, Any]) -> Plan:
    own = ("space", "slo", "limits", "objective", "cost", "mix", "prices", "max_gpus", "top_n", "effort",
           "confidence", "accept_bounds")
    progress = given.pop("progress")
    space = given.pop("space")
    single, axes = _split_axes(given, (*own, "workers"))
    targets = single.pop("slo")
    document = _document(scenario, {k: v for k, v in single.items() if k != "workers"}, own)
    if isinstance(targets, Mapping):
        document["slo"] = {**_plain(targets, "slo"), **document.get("slo", {})}
    elif targets is not None:
        document["slo"] = _plain(targets, "slo")
    if axes or space:
        document["space"] = {**_plain(space or {}, "space"), **axes}
    _workers(given, document, "jobs")
    found: Plan = _call("plan", document, progress, on_thread=True, make=Plan)[1]
    return found


def _files(given: dict[str, Any]) -> list[str]:
    files = given.pop("files")
    if isinstance(files, (str, os.PathLike)):
        files = [files]
    found: list[str] = _plain(list(files), "files")
    return found


def _measured(verb: str, scenario: Any, given: dict[str, Any], own: tuple[str, ...]) -> Record:
    files = _files(given)
    workers: dict[str, Any] = {}
    _workers(given, workers, "threads")
    document = {**_document(scenario, given, own), "files": files, **workers}
    found: Record = _call(verb, document, on_thread=True)[1]
    return found


def validate(scenario: Any, given: dict[str, Any]) -> Record:
    return _measured("validate", scenario, given, ("histories",))


def calibrate(scenario: Any, given: dict[str, Any]) -> Record:
    return _measured("calibrate", scenario, given, ("histories", "fit"))


# Verbs without options


def _listed(kind: str) -> Rows:
    code, rows = _call("list", {"kind": kind}, make=lambda text, _: Rows(json.loads(text)))
    assert code == 0
    found: Rows = rows
    return found


def models() -> Rows:
    """The networks of the catalogue.

    >>> "llama-3.1-8b" in [model.name for model in rl.models()]
    True
    """
    return _listed("models")


def gpus() -> Rows:
    """The GPUs of the catalogue.

    >>> "h100" in [gpu.name for gpu in rl.gpus()]
    True
    """
    return _listed("gpus")


def options() -> Rows:
    """Every option: its place in a scenario, and what it says.

    >>> rl.options()[0].name
    'model'
    """
    return _listed("options")


def load(source: str | os.PathLike[str] | Mapping[str, Any]) -> Result:
    """A saved result: a file (.json, or a page .html) that Result.save() or `ridgeline run -o` wrote, or to_dict().

    >>> r = rl.run(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=10, input_len=99, output_len=9)
    >>> rl.load(r.to_dict()) == r
    True
    """
    document = (
        {"result": _plain(source, "source")} if isinstance(source, Mapping)
        else {"file": _plain(os.fspath(source), "source")}
    )
    found: Result = _call("report", document, make=Result)[1]
    return found


def trace(file: str | os.PathLike[str], *, block_size: int | None = None, seed: int | None = None,
          skip_bad_rows: bool = False) -> Trace:
    """Describes a workload: rate, lengths, sessions, prefix reuse.

    >>> rl.trace("no/such/file.csv")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    ridgeline.ConfigError: no/such/file.csv
    """
    given = {"file": os.fspath(file), "block_size": block_size, "seed": seed, "skip_bad_rows": skip_bad_rows}
    document = {key: _plain(value, key) for key, value in given.items() if value is not None}
    found: Trace = _call("trace", document, make=Trace)[1]
    return found


_OF_REQUESTS = ("workload", "seed")


def compare(a: Result, b: Result) -> Comparison:
    """Two results: the settings in which they differ, every number of both with its ratio, and whether they had the
    same requests.

    >>> r = rl.run(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=10, input_len=99, output_len=9)
    >>> rl.compare(r, r).paired
    True
    """
    for result in (a, b):
        if not isinstance(result, Result):
            raise TypeError(f"found {type(result).__name__}, expected a Result")
    settings = [flat(result.config) for result in (a, b)]
    changed: list[dict[str, Any]] = [
        {"key": key, "a": settings[0].get(key), "b": settings[1].get(key)}
        for key in dict.fromkeys([*settings[0], *settings[1]])
        if settings[0].get(key) != settings[1].get(key)
    ]
    numbers = [flat(result.to_dict()["summary"]) for result in (a, b)]
    rows = []
    for key, left in numbers[0].items():
        right = numbers[1].get(key)
        if isinstance(left, (int, float)) and isinstance(right, (int, float)) and not isinstance(left, bool):
            rows.append({"key": key, "a": left, "b": right, "difference": right - left,
                         "ratio": right / left if left else None})
    paired = not any(change["key"].split(".")[0] in _OF_REQUESTS for change in changed)
    return Comparison({"paired": paired, "settings": changed, "numbers": rows})


