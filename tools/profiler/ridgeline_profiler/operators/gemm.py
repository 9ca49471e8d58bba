"""Dense matrix products: [m,k] activations times [k,n] weights, as torch.nn.functional.linear."""

from typing import Any

from ridgeline_profiler import counts, grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TOLERANCE, TorchEnv
from ridgeline_profiler.cases import Call, Case, Unsupported
from ridgeline_profiler.devices import Target
from ridgeline_profiler.networks import degrees, gemm_shapes, networks
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.points import Cost, Point, point

# FP8 kernels work on blocks of this many inputs, and cuBLAS wants multiples of 16.
BLOCK = 128
FP8_MULTIPLE = 16


class Gemm:
    name = "gemm"
    columns = ("m", "k", "n")

    def points(self, target: Target) -> list[Point]:
        shapes: dict[tuple[int, int], None] = {}
        for network in networks(target):
            for tp in degrees(target):
                shapes.update(dict.fromkeys(gemm_shapes(network, tp)))
        found = []
        for rank, (k, n) in enumerate(grids.spread_order(list(shapes), lambda shape: shape)):
            for m, level in grids.leveled(grids.tokens(target)):
                for extra, dtype in enumerate(target.dtypes):
                    if self._has_kernel(dtype, k, n):
                        tier = max(level, grids.rank_level(rank)) + min(extra, 1)
                        found.append(point(self.name, dtype, tier, m=m, k=k, n=n))
        return fitting(self, found, target)

    @staticmethod
    def _has_kernel(dtype: str, k: int, n: int) -> bool:
        if dtype == "fp8_block":
            return k % BLOCK == 0 and n % BLOCK == 0
        return dtype != "fp8" or (k % FP8_MULTIPLE == 0 and n % FP8_MULTIPLE == 0)

    def cost(self, point: Point) -> Cost:
        out = 4 if point.dtype == "fp32" else counts.ACTIVATION_BYTES
        return counts.gemm(point.number("m"), point.number("k"), point.number("n"), point.item_bytes, out)

    def resident_bytes(self, point: Point) -> float:
        return self.cost(point).bytes

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        if point.dtype == "fp8":
            return self._per_tensor(point, env)
        if point.dtype == "fp8_block":
            return self._per_block(point, env)
        m, k, n = (point.number(name) for name in self.columns)
        linear = env.torch.nn.functional.linear
        x = env.normal(m, k, dtype=point.dtype)

        def make() -> Call:
            weight = env.normal(n, k, dtype=point.dtype, scale=k**-0.5)
            return lambda: linear(x, weight)

        return Case("torch.nn.functional.linear", env.cold(point.item_bytes * k * n, make))

    def _per_tensor(self, point: Point, env: TorchEnv) -> Case:
        """Activations already quantised: their conversion is the element-wise operator's."""
        torch = env.torch
        if env.dtype("fp8") is None or not hasattr(torch, "_scaled_mm"):
            raise Unsupported("this PyTorch has no float8 matrix product")
        m, k, n = (point.number(name) for name in self.columns)
        x = env.normal(m, k, dtype="fp8")
        one = env.tensor(1.0, torch.float32)

        def make() -> Call:
            weight = env.normal(n, k, dtype="fp8").t()
            return lambda: torch._scaled_mm(x, weight, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

        return Case("torch._scaled_mm", env.cold(float(k * n), make))

    def _per_block(self, point: Point, env: TorchEnv) -> Case:
        if env.dtype("fp8") is None:
            raise Unsupported("this PyTorch has no float8")
        from ridgeline_profiler.kernels import block_fp8_gemm

        torch = env.torch
        m, k, n = (point.number(name) for name in self.columns)
        x = env.normal(m, k, dtype="fp8")
        x_scale = torch.rand(m, k // BLOCK, dtype=torch.float32, device=env.device) + 0.5

        def inputs() -> tuple[Any, Any]:
            weight = env.normal(n, k, dtype="fp8")
            return weight, torch.rand(n // BLOCK, k // BLOCK, dtype=torch.float32, device=env.device) + 0.5

        first = inputs()
        config = block_fp8_gemm.best_config(x, x_scale, *first)

        def make() -> Call:
            weight, scale = inputs()
            return lambda: block_fp8_gemm.multiply(x, x_scale, weight, scale, config)

        def check() -> float:
            out = block_fp8_gemm.multiply(x, x_scale, *first, config)
            return env.relative_error(out, block_fp8_gemm.plain(x, x_scale, *first))

        calls = env.cold(float(k * n), make)
        return Case("triton block_fp8_gemm", calls, check=check, tolerance=TOLERANCE[point.dtype])

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        m, k, n = (point.number(name) for name in self.columns)
        x, weight = env.normal(m, k), env.normal(k, n)
        return Case("numpy.matmul", [lambda: x @ weight], graph=False)
