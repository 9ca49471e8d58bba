"""All-reduce and all-to-all among the GPUs of this machine, in processes of their own; needs two or more GPUs."""

from ridgeline_profiler import counts, grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TorchEnv
from ridgeline_profiler.cases import Case, Unsupported
from ridgeline_profiler.devices import Target
from ridgeline_profiler.points import Cost, Point, point

KIBIBYTE = 1024
KIBIBYTES = (4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536, 262144)
RANKS = (2, 4, 8)
# NCCL's, and PyTorch's one-shot and two-shot kernels over symmetric memory, which serving engines use for small sums.
ALGORITHMS = {"all_reduce": ("nccl", "one_shot", "two_shot"), "all_to_all": ("nccl",)}


class Collective:
    name = "collective"
    columns = ("kind", "algorithm", "ranks", "kibibytes")

    def points(self, target: Target) -> list[Point]:
        return [
            point(
                self.name,
                target.base_dtype,
                level + min(later, 1),
                kind=kind,
                algorithm=algorithm,
                ranks=ranks,
                kibibytes=size,
            )
            for ranks in RANKS
            if ranks <= target.num_devices
            for kind, algorithms in ALGORITHMS.items()
            for later, algorithm in enumerate(algorithms)
            for size, level in grids.leveled(KIBIBYTES)
        ]

    def cost(self, point: Point) -> Cost:
        size = point.number("kibibytes") * KIBIBYTE
        return counts.collective(point.text("kind"), size, point.number("ranks"), point.item_bytes)

    def resident_bytes(self, point: Point) -> float:
        return 2.0 * point.number("kibibytes") * KIBIBYTE

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        from ridgeline_profiler.backends.ranks import rank_group

        group = rank_group(point.number("ranks"))
        kind, algorithm = point.text("kind"), point.text("algorithm")
        elements = point.number("kibibytes") * KIBIBYTE // point.item_bytes
        kernel = f"{algorithm} {kind}"
        return Case(kernel, [], sampler=lambda: group.measure(kind, algorithm, elements))

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        raise Unsupported("collectives need several GPUs")
