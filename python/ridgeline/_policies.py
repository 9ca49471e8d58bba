"""Routers, step-time models, autoscalers and workloads written in Python."""

from __future__ import annotations

import ctypes
import hashlib
import inspect
import json
import os
import struct
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, NamedTuple

from . import _native
from ._errors import ConfigError, Problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FAILED = -2

# Fields of rl_instance and rl_replica, in their order.
_INSTANCE_FIELDS = (
    ("id", "<i8"), ("requests", "<i8"), ("tokens", "<i8"), ("prefill_tokens", "<i8"), ("waiting", "<i8"),
    ("running", "<i8"), ("kv_used", "<f8"), ("age_s", "<f8"), ("cached_tokens", "<i8"), ("cache_age_s", "<f8"),
    ("weight", "<f8"),
)
_ROUTE = struct.Struct("@NdqdqqqqqNP")
_ROUTE_CHOICE = _ROUTE.size
_STEP = struct.Struct("@NqqPqPP")
_STEP_SECONDS = _STEP.size
_AFFINE = struct.Struct("@Nq")
_SCALE = struct.Struct("@NddqqqqqqqNP")
_REPLICA = struct.Struct("@qqqdd")
_DOUBLE5_INT = struct.Struct("@dddddi")
_DOUBLE6_INT = struct.Struct("@ddddddi")


class RequestView(NamedTuple):
    """What a router may know of a request. Its output length is not part of it.

    >>> rl.RequestView(id=0, arrival_s=0.0, prompt_tokens=9, max_tokens=9, priority=0, session=-1, now_s=0.1).id
    0
    """

    id: int
    arrival_s: float
    prompt_tokens: int
    max_tokens: int
    """The client's limit."""
    priority: int
    """Lower is better."""
    session: int
    """-1: of none."""
    now_s: float
    """The time of the decision."""


class Router:
    """A routing policy: a subclass says which instance gets a request.

    `instances` is an array with a row for each instance that may be chosen and the fields `id`, `requests`, `tokens`,
    `prefill_tokens` (the gateway's own count, now), `waiting`, `running`, `kv_used` (0 to 1, as the instance last
    published, `age_s` seconds ago), `cached_tokens` (of this prompt, `cache_age_s` old; only where `reads_cache` is
    true) and `weight`. It is filled anew for each decision: copy what is to be kept.

    >>> class Emptiest(rl.Router):
    ...     def route(self, request, instances):
    ...         return int(instances["kv_used"].argmin())
    >>> r = rl.run(model="llama-3.1-8b", gpu="h100", instances=2, request_rate=20, num_prompts=50, input_len=99,
    ...            output_len=9, router=Emptiest())
    >>> r.config["cluster"]["router"]["class"].endswith("Emptiest")
    True
    """

    reads_cache: bool = False

    def route(self, request: RequestView, instances: NDArray[np.void]) -> int:
        """The index of a row of `instances`, or -1 to refuse the request."""
        raise NotImplementedError("a Router has a method route(request, instances)")


class StepTime(NamedTuple):
    """Seconds of one step: GPU time by what holds it up, and the host's own work, which the engine adds or overlaps.

    >>> rl.StepTime(memory=0.01).memory
    0.01
    """

    compute: float = 0.0
    memory: float = 0.0
    network: float = 0.0
    overhead: float = 0.0
    cpu: float = 0.0


class Batch(NamedTuple):
    """One step as a step-time model sees it.

    >>> rl.Batch(num_decodes=2, decode_context=1000, prefills=((0, 512),), decode_lengths=None).num_tokens
    514
    """

    num_decodes: int
    """Sequences that process one token."""
    decode_context: int
    """The sum of their KV lengths before the step."""
    prefills: tuple[tuple[int, int], ...]
    """Prompt chunks: tokens whose KV exists, and tokens that are computed now."""
    decode_lengths: tuple[int, ...] | None
    """The single KV lengths; only of a model with `reads_lengths`."""

    @property
    def num_tokens(self) -> int:
        """Tokens that the step processes."""
        return self.num_decodes + sum(new for _, new in self.prefills)


