"""Causal attention of new tokens, whole prompts (past = 0) and chunks behind a cached prefix."""

from collections.abc import Sequence
from typing import Any

from ridgeline_profiler import counts, grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TorchEnv
from ridgeline_profiler.cases import Call, Case, Unsupported
from ridgeline_profiler.devices import Target
from ridgeline_profiler.networks import head_layouts
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.points import Cost, Point, point

# Whole prompts, alone and several at once.
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
TINY_LENGTHS = (8, 16, 32)
BATCHES = (1, 4)
TINY_BATCHES = (1,)
# Chunks: new tokens behind past ones.
NEW = (16, 128, 512, 2048, 8192)
TINY_NEW = (4, 8)
PAST = (1024, 4096, 16384, 65536)
TINY_PAST = (8, 16)


# Those of PyTorch's that serving engines' kernels are kin to. A chunk's mask ends at the lower right, which only the
# flash kernel has; MLA's values are narrower than its keys, which it has not.
WHOLE_KERNELS = ("CUDNN_ATTENTION", "FLASH_ATTENTION")
CHUNK_KERNELS = ("FLASH_ATTENTION",)


def attend(env: TorchEnv, q: Any, k: Any, v: Any, kernel: str) -> Any:
    """Attention by one of PyTorch's kernels. q [batch, heads, new, d], k and v [batch, kv_heads, keys, d]; the last
    query sees every key."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.bias import causal_lower_right

    function = env.torch.nn.functional.scaled_dot_product_attention
    new, keys = q.shape[2], k.shape[2]
    options: dict[str, Any] = {"enable_gqa": True} if q.shape[1] != k.shape[1] else {}
    mask: dict[str, Any] = {"is_causal": True} if new == keys else {"attn_mask": causal_lower_right(new, keys)}
    with sdpa_kernel(getattr(SDPBackend, kernel)):
        return function(q, k, v, **mask, **options)


def best_kernel(env: TorchEnv, candidates: Sequence[str], q: Any, k: Any, v: Any) -> str:
    """The fastest that runs. Grouped heads without copies came with PyTorch 2.5."""
    release = env.torch.__version__.split("+")[0].split(".")
    if (int(release[0]), int(release[1])) < (2, 5):
        raise Unsupported(f"attention over grouped heads needs PyTorch 2.5, this is {env.torch.__version__}")
    from ridgeline_profiler.kernels.tuning import fastest

    return fastest(candidates, lambda kernel: attend(env, q, k, v, kernel))


class PrefillAttention:
    name = "prefill_attention"
    columns = ("heads", "kv_heads", "head_dim", "batch", "past", "new")

    def points(self, target: Target) -> list[Point]:
        lengths = grids.leveled(grids.pick(target, LENGTHS, TINY_LENGTHS))
        batches = grids.pick(target, BATCHES, TINY_BATCHES)
        news = grids.leveled(grids.pick(target, NEW, TINY_NEW))
        pasts = grids.leveled(grids.pick(target, PAST, TINY_PAST))
        found = []
        for rank, layout in enumerate(grids.spread_order(head_layouts(target), lambda each: each)):
            base = grids.rank_level(rank)
            for new, level in lengths:
                for extra, batch in enumerate(batches):
                    found.append(self._point(target, layout, batch, 0, new, max(base, level) + extra))
            for new, new_level in news:
                for past, past_level in pasts:
                    tier = max(base, new_level, past_level) + 1
                    found.append(self._point(target, layout, 1, past, new, tier))
        return fitting(self, found, target)

    def _point(
        self, target: Target, layout: tuple[int, int, int], batch: int, past: int, new: int, tier: int
    ) -> Point:
        heads, kv_heads, head_dim = layout
        return point(
            self.name,
            target.base_dtype,
            tier,
            heads=heads,
            kv_heads=kv_heads,
            head_dim=head_dim,
            batch=batch,
            past=past,
            new=new,
        )

    def cost(self, point: Point) -> Cost:
        heads, kv_heads, head_dim, batch, past, new = (point.number(name) for name in self.columns)
        return counts.prefill_attention(
            batch, past, new, heads, kv_heads, head_dim, head_dim, point.item_bytes
        )

    def resident_bytes(self, point: Point) -> float:
        return self.cost(point).bytes

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        heads, kv_heads, head_dim, batch, past, new = (point.number(name) for name in self.columns)

        def inputs() -> tuple[Any, Any, Any]:
            q = env.normal(batch, heads, new, head_dim, dtype=point.dtype)
            k = env.normal(batch, kv_heads, past + new, head_dim, dtype=point.dtype)
            return q, k, env.normal(batch, kv_heads, past + new, head_dim, dtype=point.dtype)

        kernel = best_kernel(env, CHUNK_KERNELS if past else WHOLE_KERNELS, *inputs())

        def make() -> Call:
            own = inputs()
            return lambda: attend(env, *own, kernel)

        # A chunk's prefix comes from the cache; a whole prompt's keys were written just before.
        cold = 2.0 * point.item_bytes * batch * kv_heads * past * head_dim
        return Case(f"torch attention {kernel}", env.cold(cold, make))

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        heads, kv_heads, head_dim, batch, past, new = (point.number(name) for name in self.columns)
        sequences = [
            (
                env.normal(heads, new, head_dim),
                env.normal(kv_heads, past + new, head_dim),
                env.normal(kv_heads, past + new, head_dim),
            )
            for _ in range(batch)
        ]
        return Case(
            "numpy attention", [lambda: [env.causal_attention(*each) for each in sequences]], graph=False
        )
