"""Launch files that people have: a sample of a corpus of real ones, and cases with a fault each."""

import json
import os
import subprocess
import sys

import pytest

from conftest import BINARY, SHARED

FILES = SHARED / "files"
LAUNCHES = "script|shell-block|compose"

# A sanitized program takes half a second a file.
SAMPLE = ["--limit", "120"] if os.environ.get("RIDGELINE_SANITIZE") else []

pytestmark = pytest.mark.skipif(not BINARY or not (FILES / "corpus").is_dir(), reason="no corpus of files")


@pytest.fixture(scope="module")
def statuses(tmp_path_factory):
    """What the corpus' own checker says of each launch."""
    out = tmp_path_factory.mktemp("launches") / "out.jsonl"
    subprocess.run([sys.executable, FILES / "check_files.py", BINARY, FILES / "corpus",
                    "--kind", LAUNCHES, "--out", out, *SAMPLE], check=False, capture_output=True, timeout=600)
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_no_launch_crashes(statuses):
    assert len(statuses) > (100 if SAMPLE else 600)
    assert [row["id"] for row in statuses if row["status"] == "crash"] == []


def test_launches_are_read_or_refused_by_name(statuses):
    single = [row for row in statuses if row["class"] == "single"]
    read = [row for row in single if row["status"] in ("right", "network-right", "named", "network-unread")]
    assert len(read) >= 0.95 * len(single)


@pytest.mark.parametrize("case", ["D1", "D1c", "D2", "D2b", "D7", "D8", "D9", "D10", "D10b", "D10c", "D13", "D13b",
                                  "D13c", "D14", "D14b", "D14c", "D15", "N3", "N4", "N5", "N6", "N7", "N8", "N10",
                                  "N11", "N12"])
def test_a_case_passes(case):
    done = subprocess.run([sys.executable, FILES / "run_cases.py", BINARY,
                           FILES / "cases" / "cases.jsonl", "--only", case],
                          check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
