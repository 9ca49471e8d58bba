#!/usr/bin/env python3
"""Random questions to `ridgeline plan`, and whether each answer holds.

Networks and GPUs of the catalogue, every kind of load. An answer ends cleanly; the scenario that it saves of its best
deployment, run by `ridgeline run`, prints the answer's figures and meets the targets; an answer that rests on a
datasheet says that it is a bound.

    random_questions.py BINARY COUNT SEED [JOBS]
"""

import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# What --engine is asked for.
ENGINES = ["vllm", "vllm", "sglang", "tensorrt-llm", "all"]
LOADS = ["rate", "prefixes", "clients", "trace", "bursts", "trace at a rate", "sessions", "several sources"]
SESSIONS = ["interactive-chat", "code", "agentic"]
ANSWERED, REFUSED, INFEASIBLE, UNSURE = 0, 2, 4, 99
UNWRITABLE = "writes files for GPUs of NVIDIA"
# What an engine is not simulated with, in one line that says so: no point of the question can be had.
CANNOT = re.compile(r"model: \S+ has .* not modelled (in SGLang's radix cache|for \S+) yet")
BOUNDED = "W-datasheet-only"
MOST_SECONDS = 240


def names(binary, what):
    done = subprocess.run([binary, "list", what, "--format", "json"], capture_output=True, text=True, check=True)
    return [entry["name"] for entry in json.loads(done.stdout)]


