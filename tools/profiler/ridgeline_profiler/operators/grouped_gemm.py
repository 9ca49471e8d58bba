"""MoE experts of one rank: the fused gate-and-up product, the down product, and the whole layer with its routing.

`routing` is `balanced` (every expert gets the same share) or `skewed` (popularity falls as rank^-0.8, and a token's
choices are distinct). Tensor parallelism narrows the width; expert parallelism keeps 1/ep of the experts.
"""

import itertools
import random
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ridgeline_profiler import counts, grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TOLERANCE, TorchEnv
from ridgeline_profiler.cases import Call, Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.networks import degrees, networks
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.points import Cost, Point, point

if TYPE_CHECKING:
    from ridgeline_profiler.kernels import grouped_gemm as kernel

TOKENS = (1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
TINY_TOKENS = (1, 8)
PARTS = ("layer", "up", "down")
ROUTINGS = ("balanced", "skewed")
# Popularity of the r-th expert is r^-SKEW; a mild skew, as measured routers show.
SKEW = 0.8
ROUTING_SEED = 20260101


@lru_cache(maxsize=None)
def route(tokens: int, experts: int, top_k: int, routing: str) -> list[list[int]]:
    """The experts of every token: the same for the same arguments, on any machine."""
    if routing == "balanced":
        return [[(token * top_k + turn) % experts for turn in range(top_k)] for token in range(tokens)]
    dice = random.Random(ROUTING_SEED)
    popularity = list(itertools.accumulate((rank + 1) ** -SKEW for rank in range(experts)))
    chosen = []
    for _ in range(tokens):
        mine: dict[int, None] = {}
        while len(mine) < top_k:
            drawn = dice.choices(range(experts), cum_weights=popularity, k=top_k - len(mine))
            mine.update(dict.fromkeys(drawn))
        chosen.append(list(mine))
    return chosen


@lru_cache(maxsize=None)
def rank_load(tokens: int, experts: int, top_k: int, routing: str, local: int) -> tuple[int, int]:
    """Pairs that a rank with the first `local` experts computes, and how many of its experts have any. Under skewed
    routing those are the popular ones: the rank that the others wait for."""
    mine = [expert for row in route(tokens, experts, top_k, routing) for expert in row if expert < local]
    return len(mine), len(set(mine))


class GroupedGemm:
    name = "grouped_gemm"
    columns = ("part", "hidden", "width", "experts", "local_experts", "top_k", "tokens", "routing")

    def points(self, target: Target) -> list[Point]:
        tokens = grids.leveled(grids.pick(target, TOKENS, TINY_TOKENS))
        dtypes = [dtype for dtype in target.dtypes if dtype != "fp8_block"]
        found = []
        for number, (hidden, width, experts, local, top_k) in enumerate(self._shards(target)):
            for count, level in tokens:
                for later, dtype in enumerate(dtypes):
                    for part in PARTS:
                        for uneven, routing in enumerate(ROUTINGS):
                            tier = max(level, grids.rank_level(number)) + later + uneven + (part != "layer")
                            found.append(
                                point(
                                    self.name,
                                    dtype,
                                    tier,
                                    part=part,
                                    hidden=hidden,
                                    width=width,
                                    experts=experts,
                                    local_experts=local,
                                    top_k=top_k,
                                    tokens=count,
                                    routing=routing,
                                )
                            )
        return fitting(self, found, target)

    @staticmethod
    def _shards(target: Target) -> list[tuple[int, int, int, int, int]]:
        """(hidden, width, experts, local experts, top_k): every TP degree, and the largest EP degree."""
        shards: dict[tuple[int, int, int, int, int], None] = {}
        widest = max(degrees(target))
        for network in networks(target):
            if network.moe is None:
                continue
            moe = network.moe
            for tp in degrees(target):
                shards[(network.hidden, moe.width // tp, moe.experts, moe.experts, moe.top_k)] = None
            shards[(network.hidden, moe.width, moe.experts, moe.experts // widest, moe.top_k)] = None
        return list(shards)

    @staticmethod
    def chosen(point: Point) -> list[list[int]]:
        return route(
            point.number("tokens"), point.number("experts"), point.number("top_k"), point.text("routing")
        )

    def load(self, point: Point) -> tuple[int, int]:
        return rank_load(
            point.number("tokens"),
            point.number("experts"),
            point.number("top_k"),
            point.text("routing"),
            point.number("local_experts"),
        )

    def cost(self, point: Point) -> Cost:
        hidden, width = point.number("hidden"), point.number("width")
        pairs, active = self.load(point)
        item = point.item_bytes
        out = item if point.dtype == "fp32" else counts.ACTIVATION_BYTES
        up = counts.grouped_gemm(pairs, active, hidden, 2 * width, item, out)
        down = counts.grouped_gemm(pairs, active, width, hidden, item, out)
        if point.text("part") == "up":
            return up
        if point.text("part") == "down":
            return down
        tokens = point.number("tokens")
        reduce = Cost(2.0 * pairs * hidden, float(out) * (pairs + tokens) * hidden)
        return up + counts.gated_activation(pairs, width, out) + down + reduce

    def resident_bytes(self, point: Point) -> float:
        """All experts of the rank, active or not, and a row per pair."""
        hidden, width = point.number("hidden"), point.number("width")
        pairs = point.number("tokens") * point.number("top_k")
        weights = 3.0 * point.number("local_experts") * hidden * width * point.item_bytes
        return weights + 4.0 * pairs * (2 * hidden + 3 * width)

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        from ridgeline_profiler.kernels import grouped_gemm as kernel

        hidden, width = point.number("hidden"), point.number("width")
        part, top_k, tokens = point.text("part"), point.number("top_k"), point.number("tokens")
        chosen = env.tensor(self.chosen(point), env.torch.int32)
        _, active = self.load(point)
        if part == "layer":
            layers = env.cold(
                3.0 * active * hidden * width * point.item_bytes,
                lambda: MoeLayer(
                    env, point.number("local_experts"), hidden, width, point.number("experts"), top_k, point.dtype
                ).on(env.normal(tokens, hidden, dtype=point.dtype), chosen),
            )
            return Case("triton grouped_gemm in a whole layer", layers)
        rows, k, n = (tokens, hidden, 2 * width) if part == "up" else (tokens * top_k, width, hidden)
        x = env.normal(rows, k, dtype=point.dtype)
        out = env.torch.zeros(
            (tokens * top_k, n), dtype=env.activation_dtype(point.dtype), device=env.device
        )
        scales = env.torch.ones(point.number("local_experts"), dtype=env.torch.float32, device=env.device)

        def weights() -> Any:
            return env.normal(point.number("local_experts"), n, k, dtype=point.dtype, scale=k**-0.5)

        first = weights()
        config = kernel.best_config(x, first, scales, chosen, out)
        routing = kernel.align(chosen, point.number("local_experts"), config.rows)

        def make() -> Call:
            own = weights()
            return lambda: kernel.multiply(x, own, scales, routing, out, config)

        def check() -> float:
            result = kernel.multiply(x, first, scales, routing, out, config)
            return env.relative_error(result, kernel.plain(x, first, scales, chosen, out))

        calls = env.cold(float(point.item_bytes) * active * k * n, make)
        return Case("triton grouped_gemm", calls, check=check, tolerance=TOLERANCE[point.dtype])

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        np = env.np
        hidden, width, top_k = point.number("hidden"), point.number("width"), point.number("top_k")
        local, part = point.number("local_experts"), point.text("part")
        chosen = np.array(self.chosen(point)).reshape(-1)
        rows = [np.flatnonzero(chosen == expert) for expert in range(local)]
        up = env.normal(local, hidden, 2 * width)
        down = env.normal(local, width, hidden)
        tokens = env.normal(point.number("tokens"), hidden)
        inner = env.normal(len(chosen), width)

        def multiply(x: Any, weights: Any, out_width: int) -> Any:
            out = np.zeros((len(chosen), out_width), dtype=np.float32)
            for expert, mine in enumerate(rows):
                if len(mine):
                    out[mine] = x[mine] @ weights[expert]
            return out

        def layer() -> Any:
            both = multiply(np.repeat(tokens, top_k, axis=0), up, 2 * width)
            gated = env.silu(both[:, :width]) * both[:, width:]
            return multiply(gated, down, hidden).reshape(-1, top_k, hidden).mean(axis=1)

        calls = {
            "up": lambda: multiply(np.repeat(tokens, top_k, axis=0), up, 2 * width),
            "down": lambda: multiply(inner, down, hidden),
            "layer": layer,
        }
        return Case("numpy.matmul by expert", [calls[part]], graph=False)


class MoeLayer:
    """Router, experts and weighted sum of one rank; also a part of whole passes."""

    def __init__(
        self, env: TorchEnv, local: int, hidden: int, width: int, experts: int, top_k: int, dtype: str
    ):
        self.env = env
        self.top_k = top_k
        self.local = local
        self.dtype = dtype
        self.router = env.normal(experts, hidden, dtype="fp32" if dtype == "fp32" else "bf16", scale=hidden**-0.5)
        self.up = env.normal(local, 2 * width, hidden, dtype=dtype, scale=hidden**-0.5)
        self.down = env.normal(local, hidden, width, dtype=dtype, scale=width**-0.5)
        self.scales = env.torch.ones(local, dtype=env.torch.float32, device=env.device)
        self.configs: tuple[kernel.Config, kernel.Config] | None = None

    def on(self, x: Any, chosen: Any) -> Any:
        """A call that computes the layer for `x` with the experts `chosen`, tuned for their number."""
        self.tune(x, chosen)
        return lambda: self.run(x, chosen)

    def tune(self, x: Any, chosen: Any) -> None:
        """Chooses launch configurations; must come before a graph captures `run`."""
        from ridgeline_profiler.kernels import grouped_gemm as kernel

        torch = self.env.torch
        pairs, width = chosen.numel(), self.up.shape[1] // 2
        options = {"dtype": self.env.activation_dtype(self.dtype), "device": self.env.device}
        up_out = torch.zeros((pairs, 2 * width), **options)
        down_out = torch.zeros((pairs, x.shape[1]), **options)
        inner = self.env.normal(pairs, width, dtype=self.dtype)
        self.configs = (
            kernel.best_config(x, self.up, self.scales, chosen, up_out),
            kernel.best_config(inner, self.down, self.scales, chosen, down_out),
        )

    def run(self, x: Any, chosen: Any) -> Any:
        """The router's own choice is computed and thrown away: `chosen` sets the skew."""
        from ridgeline_profiler.kernels import elementwise
        from ridgeline_profiler.kernels import grouped_gemm as kernel

        if self.configs is None:
            raise RuntimeError("tune() comes before run()")
        torch = self.env.torch
        logits = torch.nn.functional.linear(x.to(self.router.dtype), self.router)
        weights, _ = torch.topk(torch.softmax(logits.float(), dim=-1), self.top_k, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        up_config, down_config = self.configs
        up_rows = kernel.align(chosen, self.local, up_config.rows)
        down_rows = (
            up_rows if down_config.rows == up_config.rows else kernel.align(chosen, self.local, down_config.rows)
        )
        pairs, width = chosen.numel(), self.up.shape[1] // 2
        options = {"dtype": self.env.activation_dtype(self.dtype), "device": self.env.device}
        both = kernel.multiply(
            x, self.up, self.scales, up_rows, torch.empty((pairs, 2 * width), **options), up_config
        )
        inner = elementwise.gated_activation(both, torch.empty((pairs, width), **options))
        # Pairs of other ranks must add nothing.
        out = torch.zeros((pairs, x.shape[1]), **options)
        kernel.multiply(inner.to(self.down.dtype), self.down, self.scales, down_rows, out, down_config)
        summed = torch.bmm(weights.to(out.dtype)[:, None, :], out.view(-1, self.top_k, x.shape[1]))
        return summed[:, 0]
