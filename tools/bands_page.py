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
METRICS = {"ttft": "first token", "tpot": "per token", "e2e": "end to end", "output_throughput": "tokens/s",
           "watts_per_gpu": "W per GPU"}
BAND = re.compile(r'^- \{slice: "([^"]*)", gpu: (.*?), network: .*metric: (\w+), n: (\d+), median: ([\d.]+), '
                  r"mean: [\d.]+, p90: ([\d.]+), in_sample: (\w+)\}$", re.MULTILINE)


def rounded(value: str) -> str:
    return f"{float(value):.1f}" if float(value) < 10 else f"{float(value):.0f}"


def table(bands: str) -> str:
    rows: dict[str, dict[str, str]] = {}
    for name, gpu, metric, n, median, p90, in_sample in BAND.findall(bands):
        if not gpu.startswith("["):
            mark = "" if in_sample == "true" else "*"
            rows.setdefault(name, {})[metric] = f"{rounded(median)} / {rounded(p90)} ({n}){mark}"
    lines = [f"| records | {' | '.join(METRICS.values())} |", "|" + "---|" * (len(METRICS) + 1)]
    lines += [f"| {name} | {' | '.join(row.get(metric, '-') for metric in METRICS)} |" for name, row in rows.items()]
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
