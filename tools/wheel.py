#!/usr/bin/env python3
"""Builds the Python wheel from target wheel_program of the package preset, without a network: the package,
libridgeline.so, the program that is one call into it, and the shared libraries that neither Python nor every Linux
brings, which find each other beside themselves.

    tools/wheel.py build/release out/python
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Libraries of every Linux system; THIRD_PARTY_NOTICES lists them as no part of what is given away.
SYSTEM = ("linux-vdso", "ld-linux", "libc.so", "libm.so", "libgcc_s", "libstdc++", "libpthread", "libdl")
ABI = re.search(r"^#define RL_ABI (\d+)$", (ROOT / "include/ridgeline.h").read_text(), re.M)
MOST_BYTES = 6_000_000


def output(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def needed(file: Path) -> dict[str, Path]:
    """The libraries that a file loads, but for those of the system."""
    found = {}
    for line in output("ldd", str(file)).splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow and not name.startswith(SYSTEM):
            found[name] = Path(rest.split(" (")[0])
    return found


def platform_tag(files: list[Path]) -> str:
    """manylinux by the newest symbol of glibc that a file asks for."""
    newest = max(
        (int(major), int(minor))
        for file in files
        for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", output("objdump", "-T", str(file)))
    )
    return f"manylinux_{newest[0]}_{newest[1]}_{os.uname().machine}"


def packed_tightly(wheel: Path) -> None:
    """Packs the wheel anew, with the smallest deflate streams that are found in some seconds."""
    subprocess.run(["advzip", "--recompress", "--shrink-extra", "--quiet", str(wheel)], check=True)


def main() -> int:
    build, out = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    stage = out / "stage"
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([sys.executable, str(ROOT / "tools/python_generate.py"), str(build / "ridgeline")], check=True)
    shutil.copytree(ROOT / "python", stage, ignore=shutil.ignore_patterns("tests", "__pycache__", "_lib"))
    for name in ("LICENSE", "THIRD_PARTY_NOTICES"):
        shutil.copy(ROOT / name, stage / name)
    lib = stage / "ridgeline" / "_lib"
    lib.mkdir()
    assert ABI is not None
    library = lib / f"libridgeline.so.{ABI[1]}"
    program = lib / "ridgeline"
    shutil.copy(build / "wheel" / "libridgeline.so", library)
    shutil.copy(build / "wheel" / "ridgeline", program)
    for file in (library, program):
        for name, path in needed(file).items():
            if not (lib / name).exists():
                shutil.copy(path.resolve(), lib / name)
    files = sorted(lib.iterdir())
    for file in files:
        subprocess.run(["strip", "--strip-unneeded", str(file)], check=True)
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", str(file)], check=True)
        file.chmod(0o755)
    environment = {**os.environ, "RIDGELINE_WHEEL_PLATFORM": platform_tag(files), "SOURCE_DATE_EPOCH": "315532800"}
    # Debian's own Python has Debian's build, setuptools and wheel; another one may be first on PATH.
    done = subprocess.run(
        ["/usr/bin/python3", "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(stage)],
        env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout, done.stderr)
        return 1
    wheel = next(out.glob("*.whl"))
    packed_tightly(wheel)
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.1f} MB, with {', '.join(file.name for file in files)}")
    if size > MOST_BYTES:
        print(f"the wheel is larger than {MOST_BYTES / 1e6:.1f} MB")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
