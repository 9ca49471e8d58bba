"""What the tests share. They run against the installed package, or against python/ with RIDGELINE_LIBRARY set."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

import ridgeline as rl

SMALL: dict[str, Any] = dict(model="llama-3.1-8b", gpu="h100", request_rate=20, num_prompts=200, input_len=512, output_len=64, seed=1)
FLEET: dict[str, Any] = dict(SMALL, instances=3, request_rate=60)


def having(base: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The keywords with others in their place, or more of them."""
    return {**base, **more}


def program() -> str:
    """The program of the command line: RIDGELINE_BINARY, else the one that the package carries."""
    return os.environ.get("RIDGELINE_BINARY") or str(Path(rl.__file__).parent / "_lib" / "ridgeline")


@pytest.fixture()
def small() -> dict[str, Any]:
    return dict(SMALL)


@pytest.fixture()
def fleet() -> dict[str, Any]:
    return dict(FLEET)


@pytest.fixture()
def python() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Runs a piece of Python in a process of its own."""

    def run(code: str, *words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=120, **more)

    return run
