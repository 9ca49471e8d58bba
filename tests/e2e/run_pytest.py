#!/usr/bin/env python3
"""Runs pytest on a file of this folder, or of one beside it, for ctest; exits with 77 (ctest: skipped) where pytest is not installed."""

import importlib.util
import subprocess
import sys
from pathlib import Path

if importlib.util.find_spec("pytest") is None:
    print("skipped: python3-pytest is not installed")
    sys.exit(77)
command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]
sys.exit(subprocess.run(command, cwd=Path(__file__).resolve().parent, check=False).returncode)
