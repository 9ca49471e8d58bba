"""The package in its process: import, interrupts, threads, forks, memory, exit."""

from __future__ import annotations

import gc
import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable

import pytest

import ridgeline as rl

from conftest import having

Python = Callable[..., "subprocess.CompletedProcess[str]"]
LONG: dict[str, Any] = dict(model="llama-3.1-8b", gpu="h100", request_rate=30, num_prompts=30_000_000, input_len=512,
                            output_len=256, requests=False, figures=False, percentiles="sketch")


def test_import_is_light(python: Python) -> None:
    code = (
        "import sys, time, resource; start = time.perf_counter(); import ridgeline; "
        "print(time.perf_counter() - start, 'numpy' in sys.modules, 'pandas' in sys.modules)"
    )
    python(code)  # Compiles what is not compiled yet.
    best = min(float(python(code).stdout.split()[0]) for _ in range(5))
    assert python(code).stdout.split()[1:] == ["False", "False"]
    assert best <= 0.030, best
    size = "import resource; {} print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    grown = int(python(size.format("import ridgeline;")).stdout) - int(python(size.format("")).stdout)
    assert grown <= 5 * 1024, grown


def interrupted(after: float, call: Callable[[], Any]) -> tuple[float, KeyboardInterrupt]:
    main = threading.main_thread().ident or 0
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        signal.pthread_kill(main, signal.SIGINT)

    try:
        threading.Timer(after, send).start()
        call()
    except KeyboardInterrupt as problem:
        return time.monotonic() - sent[0], problem
    raise AssertionError("was not interrupted")


def test_an_interrupt_ends_a_run_with_what_there_is() -> None:
    took, problem = interrupted(0.3, lambda: rl.run(**LONG))
    assert took < 0.2, took
    partial = problem.partial  # type: ignore[attr-defined]
    assert partial.partial and partial.summary.completed > 0


def test_an_interrupt_ends_a_sweep_and_a_plan() -> None:
    given = {key: value for key, value in LONG.items() if key not in ("requests", "figures", "request_rate")}
    took, problem = interrupted(0.5, lambda: rl.sweep(**given, request_rate=[10, 20], workers=2))
    assert took < 0.4 and problem.partial.partial  # type: ignore[attr-defined]


@pytest.mark.parametrize("mode", ["signal", "message"])
def test_an_interrupt_of_a_notebook_ends_a_run(mode: str, tmp_path: Path) -> None:
    """As a notebook's stop button sends it: a signal, or a message to the kernel."""
    client = pytest.importorskip("jupyter_client")
    pytest.importorskip("ipykernel")
    spec = {"argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "tried",
            "language": "python", "interrupt_mode": mode}
    (tmp_path / "tried").mkdir()
    (tmp_path / "tried" / "kernel.json").write_text(json.dumps(spec))
    specs = client.kernelspec.KernelSpecManager(kernel_dirs=[str(tmp_path)])
    kernel = client.manager.KernelManager(kernel_name="tried", kernel_spec_manager=specs)
    kernel.start_kernel(env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    talk = kernel.client()
    talk.start_channels()
    try:
        talk.wait_for_ready(timeout=60)
        code = f"""import ridgeline as rl, time
print("starts", flush=True)
try:
    rl.run(**{LONG})
except KeyboardInterrupt as problem:
    print(time.monotonic(), problem.partial.partial)
"""
        asked = talk.execute(code)
        texts: list[str] = []
        sent = 0.0
        while len(texts) < 2:
            message = talk.get_iopub_msg(timeout=60)
            if message["msg_type"] == "stream" and message["parent_header"]["msg_id"] == asked:
                texts += message["content"]["text"].splitlines()
                if not sent:
                    time.sleep(0.3)
                    sent = time.monotonic()
                    kernel.interrupt_kernel()
        ended, partial = texts[1].split()
        assert float(ended) - sent < 0.4 and partial == "True"  # Two processes have to be scheduled.
    finally:
        talk.stop_channels()
        kernel.shutdown_kernel(now=True)


def test_interrupts_at_random_times() -> None:
    draw = random.Random(7)
    small = dict(LONG, num_prompts=200)
    digest = rl.run(**small).digest
    for _ in range(int(os.environ.get("RIDGELINE_PYTHON_INTERRUPTS", "50"))):
        interrupted(draw.uniform(0.0, 0.05), lambda: [rl.run(**LONG) for _ in range(2)])
        assert rl.run(**small).digest == digest


def test_other_signals_raise_what_their_handlers_raise() -> None:
    def late(*_: object) -> None:
        raise TimeoutError("too late")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(TimeoutError, match="too late"):
            rl.run(**LONG)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_worker_thread_is_not_interrupted(small: dict[str, Any]) -> None:
    found: list[Any] = []
    done = threading.Event()

    def work() -> None:
        found.append(rl.run(**having(small, num_prompts=100_000)))
        done.set()

    threading.Thread(target=work).start()
    interrupted(0.02, lambda: done.wait(60))
    assert done.wait(60)
    assert found[0].summary.completed == 100_000


def test_two_threads_give_what_one_gives(small: dict[str, Any]) -> None:
    given = [having(small, seed=seed, num_prompts=2000) for seed in range(8)]
    alone = [rl.run(**one).digest for one in given]
    found: dict[int, str] = {}

    def work(start: int) -> None:
        for i in range(start, len(given), 2):
            found[i] = rl.run(**given[i]).digest

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(len(given))] == alone


