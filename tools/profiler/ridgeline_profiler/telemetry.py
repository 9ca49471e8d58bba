"""Clocks, temperature and power of the GPU while it works. Read only: no setting is ever changed."""

import shutil
import subprocess
import threading
from typing import Any, Protocol

from ridgeline_profiler.results import Conditions

QUERY = ("clocks.sm", "clocks.mem", "temperature.gpu", "power.draw")
PERIOD_MS = 200


class Telemetry(Protocol):
    def read(self) -> Conditions:
        """The latest values."""

    def joules(self) -> float | None:
        """What the GPU has used up since some fixed time; None where it does not count."""

    def close(self) -> None:
        """Ends what reads them."""


class NoTelemetry:
    def read(self) -> Conditions:
        return Conditions()

    def joules(self) -> float | None:
        return None

    def close(self) -> None:
        pass


def parse_smi_line(line: str) -> Conditions | None:
    """A line of nvidia-smi's CSV without units; a field that it cannot tell is None."""
    words = [word.strip() for word in line.split(",")]
    if len(words) != len(QUERY):
        return None
    values: list[float | None] = []
    for word in words:
        try:
            values.append(float(word))
        except ValueError:
            values.append(None)
    return Conditions(*values)


class SmiTelemetry:
    """One nvidia-smi that prints a line every so often, until it is closed."""

    def __init__(self, device: str):
        self._latest = Conditions()
        self._process = subprocess.Popen(
            [
                "nvidia-smi",
                f"--query-gpu={','.join(QUERY)}",
                "--format=csv,noheader,nounits",
                f"--loop-ms={PERIOD_MS}",
                f"--id={device}",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._reader = threading.Thread(target=self._follow, daemon=True)
        self._reader.start()

    def _follow(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            conditions = parse_smi_line(line)
            if conditions is not None:
                self._latest = conditions

    def read(self) -> Conditions:
        return self._latest

    def joules(self) -> float | None:
        return None

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._reader.join()


class NvmlTelemetry:
    """Through NVML's own binding, where it is installed."""

    def __init__(self, nvml: Any, device: str):
        self._nvml = nvml
        nvml.nvmlInit()
        self._handle = (
            nvml.nvmlDeviceGetHandleByIndex(int(device))
            if device.isdigit()
            else nvml.nvmlDeviceGetHandleByUUID(device)
        )

    def _value(self, read: Any, *arguments: Any) -> float | None:
        try:
            return float(read(self._handle, *arguments))
        except self._nvml.NVMLError:
            return None

    def read(self) -> Conditions:
        nvml = self._nvml
        power = self._value(nvml.nvmlDeviceGetPowerUsage)
        return Conditions(
            clock_mhz=self._value(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
            memory_clock_mhz=self._value(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_MEM),
            temperature_c=self._value(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
            power_w=None if power is None else power / 1000.0,
        )

    def joules(self) -> float | None:
        millijoules = self._value(self._nvml.nvmlDeviceGetTotalEnergyConsumption)
        return None if millijoules is None else millijoules / 1000.0

    def close(self) -> None:
        self._nvml.nvmlShutdown()


def open_telemetry(device: str | None) -> Telemetry:
    """`device` is an index or a UUID; None where it is not known which of the machine's GPUs is used."""
    if device is None:
        return NoTelemetry()
    try:
        import pynvml
    except ImportError:
        pynvml = None
    if pynvml is not None:
        try:
            return NvmlTelemetry(pynvml, device)
        except pynvml.NVMLError:
            pass
    if shutil.which("nvidia-smi"):
        return SmiTelemetry(device)
    return NoTelemetry()
