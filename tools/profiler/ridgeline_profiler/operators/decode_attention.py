"""Attention of one new token per sequence over a paged cache: batch x context, MHA and GQA layouts of one rank."""

from typing import Any

from ridgeline_profiler import counts, grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TOLERANCE, TorchEnv
from ridgeline_profiler.cases import Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.networks import head_layouts
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.points import Cost, Point, point

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
TINY_BATCHES = (1, 4)
CONTEXTS = (128, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
TINY_CONTEXTS = (16, 64)
# vLLM's default block of the cache.
PAGE = 16


class DecodeAttention:
    name = "decode_attention"
    columns = ("heads", "kv_heads", "head_dim", "batch", "context")

    def points(self, target: Target) -> list[Point]:
        batches = grids.leveled(grids.pick(target, BATCHES, TINY_BATCHES))
        contexts = grids.leveled(grids.pick(target, CONTEXTS, TINY_CONTEXTS))
        found = [
            point(
                self.name,
                target.base_dtype,
                max(grids.rank_level(rank), batch_level, context_level),
                heads=heads,
                kv_heads=kv_heads,
                head_dim=head_dim,
                batch=batch,
                context=context,
            )
            for rank, (heads, kv_heads, head_dim) in enumerate(
                grids.spread_order(head_layouts(target), lambda each: each)
            )
            for batch, batch_level in batches
            for context, context_level in contexts
        ]
        return fitting(self, found, target)

    def cost(self, point: Point) -> Cost:
        heads, kv_heads, head_dim, batch, context = (point.number(name) for name in self.columns)
        return counts.decode_attention(batch, context, heads, kv_heads, head_dim, point.item_bytes)

    def resident_bytes(self, point: Point) -> float:
        return self.cost(point).bytes

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        from ridgeline_profiler.kernels import paged_decode

        heads, kv_heads, head_dim, batch, context = (point.number(name) for name in self.columns)

        def make() -> paged_decode.Inputs:
            return paged_decode.random_inputs(
                env, batch, context, heads, kv_heads, head_dim, PAGE, point.dtype
            )

        first = make()
        splits = paged_decode.best_splits(first)
        cold = 2.0 * point.item_bytes * batch * kv_heads * context * head_dim
        sets = [first] + [make() for _ in range(env.copies(cold) - 1)]
        calls = [lambda inputs=inputs: paged_decode.attend(inputs, splits) for inputs in sets]

        def check() -> float:
            return env.relative_error(paged_decode.attend(first, splits), paged_decode.plain(first))

        return Case("triton paged_decode", calls, check=check, tolerance=TOLERANCE[point.dtype])

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        heads, kv_heads, head_dim, batch, context = (point.number(name) for name in self.columns)
        pages = -(-context // PAGE)
        keys = env.normal(batch * pages, PAGE, kv_heads, head_dim)
        values = env.normal(batch * pages, PAGE, kv_heads, head_dim)
        tables = env.np.argsort(env.normal(batch * pages)).reshape(batch, pages)
        queries = env.normal(batch, heads, 1, head_dim)

        def gather(cache: Any, table: Any) -> Any:
            return cache[table].reshape(pages * PAGE, kv_heads, head_dim)[:context].transpose(1, 0, 2)

        def call() -> Any:
            return [
                env.causal_attention(query, gather(keys, table), gather(values, table))
                for query, table in zip(queries, tables)
            ]

        return Case("numpy attention", [call], graph=False)
