"""Residual add and RMS norm in one kernel, as serving engines fuse them."""

from typing import Any

from ridgeline_profiler import counts, grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TOLERANCE, TorchEnv
from ridgeline_profiler.cases import Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.networks import networks
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.points import Cost, Point, point


class RmsNorm:
    name = "rms_norm"
    columns = ("tokens", "hidden")

    def points(self, target: Target) -> list[Point]:
        widths = sorted({network.hidden for network in networks(target)})
        found = [
            point(self.name, target.base_dtype, max(level, width_level), tokens=tokens, hidden=hidden)
            for hidden, width_level in grids.leveled(widths)
            for tokens, level in grids.leveled(grids.tokens(target))
        ]
        return fitting(self, found, target)

    def cost(self, point: Point) -> Cost:
        return counts.rms_norm(point.number("tokens"), point.number("hidden"), point.item_bytes)

    def resident_bytes(self, point: Point) -> float:
        return self.cost(point).bytes

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        from ridgeline_profiler.kernels import elementwise

        tokens, hidden = point.number("tokens"), point.number("hidden")
        x = env.normal(tokens, hidden, dtype=point.dtype)
        residual = env.normal(tokens, hidden, dtype=point.dtype)
        weight = env.normal(hidden, dtype=point.dtype)
        out = env.torch.empty_like(x)

        def call() -> Any:
            return elementwise.add_rms_norm(x, residual, weight, out)

        def check() -> float:
            plain = elementwise.plain_add_rms_norm(x, residual, weight)
            return env.relative_error(call(), plain)

        # In a network its input was written just before: warm is right.
        return Case("triton add_rms_norm", [call], check=check, tolerance=TOLERANCE[point.dtype])

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        tokens, hidden = point.number("tokens"), point.number("hidden")
        x, residual, weight = env.normal(tokens, hidden), env.normal(tokens, hidden), env.normal(hidden)
        return Case("numpy rms_norm", [lambda: env.rms_norm(x + residual, weight)], graph=False)
