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


def packed(data: bytes) -> bytes:
    """Bytes as the text of a script in windows-1252, whose letters are bytes; bytesOf() of state.js reads it."""
    # NUL and CR are changed by a reader of HTML, and "</script" or "<!--" would not be read as text.
    escape = b"\x01"
    text = data.replace(escape, escape + b"d").replace(b"\0", escape + b"a").replace(b"\r", escape + b"b")
    return re.sub(rb"<(?=[/!])", escape + b"c", text)


def ascii_script(text: str) -> str:
    """What it says in strings, without letters that another encoding reads differently."""
    return re.sub(r"[^\0-\x7f]", lambda letter: f"\\u{ord(letter[0]):04x}", text)


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
    script = ascii_script("\n".join((
        '"use strict";',
        # A script ends at the first such tag, even inside a text.
        f"const WORKER = {json.dumps(worker)};".replace("</", "<\\/"),
        without_exports((UI / "state.js").read_text()),
        without_exports((UI / "lzma.js").read_text()),
        (UI / "page.js").read_text(),
    )))
    module = wasm.read_bytes()
    small = compressed(module)
    parts = {
        "@SIZE@": str(len(module)),
        "@COMPRESSED_SIZE@": str(len(small)),
        "@SCRIPT_HASH@": "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'",
        "@STYLE@": (UI / "page.css").read_text(),
        "@WASM@": packed(small).decode("latin-1"),
        "@SCRIPT@": script,
    }
    text = re.sub("|".join(parts), lambda match: parts[match[0]], (UI / "page.html").read_text())
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(text.encode("latin-1"))
    print(f"{out}: {out.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
