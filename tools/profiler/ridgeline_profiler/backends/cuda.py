"""PyTorch on an NVIDIA GPU: CUDA events around graph replays."""

import os
import time
from collections.abc import Callable
from typing import Any

from ridgeline_profiler import VERSION, energy, timing
from ridgeline_profiler.backends.base import Measurement
from ridgeline_profiler.backends.torch_env import TorchEnv
from ridgeline_profiler.cases import Case
from ridgeline_profiler.devices import Target, datasheet_of, folder_name
from ridgeline_profiler.errors import DeviceLost, UsageError
from ridgeline_profiler.operators.base import Operator
from ridgeline_profiler.points import Point
from ridgeline_profiler.results import Conditions, Sustained
from ridgeline_profiler.telemetry import open_telemetry

# First compute capability with FP8 matrix units (Ada), and the first that PyTorch's bfloat16 kernels are made for.
FP8_CAPABILITY = (8, 9)
BF16_CAPABILITY = (8, 0)
# Read between samples: this many times the L2 cache leaves nothing of the sample before.
FLUSH_TIMES = 2
# Fallback peaks for estimates of time on a GPU that is not in the catalogue.
ASSUMED_FLOPS = 200e12
ASSUMED_BANDWIDTH = 1e12
# Share of the allocator's memory that may be unused before it is given back.
IDLE_SHARE = 0.5


class CudaBackend:
    name = "cuda"
    method = (
        f"A point: a warm-up of {timing.WARM_UP_SECONDS:g} s, then {timing.MIN_REPLAYS} to {timing.MAX_REPLAYS} samples"
        f" between CUDA events. A sample is a graph replay of at least {timing.CALLS_IN_REPLAY} calls unless they are"
        " long, on inputs that together are larger than the L2 cache, which is flushed before each. Latencies are"
        " medians; kernels of our own were checked against a plain computation on the same inputs."
    )

    def __init__(self, seed: int, device_index: int, folder: str | None, sustain_seconds: float = 0.0):
        try:
            import torch
        except ImportError as problem:
            raise UsageError("the cuda backend needs PyTorch: https://pytorch.org/get-started") from problem
        if not torch.cuda.is_available():
            raise UsageError("PyTorch sees no GPU; --backend cpu proves the chain without one")
        if device_index >= torch.cuda.device_count():
            raise UsageError(f"--device {device_index}: PyTorch sees {torch.cuda.device_count()} GPUs")
        self._torch: Any = torch
        self._sustain_seconds = sustain_seconds
        self._device = torch.device("cuda", device_index)
        torch.cuda.set_device(self._device)
        torch.manual_seed(seed)
        properties = torch.cuda.get_device_properties(self._device)
        capability = (properties.major, properties.minor)
        if capability < BF16_CAPABILITY:
            raise UsageError(f"{properties.name} has compute capability {capability}, below {BF16_CAPABILITY}")
        self.target = _target(torch, properties, capability, folder)
        self._env = TorchEnv(torch, self._device, self.target.l2_bytes)
        self.environment = _environment(torch)
        self._telemetry = open_telemetry(_telemetry_name(properties, device_index))
        floats = max(1, int(FLUSH_TIMES * self.target.l2_bytes) // 4)
        self._flush_from = torch.ones(floats, dtype=torch.float32, device=self._device)
        self._flush_to = torch.zeros((), dtype=torch.float32, device=self._device)
        self._stream = torch.cuda.Stream(self._device)

    def case(self, operator: Operator, point: Point) -> Case:
        return operator.torch_case(point, self._env)

    def measure(self, case: Case, expected_us: float) -> Measurement:
        if case.sampler is not None:
            return Measurement(case.sampler(), "graph", self._telemetry.read())
        rounds = timing.rounds(expected_us * case.calls_inside, len(case.calls))
        calls_per_replay = rounds * len(case.calls) * case.calls_inside

        def all_calls() -> None:
            for _ in range(rounds):
                for call in case.calls:
                    call()

        torch = self._torch
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            # Compiles, loads modules and creates handles, none of which a graph may capture.
            for call in case.calls:
                call()
            self._stream.synchronize()
            run: Callable[[], None] = all_calls
            if case.graph:
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, stream=self._stream):
                    all_calls()
                run = graph.replay
            samples, conditions = self._time(run)
            sustained = self._sustain(run, min(samples) * 1e-3, calls_per_replay) if self._sustain_seconds else None
        mode = "graph" if case.graph else "eager"
        return Measurement([each * 1e3 / calls_per_replay for each in samples], mode, conditions, sustained)

    def _time(self, run: Callable[[], None]) -> tuple[list[float], Conditions]:
        """Milliseconds of each replay after the warm-up. Telemetry is read while the GPU works on the queue."""
        torch = self._torch
        pilot = self._enqueue(run)
        self._stream.synchronize()
        seconds = pilot[0].elapsed_time(pilot[1]) * 1e-3
        for _ in range(timing.warm_up_replays(seconds)):
            run()
        self._stream.synchronize()
        pairs = [self._enqueue(run) for _ in range(timing.replays(seconds))]
        conditions = self._telemetry.read()
        torch.cuda.synchronize(self._device)
        return [start.elapsed_time(end) for start, end in pairs], conditions

    def _sustain(self, run: Callable[[], None], replay_seconds: float, calls_per_replay: int) -> Sustained | None:
        """Replays without a pause, and reads the energy counter between batches. The first part lets clocks settle."""
        torch = self._torch
        per_batch = max(1, int(timing.SUSTAINED_BATCH_SECONDS / replay_seconds))
        readings: list[energy.Reading] = []
        ends: list[Any] = []
        begin = time.monotonic()
        while time.monotonic() - begin < self._sustain_seconds:
            for _ in range(per_batch):
                run()
            ends.append(torch.cuda.Event(enable_timing=True))
            ends[-1].record(self._stream)
            # One batch runs while the next is launched.
            if len(ends) > 1:
                ends[-2].synchronize()
                joules = self._telemetry.joules()
                if joules is None:
                    break
                readings.append(energy.Reading(time.monotonic(), joules, len(ends) - 1))
        self._stream.synchronize()
        span = energy.settled_span(readings)
        if span is None:
            return None
        first, last = span
        milliseconds = ends[first.batches - 1].elapsed_time(ends[last.batches - 1])
        calls = (last.batches - first.batches) * per_batch * calls_per_replay
        watts = (last.joules - first.joules) / (last.seconds - first.seconds)
        return Sustained(milliseconds * 1e3 / calls, watts)

    def _enqueue(self, run: Callable[[], None]) -> tuple[Any, Any]:
        """One replay between two events, behind a read that pushes everything else out of the L2 cache. It reads and
        does not write: dirty lines would be written back while the sample runs."""
        start = self._torch.cuda.Event(enable_timing=True)
        end = self._torch.cuda.Event(enable_timing=True)
        self._torch.sum(self._flush_from, dim=0, out=self._flush_to)
        start.record(self._stream)
        run()
        end.record(self._stream)
        return start, end

    def is_out_of_memory(self, problem: Exception) -> bool:
        return isinstance(problem, self._torch.cuda.OutOfMemoryError)

    def release(self) -> None:
        torch = self._torch
        try:
            torch.cuda.synchronize(self._device)
            held = torch.cuda.memory_reserved(self._device)
            if held - torch.cuda.memory_allocated(self._device) > IDLE_SHARE * held:
                torch.cuda.empty_cache()
        except RuntimeError as problem:
            raise DeviceLost(str(problem).splitlines()[0]) from problem

    def close(self) -> None:
        from ridgeline_profiler.backends.ranks import close_all

        close_all()
        self._telemetry.close()


