"""Processes that measure collectives, one per GPU. A group is started once per size and answers through pipes."""

import os
import socket
from multiprocessing.connection import Connection
from typing import Any

from ridgeline_profiler import timing
from ridgeline_profiler.cases import Unsupported

# Messages of this many sizes ago are no warmer than new ones: a round writes into one buffer after the other.
BUFFERS = 4
ANSWER_SECONDS = 120.0
END_SECONDS = 5.0

_groups: dict[int, "RankGroup"] = {}


def rank_group(ranks: int) -> "RankGroup":
    if ranks in _groups and _groups[ranks].is_lost:
        _groups.pop(ranks).close()
    if ranks not in _groups:
        _groups[ranks] = RankGroup(ranks)
    return _groups[ranks]


def close_all() -> None:
    for group in _groups.values():
        group.close()
    _groups.clear()


class RankGroup:
    def __init__(self, ranks: int):
        import torch.multiprocessing

        context = torch.multiprocessing.get_context("spawn")
        port = _free_port()
        # A rank that hung would answer the question before; such a group is not asked again.
        self.is_lost = False
        self._pipes: list[Connection] = []
        self._processes = []
        for rank in range(ranks):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(rank, ranks, port, theirs), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    def measure(self, kind: str, algorithm: str, elements: int) -> list[float]:
        """Microseconds per call, as the slowest rank saw each sample."""
        for pipe in self._pipes:
            pipe.send((kind, algorithm, elements))
        answers = []
        for rank, pipe in enumerate(self._pipes):
            if not pipe.poll(ANSWER_SECONDS):
                self.is_lost = True
                raise RuntimeError(f"rank {rank} did not answer in {ANSWER_SECONDS:.0f} s")
            answers.append(pipe.recv())
        problems = [answer for answer in answers if isinstance(answer, str)]
        if problems:
            raise Unsupported(problems[0])
        return [max(samples) for samples in zip(*answers)]

    def close(self) -> None:
        for pipe in self._pipes:
            try:
                pipe.send(None)
            except OSError:
                pass
        for process in self._processes:
            process.join(timeout=0.0 if self.is_lost else END_SECONDS)
            if process.is_alive():
                process.terminate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _serve(rank: int, ranks: int, port: int, pipe: Connection) -> None:
    """One rank's life: answers every message with its samples, or with what went wrong."""
    import torch
    import torch.distributed

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=ranks, device_id=torch.device("cuda", rank))
    while (message := pipe.recv()) is not None:
        try:
            pipe.send(_samples(torch, ranks, *message))
        except Exception as problem:  # whatever it is, the other side must not wait for ever
            lines = str(problem).strip().splitlines()
            pipe.send(f"{type(problem).__name__}: {lines[0] if lines else 'no message'}")
    torch.distributed.destroy_process_group()


def _samples(torch: Any, ranks: int, kind: str, algorithm: str, elements: int) -> list[float]:
    calls = [_call(torch, kind, algorithm, elements) for _ in range(BUFFERS)]
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for call in calls:
            call()
        torch.cuda.synchronize()
        torch.distributed.barrier()
        rounds = timing.CALLS_IN_REPLAY // BUFFERS
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(rounds):
                for call in calls:
                    call()
        # Every rank must replay equally often: a fixed number, not one that follows this rank's clock.
        pairs = []
        for _ in range(timing.WARM_UP_REPLAYS + 2 * timing.MIN_REPLAYS):
            pair = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            pair[0].record(stream)
            graph.replay()
            pair[1].record(stream)
            pairs.append(pair)
        torch.cuda.synchronize()
    torch.distributed.barrier()
    kept = pairs[timing.WARM_UP_REPLAYS :]
    return [start.elapsed_time(end) * 1e3 / (rounds * BUFFERS) for start, end in kept]


def _call(torch: Any, kind: str, algorithm: str, elements: int) -> Any:
    distributed = torch.distributed
    if algorithm == "nccl":
        buffer = torch.randn(elements, device="cuda").to(torch.bfloat16)
        if kind == "all_to_all":
            out = torch.empty_like(buffer)
            return lambda: distributed.all_to_all_single(out, buffer)
        return lambda: distributed.all_reduce(buffer)
    import torch.distributed._symmetric_memory as symmetric

    group = distributed.group.WORLD.group_name
    shared = symmetric.empty(elements, dtype=torch.bfloat16, device="cuda")
    shared.normal_()
    symmetric.rendezvous(shared, group)
    if algorithm == "one_shot":
        return lambda: torch.ops.symm_mem.one_shot_all_reduce(shared, "sum", group)
    return lambda: torch.ops.symm_mem.two_shot_all_reduce_(shared, "sum", group)
