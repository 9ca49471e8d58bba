"""From logits to tokens: argmax, top-k with top-p (by sorting), and repetition with frequency penalties."""

from typing import Any

from ridgeline_profiler import counts, grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TorchEnv
from ridgeline_profiler.cases import Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.networks import networks
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.points import Cost, Point, point

SEQUENCES = (1, 4, 16, 64, 128, 256, 512)
TINY_SEQUENCES = (1, 4)
METHODS = ("argmax", "top_k_top_p", "penalties")
TOP_K, TOP_P = 20, 0.9
REPETITION, FREQUENCY = 1.05, 0.1


def sample_top(torch: Any, logits: Any, sequences: int) -> Any:
    """Both masks over the sorted logits, then a draw by exponential races, as vLLM's own path does."""
    ordered, places = torch.sort(logits, dim=-1)
    kept = min(TOP_K, logits.shape[1])
    threshold = ordered[:, logits.shape[1] - kept].view(sequences, 1)
    ordered = ordered.masked_fill(ordered < threshold, -float("inf"))
    below = torch.cumsum(torch.softmax(ordered, dim=-1), dim=-1)
    drop = below <= 1.0 - TOP_P
    drop[:, -1] = False
    ordered = ordered.masked_fill(drop, -float("inf"))
    logits = torch.empty_like(ordered).scatter_(-1, places, ordered)
    chances = torch.softmax(logits, dim=-1)
    race = torch.empty_like(chances).exponential_()
    return (chances / race).argmax(dim=-1)


def penalise(torch: Any, logits: Any, in_prompt: Any, produced: Any) -> Any:
    """Repetition over prompt and output, frequency over the output; then the argmax."""
    seen = in_prompt | (produced > 0)
    punished = torch.where(logits > 0, logits / REPETITION, logits * REPETITION)
    logits = torch.where(seen, punished, logits)
    return (logits - FREQUENCY * produced).argmax(dim=-1)


class Sampling:
    name = "sampling"
    columns = ("sequences", "vocab", "method")

    def points(self, target: Target) -> list[Point]:
        vocabularies = sorted({network.vocab for network in networks(target)})
        axis = grids.leveled(grids.pick(target, SEQUENCES, TINY_SEQUENCES))
        found = [
            point(self.name, "fp32", max(level, vocab_level), sequences=sequences, vocab=vocab, method=method)
            for vocab, vocab_level in grids.leveled(vocabularies)
            for sequences, level in axis
            for method in METHODS
        ]
        return fitting(self, found, target)

    def cost(self, point: Point) -> Cost:
        return counts.sampling(point.number("sequences"), point.number("vocab"), point.text("method"))

    def resident_bytes(self, point: Point) -> float:
        # Sorted copies, 64-bit places and chances beside the logits.
        return 8.0 * counts.LOGIT_BYTES * point.number("sequences") * point.number("vocab")

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        torch = env.torch
        sequences, vocab, method = point.number("sequences"), point.number("vocab"), point.text("method")
        logits = env.normal(sequences, vocab, dtype="fp32")
        if method == "argmax":
            return Case("torch.argmax", [lambda: logits.argmax(dim=-1)])
        if method == "top_k_top_p":
            return Case("torch sort + cumsum + exponential race", [lambda: sample_top(torch, logits, sequences)])
        in_prompt = env.integers(2, sequences, vocab) > 0
        produced = env.integers(2, sequences, vocab)
        return Case("torch where + argmax", [lambda: penalise(torch, logits, in_prompt, produced)])

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        np = env.np
        sequences, vocab, method = point.number("sequences"), point.number("vocab"), point.text("method")
        logits = env.normal(sequences, vocab)
        produced = env.integers(2, sequences, vocab)

        def top() -> Any:
            places = np.argsort(logits, axis=-1)
            ordered = np.take_along_axis(logits, places, axis=-1)
            chances = np.exp(ordered - ordered[:, -1:])
            chances /= chances.sum(axis=-1, keepdims=True)
            chances[np.cumsum(chances, axis=-1) <= 1.0 - TOP_P] = 0.0
            return np.take_along_axis(places, chances.argmax(axis=-1)[:, None], axis=-1)

        def punish() -> Any:
            punished = np.where(logits > 0, logits / REPETITION, logits * REPETITION)
            return (np.where(produced > 0, punished, logits) - FREQUENCY * produced).argmax(axis=-1)

        calls = {"argmax": lambda: logits.argmax(axis=-1), "top_k_top_p": top, "penalties": punish}
        return Case(f"numpy {method}", [calls[method]], graph=False)
