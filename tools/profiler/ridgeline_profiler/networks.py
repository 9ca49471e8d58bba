"""The networks whose shapes are measured. Numbers are those of their published config.json."""

from dataclasses import dataclass

from ridgeline_profiler.devices import Target

TENSOR_PARALLEL = (1, 2, 4, 8)


@dataclass(frozen=True)
class Moe:
    experts: int
    top_k: int
    width: int


@dataclass(frozen=True)
class Mla:
    """Multi-head latent attention: what is cached is one vector of latent + rope per token."""

    latent: int
    rope: int
    # Per head, when a prompt is computed with keys and values expanded.
    nope: int
    value: int


@dataclass(frozen=True)
class Network:
    name: str
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    # Width of the dense feed-forward part; 0 where every layer is MoE.
    width: int
    vocab: int
    layers: int
    moe: Moe | None = None
    mla: Mla | None = None

    def rank_heads(self, tp: int) -> tuple[int, int]:
        """Query and KV heads of one rank; KV heads are copied when there are fewer than ranks."""
        return self.heads // tp, max(1, self.kv_heads // tp)


GPU_NETWORKS = (
    Network("llama-3.1-8b", 4096, 32, 8, 128, 14336, 128256, 32),
    Network("llama-2-7b", 4096, 32, 32, 128, 11008, 32000, 32),
    Network("llama-3.1-70b", 8192, 64, 8, 128, 28672, 128256, 80),
    Network("qwen2.5-7b", 3584, 28, 4, 128, 18944, 152064, 28),
    Network("mistral-nemo-12b", 5120, 32, 8, 128, 14336, 131072, 40),
    Network("qwen3-14b", 5120, 40, 8, 128, 17408, 151936, 40),
    Network("qwen3-32b", 5120, 64, 8, 128, 25600, 151936, 64),
    Network("yi-34b", 7168, 56, 8, 128, 20480, 64000, 60),
    Network("mixtral-8x7b", 4096, 32, 8, 128, 0, 32000, 32, moe=Moe(8, 2, 14336)),
    Network("qwen3-30b-a3b", 2048, 32, 4, 128, 0, 151936, 48, moe=Moe(128, 8, 768)),
    # 61 layers, the first three dense; its attention is planned as MLA alone.
    Network(
        "deepseek-v3",
        7168,
        128,
        128,
        192,
        18432,
        129280,
        61,
        moe=Moe(256, 8, 2048),
        mla=Mla(latent=512, rope=64, nope=128, value=128),
    ),
)

# Heads no narrower than 16: Triton's matrix products take no less.
TINY_NETWORKS = (
    Network("tiny-gqa", 64, 4, 2, 16, 96, 320, 2),
    Network("tiny-mha", 32, 4, 4, 16, 64, 256, 2),
    Network("tiny-moe", 32, 4, 1, 16, 0, 256, 2, moe=Moe(8, 2, 16)),
    Network("tiny-mla", 64, 8, 8, 32, 96, 320, 2, mla=Mla(latent=32, rope=16, nope=16, value=16)),
)

# Whole passes: grouped-query, multi-head, and mixture of experts.
WHOLE_PASS = {
    "gpu": ("llama-3.1-8b", "llama-2-7b", "qwen3-30b-a3b"),
    "tiny": ("tiny-gqa", "tiny-mha", "tiny-moe"),
}


def networks(target: Target) -> tuple[Network, ...]:
    return TINY_NETWORKS if target.is_tiny else GPU_NETWORKS


def degrees(target: Target) -> tuple[int, ...]:
    """Tensor-parallel degrees whose shards are measured. Shards are shapes: one GPU measures them all."""
    return (1, 2) if target.is_tiny else TENSOR_PARALLEL


def whole_pass_networks(target: Target) -> tuple[Network, ...]:
    names = WHOLE_PASS[target.scale]
    return tuple(network for name in names for network in networks(target) if network.name == name)


def find_network(name: str) -> Network:
    for network in GPU_NETWORKS + TINY_NETWORKS:
        if network.name == name:
            return network
    raise KeyError(name)


def gemm_shapes(network: Network, tp: int) -> list[tuple[int, int]]:
    """(k, n) of the matrix products of a layer on one rank: fused QKV, output, fused gate and up, down.

    The projections of MLA are left out (they are ordinary shapes of other networks), and so are the experts of
    an MoE layer (grouped_gemm.py)."""
    heads, kv_heads = network.rank_heads(tp)
    shapes = []
    if network.mla is None:
        shapes.append((network.hidden, (heads + 2 * kv_heads) * network.head_dim))
        shapes.append((heads * network.head_dim, network.hidden))
    if network.width:
        shapes.append((network.hidden, 2 * network.width // tp))
        shapes.append((network.width // tp, network.hidden))
    return shapes


def head_layouts(target: Target) -> list[tuple[int, int, int]]:
    """Distinct (heads, kv_heads, head_dim) of a rank, in the order of the networks."""
    layouts: dict[tuple[int, int, int], None] = {}
    for network in networks(target):
        if network.mla is None:
            for tp in degrees(target):
                layouts[(*network.rank_heads(tp), network.head_dim)] = None
    return list(layouts)
