#!/usr/bin/env python3
"""Runs pytest on a file of this folder, or of one beside it, for ctest; exits with 77 (ctest: skipped) where pytest
is not installed, or where the file needs something that is not. With --parts N, N processes beside each other run every
Nth test each: for files whose tests mostly wait."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

NOTHING_COLLECTED = 5

if importlib.util.find_spec("pytest") is None:
    print("skipped: python3-pytest is not installed")
    sys.exit(77)
words = sys.argv[1:]
parts = 1
if words[:1] == ["--parts"]:
    parts = int(words[1])
    words = words[2:]
command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "every_nth", *words]
running = [
    subprocess.Popen(command, cwd=Path(__file__).resolve().parent, env={**os.environ, "RIDGELINE_TEST_PART": f"{part}/{parts}"},
                     stdout=None if parts == 1 else subprocess.PIPE, stderr=None if parts == 1 else subprocess.STDOUT)
    for part in range(parts)
]
codes = set()
for process in running:
    output, _ = process.communicate()
    if output:
        sys.stdout.buffer.write(output)
        sys.stdout.flush()
    codes.add(process.returncode)
# A file that skips itself as a whole has no test left to collect.
codes = codes - {NOTHING_COLLECTED} or {77}
sys.exit(max(codes - {0}, default=0))
