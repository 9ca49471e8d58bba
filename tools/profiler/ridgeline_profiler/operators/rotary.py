"""Rotary embedding of queries and keys, in place in the rows of a fused QKV product."""

from typing import Any

from ridgeline_profiler import counts, grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TOLERANCE, TorchEnv
from ridgeline_profiler.cases import Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.networks import head_layouts
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.points import Cost, Point, point

# Positions that the tables of cosines cover.
POSITIONS = 32768
TINY_POSITIONS = 128


class Rotary:
    name = "rotary"
    columns = ("tokens", "heads", "kv_heads", "head_dim")

    def points(self, target: Target) -> list[Point]:
        layouts = grids.spread_order(head_layouts(target), lambda each: each)
        found = [
            point(
                self.name,
                target.base_dtype,
                max(level, grids.rank_level(rank)) + 1,
                tokens=tokens,
                heads=heads,
                kv_heads=kv_heads,
                head_dim=head_dim,
            )
            for rank, (heads, kv_heads, head_dim) in enumerate(layouts)
            for tokens, level in grids.leveled(grids.tokens(target))
        ]
        return fitting(self, found, target)

    def cost(self, point: Point) -> Cost:
        tokens, heads, kv_heads, head_dim = (point.number(name) for name in self.columns)
        return counts.rotary(tokens, heads + kv_heads, head_dim, point.item_bytes)

    def resident_bytes(self, point: Point) -> float:
        tokens, heads, kv_heads, head_dim = (point.number(name) for name in self.columns)
        return float(point.item_bytes) * tokens * (heads + 2 * kv_heads) * head_dim

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        from ridgeline_profiler.kernels import elementwise

        tokens, heads, kv_heads, head_dim = (point.number(name) for name in self.columns)
        x = env.normal(tokens, (heads + 2 * kv_heads) * head_dim, dtype=point.dtype)
        positions = env.integers(POSITIONS, tokens)
        tables = elementwise.rotary_tables(env, POSITIONS, head_dim)

        def call() -> Any:
            return elementwise.rotate(x, positions, *tables, heads + kv_heads)

        def check() -> float:
            plain = elementwise.plain_rotate(x, positions, *tables, heads + kv_heads)
            return env.relative_error(call(), plain)

        return Case("triton rotary", [call], check=check, tolerance=TOLERANCE[point.dtype])

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        tokens, heads, kv_heads, head_dim = (point.number(name) for name in self.columns)
        x = env.normal(tokens, heads + kv_heads, head_dim)
        cos, sin = env.normal(TINY_POSITIONS, head_dim // 2), env.normal(TINY_POSITIONS, head_dim // 2)
        positions = env.integers(TINY_POSITIONS, tokens)
        return Case("numpy rotary", [lambda: env.rotate(x, cos[positions], sin[positions])], graph=False)
