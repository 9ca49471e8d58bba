"""FP8 matrix product with a scale per 128 inputs of a token, and per 128 x 128 block of weights."""

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

from ridgeline_profiler.kernels.tuning import fastest

# Block of the scales; a turn of the kernel takes one block, so its scales are constants of the turn.
BLOCK = 128


@dataclass(frozen=True)
class Config:
    rows: int
    columns: int
    warps: int
    stages: int
    # Row tiles that neighbouring programs share, so that weights are read from L2.
    together: int = 8


CONFIGS = (
    Config(16, 64, 4, 4),
    Config(16, 128, 4, 4),
    Config(64, 64, 4, 4),
    Config(64, 128, 4, 3),
    Config(128, 128, 8, 3),
)


@triton.jit
def block_fp8_kernel(
    x,
    weight,
    x_scale,
    weight_scale,
    out,
    m,
    n,
    k,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    BLOCK: tl.constexpr,
    TOGETHER: tl.constexpr,
):
    """x [m,k], weight [n,k], x_scale [m,k/BLOCK], weight_scale [n/BLOCK,k/BLOCK], out [m,n]."""
    program = tl.program_id(0)
    tiles_m = tl.cdiv(m, ROWS)
    tiles_n = tl.cdiv(n, COLUMNS)
    per_group = TOGETHER * tiles_n
    first_m = program // per_group * TOGETHER
    group_m = min(tiles_m - first_m, TOGETHER)
    tile_m = first_m + program % per_group % group_m
    tile_n = program % per_group // group_m

    rows = (tile_m * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    columns = (tile_n * COLUMNS + tl.arange(0, COLUMNS)).to(tl.int64)
    inputs = tl.arange(0, BLOCK)
    is_row = rows < m
    is_column = columns < n
    blocks = k // BLOCK
    total = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    for block in range(0, blocks):
        here = block * BLOCK + inputs
        left = tl.load(x + rows[:, None] * k + here[None, :], mask=is_row[:, None], other=0.0)
        right = tl.load(weight + columns[None, :] * k + here[:, None], mask=is_column[None, :], other=0.0)
        left_scale = tl.load(x_scale + rows * blocks + block, mask=is_row, other=0.0)
        right_scale = tl.load(weight_scale + columns // BLOCK * blocks + block, mask=is_column, other=0.0)
        total += tl.dot(left, right) * left_scale[:, None] * right_scale[None, :]
    tl.store(out + rows[:, None] * n + columns[None, :], total, mask=is_row[:, None] & is_column[None, :])


def multiply(x: Any, x_scale: Any, weight: Any, weight_scale: Any, config: Config) -> Any:
    (m, k), n = x.shape, weight.shape[0]
    out = torch.empty((m, n), dtype=torch.bfloat16, device=x.device)
    programs = triton.cdiv(m, config.rows) * triton.cdiv(n, config.columns)
    block_fp8_kernel[(programs,)](
        x,
        weight,
        x_scale,
        weight_scale,
        out,
        m,
        n,
        k,
        ROWS=config.rows,
        COLUMNS=config.columns,
        BLOCK=BLOCK,
        TOGETHER=config.together,
        num_warps=config.warps,
        num_stages=config.stages,
    )
    return out


def best_config(x: Any, x_scale: Any, weight: Any, weight_scale: Any) -> Config:
    """Wide tiles only where there are rows to fill them."""
    candidates = [config for config in CONFIGS if config.rows <= max(16, triton.next_power_of_2(x.shape[0]))]
    return fastest(candidates, lambda config: multiply(x, x_scale, weight, weight_scale, config))


def plain(x: Any, x_scale: Any, weight: Any, weight_scale: Any) -> Any:
    left = x.float() * x_scale.repeat_interleave(BLOCK, dim=1)
    scales = weight_scale.repeat_interleave(BLOCK, dim=0).repeat_interleave(BLOCK, dim=1)
    return left @ (weight.float() * scales).t()
