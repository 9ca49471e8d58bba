"""Colours of pictures as colour-blind readers see them: two that stand beside each other differ by CIE76's Delta E of at
least 15, or the lines that have them by their dashes. Deuteranopia and protanopia as G. M. Machado, M. M. Oliveira and
L. A. F. Fernandes simulate them at severity 1 (IEEE TVCG 15(6), 2009, table 1), on linear sRGB."""

import itertools
import math
import re

import pytest

LEAST_DISTANCE = 15.0
VISION = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}
# sRGB of IEC 61966-2-1 to XYZ under D65, and that white.
TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
WHITE = (0.9505, 1.0, 1.089)
RUN = ["run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "8", "--num-prompts", "50", "--input-len", "64",
       "--output-len", "8", "--format", "html"]


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def lab(colour, vision):
    """CIELAB of "#0072b2" as that vision sees it."""
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    seen = [min(max(part, 0.0), 1.0) for part in times(VISION[vision], linear)]
    x, y, z = (t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116
               for t in (value / white for value, white in zip(times(TO_XYZ, seen), WHITE)))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def palettes(style):
    """The named colours of each of light, dark and print; what one does not name is as before."""
    found = [dict(re.findall(r"--(\w+):(#[0-9a-f]{3,6})", block))
             for block in re.findall(r"\.fig\{(.*?)\}", style, flags=re.DOTALL)]
    assert len(found) == 3
    return found


@pytest.mark.parametrize("vision", VISION)
def test_pictures_can_be_read(ridgeline, vision):
    page = ridgeline(*RUN).stdout
    fills = set(re.findall(r"\.f\w\{fill:var\(--(\w)\)\}", page))
    lines = {}
    for names, body in re.findall(r"((?:\.fig \.l\w,?)+)\{([^}]*)\}", page):
        for name in re.findall(r"\.l(\w)", names):
            own = lines.setdefault(name, {})
            own.update(re.findall(r"([a-z-]+):([^;]+)", body))
    assert len(fills) >= 6 and len(lines) == 6
    for palette in palettes(page):
        for one, other in itertools.combinations(sorted(fills), 2):
            distance = math.dist(lab(palette[one], vision), lab(palette[other], vision))
            assert distance >= LEAST_DISTANCE, (one, other, distance)
        for one, other in itertools.combinations(lines.values(), 2):
            colours = [lab(palette[line["stroke"][6]], vision) for line in (one, other)]
            assert one.get("stroke-dasharray") != other.get("stroke-dasharray") or math.dist(*colours) >= LEAST_DISTANCE
