#!/usr/bin/env python3
"""Writes THIRD_PARTY_NOTICES: the licences of the libraries in our program and library, from the copyright files of the
Debian packages that they were built with.

    tools/third_party_notices.py                    writes the file
    tools/third_party_notices.py --check BINARY...  exit code 1 where the file is not what would be written, or a
                                                    binary needs a shared library that it does not name

A copyright file names many files of a package's source; those that are never compiled into a program of ours
(documents, tests, examples, other platforms, Debian's own) are left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTICES = ROOT / "THIRD_PARTY_NOTICES"
COPYRIGHT = "/usr/share/doc/{}/copyright"
# Where another package's file speaks of it.
COPYRIGHT_OF = {"libboost-dev": "/usr/share/doc/libboost1.74-dev/copyright"}
# Compiled-in files of packages with many libraries.
COMPILED = {
    "libboost-dev": re.compile(
        r"\*$|libs/(asio|assert|beast|config|container_hash|core|detail|exception|intrusive|io|move|mp11|optional"
        r"|preprocessor|smart_ptr|static_assert|system|throw_exception|type_traits|utility)/\*$"
    )
}

# Library, the Debian package whose copyright file speaks of it, and its shared library (none: headers alone).
LIBRARIES = (
    ("fmt", "libfmt-dev", "libfmt"),
    ("tl::expected", "libexpected-dev", None),
    ("yaml-cpp", "libyaml-cpp-dev", "libyaml-cpp"),
    ("simdjson", "libsimdjson-dev", "libsimdjson"),
    ("robin-map", "robin-map-dev", None),
    ("xxHash", "libxxhash-dev", "libxxhash"),
    ("zlib", "zlib1g-dev", "libz"),
    ("Zstandard", "libzstd-dev", "libzstd"),
    ("protozero", "libprotozero-dev", None),
    ("Boost", "libboost-dev", None),
)
# Parts of the system: used where it stands, never part of what we give away.
SYSTEM = {
    "libstdc++": "GPL-3 with the GCC Runtime Library Exception",
    "libgcc_s": "GPL-3 with the GCC Runtime Library Exception",
    "libc": "LGPL-2.1",
    "libm": "LGPL-2.1",
    "ld-linux-x86-64": "LGPL-2.1",
    "libCbcSolver": "EPL-1.0, with the libraries of COIN-OR that it needs; only where mixes of GPUs are asked for",
    "libcurl": "curl (an MIT licence), with the libraries that it needs; only where a server is measured",
    "libpcre2-8": "BSD-3-Clause; only where a tokenizer's file is named",
    "libzmq": "LGPL-3 with an exception for linking, with the libraries that it needs; only where KV events are sent",
}
NEVER_COMPILED = re.compile(
    r"(debian|docs?|tests?|examples|fuzz|benchmark|windows|contrib|amiga|support|dependencies|zlibWrapper)/|xxhsum\.c$"
)
HEAD = """Third-party notices
===================

Ridgeline is under the Apache License 2.0 (LICENSE). Its program and its library contain parts of, or load, the
libraries below, each under its own licence. Made by tools/third_party_notices.py from the copyright files of Debian's
packages; it is not to be edited.

Loaded from the system it runs on, and no part of what we give away:
"""


def paragraphs(text: str) -> list[dict[str, str]]:
    """The paragraphs of a machine-readable copyright file: field to value, its lines kept."""
    found = []
    for block in re.split(r"\n[ \t]*\n", text):
        fields: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            match = re.match(r"([A-Za-z-]+):[ \t]*(.*)", line)
            if match:
                name = match.group(1)
                fields[name] = match.group(2)
            elif name:
                fields[name] += "\n" + line
        if fields:
            found.append(fields)
    return found


def plain(text: str) -> str:
    """A field's lines without the blank before each; a lone dot is an empty line."""
    lines = [line.strip() for line in text.strip("\n").splitlines()]
    return "\n".join("" if line == "." else line for line in lines).strip()


def notice(title: str, package: str) -> str:
    """The holders of a library and its parts, then each licence once."""
    file = COPYRIGHT_OF.get(package, COPYRIGHT.format(package))
    found = paragraphs(Path(file).read_text(encoding="utf-8"))
    source = next((plain(each["Source"]) for each in found if "Source" in each), "")
    parts, names, texts = [], [], {}
    for each in found:
        licence = plain(each.get("License", ""))
        name, _, text = licence.partition("\n")
        if text:
            texts[name] = text.strip()
        globs = plain(each.get("Files", "")).split()
        compiled = COMPILED.get(package)
        kept = [
            glob for glob in globs if not NEVER_COMPILED.match(glob) and (compiled is None or compiled.match(glob))
        ]
        if kept:
            holders = plain(each.get("Copyright", ""))
            parts.append(f"{', '.join(kept)}: {name}\n" + "".join(f"  {line}\n" for line in holders.splitlines()))
            names.append(name)
    wanted = [name for name in texts if any(name == each or name in re.split(r" (?:or|and|AND) ", each) for each in names)]
    rule = "-" * 79
    text = f"{rule}\n{title}\n{source}\n\n" + "\n".join(parts)
    return text + "".join(f"\n{name}\n\n{texts[name]}\n" for name in wanted) + "\n"


def notices() -> str:
    """The whole file."""
    system = "".join(f"  {name}: {licence}\n" for name, licence in SYSTEM.items())
    return HEAD + system + "\n" + "".join(notice(title, package) for title, package, _ in LIBRARIES)


def needed(binary: str) -> list[str]:
    """Shared libraries that a binary names, without version and ending."""
    shown = subprocess.run(["readelf", "-d", binary], check=True, capture_output=True, text=True).stdout
    return [name.split(".so")[0] for name in re.findall(r"\(NEEDED\).*\[([^\]]+)\]", shown)]


def main() -> int:
    if sys.argv[1:2] != ["--check"]:
        NOTICES.write_text(notices(), encoding="utf-8")
        return 0
    problems = []
    if not NOTICES.exists() or NOTICES.read_text(encoding="utf-8") != notices():
        problems.append("THIRD_PARTY_NOTICES is stale: run tools/third_party_notices.py")
    known = {stem for _, _, stem in LIBRARIES} | set(SYSTEM)
    for binary in sys.argv[2:]:
        problems += [f"{binary} needs {name}, which LIBRARIES lacks" for name in needed(binary) if name not in known]
    for problem in problems:
        print(f"third_party_notices: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
