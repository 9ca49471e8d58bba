"""Tests of tools/profiler. None needs a GPU, PyTorch or the built program."""

import subprocess
import sys
from pathlib import Path

import pytest

PROFILER = Path(__file__).resolve().parents[2] / "tools" / "profiler"
SOURCE = PROFILER.parents[1]
sys.path.insert(0, str(PROFILER))


def profiler(*words, folder=None, **options):
    """Runs the program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "ridgeline_profiler", *map(str, words)],
        cwd=PROFILER if folder is None else folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


@pytest.fixture
def numpy():
    return pytest.importorskip("numpy", reason="python3-numpy is not installed")
