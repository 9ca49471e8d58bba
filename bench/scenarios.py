#!/usr/bin/env python3
"""Whole-process benchmarks: what a request costs from the command line to the result.

For each scenario of bench/scenarios.json: user and system time of the fast engine (least and median of five runs), its
instructions per request (callgrind, the difference of two lengths, so that start-up cancels out; this figure does not
depend on the machine), the same two figures of the reference engine, and both ratios. The digest of each run is held
against the expected one, and the two engines' against each other. One line per scenario is appended to
bench/history.ndjson.

    python3 bench/scenarios.py BINARY [--only NAME] [--runs N] [--no-instructions] [--no-history] [--accept]
    python3 bench/scenarios.py BINARY --digests [--only NAME]

--accept writes the digests found into scenarios.json: for a change of results that is meant. --digests runs each
scenario once, for its digest alone: .ci/run does so. Exit code 1 when a digest differs.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


def run(binary, arguments, requests, *more):
    """One run: its result and its processor time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [binary, "run", *arguments, "--num-prompts", str(requests), "--format", "json", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return json.loads(done.stdout), seconds


def instructions(binary, arguments, requests, *more):
    """Instructions of a whole process, counted by callgrind."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", binary, "run", *arguments,
               "--num-prompts", str(requests), "--format", "json", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def per_request(measure, short, long):
    return (measure(long) - measure(short)) / (long - short)


def timed(binary, arguments, requests, runs, *more):
    times = []
    for _ in range(runs):
        result, seconds = run(binary, arguments, requests, *more)
        times.append(seconds)
    return result, min(times), statistics.median(times)


def bench(binary, scenario, options):
    arguments = scenario["arguments"]
    fast, least, median = timed(binary, arguments, scenario["requests"], options.runs)
    # The reference engine on fewer requests; the fast one on as many, for the digest.
    few = scenario["reference_requests"]
    reference, slow, _ = timed(binary, arguments, few, max(1, options.runs // 2), "--engine-core", "reference")
    same, _ = run(binary, arguments, few)
    line = {
        "name": scenario["name"],
        "requests": scenario["requests"],
        "steps": fast["summary"]["steps"],
        "fast_ns": round(least / scenario["requests"] * 1e9, 1),
        "fast_median_ns": round(median / scenario["requests"] * 1e9, 1),
        "reference_ns": round(slow / few * 1e9, 1),
        "digest": fast["digest"],
        "twins_equal": reference["digest"] == same["digest"],
    }
    line["time_ratio"] = round(line["reference_ns"] / line["fast_ns"], 1)
    if options.instructions:
        short, long = scenario["instruction_requests"]
        line["fast_instructions"] = round(
            per_request(lambda n: instructions(binary, arguments, n), short, long))
        line["reference_instructions"] = round(
            per_request(lambda n: instructions(binary, arguments, n, "--engine-core", "reference"), few // 4, few))
        line["instruction_ratio"] = round(line["reference_instructions"] / line["fast_instructions"], 1)
    return line


def check_digests(binary, scenarios):
    """Runs each scenario once with the fast engine; whether all digests are the expected ones."""
    good = True
    for scenario in scenarios:
        result, seconds = run(binary, scenario["arguments"], scenario["requests"])
        same = result["digest"] == scenario["digest"]
        good = good and same
        found = "as expected" if same else f"DIFFERS: found {result['digest']}, expected {scenario['digest']}"
        print(f"{scenario['name']:28} {seconds:6.2f} s  {found}", flush=True)
    return good


def stamp():
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return {"commit": commit.stdout.strip(),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--no-instructions", dest="instructions", action="store_false")
    parser.add_argument("--no-history", dest="history", action="store_false")
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("--digests", action="store_true")
    options = parser.parse_args()
    path = HERE / "scenarios.json"
    scenarios = json.loads(path.read_text())
    if unknown := set(options.only) - {scenario["name"] for scenario in scenarios}:
        parser.error(f"--only: no scenario {sorted(unknown)} in {path.name}")
    if options.digests:
        wanted = [scenario for scenario in scenarios if not options.only or scenario["name"] in options.only]
        return 0 if check_digests(os.path.abspath(options.binary), wanted) else 1
    failed = False
    print(f"{'scenario':28} {'ns/request':>11} {'median':>8} {'reference':>10} {'ratio':>7} "
          f"{'instr/req':>10} {'ratio':>7}  digest")
    for scenario in scenarios:
        if options.only and scenario["name"] not in options.only:
            continue
        line = bench(os.path.abspath(options.binary), scenario, options)
        good = line["twins_equal"] and (options.accept or line["digest"] == scenario["digest"])
        failed = failed or not good
        print(f"{line['name']:28} {line['fast_ns']:11.1f} {line['fast_median_ns']:8.1f} {line['reference_ns']:10.1f} "
              f"{line['time_ratio']:6.1f}x {line.get('fast_instructions', '-'):>10} "
              f"{line.get('instruction_ratio', '-'):>6}x  {'as expected' if good else 'DIFFERS'}", flush=True)
        if options.accept:
            scenario["digest"] = line["digest"]
        if options.history:
            with open(HERE / "history.ndjson", "a", encoding="utf-8") as history:
                history.write(json.dumps({**stamp(), **line}) + "\n")
    if options.accept:
        path.write_text(json.dumps(scenarios, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
