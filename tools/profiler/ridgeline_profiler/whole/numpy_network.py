"""The same step in plain numpy, for the CPU backend."""

from typing import Any

from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.whole.pass_shape import PassShape


class NumpyStep:
    def __init__(self, env: NumpyEnv, shape: PassShape):
        self.env, self.shape = env, shape
        network = shape.network
        heads, kv_heads = shape.heads
        width, hidden = network.head_dim, network.hidden
        self.norm = env.normal(hidden)
        self.qkv = env.normal(hidden, (heads + 2 * kv_heads) * width) * hidden**-0.5
        self.output = env.normal(heads * width, hidden) * (heads * width) ** -0.5
        positions = [shape.context] * shape.decodes + [
            shape.past + token for _ in range(shape.prefills) for token in range(shape.new)
        ]
        angles = env.np.array(positions)[:, None] * 10000.0 ** (-env.np.arange(width // 2) / (width // 2))
        self.cos = env.np.cos(angles).astype("float32")
        self.sin = env.np.sin(angles).astype("float32")
        self.caches = [
            [env.normal(kv_heads, context, width) for _ in range(2)]
            for context in [shape.context] * shape.decodes + [shape.past] * shape.prefills
        ]
        if network.moe is None:
            self.width, self.chosen = network.width // shape.tp, None
            self.up = env.normal(1, hidden, 2 * self.width) * hidden**-0.5
            self.down = env.normal(1, self.width, hidden) * self.width**-0.5
        else:
            self.width = network.moe.width // shape.tp
            self.chosen = env.np.array(shape.chosen_experts())
            self.up = env.normal(network.moe.experts, hidden, 2 * self.width) * hidden**-0.5
            self.down = env.normal(network.moe.experts, self.width, hidden) * self.width**-0.5
        self.table = env.normal(network.vocab, hidden)
        self.ids = env.integers(network.vocab, shape.tokens)
        self.lm_head = env.normal(hidden, network.vocab // shape.tp)

    def _expert(self, x: Any, expert: int) -> Any:
        both = x @ self.up[expert]
        return (self.env.silu(both[:, : self.width]) * both[:, self.width :]) @ self.down[expert]

    def _feed_forward(self, x: Any) -> Any:
        if self.chosen is None:
            return self._expert(x, 0)
        out = self.env.np.zeros_like(x)
        for expert in range(len(self.up)):
            rows = self.env.np.flatnonzero((self.chosen == expert).any(axis=1))
            if len(rows):
                out[rows] += self._expert(x[rows], expert) / self.chosen.shape[1]
        return out

    def _attention(self, qkv: Any) -> Any:
        np, shape = self.env.np, self.shape
        heads, kv_heads = shape.heads
        width = shape.network.head_dim
        rows = qkv.reshape(len(qkv), heads + 2 * kv_heads, width)
        turned = self.env.rotate(rows[:, : heads + kv_heads], self.cos, self.sin)
        queries, keys, values = turned[:, :heads], turned[:, heads:], rows[:, heads + kv_heads :]
        out, start = [], 0
        for sequence, (old_keys, old_values) in enumerate(self.caches):
            end = start + (1 if sequence < shape.decodes else shape.new)
            k = np.concatenate([old_keys, keys[start:end].transpose(1, 0, 2)], axis=1)
            v = np.concatenate([old_values, values[start:end].transpose(1, 0, 2)], axis=1)
            attended = self.env.causal_attention(queries[start:end].transpose(1, 0, 2), k, v)
            out.append(attended.transpose(1, 0, 2).reshape(end - start, heads * width))
            start = end
        return np.concatenate(out, axis=0)

    def run_layer(self, hidden: Any) -> Any:
        hidden = hidden + self._attention(self.env.rms_norm(hidden, self.norm) @ self.qkv) @ self.output
        return hidden + self._feed_forward(self.env.rms_norm(hidden, self.norm))

    def run(self) -> Any:
        hidden = self.table[self.ids]
        for _ in range(self.shape.layers):
            hidden = self.run_layer(hidden)
        shape = self.shape
        last = [shape.decodes + (prefill + 1) * shape.new - 1 for prefill in range(shape.prefills)]
        rows = self.env.rms_norm(hidden, self.norm)[list(range(shape.decodes)) + last]
        return (rows @ self.lm_head).argmax(axis=-1)
