"""What a step is made of, and its cost as the sum of its operators."""

from dataclasses import dataclass

from ridgeline_profiler import counts
from ridgeline_profiler.networks import Network, find_network
from ridgeline_profiler.operators.grouped_gemm import rank_load, route
from ridgeline_profiler.points import Cost, Point

# Layers of a graph that have weights and caches of their own, used in turn: together they are several times
# any L2 cache, so each layer streams from memory as it would with all weights there.
DISTINCT_LAYERS = 4
ROUTING = "skewed"


@dataclass(frozen=True)
class PassShape:
    """One rank's part of a step: `prefills` prompts or chunks of `new` tokens behind `past` cached ones, beside
    `decodes` sequences of `context` cached tokens."""

    network: Network
    tp: int
    layers: int
    prefills: int
    past: int
    new: int
    decodes: int
    context: int

    @property
    def tokens(self) -> int:
        return self.prefills * self.new + self.decodes

    @property
    def samples(self) -> int:
        return self.prefills + self.decodes

    @property
    def heads(self) -> tuple[int, int]:
        return self.network.rank_heads(self.tp)

    @property
    def distinct_layers(self) -> int:
        return min(self.layers, DISTINCT_LAYERS)

    @property
    def longest(self) -> int:
        return max(self.past + self.new if self.prefills else 0, self.context + 1 if self.decodes else 0)

    def chosen_experts(self) -> list[list[int]]:
        moe = self.network.moe
        assert moe is not None
        return route(self.tokens, moe.experts, moe.top_k, ROUTING)


COLUMNS = ("network", "tp", "layers", "prefills", "past", "new", "decodes", "context")


def pass_shape(point: Point) -> PassShape:
    numbers = {name: point.number(name) for name in COLUMNS[1:]}
    return PassShape(find_network(point.text("network")), **numbers)


def feed_forward_cost(shape: PassShape, item: int) -> Cost:
    network, tokens = shape.network, shape.tokens
    if network.moe is None:
        width = network.width // shape.tp
        return (
            counts.gemm(tokens, network.hidden, 2 * width, item, item)
            + counts.gated_activation(tokens, width, item)
            + counts.gemm(tokens, width, network.hidden, item, item)
        )
    moe = network.moe
    width = moe.width // shape.tp
    pairs, active = rank_load(tokens, moe.experts, moe.top_k, ROUTING, moe.experts)
    return (
        counts.gemm(tokens, network.hidden, moe.experts, item, item)
        + counts.grouped_gemm(pairs, active, network.hidden, 2 * width, item, item)
        + counts.gated_activation(pairs, width, item)
        + counts.grouped_gemm(pairs, active, width, network.hidden, item, item)
        + Cost(2.0 * pairs * network.hidden, float(item) * (pairs + tokens) * network.hidden)
    )


def layer_cost(shape: PassShape, item: int) -> Cost:
    """Two norms, QKV, rotary, cache write, attention, output product, feed-forward part."""
    network, tokens = shape.network, shape.tokens
    heads, kv_heads = shape.heads
    width = network.head_dim
    cost = counts.rms_norm(tokens, network.hidden, item) * 2
    cost += counts.gemm(tokens, network.hidden, (heads + 2 * kv_heads) * width, item, item)
    cost += counts.rotary(tokens, heads + kv_heads, width, item)
    # Keys and values: read from the product, written to the cache.
    cost += Cost(0.0, 2.0 * item * 2 * tokens * kv_heads * width)
    if shape.prefills:
        cost += counts.prefill_attention(
            shape.prefills, shape.past, shape.new, heads, kv_heads, width, width, item
        )
    if shape.decodes:
        cost += counts.decode_attention(shape.decodes, shape.context + 1, heads, kv_heads, width, item)
    cost += counts.gemm(tokens, heads * width, network.hidden, item, item)
    return cost + feed_forward_cost(shape, item)


def pass_cost(shape: PassShape, item: int) -> Cost:
    """Embedding, the layers, the last norm, logits of the sequences that sample, argmax."""
    network = shape.network
    return (
        counts.embedding(shape.tokens, network.hidden, item)
        + layer_cost(shape, item) * shape.layers
        + counts.rms_norm(shape.tokens, network.hidden, item)
        + counts.gemm(shape.samples, network.hidden, network.vocab // shape.tp, item, item)
        + counts.sampling(shape.samples, network.vocab // shape.tp, "argmax")
    )


def resident_bytes(shape: PassShape, item: int) -> float:
    """Weights and caches of the distinct layers, both vocabulary tables, and activations."""
    network = shape.network
    heads, kv_heads = shape.heads
    attention = network.hidden * (2 * heads + 2 * kv_heads) * network.head_dim
    if network.moe is None:
        feed_forward = 3 * network.hidden * network.width // shape.tp
        inner = 3 * network.width // shape.tp
    else:
        feed_forward = 3 * network.moe.experts * network.hidden * network.moe.width // shape.tp
        inner = network.moe.top_k * (3 * network.moe.width // shape.tp + network.hidden)
    cached = shape.prefills * (shape.past + shape.new) + shape.decodes * (shape.context + 1)
    layer = attention + feed_forward + 2 * cached * kv_heads * network.head_dim
    activations = shape.tokens * (4 * network.hidden + 2 * heads * network.head_dim + inner)
    vocabulary = network.vocab * (2 * network.hidden + 3 * shape.samples)
    return float(item) * (shape.distinct_layers * layer + activations + vocabulary)
