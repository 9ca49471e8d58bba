"""Prefill attention of MLA: keys and values expanded per head, scores over nope + rope, values of their own width."""

from ridgeline_profiler import counts, grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TorchEnv
from ridgeline_profiler.cases import Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.networks import degrees, networks
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.operators.prefill_attention import (
    LENGTHS,
    NEW,
    PAST,
    TINY_LENGTHS,
    TINY_NEW,
    TINY_PAST,
    attend,
    best_kernel,
)
from ridgeline_profiler.points import Cost, Point, point


# The flash kernel wants values as wide as keys; they are not.
WHOLE_KERNELS = ("CUDNN_ATTENTION", "EFFICIENT_ATTENTION")
CHUNK_KERNELS = ("EFFICIENT_ATTENTION",)


class MlaPrefill:
    name = "mla_prefill"
    columns = ("heads", "nope", "rope", "value", "past", "new")

    def points(self, target: Target) -> list[Point]:
        lengths = [(new, 0, level) for new, level in grids.leveled(grids.pick(target, LENGTHS, TINY_LENGTHS))]
        for new, new_level in grids.leveled(grids.pick(target, NEW, TINY_NEW)):
            for past, past_level in grids.leveled(grids.pick(target, PAST, TINY_PAST)):
                lengths.append((new, past, max(new_level, past_level) + 1))
        found = []
        for network in networks(target):
            if network.mla is None:
                continue
            for rank, tp in enumerate(degrees(target)):
                for new, past, level in lengths:
                    found.append(
                        point(
                            self.name,
                            target.base_dtype,
                            level + min(rank, 1),
                            heads=network.heads // tp,
                            nope=network.mla.nope,
                            rope=network.mla.rope,
                            value=network.mla.value,
                            past=past,
                            new=new,
                        )
                    )
        return fitting(self, found, target)

    def cost(self, point: Point) -> Cost:
        heads, nope, rope, value, past, new = (point.number(name) for name in self.columns)
        return counts.prefill_attention(1, past, new, heads, heads, nope + rope, value, point.item_bytes)

    def resident_bytes(self, point: Point) -> float:
        return self.cost(point).bytes

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        heads, nope, rope, value, past, new = (point.number(name) for name in self.columns)
        q = env.normal(1, heads, new, nope + rope, dtype=point.dtype)
        k = env.normal(1, heads, past + new, nope + rope, dtype=point.dtype)
        v = env.normal(1, heads, past + new, value, dtype=point.dtype)
        kernel = best_kernel(env, WHOLE_KERNELS if past == 0 else CHUNK_KERNELS, q, k, v)
        # Expanded keys and values were written just before: nothing here is cold.
        return Case(f"torch attention {kernel}", [lambda: attend(env, q, k, v, kernel)])

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        heads, nope, rope, value, past, new = (point.number(name) for name in self.columns)
        q = env.normal(heads, new, nope + rope)
        k = env.normal(heads, past + new, nope + rope)
        v = env.normal(heads, past + new, value)
        return Case("numpy attention", [lambda: env.causal_attention(q, k, v)], graph=False)
