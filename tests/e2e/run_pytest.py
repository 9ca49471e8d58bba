#!/usr/bin/env python3
"""Runs pytest on a file of this folder, or of one beside it, for ctest; exits with 77 (ctest: skipped) where pytest
is not installed, or where the file needs something that is not."""

import importlib.util
import subprocess
import sys
from pathlib import Path

NOTHING_COLLECTED = 5

if importlib.util.find_spec("pytest") is None:
    print("skipped: python3-pytest is not installed")
    sys.exit(77)
command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]
code = subprocess.run(command, cwd=Path(__file__).resolve().parent, check=False).returncode
# A file that skips itself as a whole has no test left to collect.
sys.exit(77 if code == NOTHING_COLLECTED else code)
