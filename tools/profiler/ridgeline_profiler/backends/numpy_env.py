"""What numpy cases are built from. numpy is imported when an environment is made, not before."""

from typing import Any


class NumpyEnv:
    """Random inputs, and the plain forms of what networks are made of."""

    def __init__(self, seed: int):
        import numpy

        self.np: Any = numpy
        self._random = numpy.random.default_rng(seed)

    def normal(self, *shape: int) -> Any:
        return self._random.standard_normal(shape, dtype=self.np.float32)

    def integers(self, below: int, *shape: int) -> Any:
        return self._random.integers(0, below, size=shape)

    def causal_attention(self, q: Any, k: Any, v: Any) -> Any:
        """q [heads, new, d], k [kv_heads, keys, d], v [kv_heads, keys, dv]; the last query sees every key."""
        np = self.np
        heads, new, width = q.shape
        group = heads // k.shape[0]
        keys = k.shape[1]
        scores = q @ np.repeat(k, group, axis=0).transpose(0, 2, 1) / np.sqrt(np.float32(width))
        visible = np.arange(keys)[None, :] <= keys - new + np.arange(new)[:, None]
        scores = np.where(visible, scores, -np.inf)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return (scores / scores.sum(axis=-1, keepdims=True)) @ np.repeat(v, group, axis=0)

    def silu(self, x: Any) -> Any:
        return x / (1.0 + self.np.exp(-x))

    def rms_norm(self, x: Any, weight: Any) -> Any:
        return x / self.np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * weight

    def rotate(self, x: Any, cos: Any, sin: Any) -> Any:
        """x [tokens, heads, d]; cos and sin [tokens, d/2]; the halves of a head are the two coordinates."""
        half = x.shape[2] // 2
        a, b = x[..., :half], x[..., half:]
        c, s = cos[:, None, :], sin[:, None, :]
        return self.np.concatenate([a * c - b * s, b * c + a * s], axis=-1)
