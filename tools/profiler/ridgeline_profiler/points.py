"""One thing to measure, and what it costs in operations and bytes."""

from dataclasses import dataclass, field

Value = int | str
Shape = tuple[tuple[str, Value], ...]

# Bytes of one element.
ITEM_BYTES = {"fp32": 4, "bf16": 2, "fp8": 1, "fp8_block": 1}


@dataclass(frozen=True)
class Point:
    """An operator at one shape and data type. Two points are the same when their keys are."""

    operator: str
    dtype: str
    shape: Shape
    # 0 is measured first: see planning.py.
    tier: int = field(default=0, compare=False)

    @property
    def key(self) -> str:
        """Unique, and stable between versions: it is what a state file knows a point by."""
        words = ",".join(f"{name}={value}" for name, value in self.shape)
        return f"{self.operator}/{self.dtype}/{words}"

    def value(self, name: str) -> Value:
        for known, value in self.shape:
            if known == name:
                return value
        raise KeyError(f"{self.key} has no '{name}'")

    def number(self, name: str) -> int:
        value = self.value(name)
        if not isinstance(value, int):
            raise TypeError(f"'{name}' of {self.key} is no number")
        return value

    def text(self, name: str) -> str:
        value = self.value(name)
        if not isinstance(value, str):
            raise TypeError(f"'{name}' of {self.key} is no text")
        return value

    @property
    def item_bytes(self) -> int:
        return ITEM_BYTES[self.dtype]


def point(operator: str, dtype: str, tier: int, **shape: Value) -> Point:
    return Point(operator, dtype, tuple(shape.items()), tier)


@dataclass(frozen=True)
class Cost:
    """What one call must do at least: operations (a multiply-add counts two), and bytes of device memory with
    every input read once and every output written once."""

    flops: float
    bytes: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.flops + other.flops, self.bytes + other.bytes)

    def __mul__(self, times: float) -> "Cost":
        return Cost(self.flops * times, self.bytes * times)
