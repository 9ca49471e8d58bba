"""What PyTorch cases are built from: tensors on the device, and how many copies of the cold ones."""

import math
from collections.abc import Callable
from typing import Any

# Copies together take this many times the L2 cache, so that a round over them leaves none of the first behind.
L2_TIMES = 3.0
# More nodes than this make a graph slow to capture without making small inputs any colder.
MAX_COPIES = 128
# Largest relative error, in the Frobenius norm, of a kernel of ours against a plain one in 32 bits: 16-bit inputs
# are rounded to 2^-9 and an output once more, and sums of many terms stay near a few times that.
TOLERANCE = {"fp32": 1e-3, "bf16": 2e-2, "fp8": 5e-2, "fp8_block": 5e-2}


class TorchEnv:
    """`torch` is handed in, so that importing this file needs none."""

    def __init__(self, torch: Any, device: Any, l2_bytes: float, attention: str = "auto"):
        self.torch = torch
        self.device = device
        self.l2_bytes = l2_bytes
        self.attention = attention

    def dtype(self, name: str) -> Any:
        """The type of weights and caches; activations around FP8 kernels stay in 16 bits."""
        return {
            "fp32": self.torch.float32,
            "bf16": self.torch.bfloat16,
            "fp8": getattr(self.torch, "float8_e4m3fn", None),
            "fp8_block": getattr(self.torch, "float8_e4m3fn", None),
        }[name]

    def activation_dtype(self, name: str) -> Any:
        return self.torch.float32 if name == "fp32" else self.torch.bfloat16

    def normal(self, *shape: int, dtype: str = "bf16", scale: float = 1.0) -> Any:
        """Random, never zeros: matrix units draw less power on zeros and run faster."""
        values = self.torch.randn(*shape, dtype=self.activation_dtype(dtype), device=self.device)
        return (values * scale).to(self.dtype(dtype))

    def integers(self, below: int, *shape: int) -> Any:
        return self.torch.randint(0, below, shape, dtype=self.torch.int32, device=self.device)

    def tensor(self, values: Any, dtype: Any) -> Any:
        return self.torch.as_tensor(values, dtype=dtype, device=self.device)

    def copies(self, cold_bytes: float) -> int:
        """How many sets of inputs of `cold_bytes` each make the cache useless."""
        if cold_bytes <= 0 or self.l2_bytes <= 0:
            return 1
        return min(MAX_COPIES, max(1, math.ceil(L2_TIMES * self.l2_bytes / cold_bytes)))

    def cold(self, cold_bytes: float, make: Callable[[], Callable[[], object]]) -> list[Callable[[], object]]:
        """A list of calls, each with tensors of its own that `make` allocates."""
        return [make() for _ in range(self.copies(cold_bytes))]

    def relative_error(self, out: Any, plain: Any) -> float:
        """In the Frobenius norm; NaN where either holds NaN, which no tolerance accepts."""
        difference = (out.float() - plain.float()).norm()
        return float(difference / plain.float().norm())
