"""The command line."""

import argparse
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TextIO

from ridgeline_profiler import VERSION, compare, planning, state
from ridgeline_profiler.backends.base import Backend
from ridgeline_profiler.devices import Target, cpu_target, planned_gpu_target
from ridgeline_profiler.errors import DeviceLost, UsageError
from ridgeline_profiler.operators import ALL, BY_NAME, Operator
from ridgeline_profiler.output import card, full_csv, infersim
from ridgeline_profiler.planning import Planned
from ridgeline_profiler.progress import Progress, clock_text
from ridgeline_profiler.results import Result
from ridgeline_profiler.runner import Outcome, run

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

EPILOG = """examples:
  python3 -m ridgeline_profiler --dry-run --gpu h100         what would be measured, and how long it takes
  python3 -m ridgeline_profiler --budget 60 --out kernels    an hour, the most telling points first
  python3 -m ridgeline_profiler --out kernels                goes on where the last run ended
  python3 -m ridgeline_profiler --out kernels --compare ridgeline
                                                             measured forward passes beside predicted ones
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="ridgeline_profiler",
        description="Measures the kernels of this machine's GPU, and writes tables that Ridgeline predicts with. "
        "No setting of the GPU is changed.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--out", type=Path, default=Path("kernels"), metavar="DIR", help="tables and state (kernels)")
    made.add_argument(
        "--backend", choices=("auto", "cuda", "cpu"), default="auto", help="auto: cuda; cpu: tiny shapes in numpy"
    )
    made.add_argument("--dry-run", action="store_true", help="plan points and time; measure and write nothing")
    made.add_argument("--budget", type=_minutes, metavar="MINUTES", help="stop in time, most telling points first")
    made.add_argument("--ops", type=_operators, default=ALL, metavar="A,B", help="only these operators")
    made.add_argument("--device", type=int, default=0, metavar="N", help="which GPU, as PyTorch numbers them (0)")
    made.add_argument(
        "--gpu", metavar="NAME", help="folder of the tables; with --dry-run, the GPU to plan for (found by its name)"
    )
    made.add_argument("--gpus", type=int, default=1, metavar="N", help="with --dry-run: how many GPUs (1)")
    made.add_argument("--seed", type=int, default=1, metavar="N", help="order of the points and random inputs (1)")
    made.add_argument("--peak-bf16", type=_tera, metavar="TFLOPS", help="what MFU is a fraction of (datasheet)")
    made.add_argument("--peak-fp8", type=_tera, metavar="TFLOPS", help="the same of FP8")
    made.add_argument(
        "--sustain",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="also repeat each point for so long, for its mean power and its time at settled clocks",
    )
    made.add_argument("--retry-failed", action="store_true", help="try again what failed in an earlier run")
    made.add_argument(
        "--compare", metavar="RIDGELINE", help="measure nothing: the passes under --out beside what this binary predicts"
    )
    made.add_argument(
        "--step-flags", type=shlex.split, default=[], metavar="TEXT", help="with --compare: more flags of `step`"
    )
    made.add_argument("--quiet", action="store_true", help="no progress")
    made.add_argument("--version", action="version", version=VERSION)
    return made


def _minutes(text: str) -> float:
    return _positive(text, "minutes")


def _seconds(text: str) -> float:
    return _positive(text, "seconds")


def _tera(text: str) -> float:
    return _positive(text, "TFLOP/s") * 1e12


def _positive(text: str, unit: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is no positive number of {unit}")
    return value


def _operators(text: str) -> tuple[Operator, ...]:
    names = text.split(",")
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        raise argparse.ArgumentTypeError(f"no operator '{unknown[0]}': expected some of {', '.join(BY_NAME)}")
    return tuple(operator for operator in ALL if operator.name in names)


def _backend(options: argparse.Namespace) -> Backend:
    if options.backend == "cpu":
        from ridgeline_profiler.backends.cpu import CpuBackend

        if options.sustain:
            raise UsageError("--sustain measures power, which the cpu backend cannot")
        return CpuBackend(options.seed)
    from ridgeline_profiler.backends.cuda import CudaBackend

    return CudaBackend(options.seed, options.device, options.gpu, options.sustain)


def _planning_target(options: argparse.Namespace) -> Target:
    """For a dry run nothing needs to be installed."""
    if options.backend == "cpu":
        return cpu_target()
    return planned_gpu_target(options.gpu or "h100", options.gpus)


def print_plan(plan: list[Planned], target: Target, budget: float | None, out: TextIO) -> None:
    taken = planning.within_budget(plan, budget)
    all_points = Counter(each.point.operator for each in plan)
    points = Counter(each.point.operator for each in taken)
    out.write(f"{target.device_name}: {len(plan)} points, about {clock_text(sum(p.seconds for p in plan))}")
    if budget is not None:
        out.write(f"; in {clock_text(budget)}: {len(taken)}")
    out.write(f"\n\n{'operator':<20}{'points':>8}{'taken':>8}{'time':>14}  by tier\n")
    for operator in ALL:
        mine = [each for each in taken if each.point.operator == operator.name]
        if all_points[operator.name] == 0:
            continue
        tiers = Counter(each.point.tier for each in mine)
        by_tier = " ".join(f"{tier}:{count}" for tier, count in sorted(tiers.items()))
        seconds = clock_text(sum(each.seconds for each in mine))
        name = operator.name
        out.write(f"{name:<20}{all_points[name]:>8}{points[name]:>8}{seconds:>14}  {by_tier}\n")


def _resume(
    options: argparse.Namespace, backend: Backend
) -> tuple[state.Header, state.State | None, dict[str, Result]]:
    """The header to write under, what an earlier run left, and its results that stand."""
    path = options.out / state.FILE_NAME
    environment = tuple(sorted(backend.environment.items()))
    target = backend.target
    header = state.Header(target.device_name, target.folder, backend.name, options.seed, environment)
    previous = state.load(path)
    if previous is None:
        return header, None, {}
    state.require_same(previous.header, header, path)
    kept = {
        key: result
        for key, result in previous.results.items()
        if not (options.retry_failed and result.status == "failed")
        and not (options.sustain and result.status == "ok" and result.sustained is None)
    }
    return previous.header, previous, kept


def _write_tables(
    options: argparse.Namespace, header: state.Header, backend: Backend, plan: list[Planned], results: list[Result]
) -> int:
    peaks = {"bf16": options.peak_bf16, "fp8": options.peak_fp8}
    given = {dtype: value for dtype, value in peaks.items() if value is not None}
    known = [each for each in results if each.point.operator in BY_NAME]
    written = full_csv.write(options.out, header, known)
    written += infersim.write(options.out, header, backend.target, known, given)
    written += card.write(options.out, header, backend.method, plan, known, given)
    return len(written)


def _measure(options: argparse.Namespace, backend: Backend) -> int:
    budget = None if options.budget is None else options.budget * 60.0
    header, previous, results = _resume(options, backend)
    whole_plan = planning.make_plan(ALL, backend.target, header.seed, options.sustain)
    plan = [each for each in whole_plan if each.operator in options.ops]
    todo = planning.remaining(plan, results)
    if results and not options.quiet:
        print(f"{len(results)} points are there already", file=sys.stderr)
    writer = state.Writer(options.out / state.FILE_NAME, header, previous)
    outcome, code, word = Outcome(), OK, "done"

    def record(result: Result) -> None:
        writer.add(result)
        results[result.point.key] = result

    try:
        outcome = run(backend, todo, budget, record, Progress(len(todo), None if options.quiet else sys.stderr))
        code = FAILED if outcome.failed else OK
    except KeyboardInterrupt:
        code, word = INTERRUPTED, "interrupted; the same command goes on"
    except DeviceLost as problem:
        code, word = FAILED, f"the device answers no more ({problem}); the same command goes on"
    finally:
        writer.close()
    files = _write_tables(options, header, backend, whole_plan, list(results.values()))
    counted = Counter(result.status for result in results.values())
    print(
        f"{word}: {counted['ok']} points measured, {counted['unsupported']} unsupported, {counted['failed']} failed,"
        f" {len(planning.remaining(plan, results))} left; {files} files under {options.out}"
    )
    return code


def _compare(options: argparse.Namespace) -> int:
    path = options.out / state.FILE_NAME
    previous = state.load(path)
    if previous is None:
        raise UsageError(f"{path}: no such state; measure first")
    gpu = options.gpu or previous.header.folder
    found = compare.compare(list(previous.results.values()), options.compare, gpu, options.step_flags)
    if not found:
        raise UsageError(f"{path}: holds no measured forward_pass")
    sys.stdout.write(compare.table(found))
    return OK


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    try:
        if options.dry_run:
            target = _planning_target(options)
            plan = planning.make_plan(options.ops, target, options.seed, options.sustain)
            budget = None if options.budget is None else options.budget * 60.0
            print_plan(plan, target, budget, sys.stdout)
            return OK
        if options.compare is not None:
            return _compare(options)
        backend = _backend(options)
        try:
            return _measure(options, backend)
        finally:
            backend.close()
    except UsageError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return USAGE
    except OSError as problem:
        print(f"error: {problem.filename or options.out}: {problem.strerror}", file=sys.stderr)
        return USAGE
