"""Our Triton kernels, run by the interpreter on numpy arrays, against plain numpy."""

import sys

import pytest

np = pytest.importorskip("numpy", reason="python3-numpy is not installed")
import triton_on_numpy  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def interpreter():
    before = dict(sys.modules)
    triton_on_numpy.install()
    yield
    for name in set(sys.modules) - set(before):
        if name.startswith("ridgeline_profiler.kernels."):
            del sys.modules[name]
    for name in ("triton", "triton.language", "torch"):
        sys.modules.pop(name, None)
        if name in before:
            sys.modules[name] = before[name]


@pytest.fixture
def dice():
    return np.random.default_rng(7)


def normal(dice, *shape):
    return dice.standard_normal(shape, dtype=np.float32)


def softmax(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


def scattered(dice, cache, lengths, page):
    """Page tables over a shuffled cache, and each sequence's rows in order."""
    width = max(-(-length // page) for length in lengths)
    tables = dice.permutation(len(cache)).astype(np.int32)[: len(lengths) * width].reshape(len(lengths), width)
    return tables, [cache[table].reshape(-1, *cache.shape[2:])[:n] for table, n in zip(tables, lengths)]


@pytest.mark.parametrize("kv_heads, group, splits", [(2, 4, 1), (2, 4, 3), (3, 1, 2), (1, 16, 8)])
def test_paged_decode(dice, kv_heads, group, splits):
    from ridgeline_profiler.kernels import paged_decode, split_attention

    # 1 key, a key less and more than a block of 64, and so few blocks that some of the splits get none.
    lengths, page, width = [1, 63, 65, 200], 16, 16
    heads = kv_heads * group
    keys = normal(dice, 64, page, kv_heads, width)
    values = normal(dice, 64, page, kv_heads, width)
    state = dice.bit_generator.state
    tables, key_rows = scattered(dice, keys, lengths, page)
    dice.bit_generator.state = state
    _, value_rows = scattered(dice, values, lengths, page)
    # Queries are the first columns of wider rows.
    stride = (heads + 3) * width
    queries = normal(dice, len(lengths), stride)
    partial = np.full((len(lengths), heads, splits, width), 7.0, dtype=np.float32)
    sums = np.full((len(lengths), heads, splits), 7.0, dtype=np.float32)
    out = np.zeros((len(lengths), heads, width), dtype=np.float32)
    paged_decode.paged_decode_kernel[(len(lengths), kv_heads, splits)](
        queries,
        keys,
        values,
        tables,
        np.array(lengths, dtype=np.int32),
        partial,
        sums,
        width**-0.5,
        stride,
        tables.shape[1],
        kv_heads,
        splits,
        GROUP=group,
        ROWS=16,
        WIDTH=width,
        KEYS=64,
        PAGE=page,
    )
    split_attention.merge_kernel[(len(lengths) * heads,)](partial, sums, out, splits, WIDTH=width)
    for sequence in range(len(lengths)):
        query = queries[sequence, : heads * width].reshape(heads, width)
        for head in range(heads):
            k = key_rows[sequence][:, head // group]
            v = value_rows[sequence][:, head // group]
            expected = softmax(k @ query[head] * width**-0.5) @ v
            np.testing.assert_allclose(out[sequence, head], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("heads, splits", [(16, 1), (20, 2)])
def test_mla_decode(dice, heads, splits):
    from ridgeline_profiler.kernels import mla_decode, split_attention

    lengths, page, latent, rope = [1, 31, 100], 16, 32, 16
    cache = normal(dice, 32, page, latent + rope)
    tables, rows = scattered(dice, cache, lengths, page)
    queries = normal(dice, len(lengths), heads, latent + rope)
    partial = np.full((len(lengths), heads, splits, latent), 7.0, dtype=np.float32)
    sums = np.full((len(lengths), heads, splits), 7.0, dtype=np.float32)
    out = np.zeros((len(lengths), heads, latent), dtype=np.float32)
    scale = (latent + rope) ** -0.5
    mla_decode.mla_decode_kernel[(len(lengths), -(-heads // 16), splits)](
        queries,
        cache,
        tables,
        np.array(lengths, dtype=np.int32),
        partial,
        sums,
        scale,
        tables.shape[1],
        heads,
        splits,
        HEADS=16,
        LATENT=latent,
        ROPE=rope,
        KEYS=32,
        PAGE=page,
    )
    split_attention.merge_kernel[(len(lengths) * heads,)](partial, sums, out, splits, WIDTH=latent)
    for sequence, tokens in enumerate(rows):
        expected = softmax(queries[sequence] @ tokens.T * scale) @ tokens[:, :latent]
        np.testing.assert_allclose(out[sequence], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("m, rows", [(1, 16), (40, 16), (40, 64)])
def test_block_scaled_gemm(dice, m, rows):
    from ridgeline_profiler.kernels import block_fp8_gemm

    # Two blocks of inputs, three of outputs, and columns that do not divide by the tile.
    k, n, block = 256, 384, 128
    x, weight = normal(dice, m, k), normal(dice, n, k)
    x_scale, weight_scale = normal(dice, m, k // block), normal(dice, n // block, k // block)
    out = np.full((m, n), np.nan, dtype=np.float32)
    tiles = -(-m // rows) * -(-n // 256)
    block_fp8_gemm.block_fp8_kernel[(tiles,)](
        x, weight, x_scale, weight_scale, out, m, n, k, ROWS=rows, COLUMNS=256, BLOCK=block, TOGETHER=2
    )
    whole = weight * np.repeat(np.repeat(weight_scale, block, axis=0), block, axis=1)
    np.testing.assert_allclose(out, (x * np.repeat(x_scale, block, axis=1)) @ whole.T, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("per_token", [1, 2])
def test_grouped_gemm(dice, per_token):
    from ridgeline_profiler.kernels import grouped_gemm

    # Six pairs on three experts of which the second has none; blocks of 16 rows; one block more than is used.
    experts, k, n, rows = 3, 80, 40, 16
    expert_of_pair = np.array([2, 0, 2, 2, 0, 2])
    pairs = len(expert_of_pair)
    pair_of_row = np.full(3 * rows, pairs, dtype=np.int32)
    pair_of_row[:2] = [1, 4]
    pair_of_row[rows : rows + 4] = [0, 2, 3, 5]
    expert_of_block = np.array([0, 2, experts], dtype=np.int32)
    x = normal(dice, pairs // per_token, k)
    weights, scales = normal(dice, experts, n, k), normal(dice, experts)
    out = np.full((pairs, n), np.nan, dtype=np.float32)
    grouped_gemm.grouped_gemm_kernel[(3 * 2,)](
        x,
        weights,
        scales,
        pair_of_row,
        expert_of_block,
        out,
        pairs,
        experts,
        n,
        k,
        PER_TOKEN=per_token,
        ROWS=rows,
        COLUMNS=32,
        INNER=32,
    )
    for pair, expert in enumerate(expert_of_pair):
        expected = weights[expert] @ x[pair // per_token] * scales[expert]
        np.testing.assert_allclose(out[pair], expected, rtol=1e-4, atol=1e-4)


def test_add_rms_norm(dice):
    from ridgeline_profiler.kernels import elementwise

    x, residual, weight = normal(dice, 3, 48), normal(dice, 3, 48), normal(dice, 48)
    total = x + residual
    out = np.zeros_like(x)
    elementwise.add_rms_norm_kernel[(3,)](x, residual, weight, out, 48, 1e-5, SPAN=64)
    np.testing.assert_allclose(residual, total, rtol=1e-6)
    expected = total / np.sqrt((total**2).mean(axis=1, keepdims=True) + 1e-5) * weight
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_rotary_turns_pairs_and_leaves_values(dice):
    from ridgeline_profiler.kernels import elementwise

    # Three heads of which the last is values; a quarter turn takes (a, b) to (-b, a), no turn leaves it.
    x = normal(dice, 2, 3 * 8)
    before = x.copy().reshape(2, 3, 2, 4)
    cosines = np.array([[1.0] * 4, [0.0] * 4], dtype=np.float32)
    sines = np.array([[0.0] * 4, [1.0] * 4], dtype=np.float32)
    positions = np.array([1, 0], dtype=np.int32)
    elementwise.rotary_kernel[(2,)](x, positions, cosines, sines, 24, 2, HEADS=2, HALF=4)
    after = x.reshape(2, 3, 2, 4)
    np.testing.assert_array_equal(after[0, :2, 0], -before[0, :2, 1])
    np.testing.assert_array_equal(after[0, :2, 1], before[0, :2, 0])
    np.testing.assert_array_equal(after[1], before[1])
    np.testing.assert_array_equal(after[0, 2], before[0, 2])


def test_gated_activation(dice):
    from ridgeline_profiler.kernels import elementwise

    x, out = normal(dice, 2, 200), np.zeros((2, 100), dtype=np.float32)
    elementwise.gated_activation_kernel[(2, 2)](x, out, 100, SPAN=64)
    gate, up = x[:, :100], x[:, 100:]
    np.testing.assert_allclose(out, gate / (1 + np.exp(-gate)) * up, rtol=1e-5)


def test_interpreter_sees_an_access_outside(dice):
    from ridgeline_profiler.kernels import elementwise

    x, out = normal(dice, 2, 200), np.zeros((1, 100), dtype=np.float32)
    with pytest.raises(AssertionError, match="outside of the array"):
        elementwise.gated_activation_kernel[(2, 2)](x, out, 100, SPAN=64)
