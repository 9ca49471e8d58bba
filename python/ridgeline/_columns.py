"""Tables of a result: numpy views of the library's own memory, and their exits to pandas, polars and Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from . import _native
from ._errors import ConfigError, Problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    SmallInts = NDArray[np.int32]
    Floats = NDArray[np.float64]

_TYPES = {_native.INT32: "<i4", _native.INT64: "<i8", _native.FLOAT64: "<f8", _native.WORD: "|u1"}


class _Memory:
    """A column's memory for numpy; an array on it keeps this object, and with it the result, alive."""

    def __init__(self, owner: _native.Handle, data: int, rows: int, kind: int) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "shape": (rows,),
            "typestr": _TYPES[kind],
            # An empty vector has no address; numpy asks for one.
            "data": (data or id(self), True),
        }


class Table:
    """Columns of equal length as read-only numpy arrays, one attribute each.

    >>> r = rl.run(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=10, input_len=99, output_len=9)
    >>> len(r.requests), r.requests.columns[:3]
    (10, ('id', 'instance', 'prompt_tokens'))
    >>> r.requests.units["ttft_ms"]
    'ms'
    """

    _NAME: ClassVar[str] = ""

    def __init__(self, owner: _native.Handle | None, arrays: dict[str, Any] | None = None) -> None:
        self._owner = owner
        self._raw: dict[str, tuple[int, int]] = {}
        self._arrays: dict[str, Any] = {}
        self._words: dict[str, tuple[str, ...]] = {}
        self._units: dict[str, str] = {}
        self._rows = 0
        if owner is None:
            self._restore(arrays or {})
            return
        table = owner.table(self._NAME)
        assert table is not None
        self._rows = table.rows
        for i in range(table.num_columns):
            column = _native.Column.from_address(table.columns + i * table.column_size)
            name = column.name.decode()
            self._raw[name] = (column.data or 0, column.type)
            self._units[name] = column.unit.decode()
            if column.num_words:
                self._words[name] = tuple(column.words[k].decode() for k in range(column.num_words))

    def _restore(self, state: dict[str, Any]) -> None:
        self._arrays = state["arrays"]
        self._words = state["words"]
        self._units = state["units"]
        self._rows = state["rows"]
        for array in self._arrays.values():
            array.flags.writeable = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._arrays:
            return self._arrays[name]
        if name not in self._raw:
            raise AttributeError(f"no column '{name}', expected one of {', '.join(self.columns)}")
        import numpy as np

        assert self._owner is not None
        data, kind = self._raw[name]
        array = np.asarray(_Memory(self._owner, data, self._rows, kind))
        self._arrays[name] = array
        return array

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._units)

    @property
    def units(self) -> dict[str, str]:
        """The unit of each column; empty for plain numbers."""
        return dict(self._units)

    def words(self, column: str) -> tuple[str, ...]:
        """What the numbers of a column such as `outcome` stand for."""
        return self._words.get(column, ())

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, column: str) -> Any:
        if column not in self._units:
            raise KeyError(column)
        return getattr(self, column)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._units})

    def __repr__(self) -> str:
        return f"<ridgeline.{type(self).__name__}: {self._rows} rows; {', '.join(self.columns)}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        if self.columns != other.columns:
            return False
        import numpy as np

        return all(np.array_equal(self[c], other[c], equal_nan=self[c].dtype.kind == "f") for c in self.columns)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {
            "arrays": {name: self[name].copy() for name in self.columns},
            "words": self._words,
            "units": self._units,
            "rows": self._rows,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(None, state)  # type: ignore[misc]

    def to_numpy(self) -> dict[str, Any]:
        """Every column by its name, without a copy."""
        return {name: self[name] for name in self.columns}

    def to_pandas(self, sort: bool = False) -> Any:
        """A DataFrame. `sort`: by id, and not as requests ended."""
        import pandas as pd

        columns = {}
        for name, array in self.to_numpy().items():
            words = self.words(name)
            columns[name] = pd.Categorical.from_codes(array.astype("int8"), words) if words else array
        frame = pd.DataFrame(columns)
        return frame.sort_values("id", ignore_index=True) if sort and "id" in frame else frame

    def to_polars(self) -> Any:
        """A polars DataFrame, by way of Arrow."""
        import polars

        return polars.DataFrame(self)

    def to_arrow(self) -> Any:
        """A pyarrow Table on the same memory."""
        import pyarrow

        return pyarrow.RecordBatchReader.from_stream(self).read_all()

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """The Arrow PyCapsule interface: one batch on the same memory. Absent values are nulls."""
        if self._owner is None:
            raise TypeError("a table that was copied or unpickled is no memory of the library: take to_pandas()")
        return self._owner.arrow_capsule(self._NAME)


class Requests(Table):
    """One row per request, in the order in which they ended. Picoseconds of simulated time and counts are exact; -1
    where a request has none. Latencies in milliseconds are NaN there.

    >>> r = rl.run(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=10, input_len=99, output_len=9)
    >>> r.requests.ttft_ms.dtype, bool((r.requests.ttft_ms > 0).all())
    (dtype('float64'), True)
    """

    _NAME = "requests"

    if TYPE_CHECKING:
        id: Ints
        instance: SmallInts
        prompt_tokens: SmallInts
        output_tokens: SmallInts
        cached_tokens: SmallInts
        preemptions: SmallInts
        outcome: NDArray[np.uint8]
        arrival_ps: Ints
        queued_ps: Ints
        first_scheduled_ps: Ints
        first_token_ps: Ints
        last_token_ps: Ints
        client_end_ps: Ints
        ttft_ps: Ints
        tpot_ps: Ints
        e2e_ps: Ints
        queue_time_ps: Ints
        ttft_ms: Floats
        tpot_ms: Floats
        e2e_ms: Floats
        queue_time_ms: Floats


class Steps(Table):
    """One row per engine step, or per run of equal steps of one batch (`steps` of them).

    >>> r = rl.run(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=10, input_len=99, output_len=9,
    ...            steps=True)
    >>> int(r.steps.steps.sum()) == r.summary.steps
    True
    """

    _NAME = "steps"

    if TYPE_CHECKING:
        first_step: Ints
        steps: Ints
        start_ps: Ints
        period_ps: Ints
        period_growth_ps: Ints
        num_decodes: Ints
        decode_context: Ints
        num_prefills: Ints
        prefill_tokens: Ints
        gpu_ps: Ints
        cpu_ps: Ints
        used_blocks: Ints


def not_kept(name: str, how: str) -> ConfigError:
    """The error of a table that was not kept."""
    return ConfigError((Problem(name, "was not kept of this run", how),))

