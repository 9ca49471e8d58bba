"""Every command of the guide's table runs as it stands, from the checkout's root."""
import pathlib
import re
import shlex
import subprocess

import pytest

from conftest import BINARY

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/guide/bring-your-files.md").read_text()
COMMANDS = re.findall(r"`ridgeline ((?:explain|run|trace|validate) [^`]*examples/files[^`]*)` \|\n", GUIDE)


def test_each_kind_has_a_command():
    rows = [line for line in GUIDE.splitlines() if line.startswith("| ")]
    assert len(COMMANDS) == len(rows) - 1  # Without the table's head.


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.skipif(not BINARY, reason="no binary")
def test_runs(command):
    done = subprocess.run([BINARY, *shlex.split(command)], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    if command.startswith("explain"):
        assert done.stdout.startswith("read as ")


@pytest.mark.skipif(not BINARY, reason="no binary")
def test_another_network_has_its_own_formats(tmp_path):
    """What a file says of its network's quantisation is not of the one that takes its place."""
    launch = tmp_path / "start.sh"
    launch.write_text("vllm serve mine/checkpoint-fp4 --quantization modelopt_fp4 -tp 8\n")
    explain = [BINARY, "explain", launch, "--gpu", "b200", "--model"]
    done = subprocess.run([*explain, "deepseek-v3"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "quantization modelopt_fp4 is of the network that the file names" in done.stdout + done.stderr
    assert "quantised by" not in done.stdout + done.stderr
