"""What notebooks show."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from ._errors import Error

if TYPE_CHECKING:
    from ._result import Result

# The first two pictures of a page: what latencies there were, and when.
_SHOWN = ("distributions", "clock")
_MOST_BYTES = 80_000


def _number(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:,.4g}"


def result_html(result: Result) -> str:
    """A table, then pictures, at most 80 kB; no script, and no style that leaves it."""
    summary = result.summary
    statistics = ("mean", "p50", "p90", "p95", "p99", "max")
    rows = []
    for name, title in (("ttft_ms", "TTFT"), ("tpot_ms", "TPOT"), ("itl_ms", "ITL"), ("e2e_ms", "E2E")):
        distribution = getattr(summary, name)
        cells = "".join(f"<td>{_number(getattr(distribution, statistic))}</td>" for statistic in statistics)
        rows.append(f"<tr><th>{title} (ms)</th>{cells}</tr>")
    head = "".join(f"<th>{statistic}</th>" for statistic in statistics)
    said = (
        f"{summary.completed:,} requests in {_number(summary.duration_s)} s: "
        f"{_number(summary.request_throughput)} requests/s, {_number(summary.output_throughput)} output tokens/s"
    )
    config = result.config
    served = f"{escape(str(config.get('model')))} on {escape(str(config.get('gpu')))}"
    table = (
        f"<div><table><caption><b>{served}</b>: {said}{'; interrupted' if result.partial else ''}</caption>"
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
    warnings = "".join(
        f"<li><code>{escape(warning.code)}</code> {escape(warning.message)}</li>" for warning in result.warnings)
    html = table + (f"<ul>{warnings}</ul>" if warnings else "")
    try:
        names = result.figures
    except Error:
        names = ()
    for name in _SHOWN:
        if name in names:
            svg = result.figure(name).svg
            if len(html) + len(svg) < _MOST_BYTES:
                html += svg
    return html + "</div>"


def register(shell: Any) -> None:
    """Makes `%%ridgeline` known to a shell of IPython."""

    def ridgeline(line: str, cell: str) -> Any:
        """A scenario in YAML; behind the magic may stand the name of a variable that gets the result."""
        import os
        import tempfile

        from ._options import run

        handle, path = tempfile.mkstemp(prefix="ridgeline-", suffix=".yaml")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(cell)
            result = run(path)
        finally:
            os.unlink(path)
        if line.strip():
            shell.user_ns[line.strip()] = result
        return result

    shell.register_magic_function(ridgeline, magic_kind="cell", magic_name="ridgeline")
