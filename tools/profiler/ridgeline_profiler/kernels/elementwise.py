"""Norm with residual, rotary embedding and gated activation, each in one pass over its data."""

from typing import Any

import torch
import triton
import triton.language as tl

EPSILON = 1e-5
# Elements of a row that an activation program takes.
SPAN = 1024


@triton.jit
def add_rms_norm_kernel(x, residual, weight, out, width, epsilon, SPAN: tl.constexpr):
    """One program per token: residual += x; out = residual / rms(residual) * weight."""
    row = tl.program_id(0).to(tl.int64) * width
    columns = tl.arange(0, SPAN)
    inside = columns < width
    total = tl.load(x + row + columns, mask=inside, other=0.0).to(tl.float32)
    total += tl.load(residual + row + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(residual + row + columns, total, mask=inside)
    mean_square = tl.sum(total * total, axis=0) / width
    scale = tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row + columns, total / tl.sqrt(mean_square + epsilon) * scale, mask=inside)


def add_rms_norm(x: Any, residual: Any, weight: Any, out: Any) -> Any:
    tokens, width = x.shape
    span = triton.next_power_of_2(width)
    add_rms_norm_kernel[(tokens,)](x, residual, weight, out, width, EPSILON, SPAN=span, num_warps=8)
    return out


def plain_add_rms_norm(x: Any, residual: Any, weight: Any) -> Any:
    """The normalised sum, in 32 bits; the residual is left as it is."""
    total = x.float() + residual.float()
    return total * torch.rsqrt((total * total).mean(dim=-1, keepdim=True) + EPSILON) * weight.float()


@triton.jit
def rotary_kernel(x, positions, cosines, sines, row_width, heads, HEADS: tl.constexpr, HALF: tl.constexpr):
    """One program per token, in place: the first `heads` heads of a row; the halves of a head are its coordinates."""
    token = tl.program_id(0).to(tl.int64)
    position = tl.load(positions + token)
    columns = tl.arange(0, HALF)
    head = tl.arange(0, HEADS)
    cosine = tl.load(cosines + position * HALF + columns)[None, :]
    sine = tl.load(sines + position * HALF + columns)[None, :]
    places = x + token * row_width + head[:, None] * (2 * HALF) + columns[None, :]
    inside = (head < heads)[:, None]
    first = tl.load(places, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(places + HALF, mask=inside, other=0.0).to(tl.float32)
    tl.store(places, first * cosine - second * sine, mask=inside)
    tl.store(places + HALF, second * cosine + first * sine, mask=inside)


def rotate(x: Any, positions: Any, cosines: Any, sines: Any, heads: int) -> Any:
    """x [tokens, >= heads * head_dim]: queries and keys first, as a fused QKV product leaves them."""
    half = cosines.shape[1]
    block = triton.next_power_of_2(heads)
    rotary_kernel[(x.shape[0],)](x, positions, cosines, sines, x.shape[1], heads, HEADS=block, HALF=half, num_warps=4)
    return x


def plain_rotate(x: Any, positions: Any, cosines: Any, sines: Any, heads: int) -> Any:
    half = cosines.shape[1]
    tokens = x.shape[0]
    turned = x[:, : heads * 2 * half].float().reshape(tokens, heads, 2, half)
    cosine, sine = cosines[positions.long()][:, None], sines[positions.long()][:, None]
    first, second = turned[:, :, 0], turned[:, :, 1]
    both = torch.stack([first * cosine - second * sine, second * cosine + first * sine], dim=2)
    return torch.cat([both.reshape(tokens, -1), x[:, heads * 2 * half :].float()], dim=1)


@triton.jit
def gated_activation_kernel(x, out, width, SPAN: tl.constexpr):
    """One program per (token, span): silu of the row's first half times its second."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * SPAN + tl.arange(0, SPAN)
    inside = columns < width
    gate = tl.load(x + row * 2 * width + columns, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(x + row * 2 * width + width + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + columns, gate / (1.0 + tl.exp(-gate)) * up, mask=inside)


def gated_activation(x: Any, out: Any) -> Any:
    tokens, width = out.shape
    gated_activation_kernel[(tokens, triton.cdiv(width, SPAN))](x, out, width, SPAN=SPAN, num_warps=4)
    return out


def plain_gated_activation(x: Any) -> Any:
    gate, up = x.float().chunk(2, dim=-1)
    return torch.nn.functional.silu(gate) * up


def rotary_tables(env: Any, positions: int, head_dim: int) -> tuple[Any, Any]:
    """Cosines and sines [positions, head_dim / 2] in 32 bits, base 10,000 as in the first rotary networks."""
    half = head_dim // 2
    rates = 10000.0 ** (-torch.arange(half, dtype=torch.float32, device=env.device) / half)
    angles = torch.arange(positions, dtype=torch.float32, device=env.device)[:, None] * rates[None, :]
    return torch.cos(angles), torch.sin(angles)
