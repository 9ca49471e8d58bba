"""Products of MoE experts: rows sorted by expert, each block of rows times its expert's weights."""

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

from ridgeline_profiler.kernels.tuning import fastest


@dataclass(frozen=True)
class Config:
    rows: int
    columns: int
    inner: int
    warps: int
    stages: int


CONFIGS = (
    Config(16, 64, 128, 4, 4),
    Config(16, 128, 64, 4, 4),
    Config(32, 128, 64, 4, 4),
    Config(64, 128, 64, 4, 3),
    Config(128, 128, 64, 8, 3),
    Config(128, 256, 64, 8, 3),
)


@triton.jit
def grouped_gemm_kernel(
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
    PER_TOKEN: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    INNER: tl.constexpr,
):
    """x [pairs / PER_TOKEN, k], weights [experts, n, k], scales [experts], out [pairs, n]. pair_of_row has ROWS
    entries per block, `pairs` where a row is padding; blocks beyond the last have expert `experts`."""
    tiles_n = tl.cdiv(n, COLUMNS)
    block = tl.program_id(0) // tiles_n
    tile_n = tl.program_id(0) % tiles_n
    expert = tl.load(expert_of_block + block).to(tl.int64)
    if expert < experts:
        pair = tl.load(pair_of_row + block * ROWS + tl.arange(0, ROWS)).to(tl.int64)
        is_row = pair < pairs
        token = pair // PER_TOKEN
        columns = tile_n * COLUMNS + tl.arange(0, COLUMNS)
        is_column = columns < n
        inner = tl.arange(0, INNER)
        own = weights + expert * n * k
        total = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
        for start in range(0, k, INNER):
            here = start + inner
            is_inner = here < k
            left_mask = is_row[:, None] & is_inner[None, :]
            left = tl.load(x + token[:, None] * k + here[None, :], mask=left_mask, other=0.0)
            right_mask = is_column[None, :] & is_inner[:, None]
            right = tl.load(own + columns[None, :] * k + here[:, None], mask=right_mask, other=0.0)
            total += tl.dot(left, right)
        total = total * tl.load(scales + expert)
        tl.store(out + pair[:, None] * n + columns[None, :], total, mask=is_row[:, None] & is_column[None, :])


@dataclass
class Routing:
    """Which rows each block takes; all shapes depend on the number of pairs alone, so a graph can replay it."""

    pair_of_row: Any
    expert_of_block: Any


def align(chosen: Any, experts: int, rows: int) -> Routing:
    """Sorts the pairs by expert, and starts every expert at a block of its own. `chosen` [tokens, top_k]; a value of
    `experts` or more is an expert of another rank, and its pairs take no row."""
    flat = chosen.reshape(-1).long()
    pairs = flat.numel()
    device = flat.device
    blocks = -(-pairs // rows) + experts
    ordered, pair = torch.sort(flat.clamp(max=experts), stable=True)
    counts = torch.zeros(experts + 1, dtype=torch.int64, device=device)
    counts.scatter_add_(0, ordered, torch.ones_like(ordered))
    padded = (counts[:experts] + rows - 1) // rows * rows
    ends = torch.cumsum(padded, 0)
    starts = torch.cat([ends - padded, torch.full((1,), blocks * rows, dtype=torch.int64, device=device)])
    before = torch.cumsum(counts, 0) - counts
    places = starts[ordered] + torch.arange(pairs, device=device) - before[ordered]
    # One row more than there are takes the pairs of other ranks.
    places = places.clamp(max=blocks * rows)
    pair_of_row = torch.full((blocks * rows + 1,), pairs, dtype=torch.int64, device=device)
    pair_of_row.scatter_(0, places, pair)
    first_rows = torch.arange(blocks, device=device) * rows
    expert_of_block = torch.searchsorted(ends, first_rows, right=True)
    return Routing(pair_of_row[:-1].to(torch.int32), expert_of_block.to(torch.int32))


def multiply(x: Any, weights: Any, scales: Any, routing: Routing, out: Any, config: Config) -> Any:
    """Writes out [pairs, n]; pairs of other ranks keep what was there."""
    pairs, n = out.shape
    experts, _, k = weights.shape
    programs = routing.expert_of_block.shape[0] * triton.cdiv(n, config.columns)
    grouped_gemm_kernel[(programs,)](
        x,
        weights,
        scales,
        routing.pair_of_row,
        routing.expert_of_block,
        out,
        pairs,
        experts,
        n,
        k,
        PER_TOKEN=pairs // x.shape[0],
        ROWS=config.rows,
        COLUMNS=config.columns,
        INNER=config.inner,
        num_warps=config.warps,
        num_stages=config.stages,
    )
    return out


def best_config(x: Any, weights: Any, scales: Any, chosen: Any, out: Any) -> Config:
    """Tiles no taller than twice the rows that an expert gets on average."""
    experts = weights.shape[0]
    per_expert = triton.next_power_of_2(max(1, chosen.numel() // experts))
    candidates = [config for config in CONFIGS if config.rows <= max(16, 2 * per_expert)]
    routings = {config.rows: align(chosen, experts, config.rows) for config in candidates}
    return fastest(candidates, lambda config: multiply(x, weights, scales, routings[config.rows], out, config))


def plain(x: Any, weights: Any, scales: Any, chosen: Any, out: Any) -> Any:
    """Expert by expert, in 32 bits; pairs of other ranks are zero."""
    pairs = out.shape[0]
    result = torch.zeros(out.shape, dtype=torch.float32, device=out.device)
    flat = chosen.reshape(-1).long()
    rows = x.float().repeat_interleave(pairs // x.shape[0], dim=0)
    for expert in range(weights.shape[0]):
        mine = flat == expert
        result[mine] = rows[mine] @ weights[expert].float().t() * scales[expert]
    return result
