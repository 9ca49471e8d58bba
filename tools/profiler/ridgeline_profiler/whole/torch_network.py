"""A network's step on the GPU, from the same kernels that the operators measure."""

from typing import Any

from ridgeline_profiler.backends.torch_env import TorchEnv
from ridgeline_profiler.kernels import elementwise, paged_decode
from ridgeline_profiler.operators.decode_attention import PAGE
from ridgeline_profiler.operators.grouped_gemm import MoeLayer
from ridgeline_profiler.operators.prefill_attention import CHUNK_KERNELS, WHOLE_KERNELS, attend, best_kernel
from ridgeline_profiler.whole.pass_shape import PassShape


class TorchLayer:
    """Weights and caches of one layer. Rows of a step: decodes first, then the tokens of each prefill."""

    def __init__(self, env: TorchEnv, shape: PassShape, dtype: str):
        self.env, self.shape, self.dtype = env, shape, dtype
        network = shape.network
        heads, kv_heads = shape.heads
        width, hidden = network.head_dim, network.hidden
        self.norms = [env.normal(hidden, dtype=dtype) for _ in range(2)]
        self.qkv = self._weight((heads + 2 * kv_heads) * width, hidden)
        self.output = self._weight(hidden, heads * width)
        self.moe: MoeLayer | None = None
        if network.moe is None:
            self.gate_up = self._weight(2 * network.width // shape.tp, hidden)
            self.down = self._weight(hidden, network.width // shape.tp)
        else:
            moe = network.moe
            self.moe = MoeLayer(
                env, moe.experts, hidden, moe.width // shape.tp, moe.experts, moe.top_k, dtype
            )
        if shape.decodes:
            self._make_decode_cache(heads, kv_heads, width)
        if shape.prefills:
            size = (shape.prefills, kv_heads, shape.past + shape.new, width)
            self.prefill_cache = (env.normal(*size, dtype=dtype), env.normal(*size, dtype=dtype))
            query = env.normal(shape.prefills, heads, shape.new, width, dtype=dtype)
            kernels = CHUNK_KERNELS if shape.past else WHOLE_KERNELS
            self.prefill_kernel = best_kernel(env, kernels, query, *self.prefill_cache)

    def _weight(self, rows: int, columns: int) -> Any:
        return self.env.normal(rows, columns, dtype=self.dtype, scale=columns**-0.5)

    def _make_decode_cache(self, heads: int, kv_heads: int, width: int) -> None:
        """The step's own token is the last of context + 1."""
        shape = self.shape
        self.paged = paged_decode.random_inputs(
            self.env, shape.decodes, shape.context + 1, heads, kv_heads, width, PAGE, self.dtype
        )
        self.splits = paged_decode.best_splits(self.paged)
        last_pages = self.paged.tables[:, shape.context // PAGE].long()
        self.slots = last_pages * PAGE + shape.context % PAGE

    def tune(self, chosen: Any) -> None:
        """What must be decided before a graph captures the layer."""
        if self.moe is not None:
            self.moe.tune(
                self.env.normal(self.shape.tokens, self.shape.network.hidden, dtype=self.dtype), chosen
            )

    def run(self, hidden: Any, residual: Any, step: "TorchStep") -> Any:
        """The layer's contribution; the residual is updated in place."""
        torch = self.env.torch
        linear = torch.nn.functional.linear
        heads, kv_heads = self.shape.heads
        x = elementwise.add_rms_norm(hidden, residual, self.norms[0], torch.empty_like(hidden))
        qkv = linear(x, self.qkv)
        elementwise.rotate(qkv, step.positions, step.cosines, step.sines, heads + kv_heads)
        out = linear(self._attention(qkv), self.output)
        x = elementwise.add_rms_norm(out, residual, self.norms[1], torch.empty_like(out))
        if self.moe is not None:
            return self.moe.run(x, step.chosen)
        both = linear(x, self.gate_up)
        inner = torch.empty((both.shape[0], both.shape[1] // 2), dtype=both.dtype, device=both.device)
        return linear(elementwise.gated_activation(both, inner), self.down)

    def _attention(self, qkv: Any) -> Any:
        torch, shape = self.env.torch, self.shape
        heads, kv_heads = shape.heads
        width = shape.network.head_dim
        queries = qkv[:, : heads * width].unflatten(1, (heads, width))
        keys = qkv[:, heads * width : (heads + kv_heads) * width].unflatten(1, (kv_heads, width))
        values = qkv[:, (heads + kv_heads) * width :].unflatten(1, (kv_heads, width))
        out = torch.empty((qkv.shape[0], heads, width), dtype=qkv.dtype, device=qkv.device)
        decodes = shape.decodes
        if decodes:
            self.paged.keys.view(-1, kv_heads, width).index_copy_(0, self.slots, keys[:decodes])
            self.paged.values.view(-1, kv_heads, width).index_copy_(0, self.slots, values[:decodes])
            self.paged.queries = queries[:decodes]
            self.paged.out = out[:decodes]
            paged_decode.attend(self.paged, self.splits)
        if shape.prefills:
            rows = (shape.prefills, shape.new)
            for cache, new in zip(self.prefill_cache, (keys, values)):
                cache[:, :, shape.past :].copy_(new[decodes:].unflatten(0, rows).transpose(1, 2))
            query = queries[decodes:].unflatten(0, rows).transpose(1, 2)
            attended = attend(self.env, query, *self.prefill_cache, self.prefill_kernel)
            out[decodes:].unflatten(0, rows).copy_(attended.transpose(1, 2))
        return out.flatten(1)


class TorchStep:
    """A whole step: `run` computes it once, and can be captured."""

    def __init__(self, env: TorchEnv, shape: PassShape, dtype: str):
        torch = env.torch
        self.env, self.shape = env, shape
        network = shape.network
        self.layers = [TorchLayer(env, shape, dtype) for _ in range(shape.distinct_layers)]
        self.cosines, self.sines = elementwise.rotary_tables(env, shape.longest, network.head_dim)
        positions = [shape.context] * shape.decodes + [
            shape.past + token for _ in range(shape.prefills) for token in range(shape.new)
        ]
        self.positions = env.tensor(positions, torch.int32)
        self.chosen = env.tensor(shape.chosen_experts(), torch.int32) if network.moe else None
        for layer in self.layers:
            layer.tune(self.chosen)
        self.tokens = env.integers(network.vocab, shape.tokens)
        self.table = env.normal(network.vocab, network.hidden, dtype=dtype)
        self.last_norm = env.normal(network.hidden, dtype=dtype)
        self.lm_head = env.normal(
            network.vocab // shape.tp, network.hidden, dtype=dtype, scale=network.hidden**-0.5
        )
        last_rows = [shape.decodes + (prefill + 1) * shape.new - 1 for prefill in range(shape.prefills)]
        self.sampled = env.tensor(list(range(shape.decodes)) + last_rows, torch.int64)

    def run_layer(self, index: int, hidden: Any, residual: Any) -> Any:
        return self.layers[index % len(self.layers)].run(hidden, residual, self)

    def run(self) -> Any:
        torch = self.env.torch
        hidden = torch.nn.functional.embedding(self.tokens, self.table)
        residual = torch.zeros_like(hidden)
        for index in range(self.shape.layers):
            hidden = self.run_layer(index, hidden, residual)
        out = elementwise.add_rms_norm(hidden, residual, self.last_norm, torch.empty_like(hidden))
        logits = torch.nn.functional.linear(out.index_select(0, self.sampled), self.lm_head)
        return logits.float().argmax(dim=-1)
