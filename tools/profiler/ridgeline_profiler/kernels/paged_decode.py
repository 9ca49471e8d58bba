"""Decode attention over a paged cache, its context split among programs, for MHA and GQA layouts."""

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

from ridgeline_profiler.kernels.split_attention import KEYS, MIN_ROWS, STAGES, merge_kernel, split_candidates
from ridgeline_profiler.kernels.tuning import fastest


@triton.jit
def paged_decode_kernel(
    queries,
    key_cache,
    value_cache,
    tables,
    lengths,
    partial,
    log_sums,
    scale,
    query_stride,
    table_width,
    kv_heads,
    splits,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    KEYS: tl.constexpr,
    PAGE: tl.constexpr,
):
    """One program per (sequence, KV head, part of the context); it serves the GROUP query heads of that KV head."""
    sequence = tl.program_id(0).to(tl.int64)
    kv_head = tl.program_id(1)
    split = tl.program_id(2)
    length = tl.load(lengths + sequence)
    per_split = tl.cdiv(tl.cdiv(length, KEYS), splits) * KEYS
    first = split * per_split
    last = tl.minimum(first + per_split, length)

    rows = tl.arange(0, ROWS)
    columns = tl.arange(0, WIDTH)
    is_head = rows < GROUP
    heads = kv_head * GROUP + rows
    query_places = queries + sequence * query_stride + heads[:, None] * WIDTH + columns[None, :]
    query = tl.load(query_places, mask=is_head[:, None], other=0.0)
    highest = tl.full([ROWS], -float("inf"), dtype=tl.float32)
    total = tl.zeros([ROWS], dtype=tl.float32)
    attended = tl.zeros([ROWS, WIDTH], dtype=tl.float32)
    for start in range(first, last, KEYS):
        tokens = start + tl.arange(0, KEYS)
        inside = tokens < last
        pages = tl.load(tables + sequence * table_width + tokens // PAGE, mask=inside, other=0)
        slots = (pages.to(tl.int64) * PAGE + tokens % PAGE) * kv_heads + kv_head
        keys = tl.load(key_cache + slots[None, :] * WIDTH + columns[:, None], mask=inside[None, :], other=0.0)
        scores = tl.where(inside[None, :], tl.dot(query, keys) * scale, -float("inf"))
        higher = tl.maximum(highest, tl.max(scores, axis=1))
        weights = tl.exp(scores - higher[:, None])
        keep = tl.exp(highest - higher)
        values = tl.load(value_cache + slots[:, None] * WIDTH + columns[None, :], mask=inside[:, None], other=0.0)
        attended = attended * keep[:, None] + tl.dot(weights.to(values.dtype), values)
        total = total * keep + tl.sum(weights, axis=1)
        highest = higher

    # A part beyond the context has seen nothing: weight zero in the merge.
    seen = total > 0.0
    divisor = tl.where(seen, total, 1.0)
    places = (sequence * kv_heads * GROUP + heads) * splits + split
    tl.store(partial + places[:, None] * WIDTH + columns[None, :], attended / divisor[:, None], mask=is_head[:, None])
    tl.store(log_sums + places, tl.where(seen, highest + tl.log(divisor), -float("inf")), mask=is_head)


@dataclass
class Inputs:
    queries: Any  # [batch, heads, head_dim]; rows may lie apart, as in a fused QKV product
    keys: Any  # [pages, page, kv_heads, head_dim]
    values: Any
    tables: Any  # [batch, pages per sequence]
    lengths: Any  # [batch]
    out: Any  # [batch, heads, head_dim]
    context: int


def random_inputs(
    env: Any, batch: int, context: int, heads: int, kv_heads: int, head_dim: int, page: int, dtype: str
) -> Inputs:
    """Sequences of `context` tokens whose pages lie scattered over the cache, as after hours of serving."""
    per_sequence = -(-context // page)
    pages = batch * per_sequence
    queries = env.normal(batch, heads, head_dim, dtype=dtype)
    return Inputs(
        queries=queries,
        keys=env.normal(pages, page, kv_heads, head_dim, dtype=dtype),
        values=env.normal(pages, page, kv_heads, head_dim, dtype=dtype),
        tables=torch.randperm(pages, device=env.device).to(torch.int32).view(batch, per_sequence),
        lengths=torch.full((batch,), context, dtype=torch.int32, device=env.device),
        out=torch.empty_like(queries),
        context=context,
    )


def attend(inputs: Inputs, splits: int) -> Any:
    batch, heads, width = inputs.queries.shape
    page, kv_heads = inputs.keys.shape[1:3]
    group = heads // kv_heads
    device = inputs.queries.device
    partial = torch.empty((batch, heads, splits, width), dtype=torch.float32, device=device)
    log_sums = torch.empty((batch, heads, splits), dtype=torch.float32, device=device)
    paged_decode_kernel[(batch, kv_heads, splits)](
        inputs.queries,
        inputs.keys,
        inputs.values,
        inputs.tables,
        inputs.lengths,
        partial,
        log_sums,
        width**-0.5,
        inputs.queries.stride(0),
        inputs.tables.shape[1],
        kv_heads,
        splits,
        GROUP=group,
        ROWS=max(MIN_ROWS, triton.next_power_of_2(group)),
        WIDTH=width,
        KEYS=KEYS,
        PAGE=page,
        num_warps=4,
        num_stages=STAGES,
    )
    merge_kernel[(batch * heads,)](partial, log_sums, inputs.out, splits, WIDTH=width)
    return inputs.out


def best_splits(inputs: Inputs) -> int:
    return fastest(split_candidates(inputs.context), lambda splits: attend(inputs, splits))


def plain(inputs: Inputs) -> Any:
    """The same by gathering each sequence's pages, in 32 bits."""
    batch, heads, width = inputs.queries.shape
    kv_heads = inputs.keys.shape[2]
    outs = []
    for sequence in range(batch):
        pages = inputs.tables[sequence].long()
        keys = inputs.keys[pages].reshape(-1, kv_heads, width)[: inputs.context].float()
        values = inputs.values[pages].reshape(-1, kv_heads, width)[: inputs.context].float()
        query = inputs.queries[sequence].float().view(kv_heads, heads // kv_heads, width)
        weights = torch.softmax(torch.einsum("kgd,tkd->kgt", query, keys) * width**-0.5, dim=-1)
        outs.append(torch.einsum("kgt,tkd->kgd", weights, values).reshape(heads, width))
    return torch.stack(outs)
