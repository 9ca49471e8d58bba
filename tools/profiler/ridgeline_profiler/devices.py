"""GPUs that Ridgeline's catalogue knows: their folder names, and the peaks that MFU columns are fractions of."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Datasheet:
    """Dense peaks and bandwidth; the values and their sources are those of data/hardware/<name>.yaml."""

    name: str
    # What a device's name must hold, in the words that CUDA reports.
    pattern: str
    peak_bf16: float
    peak_fp8: float | None
    bandwidth: float


DATASHEETS = (
    Datasheet("h200", r"\bH200\b", 989e12, 1979e12, 4.8e12),
    Datasheet("h100-pcie", r"\bH100 PCIe\b", 756e12, 1513e12, 2.0e12),
    Datasheet("h100", r"\bH100 (80GB HBM3|SXM)", 989e12, 1979e12, 3.35e12),
    Datasheet("a100-40gb", r"\bA100-SXM4-40GB\b", 312e12, None, 1.555e12),
    Datasheet("a100-80gb", r"\bA100-SXM4-80GB\b", 312e12, None, 2.039e12),
    Datasheet("l40s", r"\bL40S\b", 362e12, 733e12, 0.864e12),
)


def datasheet_of(device_name: str) -> Datasheet | None:
    """By the device's own name, or by a catalogue name."""
    for sheet in DATASHEETS:
        if device_name == sheet.name or re.search(sheet.pattern, device_name):
            return sheet
    return None


def folder_name(device_name: str) -> str:
    """The catalogue name where there is one; else the device's name in lower case with dashes."""
    sheet = datasheet_of(device_name)
    if sheet is not None:
        return sheet.name
    plain = re.sub(r"[^a-z0-9.]+", "-", device_name.lower()).strip("-.")
    return plain or "unknown"


@dataclass(frozen=True)
class Target:
    """What is measured on, as far as planning needs to know."""

    device_name: str
    folder: str
    # "gpu": the whole plan; "tiny": the same operators on shapes that a CPU computes in microseconds.
    scale: str
    memory_bytes: float
    l2_bytes: float
    num_devices: int
    dtypes: tuple[str, ...]
    # For estimates of time alone, never written as results.
    assumed_flops: float
    assumed_bandwidth: float

    @property
    def is_tiny(self) -> bool:
        return self.scale == "tiny"

    @property
    def base_dtype(self) -> str:
        """What attention, norms and whole passes run in."""
        return self.dtypes[0]


GIB = float(2**30)


def cpu_target() -> Target:
    """A CPU under numpy: it proves the chain, and is no model of any GPU."""
    return Target(
        device_name="CPU under numpy",
        folder="cpu",
        scale="tiny",
        memory_bytes=1 * GIB,
        l2_bytes=0.0,
        num_devices=1,
        dtypes=("fp32",),
        assumed_flops=2e9,
        assumed_bandwidth=2e9,
    )


def planned_gpu_target(name: str, num_devices: int) -> Target:
    """A GPU that is not here, for `--dry-run --gpu NAME`: only the estimate of time depends on it."""
    sheet = datasheet_of(name)
    bandwidth = sheet.bandwidth if sheet else 1e12
    flops = sheet.peak_bf16 if sheet else 200e12
    has_fp8 = sheet is None or sheet.peak_fp8 is not None
    return Target(
        device_name=name,
        folder=folder_name(name),
        scale="gpu",
        memory_bytes=80 * GIB,
        l2_bytes=50 * 2.0**20,
        num_devices=num_devices,
        dtypes=("bf16", "fp8", "fp8_block") if has_fp8 else ("bf16",),
        assumed_flops=flops,
        assumed_bandwidth=bandwidth,
    )