class StepModel:
    """A step-time model: a subclass says how long a step takes on the GPU, in seconds.

    >>> class Mine(rl.StepModel):
    ...     def predict(self, batch):
    ...         return 0.005 + 1e-9 * batch.decode_context + 2e-5 * sum(new for _, new in batch.prefills)
    ...     def affine(self, num_decodes):
    ...         return 0.005, 1e-9
    >>> r = rl.run(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=50, input_len=99, output_len=9,
    ...            step_model=Mine())
    >>> r.warnings[0].code
    'W-python-model'
    """

    reads_lengths: bool = False

    def predict(self, batch: Batch) -> float | StepTime:
        """Seconds of a step. The same batch must get the same answer."""
        raise NotImplementedError("a StepModel has a method predict(batch)")

    def affine(self, num_decodes: int) -> tuple[float | StepTime, float] | None:
        """Steps of so many decodes and no prompt in closed form: seconds, and seconds more for each token of the
        decodes' context. Steps are then not priced one by one, and predict() is not asked for them. None: there is no
        closed form."""
        return None


class ReplicaView(NamedTuple):
    """What one ready replica showed.

    >>> rl.ReplicaView(id=0, waiting=0, running=4, kv_used=0.5, busy=1.0).running
    4
    """

    id: int
    waiting: int
    running: int
    kv_used: float
    """Share of its KV blocks, 0 to 1."""
    busy: float
    """Share of the time since the reading before that it spent in steps."""


class PoolView(NamedTuple):
    """What an autoscaler may know.

    >>> rl.PoolView(now_s=15.0, reading_s=15.0, size=1, ready=1, min_replicas=1, max_replicas=4, held=0, arrivals=9,
    ...             replicas=()).size
    1
    """

    now_s: float
    reading_s: float
    """When `replicas` were read; -1: not yet."""
    size: int
    """Replicas that are ready, or on their way to be."""
    ready: int
    min_replicas: int
    max_replicas: int
    held: int
    """Requests at the gateway that wait for a replica."""
    arrivals: int
    """Since the reading before."""
    replicas: tuple[ReplicaView, ...]


class Autoscaler:
    """An autoscaling policy: a subclass says how many replicas there are to be. The keywords of the run say the
    bounds (`max_replicas`, ...), and `interval` how often it is asked.

    >>> class OnePerTen(rl.Autoscaler):
    ...     interval = "5s"
    ...     def scale(self, pool):
    ...         return 1 + sum(replica.waiting + replica.running for replica in pool.replicas) // 10
    >>> r = rl.run(model="llama-3.1-8b", gpu="h100", instances=1, max_replicas=4, request_rate=20, num_prompts=300,
    ...            input_len=99, output_len=99, autoscaling=OnePerTen())
    >>> r.summary.completed
    300
    """

    interval: str | float | None = None

    def scale(self, pool: PoolView) -> int:
        """How many replicas there are to be; what lies outside the bounds is cut to them."""
        raise NotImplementedError("an Autoscaler has a method scale(pool)")


class Workload:
    """Requests by Python: a subclass yields them in the order of their arrival. They are written to a temporary file of
    the format request-jsonl, so that the run is one of `replay`; requests do not wait for answers.

    >>> class Waves(rl.Workload):
    ...     def requests(self):
    ...         for i in range(20):
    ...             yield {"arrival_s": i // 10, "input_tokens": 100, "output_tokens": 10}
    >>> rl.replay(model="llama-3.1-8b", gpu="h100", requests_from=Waves()).summary.completed
    20
    """

    def requests(self) -> Iterable[Any]:
        """Each a mapping with `arrival_s`, `input_tokens`, `output_tokens`, and what else request-jsonl takes
        (`max_tokens`, `priority`, `tenant` ...), or a tuple of the first three."""
        raise NotImplementedError("a Workload has a method requests()")


# Installing them


def _described(policy: object) -> dict[str, str]:
    """What the result says of a policy."""
    cls = type(policy)
    try:
        source = inspect.getsource(cls)
    except (OSError, TypeError):
        source = ""
    return {
        "name": "python",
        "class": f"{cls.__module__}.{cls.__qualname__}",
        "source_sha256": hashlib.sha256(source.encode()).hexdigest() if source else "",
    }


class Hosts(NamedTuple):
    """The policies of a call that are written in Python."""

    router: Router | None
    step_model: StepModel | None
    autoscaler: Autoscaler | None


