"""Files that appear under their name only when they are complete."""

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

Cell = str | int | float | None


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8", newline="\n")
    os.replace(part, path)


def decimal(value: float, digits: int = 6) -> str:
    """`digits` significant digits and never an exponent, which not every reader of CSV takes."""
    text = f"{value:.{digits}g}"
    if "e" not in text:
        return text
    fixed = f"{float(text):.{digits + 12}f}"
    return fixed.rstrip("0").rstrip(".")


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    return decimal(value) if isinstance(value, float) else str(value)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_cell(cell) for cell in row] for row in rows)
    return out.getvalue()
