"""Black-box tests: the built binary, driven as a user drives it. ctest gives the paths."""

import os
import subprocess
from pathlib import Path

import pytest

BINARY = os.environ.get("RIDGELINE_BINARY", "")
SHARED = Path(os.environ.get("RIDGELINE_SHARED_DIR", ""))
SOURCE = Path(__file__).resolve().parents[2]
# A build with sanitizers takes minutes for many arms on all measured runs; the others run them.
SANITIZED = bool(os.environ.get("RIDGELINE_SANITIZE"))
measures_memory = pytest.mark.skipif(SANITIZED, reason="sanitizers take memory of their own: other builds run it")
too_long_sanitized = pytest.mark.skipif(SANITIZED, reason="too long with sanitizers: other builds run it")


class Ridgeline:
    """Runs the binary in a folder of its own, with a plain environment."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.env = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]

    def __call__(self, *words, env=None, **options):
        return subprocess.run(
            [BINARY, *map(str, words)],
            cwd=self.folder,
            env={**self.env, **(env or {})},
            capture_output="stdout" not in options,
            text=True,
            timeout=300,
            check=False,
            **options,
        )

    def command(self):
        return [BINARY]

    def start(self, *words):
        return subprocess.Popen(
            [BINARY, *map(str, words)],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def files(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


@pytest.fixture
def ridgeline(tmp_path):
    if not BINARY:
        pytest.skip("RIDGELINE_BINARY is not set: run by ctest")
    return Ridgeline(tmp_path)


@pytest.fixture
def azure_trace():
    path = SHARED / "traces" / "azure2023" / "AzureLLMInferenceTrace_conv.csv"
    if not path.is_file():
        pytest.skip("the Azure 2023 conversation trace is not beside the checkout")
    return path


# 1000 requests of 512 + 256 tokens on one H100.
ACCEPTANCE = (
    "run --model llama-3.1-8b --gpu h100 --request-rate 8 --num-prompts 1000"
    " --input-len 512 --output-len 256 --seed 1 --format json"
).split()
# A run of a few milliseconds.
SMALL = "--model llama-3.1-8b --gpu h100 --request-rate 8 --num-prompts 20 --input-len 64 --output-len 16".split()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for all tests of a file that ask for it."""
    from serving import FAST, serving

    if not BINARY:
        pytest.skip("RIDGELINE_BINARY is not set")
    with serving(Ridgeline(tmp_path_factory.mktemp("serve")), *FAST, "--served-model-name", "test-model") as one:
        yield one
