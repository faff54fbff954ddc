"""A problem whose kernels take as long as one likes, to measure how well this machine measures."""

from __future__ import annotations

from treesearch import problem
from treesearch.languages import CUDA, Language
from treesearch.records import Device, Problem

SOURCE = '''\
"""2x + 1, which a kernel may reach in many more steps than it takes."""

import torch
from torch import nn


class Model(nn.Module):
    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.add(1.0, x, alpha=2.0)


def get_inputs():
    return [torch.randn(1024, 1024)]


def get_init_inputs():
    return []
'''
STEPS_PER_CORE, STEPS_ON_GPU = 50, 6000
"""Some milliseconds on a CPU of any number of cores; 0.4 ms on an H100."""

CPP_KERNEL = """\
#include "problem.h"

// Every step goes back from 2x + 1 to x and forth again. The compiler cannot know the factors, so each costs the same.
extern "C" int launch(const float* x, float* out, void*) {
    float two = 2, half = 0.5f, one = 1;
    asm volatile("" : "+m"(two), "+m"(half), "+m"(one));
    constexpr int64_t width = 64;
    static_assert(x_numel % width == 0);
#pragma omp parallel for schedule(static)
    for (int64_t start = 0; start < x_numel; start += width) {
        float value[width];
        for (int64_t i = 0; i < width; ++i) value[i] = x[start + i] * two + one;
        for (int step = 0; step < STEPS; ++step)
            for (int64_t i = 0; i < width; ++i) value[i] = (value[i] * half - half) * two + one;
        for (int64_t i = 0; i < width; ++i) out[start + i] = value[i];
    }
    return 0;
}
"""
CUDA_KERNEL = """\
#include "problem.h"

// Every step goes back from 2x + 1 to x and forth again. The compiler cannot know the factors, so each costs the same.
__global__ void steps(const float* x, float* out) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= x_numel) return;
    float two = 2, half = 0.5f, one = 1;
    asm volatile("" : "+f"(two), "+f"(half), "+f"(one));
    float value = x[i] * two + one;
    for (int step = 0; step < STEPS; ++step) value = (value * half - half) * two + one;
    out[i] = value;
}

extern "C" int launch(const float* x, float* out, void*, cudaStream_t stream) {
    steps<<<(x_numel + 255) / 256, 256, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
"""


def subject() -> Problem:
    return problem.from_source("yardstick", SOURCE)


def kernel(language: Language, hardware: Device, work: float = 1.0) -> str:
    """A right kernel that does so many times the usual steps, which take nearly all of its time."""
    usual, text = (STEPS_ON_GPU, CUDA_KERNEL) if language is CUDA else (STEPS_PER_CORE * hardware.cores, CPP_KERNEL)
    return text.replace("STEPS", str(round(work * usual)))
