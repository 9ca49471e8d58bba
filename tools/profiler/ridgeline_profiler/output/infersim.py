"""The tables that InferSim's layout has, which `--bench-data` and `ridgeline kernels check` read.

    gemm/<gpu>/data.csv                                   16-bit; <gpu>-fp8 and <gpu>-fp8-block have the FP8 products
    mha/prefill/<gpu>/<heads>-<kv heads>-<head dim>.csv   whole prompts, one at a time
    mha/decode/<gpu>/<heads>-<kv heads>-<head dim>-tp<N>.csv
    mla/prefill/<gpu>/<heads>-<nope>-<rope>.csv, mla/decode/<gpu>/<heads>-<latent>-<rope>.csv
    grouped_gemm/{prefill,decode}/<gpu>/data.csv          balanced routing

`mfu` is operations over time over peak: 2mkn of a product, the causal half of a prefill's, and of a decode the query
heads of one rank. It has nine decimals, for the layout's usual three round small steps to zero. Every value of a column
has the same number of decimals, so that a reader can tell what rounding may have done.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from ridgeline_profiler.networks import GPU_NETWORKS, TINY_NETWORKS, Network, degrees
from ridgeline_profiler.devices import Target
from ridgeline_profiler.output.files import Cell, csv_text, write_text
from ridgeline_profiler.output.peaks import peak_of, rate
from ridgeline_profiler.points import Point
from ridgeline_profiler.results import Result
from ridgeline_profiler.state import Header, measured

Mfu = Callable[[Result], str]
LATENCY_DECIMALS = 4
MFU_DECIMALS = 9
# Tokens in flight up to which a grouped product is a decode's.
MOE_DECODE_TOKENS = 512


class Tables:
    """Collects rows by file, then writes them sorted."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._rows: dict[str, tuple[tuple[str, ...], list[list[Cell]]]] = {}

    def add(self, name: str, columns: tuple[str, ...], row: list[Cell]) -> None:
        self._rows.setdefault(name, (columns, []))[1].append(row)

    def write(self) -> list[Path]:
        written = []
        for name, (columns, rows) in sorted(self._rows.items()):
            path = self._folder / name
            write_text(path, csv_text(columns, sorted(rows, key=_numbers_first)))
            written.append(path)
        return written


def _numbers_first(row: Sequence[Cell]) -> list[tuple[int, float, str]]:
    return [(1, 0.0, cell) if isinstance(cell, str) else (0, float(cell or 0), "") for cell in row]


def _gemm(tables: Tables, gpu: str, results: list[Result], mfu: Mfu) -> None:
    for result in results:
        dtype = result.point.dtype
        suffix = f"-{dtype.replace('_', '-')}" if dtype.startswith("fp8") else ""
        m, k, n = (result.point.number(name) for name in ("m", "k", "n"))
        columns = ("m", "k", "n", "latency_us", "mfu")
        tables.add(f"gemm/{gpu}{suffix}/data.csv", columns, [m, k, n, _latency(result), mfu(result)])


def _latency(result: Result) -> str:
    assert result.summary is not None
    return f"{result.summary.median_us:.{LATENCY_DECIMALS}f}"


def _numbers(point: Point, *names: str) -> tuple[int, ...]:
    return tuple(point.number(name) for name in names)


def _prefill(tables: Tables, gpu: str, results: list[Result], mfu: Mfu) -> None:
    for result in results:
        heads, kv_heads, head_dim, batch, past, new = _numbers(
            result.point, "heads", "kv_heads", "head_dim", "batch", "past", "new"
        )
        if batch == 1 and past == 0:
            tables.add(
                f"mha/prefill/{gpu}/{heads}-{kv_heads}-{head_dim}.csv",
                ("dtype", "seq_len", "latency_us", "mfu"),
                [result.point.dtype, new, _latency(result), mfu(result)],
            )


