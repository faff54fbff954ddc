"""The few functions of the CUDA driver that we call, through ctypes. Standard library only: the worker loads this too.

Memory that two processes share is made with the driver's virtual memory management (`cuMemCreate` with a POSIX file
descriptor as its handle): a descriptor works across user ids and namespaces, where legacy CUDA IPC does not.
"""

from __future__ import annotations

import ctypes
from typing import Any

PINNED = 1
"""CU_MEM_ALLOCATION_TYPE_PINNED, and also CU_MEM_LOCATION_TYPE_DEVICE and CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR."""
READ, READ_WRITE = 1, 3
CAPTURE_GLOBAL = 0

ATTRIBUTES = {
    "clock_khz": 13,
    "multiprocessors": 16,
    "memory_clock_khz": 36,
    "l2_bytes": 38,
    "major": 75,
    "minor": 76,
    "shared_memory_bytes": 97,
}
"""CU_DEVICE_ATTRIBUTE_* by the names used here; shared memory is the most that a block may opt in to."""


class Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class AllocationProperties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("win32", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class AccessDescription(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location", Location), ("flags", ctypes.c_int))


class CudaError(Exception):
    """A driver call failed. `name` is the driver's, such as CUDA_ERROR_ILLEGAL_ADDRESS."""

    def __init__(self, code: int, name: str, text: str) -> None:
        super().__init__(f"{text} ({name})")
        self.code = code
        self.name = name


class Driver:
    """libcuda, initialized. Raises OSError where there is none, CudaError where it finds no usable device."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; plain integers are passed as 64-bit values. Raises CudaError unless it succeeds."""
        converted = [ctypes.c_uint64(value) if type(value) is int else value for value in arguments]
        if code := getattr(self._library, name)(*converted):
            raise self.error(code)

    def error(self, code: int) -> CudaError:
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        self._library.cuGetErrorName(code, ctypes.byref(name))
        self._library.cuGetErrorString(code, ctypes.byref(text))
        return CudaError(code, (name.value or b"?").decode(), (text.value or b"error %d" % code).decode())

    def handle(self, name: str, *arguments: Any) -> int:
        """What a function hands out through its first argument: a handle, an address, a size."""
        made = ctypes.c_uint64()
        self.call(name, ctypes.byref(made), *arguments)
        return made.value

    def integer(self, name: str, *arguments: Any) -> int:
        made = ctypes.c_int()
        self.call(name, ctypes.byref(made), *arguments)
        return made.value

    # ── devices ─────────────────────────────────────────────────────────────────────────────────

    def use_device(self, ordinal: int) -> None:
        """Make the device's primary context, which the CUDA runtime shares, current in this thread."""
        device = self.integer("cuDeviceGet", ordinal)
        self.call("cuCtxSetCurrent", self.handle("cuDevicePrimaryCtxRetain", device))

    def count(self) -> int:
        return self.integer("cuDeviceGetCount")

    def name(self, ordinal: int) -> str:
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, 256, self.integer("cuDeviceGet", ordinal))
        return text.value.decode()

    def attributes(self, ordinal: int) -> dict[str, int]:
        device = self.integer("cuDeviceGet", ordinal)
        return {name: self.integer("cuDeviceGetAttribute", number, device) for name, number in ATTRIBUTES.items()}

    def uuid(self, ordinal: int) -> str:
        """What tells this GPU from every other one, in hexadecimal digits."""
        identity = (ctypes.c_ubyte * 16)()
        self.call("cuDeviceGetUuid_v2", identity, self.integer("cuDeviceGet", ordinal))
        return bytes(identity).hex()

    def bus(self, ordinal: int) -> str:
        """Where the GPU sits on the PCI bus: `0000:18:00.0`."""
        text = ctypes.create_string_buffer(64)
        self.call("cuDeviceGetPCIBusId", text, ctypes.c_int(64), self.integer("cuDeviceGet", ordinal))
        return text.value.decode()

    def memory_bytes(self, ordinal: int) -> int:
        return self.handle("cuDeviceTotalMem_v2", self.integer("cuDeviceGet", ordinal))

    # ── memory that processes share ─────────────────────────────────────────────────────────────

    def granularity(self) -> int:
        """Bytes that shareable allocations are multiples of."""
        return self.handle("cuMemGetAllocationGranularity", ctypes.byref(_properties()), 0)

    def create(self, length: int) -> int:
        """Handle of `length` bytes of device memory that can be exported as a file descriptor."""
        return self.handle("cuMemCreate", length, ctypes.byref(_properties()), 0)

    def export(self, memory: int) -> int:
        """A file descriptor for the memory; the caller closes it."""
        return self.integer("cuMemExportToShareableHandle", memory, PINNED, 0)

    def take(self, descriptor: int) -> int:
        """The memory behind a descriptor that another process exported."""
        return self.handle("cuMemImportFromShareableHandle", ctypes.c_void_p(descriptor), PINNED)

    def map(self, memory: int, length: int, *, writable: bool = True) -> int:
        """Address at which the memory is mapped, with nothing else mapped next to it.

        Where the device cannot protect memory from its own writes, what should be read-only is writable as well.
        """
        gap = self.granularity()
        area = self.handle("cuMemAddressReserve", length + 2 * gap, 0, 0, 0)
        self.call("cuMemMap", area + gap, length, 0, memory, 0)
        try:
            self._allow(area + gap, length, READ_WRITE if writable else READ)
        except CudaError:
            if writable:
                raise
            self._allow(area + gap, length, READ_WRITE)
        return area + gap

    def _allow(self, address: int, length: int, flags: int) -> None:
        access = AccessDescription(Location(PINNED, 0), flags)
        self.call("cuMemSetAccess", address, length, ctypes.byref(access), 1)

    def unmap(self, address: int, length: int, memory: int) -> None:
        gap = self.granularity()
        self.call("cuMemUnmap", address, length)
        self.call("cuMemAddressFree", address - gap, length + 2 * gap)
        self.call("cuMemRelease", memory)


def _properties() -> AllocationProperties:
    return AllocationProperties(PINNED, PINNED, Location(PINNED, 0), None, (ctypes.c_ubyte * 8)())
