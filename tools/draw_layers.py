#!/usr/bin/env python3
"""Draws cmake/layers.txt as docs/img/layers.svg. Standard library only; tools/lint.py refuses a stale picture.

A layer stands one row below the lowest layer that it uses. Lines that follow from others are left out: where
`engine` uses `latency` and `latency` uses `core`, no line joins `engine` and `core`.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH, BOX_WIDTH, BOX_HEIGHT, ROW_HEIGHT, MARGIN = 760, 96, 30, 76, 20
ORDERING_ROUNDS = 4


def read_layers(text: str) -> dict[str, list[str]]:
    """Layer -> the layers it may use, in the order of the file."""
    return {m[1]: m[2].split() for m in re.finditer(r"^([a-z/]+):(.*)$", text, re.MULTILINE) if not m[1].startswith("lab/")}


def needed_lines(layers: dict[str, list[str]]) -> dict[str, list[str]]:
    """Layer -> the layers to which a line is drawn: those used and not used by another that is used."""

    def reach(name: str) -> set[str]:
        return {name}.union(*(reach(used) for used in layers[name]))

    return {
        name: [used for used in uses if not any(used in reach(other) for other in uses if other != used)]
        for name, uses in layers.items()
    }


def chain(user: str, used: str, row: dict[str, int]) -> list[str]:
    """The places a line passes, from the user up: one between the boxes of each row it crosses."""
    return [user, *(f"{user}-{used}-{number}" for number in range(row[user] - 1, row[used], -1)), used]


def place(row: dict[str, int], chains: list[list[str]]) -> dict[str, float]:
    """Place -> its distance from the left. Each row is ordered by where the places joined to it stand."""
    rows: list[list[str]] = [[] for _ in range(max(row.values()) + 1)]
    joined: dict[str, list[str]] = {name: [] for name in row}
    for names in chains:
        for lower, upper in zip(names, names[1:]):
            row.setdefault(upper, row[lower] - 1)
            joined.setdefault(lower, []).append(upper)
            joined.setdefault(upper, []).append(lower)
    for name, number in row.items():
        rows[number].append(name)
    x: dict[str, float] = {}

    def spread(names: list[str]) -> None:
        for index, name in enumerate(names):
            x[name] = WIDTH * (index + 0.5) / len(names)

    for names in rows:
        spread(names)
    for _ in range(ORDERING_ROUNDS):
        for names in rows:
            names.sort(key=lambda name: sum(x[other] for other in joined[name]) / max(1, len(joined[name])))
            spread(names)
    return x


def draw(text: str) -> str:
    """The picture of a table of layers, as SVG."""
    layers = read_layers(text)
    row: dict[str, int] = {}
    for name, uses in layers.items():
        row[name] = 1 + max((row[used] for used in uses), default=-1)
    chains = [chain(name, used, row) for name, uses in needed_lines(layers).items() for used in uses]
    x = place(row, chains)
    height = 2 * MARGIN + ROW_HEIGHT * max(row.values()) + BOX_HEIGHT
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="monospace" font-size="13" text-anchor="middle">',
        "<title>Layers of src: a line from a layer up to another means that it may include the other</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        '<g fill="none" stroke="#7a8794" stroke-width="1.4">',
    ]
    for names in chains:
        path = f"M{x[names[0]]:.0f} {MARGIN + row[names[0]] * ROW_HEIGHT}"
        for lower, upper in zip(names, names[1:]):
            bottom = MARGIN + row[lower] * ROW_HEIGHT
            top = bottom - ROW_HEIGHT + BOX_HEIGHT
            middle = (top + bottom) / 2
            path += f" C{x[lower]:.0f} {middle:.0f} {x[upper]:.0f} {middle:.0f} {x[upper]:.0f} {top}"
            if upper not in layers:
                path += f" V{top - BOX_HEIGHT}"
        out.append(f'<path d="{path}"/>')
    out.append("</g>")
    for name in layers:
        top = MARGIN + row[name] * ROW_HEIGHT
        out.append(
            f'<rect x="{x[name] - BOX_WIDTH / 2:.0f}" y="{top}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="5" '
            'fill="#eef3f8" stroke="#35506b"/>'
        )
        out.append(f'<text x="{x[name]:.0f}" y="{top + BOX_HEIGHT / 2 + 4.5:.1f}" fill="#14212e">{name}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    picture = draw((ROOT / "cmake/layers.txt").read_text(encoding="utf-8"))
    (ROOT / "docs/img/layers.svg").write_text(picture, encoding="utf-8")