def _decode(tables: Tables, gpu: str, results: list[Result], mfu: Mfu, target: Target) -> None:
    """A file is of a whole network's heads; a rank's layout serves every network and degree that it is a shard of."""
    names: dict[tuple[int, int, int], set[str]] = {}
    for network in _attention_networks(target):
        for tp in degrees(target):
            layout = (*network.rank_heads(tp), network.head_dim)
            key = f"{network.heads}-{network.kv_heads}-{network.head_dim}-tp{tp}"
            names.setdefault(layout, set()).add(key)
    for result in results:
        heads, kv_heads, head_dim, batch, context = _numbers(
            result.point, "heads", "kv_heads", "head_dim", "batch", "context"
        )
        for name in names.get((heads, kv_heads, head_dim), set()):
            dtype = result.point.dtype
            tables.add(
                f"mha/decode/{gpu}/{name}.csv",
                ("dtype", "kv_dtype", "batch_size", "kv_len", "latency_us", "mfu"),
                [dtype, dtype, batch, context, _latency(result), mfu(result)],
            )


def _attention_networks(target: Target) -> list[Network]:
    known = TINY_NETWORKS if target.is_tiny else GPU_NETWORKS
    return [network for network in known if network.mla is None]


def _mla(tables: Tables, gpu: str, prefills: list[Result], decodes: list[Result], mfu: Mfu) -> None:
    for result in prefills:
        heads, nope, rope, past, new = _numbers(result.point, "heads", "nope", "rope", "past", "new")
        if past == 0:
            tables.add(
                f"mla/prefill/{gpu}/{heads}-{nope}-{rope}.csv",
                ("dtype", "seq_len", "latency_us", "mfu"),
                [result.point.dtype, new, _latency(result), mfu(result)],
            )
    for result in decodes:
        heads, latent, rope, batch, context = _numbers(
            result.point, "heads", "latent", "rope", "batch", "context"
        )
        dtype = result.point.dtype
        tables.add(
            f"mla/decode/{gpu}/{heads}-{latent}-{rope}.csv",
            ("dtype", "kv_dtype", "batch_size", "kv_len", "latency_us", "mfu"),
            [dtype, dtype, batch, context, _latency(result), mfu(result)],
        )


def _grouped(tables: Tables, gpu: str, results: list[Result], mfu: Mfu) -> None:
    """A row needs both halves of the experts."""
    halves: dict[tuple[int, ...], dict[str, Result]] = {}
    names = ("experts", "local_experts", "top_k", "hidden", "width", "tokens")
    for result in results:
        point = result.point
        if point.text("routing") == "balanced" and point.text("part") in ("up", "down"):
            halves.setdefault(_numbers(point, *names), {})[point.text("part")] = result
    for (experts, local, top_k, hidden, width, tokens), parts in halves.items():
        if len(parts) < 2:
            continue
        phase, column = ("decode", "batch_size_per_gpu")
        if tokens > MOE_DECODE_TOKENS:
            phase, column = ("prefill", "seq_len_per_gpu")
        up, down = parts["up"], parts["down"]
        tables.add(
            f"grouped_gemm/{phase}/{gpu}/data.csv",
            (
                "num_experts",
                "num_gpus",
                "num_local_experts",
                "topk",
                "hidden_size",
                "intermediate_size",
                column,
                "tokens_per_expert",
                "up_proj_us",
                "up_mfu",
                "down_proj_us",
                "down_mfu",
            ),
            [
                experts,
                experts // local,
                local,
                top_k,
                hidden,
                width,
                tokens,
                max(1, tokens * top_k // experts),
                _latency(up),
                mfu(up),
                _latency(down),
                mfu(down),
            ],
        )


def write(
    folder: Path, header: Header, target: Target, results: list[Result], peaks: dict[str, float]
) -> list[Path]:
    """Every file that has a row. `peaks` are operations per second by data type, as given by the user."""
    good = measured(results)
    found = {
        dtype: peak.value
        for dtype in {each.point.dtype for each in good}
        if (peak := peak_of(dtype, header.device, good, peaks)) is not None
    }

    def mfu(result: Result) -> str:
        return f"{rate(result) / found[result.point.dtype]:.{MFU_DECIMALS}f}"

    def of(name: str, only_base: bool = True) -> list[Result]:
        return [
            each
            for each in good
            if each.point.operator == name
            and each.point.dtype in found
            and (not only_base or each.point.dtype == target.base_dtype)
        ]

    tables = Tables(folder)
    _gemm(tables, header.folder, of("gemm", only_base=False), mfu)
    _prefill(tables, header.folder, of("prefill_attention"), mfu)
    _decode(tables, header.folder, of("decode_attention"), mfu, target)
    _mla(tables, header.folder, of("mla_prefill"), of("mla_decode"), mfu)
    _grouped(tables, header.folder, of("grouped_gemm"), mfu)
    return tables.write()
