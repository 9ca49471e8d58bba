"""Decode attention of MLA over a paged cache of latents: one vector of latent + rope per token, shared by all heads;
the latent is key and value at once."""

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

from ridgeline_profiler.kernels.split_attention import STAGES, merge_kernel, split_candidates
from ridgeline_profiler.kernels.tuning import fastest

# Heads and keys of a program: 16 x 512 sums in 32 bits fit the registers, 32 keys of 576 the shared memory.
HEADS = 16
MLA_KEYS = 32


@triton.jit
def mla_decode_kernel(
    queries,
    cache,
    tables,
    lengths,
    partial,
    log_sums,
    scale,
    table_width,
    heads,
    splits,
    HEADS: tl.constexpr,
    LATENT: tl.constexpr,
    ROPE: tl.constexpr,
    KEYS: tl.constexpr,
    PAGE: tl.constexpr,
):
    """One program per (sequence, block of heads, part of the context)."""
    sequence = tl.program_id(0).to(tl.int64)
    split = tl.program_id(2)
    length = tl.load(lengths + sequence)
    per_split = tl.cdiv(tl.cdiv(length, KEYS), splits) * KEYS
    first = split * per_split
    last = tl.minimum(first + per_split, length)

    rows = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    is_head = rows < heads
    latent_columns = tl.arange(0, LATENT)
    rope_columns = LATENT + tl.arange(0, ROPE)
    query_rows = sequence * heads + rows
    query_places = queries + query_rows[:, None] * (LATENT + ROPE)
    query = tl.load(query_places + latent_columns[None, :], mask=is_head[:, None], other=0.0)
    query_rope = tl.load(query_places + rope_columns[None, :], mask=is_head[:, None], other=0.0)
    highest = tl.full([HEADS], -float("inf"), dtype=tl.float32)
    total = tl.zeros([HEADS], dtype=tl.float32)
    attended = tl.zeros([HEADS, LATENT], dtype=tl.float32)
    for start in range(first, last, KEYS):
        tokens = start + tl.arange(0, KEYS)
        inside = tokens < last
        pages = tl.load(tables + sequence * table_width + tokens // PAGE, mask=inside, other=0)
        slots = (pages.to(tl.int64) * PAGE + tokens % PAGE) * (LATENT + ROPE)
        latents = tl.load(cache + slots[:, None] + latent_columns[None, :], mask=inside[:, None], other=0.0)
        ropes = tl.load(cache + slots[None, :] + rope_columns[:, None], mask=inside[None, :], other=0.0)
        scores = (tl.dot(query, tl.trans(latents)) + tl.dot(query_rope, ropes)) * scale
        scores = tl.where(inside[None, :], scores, -float("inf"))
        higher = tl.maximum(highest, tl.max(scores, axis=1))
        weights = tl.exp(scores - higher[:, None])
        keep = tl.exp(highest - higher)
        attended = attended * keep[:, None] + tl.dot(weights.to(latents.dtype), latents)
        total = total * keep + tl.sum(weights, axis=1)
        highest = higher

    seen = total > 0.0
    divisor = tl.where(seen, total, 1.0)
    places = query_rows * splits + split
    merged = attended / divisor[:, None]
    tl.store(partial + places[:, None] * LATENT + latent_columns[None, :], merged, mask=is_head[:, None])
    tl.store(log_sums + places, tl.where(seen, highest + tl.log(divisor), -float("inf")), mask=is_head)


@dataclass
class Inputs:
    queries: Any  # [batch, heads, latent + rope]
    cache: Any  # [pages, page, latent + rope]
    tables: Any  # [batch, pages per sequence]
    lengths: Any  # [batch]
    out: Any  # [batch, heads, latent]
    context: int
    latent: int


def random_inputs(
    env: Any, batch: int, context: int, heads: int, latent: int, rope: int, page: int, dtype: str
) -> Inputs:
    per_sequence = -(-context // page)
    pages = batch * per_sequence
    queries = env.normal(batch, heads, latent + rope, dtype=dtype)
    return Inputs(
        queries=queries,
        cache=env.normal(pages, page, latent + rope, dtype=dtype),
        tables=torch.randperm(pages, device=env.device).to(torch.int32).view(batch, per_sequence),
        lengths=torch.full((batch,), context, dtype=torch.int32, device=env.device),
        out=torch.empty((batch, heads, latent), dtype=queries.dtype, device=env.device),
        context=context,
        latent=latent,
    )


def attend(inputs: Inputs, splits: int) -> Any:
    batch, heads, width = inputs.queries.shape
    device = inputs.queries.device
    partial = torch.empty((batch, heads, splits, inputs.latent), dtype=torch.float32, device=device)
    log_sums = torch.empty((batch, heads, splits), dtype=torch.float32, device=device)
    mla_decode_kernel[(batch, triton.cdiv(heads, HEADS), splits)](
        inputs.queries,
        inputs.cache,
        inputs.tables,
        inputs.lengths,
        partial,
        log_sums,
        width**-0.5,
        inputs.tables.shape[1],
        heads,
        splits,
        HEADS=HEADS,
        LATENT=inputs.latent,
        ROPE=width - inputs.latent,
        KEYS=MLA_KEYS,
        PAGE=inputs.cache.shape[1],
        num_warps=4,
        num_stages=STAGES,
    )
    merge_kernel[(batch * heads,)](partial, log_sums, inputs.out, splits, WIDTH=inputs.latent)
    return inputs.out


def best_splits(inputs: Inputs) -> int:
    return fastest(split_candidates(inputs.context), lambda splits: attend(inputs, splits))


def plain(inputs: Inputs) -> Any:
    batch, _, width = inputs.queries.shape
    outs = []
    for sequence in range(batch):
        tokens = inputs.cache[inputs.tables[sequence].long()].reshape(-1, width)[: inputs.context].float()
        weights = torch.softmax(inputs.queries[sequence].float() @ tokens.t() * width**-0.5, dim=-1)
        outs.append(weights @ tokens[:, : inputs.latent])
    return torch.stack(outs)