def taken(given: dict[str, Any]) -> Hosts:
    """Takes policies out of the arguments; names of native ones stay."""
    found: list[Any] = []
    for name, cls in (("router", Router), ("step_model", StepModel), ("autoscaling", Autoscaler)):
        value = given[name]
        if isinstance(value, cls):
            found.append(value)
            given.pop(name)
            continue
        if isinstance(value, type) and issubclass(value, cls):
            raise TypeError(f"{name}: found the class {value.__name__}, expected an object: {value.__name__}()")
        if value is not None and (name == "step_model" or not isinstance(value, (str, Mapping))):
            raise TypeError(f"{name}: found {type(value).__name__}, expected a ridgeline.{cls.__name__}"
                            + ("" if name == "step_model" else " or a name"))
        found.append(None)
        if name == "step_model":
            given.pop(name)
    return Hosts(*found)


# What the rules of a scenario take a policy of the host for: a native one that reads the same.
_READS_GAUGES = "aibrix-least-kv-cache"
_READS_CACHE = "llm-d-precise"
_SCALES = "wva"


def install(hosts: Hosts, document: dict[str, Any]) -> _native.Policies | None:
    """The hooks of the policies; the document says of them what the library needs."""
    if hosts == (None, None, None):
        return None
    policies = _native.Policies()
    said: dict[str, Any] = {}
    if hosts.router is not None:
        reads_cache = bool(hosts.router.reads_cache)
        document.setdefault("cluster", {})["router"] = _READS_CACHE if reads_cache else _READS_GAUGES
        policies.hooks["router_reads_cache"] = int(reads_cache)
        policies.add("route", _route(hosts.router))
        said["router"] = _described(hosts.router)
    if hosts.step_model is not None:
        model = hosts.step_model
        policies.hooks["model_reads_lengths"] = int(bool(model.reads_lengths))
        policies.add("predict", _predict(model))
        if type(model).affine is not StepModel.affine:
            policies.add("affine", _affine(model))
        said["step_model"] = _described(model)
    if hosts.autoscaler is not None:
        scaling = document.setdefault("cluster", {}).setdefault("autoscaling", {})
        scaling["name"] = _SCALES
        if hosts.autoscaler.interval is not None:
            scaling["scaling_interval"] = hosts.autoscaler.interval
        policies.add("scale", _scale(hosts.autoscaler))
        said["autoscaler"] = _described(hosts.autoscaler)
    document["policies"] = said
    return policies


class _Choices:
    """The places of answers in the library's structs, which are few."""

    def __init__(self) -> None:
        self.known: dict[int, ctypes.c_int64] = {}

    def put(self, address: int, value: int) -> None:
        place = self.known.get(address)
        if place is None:
            place = self.known[address] = ctypes.c_int64.from_address(address)
        place.value = value


def _whole(value: Any, policy: object, method: str) -> int:
    index = getattr(value, "__index__", None)
    if index is None or isinstance(value, bool):
        raise TypeError(f"{type(policy).__name__}.{method}() gave {type(value).__name__}, expected an int")
    number = int(index())
    if number == _FAILED or abs(number) >= 2**62:
        raise ConfigError((Problem("router" if method == "route" else "autoscaler",
                                   f"{type(policy).__name__}.{method}() gave {number}",
                                   "an index, or -1" if method == "route" else "a number of replicas"),))
    return number


def _route(router: Router) -> Callable[[int], None]:
    import numpy as np

    kind = np.dtype(list(_INSTANCE_FIELDS))
    choices = _Choices()
    rows = np.zeros(16, kind)
    views: dict[int, Any] = {}
    read, unpack, memmove = ctypes.string_at, _ROUTE.unpack, ctypes.memmove
    start = rows.ctypes.data
    decide = router.route

    def route(address: int) -> None:
        nonlocal rows, start
        _, now, number, arrival, prompt, most, priority, session, count, size, instances = unpack(
            read(address, _ROUTE_CHOICE))
        view = views.get(count)
        if view is None:
            if size != kind.itemsize:
                raise ConfigError((Problem("router", "the library's rows have another size", "one version of both"),))
            if count > len(rows):
                rows = np.zeros(2 * count, kind)
                start = rows.ctypes.data
                views.clear()
            view = views[count] = rows[:count]
        memmove(start, instances, count * size)
        choice = decide(RequestView(number, arrival, prompt, most, priority, session, now), view)
        choices.put(address + _ROUTE_CHOICE, choice if type(choice) is int and -1 <= choice < count
                    else _whole(choice, router, "route"))

    return route


