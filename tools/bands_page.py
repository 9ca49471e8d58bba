#!/usr/bin/env python3
"""Writes the table of error bands at the top of docs/accuracy.md from data/accuracy/bands.yaml.

    tools/bands_page.py           write it
    tools/bands_page.py --check   exit 1 where the page shows other figures
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "accuracy.md"
BEGIN, END = "<!-- bands: tools/bands_page.py -->\n", "<!-- end of bands -->\n"
METRICS = {"tpot": "TPOT", "ttft": "TTFT", "e2e": "E2E", "output_throughput": "output tokens/s",
           "watts_per_gpu": "W per GPU"}
BAND = re.compile(r'^- \{slice: "([^"]*)".*metric: (\w+), fitted: (\w+), groups: (\d+), records: (\d+), '
                  r"p50: \[([^]]*)\], p90: \[([^]]*)\]\}$", re.MULTILINE)


def ends(pair: str) -> str:
    low, high = (float(end) for end in pair.split(", "))
    return f"{low:+.0f} to {high:+.0f}"


def table(bands: str) -> str:
    """Unseen deployments first; within a metric the narrowest slice first, as a result takes it."""
    found = BAND.findall(bands)
    lines = ["| deployments | metric | slice | deployments (records) | half within, % | 90 % within, % |", "|" + "---|" * 6]
    for fitted in ("false", "true"):
        for metric, name in METRICS.items():
            rows = [row for row in found if row[1:3] == (metric, fitted)]
            rows.sort(key=lambda row: float(row[6].split(", ")[1]) - float(row[6].split(", ")[0]))
            lines += [f"| {'measured' if fitted == 'true' else 'unseen'} | {name} | {slice_} | {groups} ({records}) | "
                      f"{ends(half)} | {ends(most)} |" for slice_, _, _, groups, records, half, most in rows]
    return "\n".join(lines) + "\n"


def main() -> int:
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN)
    shown, tail = rest.split(END)
    wanted = "\n" + table((ROOT / "data" / "accuracy" / "bands.yaml").read_text(encoding="utf-8")) + "\n"
    if "--check" in sys.argv[1:]:
        if shown != wanted:
            sys.stderr.write("docs/accuracy.md: not the bands of data/accuracy/bands.yaml; run tools/bands_page.py\n")
        return int(shown != wanted)
    PAGE.write_text(head + BEGIN + wanted + END + tail, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
