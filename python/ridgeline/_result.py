"""What the verbs give."""

from __future__ import annotations

import json
import os
from html import escape
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Sequence

from . import _native
from ._columns import Requests, Steps, not_kept
from ._errors import ConfigError, Problem

if TYPE_CHECKING:
    from ._results import ResultTree, RunInfo, Series, Summary, Warning


class Figure:
    """A picture as SVG, which notebooks show.

    >>> r = rl.run(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=50, input_len=99, output_len=9)
    >>> r.figures
    ('distributions', 'clock', 'time', 'operators', 'roofline', 'memory', 'requests')
    >>> r.figure("clock").svg.startswith("<svg")
    True
    """

    def __init__(self, name: str, svg: str) -> None:
        self.name = name
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture to a file, which is SVG."""
        stem, ending = os.path.splitext(os.fspath(path))
        if ending.lower() not in ("", ".svg"):
            raise ConfigError((Problem(
                "path", f"found '{os.fspath(path)}', expected a name that ends in .svg: pictures are SVG",
                f"rsvg-convert -f {ending[1:].lower()} {stem}.svg -o {stem}{ending}"),))
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def __repr__(self) -> str:
        return f"<ridgeline.Figure {self.name}: {len(self.svg)} bytes of SVG>"


class Record(Mapping[str, Any]):
    """A map whose keys are attributes too.

    >>> answer = rl.explain(model="llama-3.1-8b", gpu="h100")
    >>> answer.memory.num_gpu_blocks == answer["memory"]["num_gpu_blocks"]
    True
    """

    def __init__(self, tree: dict[str, Any]) -> None:
        self._tree = tree

    def __getitem__(self, key: str) -> Any:
        return _wrapped(self._tree[key])

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_") or key not in self._tree:
            raise AttributeError(f"no '{key}', expected one of {', '.join(self.__dict__.get('_tree', {}))}")
        return self[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tree)

    def __len__(self) -> int:
        return len(self._tree)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._tree})

    def __repr__(self) -> str:
        return json.dumps(self._tree, indent=2)

    def to_dict(self) -> dict[str, Any]:
        """The JSON as plain Python."""
        copy: dict[str, Any] = json.loads(json.dumps(self._tree))
        return copy

    def __getstate__(self) -> dict[str, Any]:
        return {"tree": self._tree}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._tree = state["tree"]


class Rows(Sequence[Any]):
    """A list of records, which to_pandas() makes a DataFrame of.

    >>> "llama-3.1-8b" in [model.name for model in rl.models()]
    True
    """

    def __init__(self, items: list[Any]) -> None:
        self._items = items

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Rows(self._items[index])
        return _wrapped(self._items[index])

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return json.dumps(self._items, indent=2)

    def to_list(self) -> list[Any]:
        """The JSON as plain Python."""
        copy: list[Any] = json.loads(json.dumps(self._items))
        return copy

    def to_pandas(self) -> Any:
        """A DataFrame; what lies in maps has dotted names."""
        import pandas as pd

        return pd.DataFrame([flat(item) for item in self._items])


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return Rows(value)
    return value


def flat(tree: Any, before: str = "") -> dict[str, Any]:
    """Nested maps as one map with dotted names.

    >>> flat({"a": {"b": 1}, "c": 2})
    {'a.b': 1, 'c': 2}
    """
    if not isinstance(tree, dict):
        return {before or "value": tree}
    found: dict[str, Any] = {}
    for key, value in tree.items():
        name = f"{before}.{key}" if before else str(key)
        if isinstance(value, dict):
            found.update(flat(value, name))
        else:
            found[name] = value
    return found


class _Answer:
    """What has the JSON of a call, and perhaps the library's result."""

    def __init__(self, text: bytes, handle: _native.Handle | None) -> None:
        self._text = text
        self._handle = handle
        self._made: dict[str, Any] = {}

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    @property
    def _tree(self) -> dict[str, Any]:
        found: dict[str, Any] = self._once("tree", lambda: json.loads(self._text))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the command line (`--format json`) as plain Python."""
        copy: dict[str, Any] = json.loads(self._text)
        return copy

    def to_json(self) -> str:
        """The same as text."""
        return self._text.decode()

    def _native_handle(self) -> _native.Handle:
        """The library's result; of one that was unpickled, made anew from the JSON."""
        if self._handle is None:
            whole = self._made.get("whole", self._text)
            code, self._handle, _ = _native.call("report", b'{"result": ' + whole + b"}")
            assert code == 0, self._handle.json()
        return self._handle

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the pictures that there are."""
        listed = json.loads(self._native_handle().figure("") or b"[]")
        return tuple(figure["name"] for figure in listed)

    def figure(self, name: str) -> Figure:
        """A picture, by a name in `figures`."""
        svg = self._native_handle().figure(name)
        if svg is None:
            known = ", ".join(self.figures) or "none: run with figures=True"
            raise ConfigError((Problem("name", f"no figure '{name}', expected one of: {known}", "r.figures"),))
        return Figure(name, svg.decode())

    def _report(self, name: str) -> str | None:
        text = self._native_handle().report(name)
        return None if text is None else text.decode()


class Result(_Answer):
    """A simulated scenario. It prints itself as the command line's table; notebooks show pictures too.

    >>> r = rl.run(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=100, input_len=512, output_len=64,
    ...            seed=1)
    >>> r.summary.ttft_ms.p99 > r.summary.ttft_ms.p50 > 0
    True
    >>> len(r.digest), r.partial, r.config["seed"]
    (32, False, 1)
    """

    @property
    def tree(self) -> ResultTree:
        """The whole JSON as typed classes."""
        from ._results import ResultTree

        found: ResultTree = self._once("typed", lambda: ResultTree._of(self._tree))
        return found

    @property
    def summary(self) -> Summary:
        """Latencies, throughput, memory: the numbers of the run."""
        return self.tree.summary

    @property
    def series(self) -> Series:
        """Numbers over simulated time; only of a run with series=True."""
        if self.tree.series is None:
            raise not_kept("series", "rl.run(..., series=True)")
        return self.tree.series

    @property
    def config(self) -> dict[str, Any]:
        """The scenario with every default filled: rl.run(r.config) is the same run."""
        copy: dict[str, Any] = json.loads(json.dumps(self._tree["config"]))
        return copy

    @property
    def digest(self) -> str:
        """A fingerprint of every request's record: equal for equal simulations."""
        found: str = self._tree["digest"]
        return found

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """What should be known of the result."""
        return self.tree.warnings

    @property
    def run_info(self) -> RunInfo:
        """How the run went on this machine: the only part that may differ between two runs."""
        return self.tree.run_info

    @property
    def partial(self) -> bool:
        """Whether the run was interrupted."""
        return bool(self._tree.get("partial", False))

    @property
    def requests(self) -> Requests:
        """One row per request. Up to 1,000,000 are kept; requests=True keeps more, False none."""
        return self._table("requests", Requests)  # type: ignore[no-any-return]

    @property
    def steps(self) -> Steps:
        """One row per step or run of equal steps; only of a run with steps=True."""
        return self._table("steps", Steps)  # type: ignore[no-any-return]

    def _table(self, name: str, cls: Any) -> Any:
        def make() -> Any:
            if self._handle is None or self._handle.table(name) is None:
                raise not_kept(name, f"rl.run(..., {name}=True)")
            return cls(self._handle)

        return self._once(name, make)

    def report(self, to: str | os.PathLike[str]) -> str:
        """The result in a format of `ridgeline list formats` ("table", "csv", "html" ...), or, where `to` is a path
        with such an ending, that written to the file. Returns the text."""
        name = str(to)
        endings = {".txt": "table", ".json": "json", ".ndjson": "ndjson", ".jsonl": "ndjson", ".csv": "csv",
                   ".md": "markdown", ".html": "html", ".svg": "svg"}
        ending = next((ending for ending in endings if name.endswith(ending)), None)
        text = self._report(endings[ending] if ending else name)
        if text is None:
            raise ConfigError((Problem(
                "to", f"no report '{name}' of this result, expected one of: {', '.join(endings.values())}, or a path "
                f"that ends with {', '.join(endings)}", "a page needs figures=True or series=True"),))
        if ending:
            with open(to, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the result (.json, .html ...), which rl.load() reads."""
        if not str(path).endswith((".json", ".ndjson", ".jsonl", ".html", ".csv", ".md", ".txt", ".svg")):
            raise ConfigError((Problem("path", f"'{path}' does not say a format", "run.json"),))
        self.report(path)

    def to_pandas(self) -> Any:
        """The summary and the settings as one row, with dotted names: rows of several runs make a table."""
        import pandas as pd

        row = {**flat(self._tree["summary"]), **flat(self._tree["config"], "config"), "digest": self.digest}
        return pd.DataFrame([{key: str(value) if isinstance(value, list) else value for key, value in row.items()}])

    def __repr__(self) -> str:
        table = self._made.get("table") or self._report("table")
        return table.rstrip("\n") if table else f"<ridgeline.Result {self.digest}>"

    def _repr_html_(self) -> str:
        from ._notebook import result_html

        return result_html(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        return self._found() == other._found()

    def _found(self) -> dict[str, Any]:
        """Without how long it took and how it was asked."""
        return {key: value for key, value in self._tree.items() if key not in {"run_info", "command", "stated"}}

    def __hash__(self) -> int:
        return hash(self.digest)

    def __getstate__(self) -> dict[str, Any]:
        made: dict[str, Any] = {"table": repr(self)}
        for name, cls in (("requests", Requests), ("steps", Steps)):
            if name in self._made or (self._handle is not None and self._handle.table(name) is not None):
                made[name] = self._table(name, cls)
        whole = self._report("ndjson")  # With what figures show.
        made["whole"] = whole.encode() if whole else self._text
        return {"text": self._text, "made": made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["text"], None)  # type: ignore[misc]
        self._made = state["made"]

    def __deepcopy__(self, _memo: object) -> Result:
        return self  # It cannot be changed.



class Sweep(_Answer):
    """The points of a sweep, in order.

    >>> s = rl.sweep(model="llama-3.1-8b", gpu=["h100", "h200"], request_rate=[2, 4], num_prompts=50, input_len=128,
    ...              output_len=16, workers=1)
    >>> [point.point["gpu"] for point in s]
    ['h100', 'h100', 'h200', 'h200']
    """

    @property
    def points(self) -> Rows:
        """Each with its values (`point`), `status`, and `result`, or the `reason` why it has none."""
        return Rows(self._tree["points"])

    @property
    def partial(self) -> bool:
        """Whether the sweep was interrupted: then points are missing."""
        return bool(self._tree.get("partial", False))

    def __len__(self) -> int:
        return len(self._tree["points"])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.points)

    def __getitem__(self, index: int) -> Any:
        return self.points[index]

    def to_pandas(self) -> Any:
        """One row per point: the values by keyword, the status, for points without a result the `reason`, and the
        numbers by dotted names."""
        import pandas as pd

        from ._options import OPTIONS

        keywords = {path: keyword for keyword, (path, _) in OPTIONS.items()}
        rows = []
        for point in self._tree["points"]:
            row: dict[str, Any] = {keywords.get(path, path): value for path, value in point["point"].items()}
            row["status"] = point["status"]
            if "reason" in point:
                row["reason"] = point["reason"]
            row.update(flat(point.get("result") or {}))
            rows.append(row)
        return pd.DataFrame(rows)

    def pareto(self, *measures: str, maximize: Sequence[str] = ()) -> Any:
        """The rows of to_pandas() that no other is better than in one of these measures and as good in the others.
        Small is good, but of what is named in `maximize` and of throughput and goodput large is."""
        frame = self.to_pandas()
        for measure in measures:
            if measure not in frame:
                raise ConfigError((Problem("measures", f"no '{measure}' in this sweep, expected one of: "
                                           + ", ".join(map(str, frame.columns)), "s.to_pandas().columns"),))
        frame = frame[frame["status"] == "ok"].dropna(subset=list(measures))
        values = frame[list(measures)].astype(float).copy()
        for measure in measures:
            if measure in maximize or "throughput" in measure or "goodput" in measure:
                values[measure] = -values[measure]
        table = values.to_numpy()
        kept = [not any((other <= own).all() and (other < own).any() for other in table) for own in table]
        return frame[kept].sort_values(measures[0])

    def __repr__(self) -> str:
        counts: dict[str, int] = {}
        for point in self._tree["points"]:
            counts[point["status"]] = counts.get(point["status"], 0) + 1
        said = ", ".join(f"{number} {status}" for status, number in counts.items())
        return f"<ridgeline.Sweep: {len(self)} of {self._tree['size']} points ({said})>"

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self._text}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["text"], None)  # type: ignore[misc]


class Plan(_Answer):
    """The answer of a plan: it prints itself as the command line's table.

    >>> p = rl.plan(model="llama-3.1-8b", gpu=["h100", "l40s"], request_rate=4, input_len=256, output_len=32,
    ...             slo_ttft="1s", effort="quick", workers=1)
    >>> p.pick.deployment.gpu in ("h100", "l40s")
    True
    """

    @property
    def pick(self) -> Any:
        """The best deployment, or None where none meets the targets surely enough."""
        wanted = (self._tree.get("answer") or {}).get("id")
        return next((candidate for candidate in self.candidates if candidate.id == wanted), None)

    @property
    def candidates(self) -> Rows:
        """Every deployment that was looked at, with what dropped it."""
        return Rows(self._tree.get("candidates", []))

    @property
    def partial(self) -> bool:
        """Whether the search was interrupted."""
        return bool(self._tree.get("partial", False))

    @property
    def tree(self) -> Record:
        """The whole JSON, keys as attributes."""
        return Record(self._tree)

    def to_pandas(self) -> Any:
        """One row per candidate, with dotted names."""
        return self.candidates.to_pandas()

    def __repr__(self) -> str:
        table = self._made.get("table") or self._report("table")
        return table.rstrip("\n") if table else "<ridgeline.Plan>"

    def _repr_html_(self) -> str:
        picture = self.figure("plan").svg if self._handle is not None and "plan" in self.figures else ""
        return f"<pre>{escape(repr(self))}</pre>{picture}"

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self._text, "made": {"table": repr(self)}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["text"], None)  # type: ignore[misc]
        self._made = state["made"]


class Trace(_Answer):
    """A workload described: it prints itself as the command line's table."""

    @property
    def tree(self) -> Record:
        """The whole JSON, keys as attributes."""
        return Record(self._tree)

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):
            raise AttributeError(key)
        return getattr(self.tree, key)

    def __repr__(self) -> str:
        return (self._report("table") or "").rstrip("\n")

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>{self.figure('trace').svg}"


