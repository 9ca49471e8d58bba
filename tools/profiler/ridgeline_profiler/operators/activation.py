"""silu(gate) * up over the rows of a fused gate-and-up product."""

from typing import Any

from ridgeline_profiler import counts, grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TOLERANCE, TorchEnv
from ridgeline_profiler.cases import Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.networks import degrees, networks
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.points import Cost, Point, point


class Activation:
    name = "activation"
    columns = ("tokens", "width")

    def points(self, target: Target) -> list[Point]:
        widths = sorted(
            {network.width // tp for network in networks(target) if network.width for tp in degrees(target)}
        )
        found = [
            point(self.name, target.base_dtype, max(level, width_level) + 1, tokens=tokens, width=width)
            for width, width_level in grids.leveled(widths)
            for tokens, level in grids.leveled(grids.tokens(target))
        ]
        return fitting(self, found, target)

    def cost(self, point: Point) -> Cost:
        return counts.gated_activation(point.number("tokens"), point.number("width"), point.item_bytes)

    def resident_bytes(self, point: Point) -> float:
        return self.cost(point).bytes

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        from ridgeline_profiler.kernels import elementwise

        tokens, width = point.number("tokens"), point.number("width")
        x = env.normal(tokens, 2 * width, dtype=point.dtype)
        out = env.torch.empty((tokens, width), dtype=x.dtype, device=env.device)

        def call() -> Any:
            return elementwise.gated_activation(x, out)

        def check() -> float:
            return env.relative_error(call(), elementwise.plain_gated_activation(x))

        return Case("triton gated_activation", [call], check=check, tolerance=TOLERANCE[point.dtype])

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        tokens, width = point.number("tokens"), point.number("width")
        x = env.normal(tokens, 2 * width)
        return Case("numpy silu", [lambda: env.silu(x[:, :width]) * x[:, width:]], graph=False)
