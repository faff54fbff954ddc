"""The audit: a corpus of hostile kernels that must be caught, and of honest ones that must be accepted."""
