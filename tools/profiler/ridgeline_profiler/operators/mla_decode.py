"""Decode attention of MLA with absorbed projections: every head attends to one shared latent per cached token."""

from typing import Any

from ridgeline_profiler import counts, grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TOLERANCE, TorchEnv
from ridgeline_profiler.cases import Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.networks import degrees, networks
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.operators.decode_attention import BATCHES, CONTEXTS, PAGE, TINY_BATCHES, TINY_CONTEXTS
from ridgeline_profiler.points import Cost, Point, point


class MlaDecode:
    name = "mla_decode"
    columns = ("heads", "latent", "rope", "batch", "context")

    def points(self, target: Target) -> list[Point]:
        batches = grids.leveled(grids.pick(target, BATCHES, TINY_BATCHES))
        contexts = grids.leveled(grids.pick(target, CONTEXTS, TINY_CONTEXTS))
        found = [
            point(
                self.name,
                target.base_dtype,
                max(batch_level, context_level) + min(rank, 1),
                heads=network.heads // tp,
                latent=network.mla.latent,
                rope=network.mla.rope,
                batch=batch,
                context=context,
            )
            for network in networks(target)
            if network.mla is not None
            for rank, tp in enumerate(degrees(target))
            for batch, batch_level in batches
            for context, context_level in contexts
        ]
        return fitting(self, found, target)

    def cost(self, point: Point) -> Cost:
        heads, latent, rope, batch, context = (point.number(name) for name in self.columns)
        return counts.mla_decode(batch, context, heads, latent, rope, point.item_bytes)

    def resident_bytes(self, point: Point) -> float:
        return self.cost(point).bytes

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        from ridgeline_profiler.kernels import mla_decode

        heads, latent, rope, batch, context = (point.number(name) for name in self.columns)

        def make() -> mla_decode.Inputs:
            return mla_decode.random_inputs(env, batch, context, heads, latent, rope, PAGE, point.dtype)

        first = make()
        splits = mla_decode.best_splits(first)
        sets = [first] + [
            make() for _ in range(env.copies(float(point.item_bytes) * batch * context * (latent + rope)) - 1)
        ]
        calls = [lambda inputs=inputs: mla_decode.attend(inputs, splits) for inputs in sets]

        def check() -> float:
            return env.relative_error(mla_decode.attend(first, splits), mla_decode.plain(first))

        return Case("triton mla_decode", calls, check=check, tolerance=TOLERANCE[point.dtype])

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        heads, latent, rope, batch, context = (point.number(name) for name in self.columns)
        cache = env.normal(batch, context, latent + rope)
        queries = env.normal(batch, heads, latent + rope)
        scale = env.np.float32((latent + rope) ** -0.5)

        def call() -> Any:
            scores = queries @ cache.transpose(0, 2, 1) * scale
            scores = env.np.exp(scores - scores.max(axis=-1, keepdims=True))
            return (scores / scores.sum(axis=-1, keepdims=True)) @ cache[..., :latent]

        return Case("numpy attention", [call], graph=False)
