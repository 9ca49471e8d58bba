"""What runs on a GPU, run on PyTorch's CPU tensors with the Triton interpreter: needs PyTorch, and skips without."""

import sys
import types

import pytest

pytest.importorskip("numpy", reason="python3-numpy is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import triton_on_numpy  # noqa: E402

from ridgeline_profiler.backends.torch_env import TOLERANCE, TorchEnv  # noqa: E402
from ridgeline_profiler.devices import cpu_target  # noqa: E402
from ridgeline_profiler.operators import ALL, BY_NAME  # noqa: E402

NEED_RANKS = ("collective",)
# Tiny points of each operator; the interpreter takes milliseconds per program.
POINTS = 3


def plain_attention(q, k, v, is_causal=False, attn_mask=None, enable_gqa=False):
    """In place of PyTorch's, which has kernels for 16 bits on a GPU alone, and none of this name before 2.0."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    new, keys = q.shape[2], k.shape[2]
    assert is_causal == (new == keys) and (attn_mask is None) == is_causal and enable_gqa == (group > 1)
    visible = torch.arange(keys)[None, :] <= keys - new + torch.arange(new)[:, None]
    scores = (q @ k.transpose(2, 3)) * q.shape[3] ** -0.5
    return torch.softmax(scores.masked_fill(~visible, -float("inf")), dim=-1) @ v


class AnyKernel:
    """Stands for PyTorch's choice among its attention kernels."""

    def __init__(self, kernel):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *what):
        return False


@pytest.fixture
def env(monkeypatch):
    triton_on_numpy.install()
    attention = types.ModuleType("torch.nn.attention")
    attention.SDPBackend = types.SimpleNamespace(
        CUDNN_ATTENTION=0, FLASH_ATTENTION=1, EFFICIENT_ATTENTION=2
    )
    attention.sdpa_kernel = AnyKernel
    bias = types.ModuleType("torch.nn.attention.bias")
    bias.causal_lower_right = lambda new, keys: (new, keys)
    monkeypatch.setitem(sys.modules, "torch.nn.attention", attention)
    monkeypatch.setitem(sys.modules, "torch.nn.attention.bias", bias)
    monkeypatch.setattr(
        torch.nn.functional, "scaled_dot_product_attention", plain_attention, raising=False
    )
    monkeypatch.setattr(torch, "__version__", "2.5.0")
    torch.manual_seed(3)
    return TorchEnv(torch, torch.device("cpu"), l2_bytes=2048.0)


@pytest.mark.parametrize("name", [operator.name for operator in ALL if operator.name not in NEED_RANKS])
def test_every_case_runs_and_is_right(env, name):
    operator = BY_NAME[name]
    points = operator.points(cpu_target())
    for point in points[:: max(1, len(points) // POINTS)]:
        case = operator.torch_case(point, env)
        for call in case.calls:
            call()
        if case.check is not None:
            assert case.check() <= TOLERANCE["fp32"], point.key


@pytest.mark.parametrize("steps", [(2, 8, 8, 3, 20), (1, 0, 16, 0, 0), (0, 0, 0, 2, 31)])
@pytest.mark.parametrize("network", ["tiny-gqa", "tiny-moe"])
def test_a_pass_ends_in_tokens_of_the_vocabulary(env, network, steps):
    from ridgeline_profiler.networks import find_network
    from ridgeline_profiler.whole.pass_shape import PassShape
    from ridgeline_profiler.whole.torch_network import TorchStep

    shape = PassShape(find_network(network), 1, 2, *steps)
    tokens = TorchStep(env, shape, "fp32").run()
    assert tokens.shape == (shape.samples,)
    assert bool(((tokens >= 0) & (tokens < shape.network.vocab)).all())


def test_a_decode_step_is_the_last_row_of_a_prefill(env):
    """The same tokens and weights must give the same logits whether attention runs as prefill or as paged decode."""
    from ridgeline_profiler.networks import find_network
    from ridgeline_profiler.whole.pass_shape import PassShape
    from ridgeline_profiler.whole.torch_network import TorchStep

    network = find_network("tiny-gqa")
    length = 20
    whole = TorchStep(env, PassShape(network, 1, 1, 1, 0, length, 0, 0), "fp32")
    step = TorchStep(env, PassShape(network, 1, 1, 0, 0, 0, 1, length - 1), "fp32")
    for name in ("norms", "qkv", "output", "gate_up", "down"):
        setattr(step.layers[0], name, getattr(whole.layers[0], name))
    for name in ("table", "last_norm", "lm_head"):
        setattr(step, name, getattr(whole, name))
    expected = whole.run()
    step.tokens = whole.tokens[-1:]
    # What the prefill wrote goes to the decode's scattered pages.
    paged = step.layers[0].paged
    places = (
        paged.tables[0].long()[:, None] * paged.keys.shape[1] + torch.arange(paged.keys.shape[1])
    ).reshape(-1)[: length - 1]
    for cache, filled in zip((paged.keys, paged.values), whole.layers[0].prefill_cache):
        rows = cache.view(-1, *cache.shape[2:])
        rows[places] = filled[0, :, : length - 1].transpose(0, 1)
    assert step.run().tolist() == expected.tolist()
    # Pages that were never read may hold anything, but the step's own token must be there now.
    own = paged.keys.view(-1, *paged.keys.shape[2:])[step.layers[0].slots[0]]
    torch.testing.assert_close(own, whole.layers[0].prefill_cache[0][0, :, -1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows", [16, 32])
def test_alignment_gives_every_pair_a_row_of_its_expert(env, rows):
    from ridgeline_profiler.kernels import grouped_gemm

    experts = 5
    # Experts 5 and 6 are another rank's; expert 3 has none.
    chosen = torch.tensor([[0, 5], [4, 6], [1, 0], [2, 4], [0, 1]] * 7)
    routing = grouped_gemm.align(chosen, experts, rows)
    flat = chosen.reshape(-1).tolist()
    found = {}
    for block, expert in enumerate(routing.expert_of_block.tolist()):
        for pair in routing.pair_of_row[block * rows : (block + 1) * rows].tolist():
            if pair < len(flat):
                assert pair not in found
                found[pair] = expert
    assert found == {pair: expert for pair, expert in enumerate(flat) if expert < experts}