def _times(value: Any, what: str) -> tuple[float, float, float, float, float]:
    if isinstance(value, StepTime):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (0.0, float(value), 0.0, 0.0, 0.0)
    as_float = getattr(value, "__float__", None)
    if as_float is None or isinstance(value, (str, bool)):
        raise TypeError(f"{what} gave {type(value).__name__}, expected seconds as a float, or a StepTime")
    return (0.0, float(as_float()), 0.0, 0.0, 0.0)


def _predict(model: StepModel) -> Callable[[int], None]:
    decide = model.predict
    read, unpack = ctypes.string_at, _STEP.unpack

    def integers(address: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"@{count}q", read(address, 8 * count)) if count else ()

    def predict(address: int) -> None:
        _, decodes, context, lengths, count, past, new = unpack(read(address, _STEP_SECONDS))
        prefills = tuple(zip(integers(past, count), integers(new, count))) if count else ()
        answer = decide(Batch(decodes, context, prefills, integers(lengths, decodes) if lengths else None))
        ctypes.memmove(address + _STEP_SECONDS,
                       _DOUBLE5_INT.pack(*_times(answer, f"{type(model).__name__}.predict()"), 1), _DOUBLE5_INT.size)

    return predict


def _affine(model: StepModel) -> Callable[[int], None]:
    def affine(address: int) -> None:
        _, decodes = _AFFINE.unpack(ctypes.string_at(address, _AFFINE.size))
        answer = model.affine(decodes)
        what = f"{type(model).__name__}.affine()"
        times: tuple[float, ...] = (0.0,) * 5
        slope = 0.0
        if answer is not None:
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise TypeError(f"{what} gave {type(answer).__name__}, expected (seconds, seconds per token) or None")
            times, slope = _times(answer[0], what), _times(answer[1], what)[1]
        packed = _DOUBLE6_INT.pack(*times, slope, 2 if answer is None else 1)
        ctypes.memmove(address + _AFFINE.size, packed, _DOUBLE6_INT.size)

    return affine


def _scale(scaler: Autoscaler) -> Callable[[int], None]:
    def scale(address: int) -> None:
        (_, now, reading, count, ready, least, most, held, arrivals, number, size, read) = _SCALE.unpack(
            ctypes.string_at(address, _SCALE.size))
        replicas = tuple(
            ReplicaView(*_REPLICA.unpack(ctypes.string_at(read + i * size, _REPLICA.size))) for i in range(number))
        choice = scaler.scale(PoolView(now, reading, count, ready, least, most, held, arrivals, replicas))
        ctypes.c_int64.from_address(address + _SCALE.size).value = _whole(choice, scaler, "scale")

    return scale


# Workloads

_FIRST_KEYS = ("arrival_s", "input_tokens", "output_tokens")


def _row(request: Any, number: int) -> str:
    from ._verbs import _plain

    field = f"requests_from[{number}]"
    if isinstance(request, Mapping):
        row = dict(request)
    elif isinstance(request, (tuple, list)) and len(request) == len(_FIRST_KEYS):
        row = dict(zip(_FIRST_KEYS, request))
    else:
        raise TypeError(f"{field}: found {type(request).__name__}, expected a mapping, or ({', '.join(_FIRST_KEYS)})")
    lacking = [key for key in _FIRST_KEYS if key not in row]
    if lacking:
        raise ConfigError((Problem(field, f"lacks {', '.join(lacking)}", f"keys: {', '.join(_FIRST_KEYS)}"),))
    plain = {key: value for key, value in ((key, _plain(value, f"{field}.{key}")) for key, value in row.items())
             if value is not None}
    return json.dumps(plain)


@contextmanager
def trace_of(requests: Any) -> Iterator[str | None]:
    """A file with the requests of a Workload, of tuples or mappings, or of a DataFrame; None for None."""
    if requests is None:
        yield None
        return
    if isinstance(requests, Workload):
        requests = requests.requests()
    elif hasattr(requests, "to_dict") and hasattr(requests, "columns"):
        requests = requests.to_dict("records")
    if isinstance(requests, (str, bytes, Mapping)) or not isinstance(requests, Iterable):
        raise TypeError(f"requests_from: found {type(requests).__name__}, expected a Workload, a DataFrame or requests")
    handle, path = tempfile.mkstemp(prefix="ridgeline-", suffix=".jsonl")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            for number, request in enumerate(requests):
                file.write(_row(request, number) + "\n")
        yield path
    finally:
        os.unlink(path)