def test_the_interpreter_runs_while_a_call_does() -> None:
    counted = 0
    done = threading.Event()

    def work() -> None:
        rl.run(**dict(LONG, num_prompts=200_000))
        done.set()

    threading.Thread(target=work).start()
    while not done.is_set():
        counted += 1
        time.sleep(0.001)
    assert counted > 20


def test_fork_after_import_and_after_a_run(python: Python) -> None:
    code = """
import os, ridgeline as rl
given = dict(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=50, input_len=99, output_len=9)
def forked():
    child = os.fork()
    if child == 0:
        rl.run(**given)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
forked(); rl.run(**given); forked(); print("both")
"""
    assert python(code).stdout == "both\n"


def test_many_calls_do_not_grow(small: dict[str, Any]) -> None:
    """RIDGELINE_PYTHON_CALLS=100000 is the whole check."""
    calls = int(os.environ.get("RIDGELINE_PYTHON_CALLS", "2000"))
    given = having(small, num_prompts=10, output_len=4)

    def size() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    def call(times: int) -> None:
        for i in range(times):
            r = rl.run(**given)
            r.requests.ttft_ms
            if i % 4 == 0:
                r.requests.__arrow_c_stream__()

    call(1000)
    gc.collect()
    before = size()
    call(calls)
    gc.collect()
    assert size() - before <= 1024 * 1024


def test_capsules_that_nothing_consumes_are_freed(small: dict[str, Any]) -> None:
    """RIDGELINE_PYTHON_CALLS=100000 is the whole check."""
    requests = rl.run(**small).requests

    def size_after(capsules: int) -> int:
        for _ in range(capsules):
            requests.__arrow_c_stream__()
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    before = size_after(1000)
    assert size_after(int(os.environ.get("RIDGELINE_PYTHON_CALLS", "20000"))) - before <= 1024 * 1024


def test_exit_with_live_objects_prints_nothing(python: Python) -> None:
    code = """
import ridgeline as rl
r = rl.run(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=50, input_len=99, output_len=9, steps=True)
view, capsule, steps = r.requests.ttft_ms, r.requests.__arrow_c_stream__(), r.steps
"""
    done = python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_another_library_is_one_clear_error(python: Python, tmp_path: Any) -> None:
    code = "import ridgeline as rl\ntry:\n    rl.models()\nexcept rl.InternalError as error:\n    print(error)"
    missing = python(code, env={**os.environ, "RIDGELINE_LIBRARY": str(tmp_path / "none.so")}).stdout
    assert missing.count("\n") == 1 and "cannot load" in missing
    newer = "import ridgeline\nridgeline.__version__ = '0.0.9'\n" + code
    assert "and this package 0.0.9 (ABI 2)" in python(newer).stdout


def test_the_program_is_carried(python: Python) -> None:
    if "RIDGELINE_LIBRARY" in os.environ:
        pytest.skip("not installed")
    done = subprocess.run([sys.executable, "-m", "ridgeline", "version"], capture_output=True, text=True)
    assert done.returncode == 0 and rl.__version__ in done.stdout
    script = Path(sys.executable).parent / "ridgeline"
    assert rl.__version__ in subprocess.run([script, "version"], capture_output=True, text=True).stdout


def test_overhead_of_a_call(small: dict[str, Any]) -> None:
    """Python's part of a call is as large for few requests as for many."""

    def calls_of(count: int) -> int:
        calls = 0

        def count_one(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal calls
            calls += event == "call"

        given = having(small, num_prompts=count)
        rl.run(**given)
        sys.setprofile(count_one)
        try:
            rl.run(**given)
        finally:
            sys.setprofile(None)
        return calls

    few = calls_of(10)
    assert few < 2000
    assert calls_of(2000) == few
