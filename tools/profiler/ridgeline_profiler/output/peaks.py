"""What an MFU column is a fraction of, and the ceilings that were measured."""

from collections.abc import Iterable
from dataclasses import dataclass

from ridgeline_profiler.devices import datasheet_of
from ridgeline_profiler.operators import BY_NAME
from ridgeline_profiler.results import Result


@dataclass(frozen=True)
class Peak:
    """Operations per second, and where the number is from."""

    value: float
    source: str


def rate(result: Result) -> float:
    """Operations per second of a measured point."""
    assert result.summary is not None
    return BY_NAME[result.point.operator].cost(result.point).flops / (result.summary.median_us * 1e-6)


def bandwidth(result: Result) -> float:
    """Bytes per second of a measured point."""
    assert result.summary is not None
    return BY_NAME[result.point.operator].cost(result.point).bytes / (result.summary.median_us * 1e-6)


def ceilings(results: Iterable[Result]) -> dict[str, tuple[float, Result]]:
    """The best copy bandwidth, and the best matrix rate of each data type, with the points that reached them."""
    best: dict[str, tuple[float, Result]] = {}
    for result in results:
        if result.point.operator == "copy":
            name, value = "copy bandwidth", bandwidth(result)
        elif result.point.operator == "gemm":
            name, value = f"{result.point.dtype} matrix rate", rate(result)
        else:
            continue
        if name not in best or value > best[name][0]:
            best[name] = (value, result)
    return best


def peak_of(dtype: str, device: str, results: list[Result], given: dict[str, float]) -> Peak | None:
    """The peak of a data type: as given, else the datasheet's, else the best matrix rate of this run."""
    kind = "fp8" if dtype.startswith("fp8") else dtype
    if kind in given:
        return Peak(given[kind], "given on the command line")
    sheet = datasheet_of(device)
    value = None
    if sheet is not None:
        value = sheet.peak_fp8 if kind == "fp8" else sheet.peak_bf16
    if value is not None and sheet is not None:
        return Peak(value, f"datasheet of {sheet.name}, dense")
    measured = ceilings(results).get(f"{dtype} matrix rate")
    return None if measured is None else Peak(measured[0], f"best {dtype} gemm of this run")
