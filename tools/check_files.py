#!/usr/bin/env python3
"""Checks source files without making objects of them: the compiler reads each, with the flags and the precompiled
header of the preset `work` (./dev check).

    tools/check_files.py JOBS [FILE...]    without files: what git says is changed

A header is read through the source of its name, or by itself. A file that no build lists, a new one, takes the flags of
the listed one that lies nearest.
"""

import json
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/work"
FOLDERS = ("src", "lab", "include", "tests", "fuzz", "bench", "tools")


def die(message: str) -> None:
    sys.exit(f"dev: check: {message}")


def changed() -> list[Path]:
    found = []
    for command in (["diff", "--name-only", "--diff-filter=d", "HEAD"], ["ls-files", "--others", "--exclude-standard"]):
        found += subprocess.run(["git", *command], cwd=ROOT, text=True, capture_output=True, check=True).stdout.split("\n")
    return [ROOT / name for name in found if name.startswith(tuple(f"{folder}/" for folder in FOLDERS))]


def unit_of(path: Path) -> Path:
    source = path.with_suffix(".cpp")
    return source if source.is_file() else path


def commands() -> dict[str, tuple[list[str], str]]:
    """Of each source below the root: the compiler and its flags, without what writes files; and where it runs."""
    listed = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        words = words[1:] if words[0].endswith("ccache") else words
        cut = words.index("-o")
        path = Path(entry["file"])
        if path.is_relative_to(ROOT):
            listed[str(path.relative_to(ROOT))] = (words[:cut] + ["-fsyntax-only"], entry["directory"])
    return listed


def nearest(name: str, listed: dict[str, tuple[list[str], str]]) -> str:
    # The public headers are those of the layer that implements them.
    name = name.replace("include/ridgeline/", "src/api/")

    def common(other: str) -> int:
        return next((i for i, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), min(len(name), len(other)))

    return max(sorted(listed), key=common)


def make_headers(flags: list[list[str]]) -> None:
    """The precompiled headers that these commands name, where they are missing."""
    headers = {f"{words[words.index('-include') + 1]}.gch" for words in flags if "-include" in words}
    missing = [str(Path(header).relative_to(BUILD)) for header in sorted(headers) if not Path(header).is_file()]
    if missing:
        subprocess.run(["ninja", "-C", BUILD, *missing], stdout=subprocess.DEVNULL, check=True)


def read(unit: Path, flags: list[str], folder: str) -> bool:
    start = time.monotonic()
    if unit.suffix == ".hpp":
        flags, text = [*flags, "-x", "c++", "-"], f'#include "{unit}"\n'
    else:
        flags, text = [*flags, str(unit)], ""
    done = subprocess.run(flags, cwd=folder, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    verdict = f"{time.monotonic() - start:.1f} s" if done.returncode == 0 else "fails"
    print(f"{done.stdout}{unit.relative_to(ROOT)}: {verdict}", flush=True)
    return done.returncode == 0


def main() -> None:
    jobs, *names = sys.argv[1:]
    paths = [Path(name).resolve() for name in names] or changed()
    for path in paths:
        if not path.is_file() or not path.is_relative_to(ROOT):
            die(f"no file '{path}' here")
        if names and path.suffix not in (".cpp", ".hpp"):
            die(f"'{path.relative_to(ROOT)}' is no .cpp and no .hpp")
    units = sorted({unit_of(path) for path in paths if path.suffix in (".cpp", ".hpp")})
    if not units:
        print("dev: check: git says that no source file is changed")
        return
    listed = commands()
    flags = {}
    for unit in units:
        name = str(unit.relative_to(ROOT))
        flags[unit] = listed[name if name in listed else nearest(name, listed)]
    make_headers([words for words, _ in flags.values()])
    with ThreadPoolExecutor(int(jobs)) as pool:
        sound = list(pool.map(lambda unit: read(unit, *flags[unit]), units))
    sys.exit(0 if all(sound) else 1)


if __name__ == "__main__":
    main()