def trace(draw, rate, bursty):
    """Rows of a CSV: bursts of ten at once, or times at random."""
    rows = ["arrival_s,input_tokens,output_tokens"]
    at = 0.0
    size = 10 if bursty else 1
    mean_in, mean_out = draw.choice([200, 1000, 3000]), draw.choice([30, 100, 300])
    for _ in range(draw.randint(200, 1500) // size):
        at += draw.expovariate(rate / size)
        for _ in range(size):
            rows.append(f"{at:.6f},{max(1, int(draw.gauss(mean_in, mean_in / 4)))},"
                        f"{max(1, int(draw.expovariate(1 / mean_out)))}")
    return "\n".join(rows) + "\n"


def load(draw, folder):
    """Words for a load, of a kind drawn."""
    kind = draw.choice(LOADS)
    rate = round(10 ** draw.uniform(-0.7, 1.3), 3)
    lengths = ["--input-len", str(draw.choice([100, 500, 1500, 4000])), "--output-len", str(draw.choice([20, 100, 250]))]
    path = folder / "load"
    if kind == "rate":
        return kind, ["--request-rate", str(rate), *lengths]
    if kind == "prefixes":
        return kind, ["--request-rate", str(rate), *lengths, "--prefix-len", str(draw.choice([500, 4000])),
                      "--num-prefixes", str(draw.choice([1, 20]))]
    if kind == "clients":
        return kind, ["--max-concurrency", str(draw.choice([1, 8, 64, 200])), *lengths]
    if kind in ("sessions", "several sources"):
        sources = [{"preset": draw.choice(SESSIONS), "request_rate": rate / 4, "num_prompts": draw.choice([40, 200])}]
        if kind == "several sources":
            sources.append({"preset": draw.choice(["chatbot", "summarization"]), "request_rate": rate,
                            "num_prompts": 200})
        path = path.with_suffix(".yaml")
        path.write_text(f"ridgeline_workload: 1\nsources: {json.dumps(sources)}\n")
        return kind, ["--trace", str(path)]
    path = path.with_suffix(".csv")
    path.write_text(trace(draw, rate, kind == "bursts"))
    return kind, ["--trace", str(path), *(["--request-rate", str(rate)] if kind == "trace at a rate" else [])]


def targets(draw):
    words = []
    if draw.random() < 0.85:
        words += ["--slo-ttft", f"{draw.choice([300, 500, 1000, 3000, 10000])}ms"]
    if not words or draw.random() < 0.85:
        words += ["--slo-tpot", f"{draw.choice([15, 30, 60, 120])}ms"]
    return words + ["--slo-statistic", draw.choice(["p99", "p99", "p95", "p90", "mean"])]


def question(draw, models, gpus, folder):
    kind, words = load(draw, folder)
    chosen = draw.sample(gpus, draw.choice([1, 1, 1, 2]))
    words = ["plan", "--model", draw.choice(models), "--gpu", ",".join(chosen), *words, *targets(draw), "--objective",
             "gpus", "--effort", "quick", "--top-n", str(draw.choice([1, 2])), "--max-gpus", "64", "--jobs", "1"]
    engine = draw.choice(ENGINES)
    return kind, words + (["--engine", engine] if engine != "vllm" else [])


def same(planned, ran):
    """Two figures in ms, to the last digit of what either file keeps."""
    return abs(planned - ran) <= 1e-9 * max(abs(planned), abs(ran))


def wrong_figures(answer, pick, ran):
    """What of the run contradicts the plan."""
    found = []
    for slo in pick["slo"]:
        metric = slo["metric"].lower()
        latencies = ran["summary"][f"{metric}_ms"]
        figure = latencies[slo["statistic"]] if latencies else None
        if figure is None or slo["value"] is None:
            if figure != slo["value"]:
                found.append(f"{metric}: {slo['value']} planned, {figure} run")
        elif not same(slo["value"], figure):
            found.append(f"{metric}: {slo['value']:.6g} ms planned, {figure:.6g} ms run")
        elif figure > slo["target"]:
            found.append(f"{metric}: {figure:.6g} ms run, above its target of {slo['target']:.6g} ms")
        if slo["verdict"] != "met":
            found.append(f"{metric}: the plan itself says that it is missed")
    rests_on_bounds = any(warning["code"] == BOUNDED for warning in ran["warnings"])
    said = json.dumps([pick, answer["warnings"]])
    if rests_on_bounds and "bound, not" not in said and BOUNDED not in said:
        found.append("rests on a datasheet, and does not say that it is a bound")
    return found


def answer_of(binary, words, folder):
    return subprocess.run([binary, *words], cwd=folder, capture_output=True, text=True, check=False,
                          timeout=MOST_SECONDS)


def problems(binary, words, folder):
    """What is wrong with the answer to a question, and the exit code."""
    try:
        done = answer_of(binary, [*words, "--format", "json", "--save-dir", "out"], folder)
    except subprocess.TimeoutExpired:
        return [f"no answer within {MOST_SECONDS} s"], None
    if done.returncode == REFUSED and UNWRITABLE in done.stderr:  # The plan itself must end.
        done = answer_of(binary, [*words, "--format", "json"], folder)
        if done.returncode == ANSWERED:
            return [], done.returncode
    if done.returncode == REFUSED and CANNOT.search(done.stderr):
        return [], done.returncode
    if done.returncode not in (ANSWERED, INFEASIBLE, UNSURE):
        return [f"exit code {done.returncode}: {done.stderr.strip()[-400:]}"], done.returncode
    answer = json.loads(done.stdout)
    pick = next((c for c in answer["candidates"] if c["id"] == answer["answer"]["id"]), None)
    if done.returncode != ANSWERED:
        said = answer["answer"]["failure"]
        return [] if said and pick is None else ["no answer, and no reason"], done.returncode
    ran = answer_of(binary, ["run", "out/top1/scenario.yaml", "--format", "json"], folder)
    if ran.returncode != 0:
        return [f"the saved scenario does not run: {ran.stderr.strip()[-400:]}"], done.returncode
    return wrong_figures(answer, pick, json.loads(ran.stdout)), done.returncode


def ask(binary, seed, number, models, gpus):
    """The question of that number, asked in a folder of its own."""
    draw = random.Random(seed * 1_000_003 + number)
    with tempfile.TemporaryDirectory() as name:
        kind, words = question(draw, models, gpus, Path(name))
        found, code = problems(binary, words, name)
        return number, kind, words, code, found


def ask_all(binary, count, seed, jobs=1):
    models, gpus = names(binary, "models"), names(binary, "gpus")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda number: ask(binary, seed, number, models, gpus), range(count))


def main(binary, count, seed, jobs=os.cpu_count() or 1):
    codes, failed = {}, 0
    for number, kind, words, code, found in ask_all(str(Path(binary).resolve()), int(count), int(seed), int(jobs)):
        codes[code] = codes.get(code, 0) + 1
        if found:
            failed += 1
            print(f"question {number} ({kind}): {' '.join(words)}\n  " + "\n  ".join(found), flush=True)
    print(f"{count} questions, seed {seed}: {codes.get(ANSWERED, 0)} answered, {codes.get(INFEASIBLE, 0)} without a "
          f"deployment, {codes.get(UNSURE, 0)} without a sure one, {codes.get(REFUSED, 0)} refused; {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
