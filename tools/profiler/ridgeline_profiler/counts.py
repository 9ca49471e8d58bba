"""Operations and bytes of each operator, in closed form. Shapes are those of one rank.

Sizes: `item` is the bytes of a weight or cache element; activations that leave an operator are 16 bits wide on a
GPU (`ACTIVATION_BYTES`), whatever the weights are.
"""

from ridgeline_profiler.points import Cost

ACTIVATION_BYTES = 2
# Token ids and indices.
INDEX_BYTES = 4
# Logits are converted to 32 bits before sampling, as vLLM does.
LOGIT_BYTES = 4


def gemm(m: int, k: int, n: int, item: int, out: int = ACTIVATION_BYTES) -> Cost:
    """[m,k] x [k,n]: a multiply-add per (m,n,k); both inputs in `item` bytes, the output in `out`."""
    return Cost(2.0 * m * k * n, float(item) * (k * n + m * k) + float(out) * m * n)


def prefill_attention(
    batch: int, past: int, new: int, heads: int, kv_heads: int, qk_dim: int, v_dim: int, item: int
) -> Cost:
    """Causal attention of `new` tokens that follow `past` cached ones.

    Query i sees past + i + 1 keys, which is new*past + new*(new+1)/2 pairs; the field counts new^2/2 (the causal
    half), so that a whole prompt of S tokens has 4*heads*dim*S^2/2 operations in every published table. Keys and
    values of past and new are read, queries read, outputs written.
    """
    pairs = new * past + new * new / 2.0
    flops = 2.0 * batch * heads * (qk_dim + v_dim) * pairs
    kv = kv_heads * (qk_dim + v_dim) * (past + new)
    io = new * heads * (qk_dim + v_dim)
    return Cost(flops, float(item) * batch * (kv + io))


def decode_attention(batch: int, context: int, heads: int, kv_heads: int, head_dim: int, item: int) -> Cost:
    """One query per sequence against `context` cached keys: two products of heads*head_dim per key."""
    flops = 4.0 * batch * heads * head_dim * context
    kv = 2 * kv_heads * head_dim * context
    io = 2 * heads * head_dim
    return Cost(flops, float(item) * batch * (kv + io))


def mla_decode(batch: int, context: int, heads: int, latent: int, rope: int, item: int) -> Cost:
    """Absorbed MLA: scores over latent+rope, values over latent; one vector of latent+rope per cached token,
    shared by all heads and read once."""
    flops = 2.0 * batch * heads * context * (2 * latent + rope)
    kv = (latent + rope) * context
    io = heads * (2 * latent + rope)
    return Cost(flops, float(item) * batch * (kv + io))


def grouped_gemm(pairs: int, active_experts: int, k: int, n: int, item: int, out: int = ACTIVATION_BYTES) -> Cost:
    """`pairs` rows (token x chosen expert), each times its expert's [k,n]; every active expert is read once."""
    return Cost(2.0 * pairs * k * n, float(item) * (active_experts * k * n + pairs * k) + float(out) * pairs * n)


def rms_norm(tokens: int, hidden: int, item: int) -> Cost:
    """Adds the residual and normalises: reads both, writes both, reads the scale. Operations: add, square, sum,
    two products per element."""
    return Cost(5.0 * tokens * hidden, float(item) * (4 * tokens * hidden + hidden))


def rotary(tokens: int, heads: int, head_dim: int, item: int) -> Cost:
    """In place: reads and writes every element of `heads` heads (queries and keys), and a row of cosines and
    sines per token in 32 bits. Two products and a sum per element."""
    elements = tokens * heads * head_dim
    return Cost(3.0 * elements, float(item) * 2 * elements + 4.0 * tokens * head_dim)


def gated_activation(tokens: int, width: int, item: int) -> Cost:
    """silu(gate) * up: reads two, writes one. Operations: exponential, sum, division, two products."""
    return Cost(5.0 * tokens * width, float(item) * 3 * tokens * width)


def embedding(tokens: int, hidden: int, item: int) -> Cost:
    """Copies a row per token."""
    return Cost(0.0, float(item) * 2 * tokens * hidden + float(INDEX_BYTES) * tokens)


def copy(size: int) -> Cost:
    """Bytes read plus bytes written."""
    return Cost(0.0, 2.0 * size)


# Passes over the 32-bit logits, reads plus writes, that a method must make at least.
SAMPLING_PASSES = {"argmax": 1, "top_k_top_p": 4, "penalties": 5}


def sampling(sequences: int, vocab: int, method: str) -> Cost:
    """`argmax` reads the logits. `top_k_top_p` reads, sorts (a read and a write at least) and reads for the draw.
    `penalties` reads logits, prompt mask (counted as 32 bits) and output counts, writes logits, and reads them for
    the argmax. One operation per pass and element."""
    passes = SAMPLING_PASSES[method]
    return Cost(float(passes) * sequences * vocab, float(LOGIT_BYTES) * passes * sequences * vocab)


def collective(kind: str, size: int, ranks: int, item: int) -> Cost:
    """Bytes that one rank must send over its link; an all-reduce also adds (n-1)/n of its elements.

    All-reduce: 2(n-1)/n of the message (scatter, then gather); all-to-all: (n-1)/n of it."""
    share = (ranks - 1) / ranks
    if kind == "all_reduce":
        return Cost(share * size / item, 2.0 * share * size)
    if kind == "all_to_all":
        return Cost(0.0, share * size)
    raise ValueError(f"no collective '{kind}'")
