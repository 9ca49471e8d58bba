"""Logits of the sequences that sample: [sequences, hidden] times [hidden, vocab / tp], in 16 bits."""

from ridgeline_profiler import counts, grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TorchEnv
from ridgeline_profiler.cases import Call, Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.networks import degrees, networks
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.points import Cost, Point, point

SEQUENCES = (1, 4, 16, 64, 128, 256, 512)
TINY_SEQUENCES = (1, 4)


class LmHead:
    name = "lm_head"
    columns = ("sequences", "hidden", "vocab")

    def points(self, target: Target) -> list[Point]:
        shapes: dict[tuple[int, int], None] = {}
        for network in networks(target):
            for tp in degrees(target):
                shapes[(network.hidden, network.vocab // tp)] = None
        axis = grids.leveled(grids.pick(target, SEQUENCES, TINY_SEQUENCES))
        found = [
            point(
                self.name,
                target.base_dtype,
                max(level, grids.rank_level(rank)),
                sequences=sequences,
                hidden=hidden,
                vocab=vocab,
            )
            for rank, (hidden, vocab) in enumerate(grids.spread_order(list(shapes), lambda shape: shape))
            for sequences, level in axis
        ]
        return fitting(self, found, target)

    def cost(self, point: Point) -> Cost:
        m, k, n = (point.number(name) for name in self.columns)
        return counts.gemm(m, k, n, point.item_bytes, point.item_bytes)

    def resident_bytes(self, point: Point) -> float:
        return self.cost(point).bytes

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        m, k, n = (point.number(name) for name in self.columns)
        linear = env.torch.nn.functional.linear
        x = env.normal(m, k, dtype=point.dtype)

        def make() -> Call:
            weight = env.normal(n, k, dtype=point.dtype, scale=k**-0.5)
            return lambda: linear(x, weight)

        return Case("torch.nn.functional.linear", env.cold(point.item_bytes * k * n, make))

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        m, k, n = (point.number(name) for name in self.columns)
        x, weight = env.normal(m, k), env.normal(k, n)
        return Case("numpy.matmul", [lambda: x @ weight], graph=False)