# The numbers that a comparison prints; to_pandas() has all of them.
_COMPARED = {f"{name}_ms.{statistic}" for name in ("ttft", "tpot", "e2e") for statistic in ("mean", "p50", "p99")}
_COMPARED |= {"request_throughput", "output_throughput", "goodput", "kv_cache.mean"}


class Comparison(Record):
    """Two results side by side.

    >>> h100 = dict(model="llama-3.1-8b", request_rate=8, num_prompts=50, input_len=99, output_len=9)
    >>> c = rl.compare(rl.run(gpu="h100", **h100), rl.run(gpu="h200", **h100))
    >>> c.paired, [change.key for change in c.settings if change.key == "gpu"]
    (True, ['gpu'])
    """

    def to_pandas(self) -> Any:
        """One row per number: both values, their difference and their ratio."""
        import pandas as pd

        return pd.DataFrame(self._tree["numbers"])

    def __repr__(self) -> str:
        lines = ["paired: the same requests" if self._tree["paired"] else "not paired: other requests"]
        for change in self._tree["settings"]:
            lines.append(f"{change['key']}: {change['a']} -> {change['b']}")
        for row in self._tree["numbers"]:
            if row["key"] in _COMPARED and row["ratio"] is not None:
                lines.append(f"{row['key']:32} {row['a']:12.5g} {row['b']:12.5g} {row['ratio']:8.3f}")
        return "\n".join(lines)
