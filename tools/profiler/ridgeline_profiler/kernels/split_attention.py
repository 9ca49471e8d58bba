"""What both decode kernels share: merging the parts of a context that different programs attended to."""

import triton
import triton.language as tl

# Keys that a program loads at once.
KEYS = 64
# A matrix product of Triton's takes no fewer rows.
MIN_ROWS = 16
# Blocks in flight: two fit the shared memory of every GPU from Ampere on (99 KiB on Ada).
STAGES = 2
SPLITS = (1, 2, 4, 8, 16, 32)


def split_candidates(context: int) -> list[int]:
    """Numbers of parts that leave each at least one block of keys."""
    blocks = -(-context // KEYS)
    return [splits for splits in SPLITS if splits == 1 or splits <= blocks]


@triton.jit
def merge_kernel(partial, log_sums, out, splits, WIDTH: tl.constexpr):
    """One program per query: partial [queries, splits, WIDTH] and log_sums [queries, splits] to out [queries, WIDTH].

    The first part is never empty, so the running maximum is finite from the first turn on."""
    query = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, WIDTH)
    highest = -float("inf")
    total = 0.0
    merged = tl.zeros([WIDTH], dtype=tl.float32)
    for split in range(0, splits):
        log_sum = tl.load(log_sums + query * splits + split)
        values = tl.load(partial + (query * splits + split) * WIDTH + columns)
        higher = tl.maximum(highest, log_sum)
        keep = tl.exp(highest - higher)
        weight = tl.exp(log_sum - higher)
        merged = merged * keep + values * weight
        total = total * keep + weight
        highest = higher
    tl.store(out + query * WIDTH + columns, merged / total)
