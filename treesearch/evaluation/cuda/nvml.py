"""What the driver's management library (NVML) says of the GPU, through ctypes. Standard library only.

Everything is optional: a library, a function or a figure that is not there is None, never an exception.
"""

from __future__ import annotations

import ctypes
from typing import Any, Self
from uuid import UUID

LIBRARY = "libnvidia-ml.so.1"
SM, MEMORY = 1, 2
"""NVML_CLOCK_SM and NVML_CLOCK_MEM."""
DIE = 0
"""NVML_TEMPERATURE_GPU."""
SLOWDOWNS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
"""nvmlClocksEventReasons that make a kernel slower than the GPU is. The others are no such reason: idle (0x1), clocks
that a user has set (0x2, 0x100) or that are kept equal among GPUs (0x10)."""


class Gpu:
    """One GPU, as NVML knows it."""

    def __init__(self, library: ctypes.CDLL, handle: ctypes.c_void_p) -> None:
        self._library = library
        self._handle = handle

    @classmethod
    def find(cls, uuid: str, bus: str, library: str = LIBRARY) -> Self | None:
        """The GPU that the CUDA driver knows by these: 32 hexadecimal digits, and an address such as `0000:18:00.0`.

        NVML counts GPUs in an order of its own, which CUDA_VISIBLE_DEVICES does not change.
        """
        try:
            loaded = ctypes.CDLL(library)
        except OSError:
            return None
        if not _succeeds(loaded, "nvmlInit_v2"):
            return None
        named = {
            "nvmlDeviceGetHandleByUUID": f"GPU-{UUID(uuid)}",
            "nvmlDeviceGetHandleByPciBusId_v2": bus,  # a GPU that is divided has other UUIDs
        }
        for function, name in named.items():
            handle = ctypes.c_void_p()
            if _succeeds(loaded, function, ctypes.c_char_p(name.encode()), ctypes.byref(handle)):
                return cls(loaded, handle)
        return None

    def clock_mhz(self) -> float | None:
        return self._number("nvmlDeviceGetClockInfo", SM)

    def memory_clock_mhz(self) -> float | None:
        return self._number("nvmlDeviceGetClockInfo", MEMORY)

    def power_watts(self) -> float | None:
        """Of the whole board; from Ampere on an average over the last second."""
        milliwatts = self._number("nvmlDeviceGetPowerUsage")
        return None if milliwatts is None else milliwatts / 1e3

    def celsius(self) -> float | None:
        return self._number("nvmlDeviceGetTemperature", DIE)

    def slowdowns(self) -> tuple[str, ...]:
        """Why the GPU holds its clock down at this moment; empty where it does not, or does not tell."""
        mask = ctypes.c_ulonglong()
        for name in ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"):
            if _succeeds(self._library, name, self._handle, ctypes.byref(mask)):
                return tuple(reason for bit, reason in SLOWDOWNS.items() if mask.value & bit)
        return ()

    def _number(self, function: str, *which: int) -> float | None:
        number = ctypes.c_uint()
        there = _succeeds(self._library, function, self._handle, *map(ctypes.c_int, which), ctypes.byref(number))
        return float(number.value) if there else None


def _succeeds(library: ctypes.CDLL, function: str, *arguments: Any) -> bool:
    """Calls a function; false also where this release of the library does not have it."""
    try:
        return bool(getattr(library, function)(*arguments) == 0)
    except AttributeError:
        return False
