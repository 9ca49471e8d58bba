"""As much of PyTorch as the CUDA backend itself touches, with a GPU whose clock is counted and not waited for.

Every call of a case takes CALL_MS; a flush takes none. `log` has what happened, in order."""

import contextlib
import types

CALL_MS = 0.5


class Event:
    def __init__(self, gpu):
        self._gpu, self.at = gpu, None

    def record(self, stream):
        self.at = self._gpu.now
        self._gpu.log.append("event")

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return end.at - self.at


class Graph:
    """Replays what ran while it was captured."""

    def __init__(self, gpu):
        self._gpu, self.calls = gpu, 0

    def replay(self):
        self._gpu.now += self.calls * CALL_MS
        self._gpu.log.append("replay")


class OutOfMemoryError(RuntimeError):
    pass


class Gpu:
    def __init__(self, name="NVIDIA H100 80GB HBM3", capability=(9, 0), count=1):
        self.now, self.log, self.captured = 0.0, [], None
        self.capability, self.count, self.broken = capability, count, False
        self.counts_no_energy = False
        self.name = name
        self.reserved, self.allocated, self.emptied = 100, 90, 0

    def call(self):
        """One call of a case's work."""
        if self.captured is not None:
            self.captured.calls += 1
        else:
            self.now += CALL_MS
            self.log.append("call")

    @contextlib.contextmanager
    def graph(self, graph, stream):
        self.captured = graph
        yield
        self.captured = None
        self.log.append("captured")

    def synchronize(self, device=None):
        if self.broken:
            raise RuntimeError("CUDA error: an illegal memory access was encountered\nmore")

    def empty_cache(self):
        self.emptied += 1

    def module(self):
        torch, cuda = types.ModuleType("torch"), types.ModuleType("torch.cuda")
        stream = types.SimpleNamespace(synchronize=self.synchronize, wait_stream=lambda other: None)
        properties = types.SimpleNamespace(
            name=self.name,
            major=self.capability[0],
            minor=self.capability[1],
            total_memory=80 * 2**30,
            L2_cache_size=50 * 2**20,
        )
        for name, value in {
            "is_available": lambda: self.count > 0,
            "device_count": lambda: self.count,
            "set_device": lambda device: None,
            "get_device_properties": lambda device: properties,
            "Stream": lambda device: stream,
            "current_stream": lambda: stream,
            "stream": lambda each: contextlib.nullcontext(),
            "CUDAGraph": lambda: Graph(self),
            "graph": self.graph,
            "Event": lambda enable_timing: Event(self),
            "synchronize": self.synchronize,
            "OutOfMemoryError": OutOfMemoryError,
            "memory_reserved": lambda device: self.reserved,
            "memory_allocated": lambda device: self.allocated,
            "empty_cache": self.empty_cache,
        }.items():
            setattr(cuda, name, value)
        torch.cuda, torch.float32, torch.__version__ = cuda, "float32", "2.9.0"
        torch.float8_e4m3fn = "float8"
        torch.version = types.SimpleNamespace(cuda="13.0")
        torch.device = lambda kind, index: f"{kind}:{index}"
        torch.manual_seed = lambda seed: None
        torch.ones = torch.zeros = lambda *shape, **options: None
        torch.sum = lambda values, dim, out: self.log.append("flush")
        return torch
