#!/usr/bin/env python3
"""Writes the page of `ridgeline ui`: one HTML file with the simulator inside.

    tools/build_page.py build/wasm/ridgeline.wasm out/page/ui.html
"""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import re
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
UI = SOURCE / "web" / "ui"


def without_exports(text: str) -> str:
    return re.sub(r"^export ", "", text, flags=re.MULTILINE)


def packed(data: bytes) -> str:
    """Bytes as the text of a script in UTF-8, 8/7 of their size (base64: 4/3). bytesOf() of state.js reads it."""
    left_out = (0, 13, 60)  # NUL and CR are changed by a reader of HTML, "<" may end the script.
    sevens, held, bits = [], 0, 0
    for byte in data:
        held, bits = held << 8 | byte, bits + 8
        while bits >= 7:
            bits -= 7
            sevens.append(held >> bits)
            held &= (1 << bits) - 1
    sevens += [held << 7 - bits, 0]  # The reader knows how many bytes there are.
    letters: list[str] = []
    i = 0
    while i < len(sevens) - 1:
        if sevens[i] in left_out:
            letters.append(chr(128 + (left_out.index(sevens[i]) << 7) + sevens[i + 1]))
            i += 2
        else:
            letters.append(chr(sevens[i]))
            i += 1
    return "".join(letters)


def compressed(data: bytes) -> bytes:
    """As a file of LZMA's, which unpackedLzma() of lzma.js reads."""
    # No byte of a module lies in a place of its own among four (pb), and the one before says more of it (lc) than usual.
    coder = {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "nice_len": 273, "lc": 4, "lp": 0, "pb": 0}
    return lzma.compress(data, format=lzma.FORMAT_ALONE, filters=[coder])


def main() -> int:
    wasm, out = Path(sys.argv[1]), Path(sys.argv[2])
    # A worker from a page of a file is a plain script, and is sent the module that index.js would load.
    library = without_exports((SOURCE / "npm" / "index.js").read_text().partition("async function moduleFrom")[0])
    worker = library + (UI / "worker.js").read_text()
    script = "\n".join((
        '"use strict";',
        # A script ends at the first such tag, even inside a text.
        f"const WORKER = {json.dumps(worker)};".replace("</", "<\\/"),
        without_exports((UI / "state.js").read_text()),
        without_exports((UI / "lzma.js").read_text()),
        (UI / "page.js").read_text(),
    ))
    module = wasm.read_bytes()
    small = compressed(module)
    parts = {
        "@SIZE@": str(len(module)),
        "@COMPRESSED_SIZE@": str(len(small)),
        "@SCRIPT_HASH@": "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'",
        "@STYLE@": (UI / "page.css").read_text(),
        "@WASM@": packed(small),
        "@SCRIPT@": script,
    }
    text = re.sub("|".join(parts), lambda match: parts[match[0]], (UI / "page.html").read_text())
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(text.encode())
    print(f"{out}: {out.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
