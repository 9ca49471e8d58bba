#!/usr/bin/env python3
"""Instructions of the main job, whole process, against the recorded figures.

    python3 bench/instructions.py BINARY            hold BINARY against bench/instructions.json
    python3 bench/instructions.py BINARY --record   write bench/instructions.json anew

Callgrind counts the same instructions on a busy machine as on an idle one, so that a job that became a few percent
dearer is seen, which times do not show. The jobs: 1,000 requests, which is start-up above all; 100,000 requests, which
is the cost of a request; and 100,000 of a network at twice the load, in place of a million, which takes as many
instructions a request and ten times as long to count. Exit code 1 where a job takes more than 3 % above its figure;
77, with the reason, where valgrind is missing or the figures are of another compiler, C library or valgrind.
"""
import argparse
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys

FIGURES = pathlib.Path(__file__).resolve().with_suffix(".json")
MOST_PERCENT = 3.0
SKIPPED = 77
LOAD = ["--input-len", "512", "--output-len", "256", "--seed", "1"]
JOBS = {
    "1,000 requests": ["--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "8", "--num-prompts", "1000", *LOAD],
    "100,000 requests": [
        "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "8", "--num-prompts", "100000", *LOAD],
    "100,000 of Qwen3-14B at 15/s": [
        "--model", "qwen3-14b", "--gpu", "h100", "--request-rate", "15", "--num-prompts", "100000", *LOAD],
}


def tools(binary):
    """What the figures depend on beside the sources."""
    compilers = re.findall(rb"GCC: \([^)]*\) [\d.]+|clang version [\d.]+", binary.read_bytes())
    valgrind = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "compiler": compilers[0].decode() if compilers else "unknown",
        "libc": " ".join(platform.libc_ver()),
        "machine": platform.machine(),
        "valgrind": valgrind,
    }


def count(binary, arguments):
    # An environment of its own: the loader reads all of it.
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", binary, "run", *arguments, "--format", "json"],
        capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}, check=False)
    if done.returncode != 0:
        sys.exit(f"instructions: {' '.join(arguments)}: exit code {done.returncode}: {done.stderr[-2000:]}")
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("instructions: skipped: no valgrind (Debian's package of that name)")
        return SKIPPED
    binary = options.binary.resolve()
    found = tools(binary)
    recorded = json.loads(FIGURES.read_text())
    if not options.record and found != recorded["tools"]:
        for name, value in found.items():
            if value != recorded["tools"].get(name):
                print(f"instructions: skipped: {name} is {value}, the figures are of {recorded['tools'].get(name)}")
        return SKIPPED
    dearer = False
    figures = {}
    for name, arguments in JOBS.items():
        figures[name] = count(binary, arguments)
        before = recorded["instructions"].get(name)
        if before is None:
            print(f"{name}: {figures[name]:,} instructions, none recorded")
            continue
        percent = 100.0 * (figures[name] / before - 1.0)
        print(f"{name}: {figures[name]:,} instructions, recorded {before:,} ({percent:+.2f} %)")
        dearer = dearer or percent > MOST_PERCENT
    if options.record:
        FIGURES.write_text(json.dumps({"tools": found, "instructions": figures}, indent=2) + "\n")
        print(f"instructions: wrote {FIGURES.name}")
        return 0
    if dearer:
        print(f"instructions: a job takes more than {MOST_PERCENT:g} % above its figure. What it is: "
              "valgrind --tool=callgrind, then callgrind_annotate --inclusive=yes. Where it is meant: "
              "./dev instructions --record, and say in the commit what was bought with it.")
    return 1 if dearer else 0


if __name__ == "__main__":
    sys.exit(main())
