"""The program beside the library."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> int:
    """Starts the program `ridgeline` in place of this process."""
    program = os.environ.get("RIDGELINE_PROGRAM") or str(Path(__file__).resolve().parent / "_lib" / "ridgeline")
    try:
        os.execv(program, ["ridgeline", *sys.argv[1:]])
    except OSError as problem:
        print(f"error: cannot start {program}: {problem.strerror}", file=sys.stderr)
        return 70