def _target(torch: Any, properties: Any, capability: tuple[int, int], folder: str | None) -> Target:
    sheet = datasheet_of(properties.name)
    has_fp8 = capability >= FP8_CAPABILITY and hasattr(torch, "float8_e4m3fn")
    return Target(
        device_name=properties.name,
        folder=folder or folder_name(properties.name),
        scale="gpu",
        memory_bytes=float(properties.total_memory),
        l2_bytes=float(properties.L2_cache_size),
        num_devices=torch.cuda.device_count(),
        dtypes=("bf16", "fp8", "fp8_block") if has_fp8 else ("bf16",),
        assumed_flops=sheet.peak_bf16 if sheet else ASSUMED_FLOPS,
        assumed_bandwidth=sheet.bandwidth if sheet else ASSUMED_BANDWIDTH,
    )


def _environment(torch: Any) -> dict[str, str]:
    found = {"profiler": VERSION, "torch": torch.__version__, "cuda": str(torch.version.cuda)}
    try:
        import triton

        found["triton"] = triton.__version__
    except ImportError:
        found["triton"] = "none"
    found["driver"] = _driver_version()
    return found


def _driver_version() -> str:
    """As the kernel module reports it; nvidia-smi prints the same."""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            words = file.readline().split()
    except OSError:
        return "unknown"
    return next((word for word in words if word[:1].isdigit() and "." in word), "unknown")


def _telemetry_name(properties: Any, device_index: int) -> str | None:
    """PyTorch numbers the visible GPUs, nvidia-smi all of them; only the UUID means the same to both."""
    uuid = getattr(properties, "uuid", None)
    if uuid is not None:
        return f"GPU-{uuid}"
    return None if "CUDA_VISIBLE_DEVICES" in os.environ else str(device_index)
