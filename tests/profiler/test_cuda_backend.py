"""How the CUDA backend times, on a pretended GPU."""

import sys

import fake_torch
import pytest

from ridgeline_profiler import timing
from ridgeline_profiler.backends import cuda
from ridgeline_profiler.cases import Case
from ridgeline_profiler.errors import DeviceLost, UsageError
from ridgeline_profiler.results import Conditions


class Reading:
    def __init__(self, gpu):
        self._gpu, self.closed = gpu, False

    def read(self):
        self._gpu.log.append("read")
        return Conditions(clock_mhz=1755.0)

    def joules(self):
        """500 W, counted in steps of 0.1 s."""
        return None if self._gpu.counts_no_energy else 500.0 * (self._gpu.now // 100 * 100) / 1000.0

    def close(self):
        self.closed = True


@pytest.fixture
def make(monkeypatch):
    def make(gpu, **options):
        monkeypatch.setitem(sys.modules, "torch", gpu.module())
        monkeypatch.setattr(cuda, "open_telemetry", lambda device: Reading(gpu))
        monkeypatch.setattr(cuda.time, "monotonic", lambda: gpu.now / 1000.0)
        return cuda.CudaBackend(
            seed=1,
            device_index=options.get("index", 0),
            folder=options.get("folder"),
            sustain_seconds=options.get("sustain_seconds", 0.0),
        )

    return make


def test_samples_are_per_call_and_behind_a_flush(make):
    gpu = fake_torch.Gpu()
    backend = make(gpu)
    # Calls of half a millisecond, of which a replay of at most 2 ms takes two rounds of two.
    case = Case("pretended", [gpu.call, gpu.call])
    measurement = backend.measure(case, expected_us=500.0)
    assert (measurement.mode, measurement.conditions.clock_mhz) == ("graph", 1755.0)
    # A replay is four calls: 2 ms. 150 ms of samples are 75, each 500 us per call.
    assert measurement.samples_us == [500.0] * 75
    # Each call once before the capture, then the pilot.
    assert gpu.log[:3] == ["call", "call", "captured"]
    assert gpu.log[3:7] == ["flush", "event", "replay", "event"]
    # 50 ms of warm-up are 25 replays that no event surrounds.
    assert gpu.log[7:32] == ["replay"] * 25
    assert gpu.log[32:] == ["flush", "event", "replay", "event"] * 75 + ["read"]


def test_calls_inside_a_callable_are_counted(make):
    gpu = fake_torch.Gpu()
    measurement = make(gpu).measure(Case("pretended", [gpu.call], calls_inside=500), expected_us=1.0)
    # Half a millisecond for 500 calls is a microsecond each.
    assert set(measurement.samples_us) == {1.0}


def test_eager_cases_are_launched_and_never_captured(make):
    gpu = fake_torch.Gpu()
    measurement = make(gpu).measure(Case("pretended", [gpu.call], graph=False), expected_us=1e6)
    assert measurement.mode == "eager"
    assert set(measurement.samples_us) == {500.0}
    assert not {"captured", "replay"} & set(gpu.log)


def test_work_that_times_itself_is_asked(make):
    measurement = make(fake_torch.Gpu()).measure(Case("nccl", [], sampler=lambda: [3.0, 4.0]), 1.0)
    assert measurement.samples_us == [3.0, 4.0]


def test_sustained_work_has_mean_power_and_time(make):
    gpu = fake_torch.Gpu()
    case = Case("pretended", [gpu.call, gpu.call])
    sustained = make(gpu, sustain_seconds=3.0).measure(case, expected_us=500.0).sustained
    assert sustained.latency_us == pytest.approx(500.0)
    # The counter's steps are seen at the ends of batches of 20 ms.
    assert sustained.power_w == pytest.approx(500.0, rel=0.02)


def test_power_is_left_out_where_no_energy_is_counted_or_none_was_asked(make):
    gpu = fake_torch.Gpu()
    assert make(gpu).measure(Case("pretended", [gpu.call]), 500.0).sustained is None
    gpu.counts_no_energy = True
    assert make(gpu, sustain_seconds=3.0).measure(Case("pretended", [gpu.call]), 500.0).sustained is None


def test_target_is_what_the_device_says(make):
    target = make(fake_torch.Gpu(count=4)).target
    assert (target.folder, target.num_devices, target.l2_bytes) == ("h100", 4, 50 * 2.0**20)
    assert target.dtypes == ("bf16", "fp8", "fp8_block")
    assert make(fake_torch.Gpu("NVIDIA A100-SXM4-80GB", (8, 0))).target.dtypes == ("bf16",)
    assert make(fake_torch.Gpu(), folder="mine").target.folder == "mine"


@pytest.mark.parametrize(
    "gpu, index, message",
    [
        (fake_torch.Gpu(count=0), 0, "PyTorch sees no GPU"),
        (fake_torch.Gpu(count=2), 2, "--device 2: PyTorch sees 2 GPUs"),
        (fake_torch.Gpu("Tesla V100", (7, 0)), 0, "Tesla V100 has compute capability"),
    ],
)
def test_what_cannot_be_used_is_said(make, gpu, index, message):
    with pytest.raises(UsageError, match=message):
        make(gpu, index=index)


def test_memory_goes_back_when_most_of_it_is_idle(make):
    gpu = fake_torch.Gpu()
    backend = make(gpu)
    backend.release()
    assert gpu.emptied == 0
    gpu.allocated = 40
    backend.release()
    assert gpu.emptied == 1


def test_a_broken_device_ends_the_run(make):
    gpu = fake_torch.Gpu()
    backend = make(gpu)
    gpu.broken = True
    with pytest.raises(DeviceLost, match="^CUDA error: an illegal memory access was encountered$"):
        backend.release()


def test_out_of_memory_is_no_fault_of_the_device(make):
    backend = make(fake_torch.Gpu())
    assert backend.is_out_of_memory(fake_torch.OutOfMemoryError("6 GiB"))
    assert not backend.is_out_of_memory(RuntimeError("6 GiB"))


def test_closing_ends_the_telemetry(make):
    backend = make(fake_torch.Gpu())
    backend.close()
    assert backend._telemetry.closed


def test_copies_are_colder_than_the_cache():
    from ridgeline_profiler.backends.torch_env import MAX_COPIES, TorchEnv

    env = TorchEnv(None, "cuda:0", l2_bytes=50e6)
    # Three times 50 MB in sets of 40 MB: four. One set is enough of 150 MB; nothing cold needs one.
    assert [env.copies(size) for size in (40e6, 150e6, 1e9, 0.0)] == [4, 1, 1, 1]
    assert env.copies(1.0) == MAX_COPIES
    assert timing.CALLS_IN_REPLAY <= MAX_COPIES
