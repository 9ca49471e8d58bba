"""A small interpreter of Triton: runs a kernel program by program on numpy arrays.

It knows what our kernels use, and is stricter than a GPU: every unmasked access must lie inside its array, block
sizes must be powers of two, products must have at least 16 rows, columns and inner elements, and no NaN may arise.
It shows that a kernel computes the right thing, not that it compiles.
"""

import itertools
import sys
import types

import numpy as np

DOT_MIN = 16
_program = (0, 0, 0)


class Value(np.ndarray):
    """A block or scalar, with Triton's way to convert."""

    def to(self, dtype):
        return self.astype(dtype)


def value(data):
    return np.asarray(data).view(Value)


class Pointer:
    """Places in a flat array."""

    def __init__(self, buffer, offset):
        self.buffer, self.offset = buffer, offset

    def __add__(self, other):
        return Pointer(self.buffer, value(self.offset + other))

    __radd__ = __add__


def pointer_to(tensor):
    """numpy arrays as they are; PyTorch's may be views that begin inside their storage."""
    if isinstance(tensor, np.ndarray):
        assert tensor.flags["C_CONTIGUOUS"]
        return Pointer(tensor.reshape(-1), value(0))
    first = tensor.storage_offset()
    elements = tensor.storage().size() - first
    return Pointer(tensor.as_strided((elements,), (1,), first).numpy(), value(0))


def _places(pointer, mask):
    offsets, mask = np.broadcast_arrays(pointer.offset, True if mask is None else mask)
    used = offsets[mask]
    assert used.size == 0 or (used.min() >= 0 and used.max() < len(pointer.buffer)), "access outside of the array"
    return offsets, mask


def load(pointer, mask=None, other=None):
    offsets, mask = _places(pointer, mask)
    assert mask.all() or other is not None, "masked elements without a value"
    found = pointer.buffer[np.where(mask, offsets, 0)]
    return value(np.where(mask, found, np.asarray(0 if other is None else other, dtype=pointer.buffer.dtype)))


def store(pointer, data, mask=None):
    offsets, mask = _places(pointer, mask)
    data = np.broadcast_to(np.asarray(data), offsets.shape)
    used = offsets[mask]
    assert len(np.unique(used)) == used.size, "a program writes one place twice"
    pointer.buffer[used] = data[mask].astype(pointer.buffer.dtype)


def arange(first, last):
    assert (last - first) & (last - first - 1) == 0, "no power of two"
    return value(np.arange(first, last))


def dot(left, right):
    assert left.dtype == right.dtype
    assert min(*left.shape, *right.shape) >= DOT_MIN, f"product of {left.shape} and {right.shape}"
    return value(left.astype(np.float32) @ right.astype(np.float32))


def cdiv(count, size):
    return -(-count // size)


class Kernel:
    def __init__(self, function):
        self._function = function

    def __getitem__(self, grid):
        def launch(*arguments, num_warps=4, num_stages=3, **constants):
            global _program
            ready = [pointer_to(each) if hasattr(each, "shape") else value(each) for each in arguments]
            with np.errstate(invalid="raise", divide="ignore", over="ignore"):
                for program in itertools.product(*(range(int(size)) for size in (*grid, 1, 1)[:3])):
                    _program = program
                    self._function(*ready, **constants)

        return launch


def modules():
    """`triton` and `triton.language` for sys.modules."""
    triton, language = types.ModuleType("triton"), types.ModuleType("triton.language")
    triton.jit, triton.cdiv, triton.language = Kernel, cdiv, language
    triton.next_power_of_2 = lambda count: 1 << (count - 1).bit_length()
    functions = {
        "program_id": lambda axis: value(_program[axis]),
        "arange": arange,
        "load": load,
        "store": store,
        "dot": dot,
        "cdiv": cdiv,
        "zeros": lambda shape, dtype: value(np.zeros(shape, dtype)),
        "full": lambda shape, fill, dtype: value(np.full(shape, fill, dtype)),
        "where": lambda condition, yes, no: value(np.where(condition, yes, no)),
        "maximum": lambda left, right: value(np.maximum(left, right)),
        "minimum": lambda left, right: value(np.minimum(left, right)),
        "exp": lambda x: value(np.exp(x)),
        "log": lambda x: value(np.log(x)),
        "sqrt": lambda x: value(np.sqrt(x)),
        "sum": lambda x, axis: value(np.sum(np.asarray(x), axis=axis)),
        "max": lambda x, axis: value(np.max(np.asarray(x), axis=axis)),
        "trans": lambda x: value(np.asarray(x).T),
        "constexpr": int,
        "float32": np.float32,
        "int64": np.int64,
    }
    for name, function in functions.items():
        setattr(language, name, function)
    return {"triton": triton, "triton.language": language}


def install():
    """Puts the interpreter in Triton's place, and an empty module in PyTorch's where there is none."""
    sys.modules.update(modules())
    try:
        import torch  # noqa: F401
    except ImportError:
        sys.modules["torch"] = types.ModuleType("torch")
