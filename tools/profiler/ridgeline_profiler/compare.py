"""Measured forward passes beside what `ridgeline step` predicts for them."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from ridgeline_profiler.errors import UsageError
from ridgeline_profiler.operators.forward_pass import ForwardPass
from ridgeline_profiler.results import Result
from ridgeline_profiler.state import measured
from ridgeline_profiler.statistics import percentile
from ridgeline_profiler.whole.pass_shape import PassShape, pass_shape

# A replayed pass has no pause of the engine before it, and no kernel that waits for the host to launch it; every other
# part of a step is in it.
NOT_IN_A_PASS = ("step_gap", "uncaptured_gaps")
# The passes sample by argmax.
PLAIN_SAMPLING = ("--generation-config", "vllm")
SECONDS = 60.0


@dataclass(frozen=True)
class Comparison:
    shape: PassShape
    measured_us: float
    predicted_us: float

    @property
    def error(self) -> float:
        """Of the prediction, as a fraction of the measurement."""
        return self.predicted_us / self.measured_us - 1.0


def step_words(shape: PassShape, gpu: str) -> list[str]:
    words = ["step", "--model", shape.network.name, "--gpu", gpu, "--tensor-parallel-size", str(shape.tp)]
    if shape.decodes:
        words += ["--decode", f"{shape.context}x{shape.decodes}"]
    if shape.prefills:
        words += ["--prefill", f"{shape.past}+{shape.new}x{shape.prefills}"]
    return [*words, *PLAIN_SAMPLING, "--format", "json"]


def predict(binary: str, shape: PassShape, gpu: str, flags: Sequence[str]) -> float:
    """Microseconds of the step, without what a replayed pass has not."""
    command = [binary, *step_words(shape, gpu), *flags]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except OSError as problem:
        raise UsageError(f"{binary}: cannot be run: {problem.strerror}") from problem
    except subprocess.TimeoutExpired as problem:
        raise UsageError(f"{' '.join(command)}: no answer in {SECONDS:.0f} s") from problem
    if done.returncode != 0:
        first = (done.stderr.strip().splitlines() or ["no message"])[0]
        raise UsageError(f"{' '.join(command)}: exit code {done.returncode}: {first}")
    try:
        step = json.loads(done.stdout)
        left_out = sum(part["us"] for part in step["parts"] if part["operator"] in NOT_IN_A_PASS)
        return float(step["step_us"]) - float(left_out)
    except (ValueError, KeyError, TypeError) as problem:
        raise UsageError(f"{' '.join(command)}: printed no step as JSON ({problem!r})") from problem


def compare(results: list[Result], binary: str, gpu: str, flags: Sequence[str]) -> list[Comparison]:
    """Every measured pass, in the order of its key."""
    found = []
    for result in sorted(measured(results), key=lambda each: each.point.key):
        if result.point.operator == ForwardPass.name:
            assert result.summary is not None
            shape = pass_shape(result.point)
            predicted = predict(binary, shape, gpu, flags)
            found.append(Comparison(shape, result.summary.median_us, predicted))
    return found


def describe(shape: PassShape) -> str:
    parts = []
    if shape.prefills:
        parts.append(f"{shape.prefills} x {shape.past}+{shape.new}")
    if shape.decodes:
        parts.append(f"{shape.decodes} decodes at {shape.context}")
    return f"{shape.network.name}: {', '.join(parts)}"


def table(comparisons: list[Comparison]) -> str:
    lines = ["| pass | measured us | predicted us | error % |", "|---|---:|---:|---:|"]
    lines += [
        f"| {describe(each.shape)} | {each.measured_us:.1f} | {each.predicted_us:.1f} | {100 * each.error:+.1f} |"
        for each in comparisons
    ]
    errors = sorted(abs(each.error) for each in comparisons)
    lines += ["", f"{len(errors)} passes, absolute error {100 * percentile(errors, 0.5):.1f} % in the median,"]
    lines[-1] += f" {100 * percentile(errors, 0.9):.1f} % at p90, {100 * errors[-1]:.1f} % at most"
    return "\n".join(lines) + "\n"
