"""CARD.md and provenance.json: how, when and on what the tables beside them were measured, and what is missing."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ridgeline_profiler import VERSION
from ridgeline_profiler.operators import ALL
from ridgeline_profiler.output.files import decimal, write_text
from ridgeline_profiler.output.peaks import ceilings, peak_of
from ridgeline_profiler.planning import Planned
from ridgeline_profiler.results import Result
from ridgeline_profiler.state import Header, measured
from ridgeline_profiler.statistics import percentile

# Problems listed by name; the others are counted.
LISTED = 20


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _range(values: list[float | None], unit: str) -> str:
    known = [value for value in values if value is not None]
    return f"{min(known):.0f} to {max(known):.0f} {unit}" if known else "not known"


def _conditions(good: list[Result]) -> list[str]:
    dates = sorted(result.date for result in good)
    return [
        f"* Measured: {dates[0]} to {dates[-1]}",
        f"* Clock: {_range([each.conditions.clock_mhz for each in good], 'MHz')}, memory "
        f"{_range([each.conditions.memory_clock_mhz for each in good], 'MHz')}",
        f"* Temperature: {_range([each.conditions.temperature_c for each in good], '°C')}, power "
        f"{_range([each.conditions.power_w for each in good], 'W')}",
    ]


def _ceilings(good: list[Result]) -> list[str]:
    rows = []
    for name, (value, result) in sorted(ceilings(good).items()):
        unit = "TB/s" if name == "copy bandwidth" else "TFLOP/s"
        rows.append((name, f"{decimal(value / 1e12, 4)} {unit}", f"`{result.point.key}`"))
    return ["", "## Ceilings", "", *_table(("what", "best", "at"), rows)] if rows else []


def _operators(plan: list[Planned], results: list[Result]) -> list[str]:
    planned = Counter(each.point.operator for each in plan)
    by_status = Counter((each.point.operator, each.status) for each in results)
    rows = []
    for operator in ALL:
        name = operator.name
        spreads = sorted(
            each.summary.spread for each in results if each.summary is not None and each.point.operator == name
        )
        spread = f"{100 * percentile(spreads, 0.5):.1f} / {100 * percentile(spreads, 0.9):.1f}" if spreads else "–"
        counted = [by_status[name, status] for status in ("ok", "unsupported", "failed")]
        missing = max(0, planned[name] - sum(counted))
        if planned[name] or sum(counted):
            rows.append((name, str(planned[name]), *(str(count) for count in counted), str(missing), spread))
    header = ("operator", "planned", "measured", "unsupported", "failed", "not tried", "spread %, median / p90")
    return ["", "## Points", "", *_table(header, rows), "", "Spread: (p90 - p10) / median of a point's samples."]


def _problems(results: list[Result]) -> list[str]:
    bad = [each for each in results if each.status == "failed"]
    if not bad:
        return []
    lines = ["", "## Failed", ""]
    lines += [f"* `{each.point.key}`: {each.reason}" for each in bad[:LISTED]]
    return lines + ([f"* and {len(bad) - LISTED} more, in state.jsonl"] if len(bad) > LISTED else [])


def _title(header: Header) -> list[str]:
    lines = [f"# Kernels of {header.device}", ""]
    if header.backend == "cpu":
        lines += ["Made by the CPU backend on tiny shapes, to prove the chain: it describes no GPU.", ""]
    return lines


def write(
    folder: Path,
    header: Header,
    method: str,
    plan: list[Planned],
    results: list[Result],
    peaks: dict[str, float],
) -> list[Path]:
    good = measured(results)
    dtypes = sorted({each.point.dtype for each in good})
    found = {dtype: peak for dtype in dtypes if (peak := peak_of(dtype, header.device, good, peaks)) is not None}
    lines = _title(header)
    lines += [f"* {name}: {value}" for name, value in header.environment]
    lines += _conditions(good) if good else ["* Nothing was measured."]
    lines += [f"* {method}", f"* Order: by tier, random within a tier, seed {header.seed}."]
    lines += [f"* `mfu` of {dtype}: of {peak.value / 1e12:g} TFLOP/s, {peak.source}" for dtype, peak in found.items()]
    lines += _ceilings(good) + _operators(plan, results) + _problems(results)
    card, provenance = folder / "CARD.md", folder / "provenance.json"
    write_text(card, "\n".join(lines) + "\n")
    record = {
        **header.to_json(),
        "profiler": VERSION,
        "points": dict(sorted(Counter(each.status for each in results).items())),
        "mfu_peaks": {dtype: {"flops": peak.value, "source": peak.source} for dtype, peak in found.items()},
    }
    write_text(provenance, json.dumps(record, indent=2) + "\n")
    return [card, provenance]
