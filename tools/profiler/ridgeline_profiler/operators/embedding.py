"""Rows of the embedding table by token."""

from ridgeline_profiler import counts, grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TorchEnv
from ridgeline_profiler.cases import Call, Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.networks import networks
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.points import Cost, Point, point


class Embedding:
    name = "embedding"
    columns = ("tokens", "hidden", "vocab")

    def points(self, target: Target) -> list[Point]:
        tables = list(dict.fromkeys((network.hidden, network.vocab) for network in networks(target)))
        found = [
            point(
                self.name,
                target.base_dtype,
                max(level, grids.rank_level(rank)) + 1,
                tokens=tokens,
                hidden=hidden,
                vocab=vocab,
            )
            for rank, (hidden, vocab) in enumerate(grids.spread_order(tables, lambda each: each))
            for tokens, level in grids.leveled(grids.tokens(target))
        ]
        return fitting(self, found, target)

    def cost(self, point: Point) -> Cost:
        return counts.embedding(point.number("tokens"), point.number("hidden"), point.item_bytes)

    def resident_bytes(self, point: Point) -> float:
        table = float(point.item_bytes) * point.number("vocab") * point.number("hidden")
        return table + self.cost(point).bytes

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        tokens, hidden, vocab = (point.number(name) for name in self.columns)
        table = env.normal(vocab, hidden, dtype=point.dtype)
        lookup = env.torch.nn.functional.embedding

        def make() -> Call:
            ids = env.integers(vocab, tokens)
            return lambda: lookup(ids, table)

        # Each set of ids reads other rows.
        return Case("torch.nn.functional.embedding", env.cold(self.cost(point).bytes, make))

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        tokens, hidden, vocab = (point.number(name) for name in self.columns)
        table, ids = env.normal(vocab, hidden), env.integers(vocab, tokens)
        return Case("numpy indexing", [lambda: table[ids]], graph=False)
