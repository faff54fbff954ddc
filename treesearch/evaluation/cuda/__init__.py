"""All of evaluation that is particular to NVIDIA GPUs: the driver, shared device memory, the worker, the device."""
