"""Kernels to export that no search has found: problems of a few elements, figures made up."""

from __future__ import annotations

from treesearch.export.exported import Exported
from treesearch.languages import CPP, CUDA, Language
from treesearch.problem import from_source
from treesearch.records import (
    Accuracy,
    Answer,
    Build,
    Category,
    Config,
    Device,
    Entry,
    Evaluation,
    Idea,
    Kernel,
    Label,
    Measurement,
    Proposal,
    Protocol,
    Ratio,
    Run,
    Spending,
    Status,
    Timing,
)

CPU = Device("cpu", "AMD EPYC", 2, 8 << 30)
H100 = Device("cuda", "NVIDIA H100 80GB HBM3", 132, 80 << 30, architecture="sm_90a")
MEASUREMENT = Measurement(
    Timing((0.25, 0.26)), Timing((0.8,)), Ratio(3.2, 3.1, 3.3), Timing((0.5,)), Ratio(2, 1.9, 2.1)
)
IDEA = Idea('Fuse "both" \x1b[31mloops\x1b[0m', Category.MEMORY, "One pass </script> over the data.", 1.5, "low")

PROBLEM = '''"""Scaled ReLU in two layers; parameters and a buffer of dotted names, and a number."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, 8), nn.Linear(8, features))
        self.register_buffer("shift", torch.arange(features).float())

    def forward(self, x, by: float):
        return self.layers(x) * by + self.shift


def get_inputs():
    return [torch.randn(6, 16), 2.0]


def get_init_inputs():
    return [16]
'''
SOURCE = r"""#include "problem.h"
extern "C" int64_t scratch_bytes(void) { return 8 * sizeof(float); }
extern "C" int launch(const float* x, double by, const float* w0, const float* b0, const float* w1, const float* b1,
                      const float* shift, float* out, void* scratch) {
    float* hidden = (float*)scratch;
    for (int64_t i = 0; i < x_dim0; ++i) {
        for (int64_t k = 0; k < 8; ++k) {
            hidden[k] = b0[k];
            for (int64_t j = 0; j < x_dim1; ++j) hidden[k] += w0[k * x_dim1 + j] * x[i * x_dim1 + j];
        }
        for (int64_t j = 0; j < x_dim1; ++j) {
            float sum = b1[j];
            for (int64_t k = 0; k < 8; ++k) sum += w1[j * 8 + k] * hidden[k];
            out[i * x_dim1 + j] = sum * (float)by + shift[j];
        }
    }
    return 0;
}
"""
"""Right for PROBLEM."""
CUDA_SOURCE = r"""#include "problem.h"
__global__ void first(const float* x, const float* w, const float* b, float* hidden) {
    float sum = b[threadIdx.x];
    for (int j = 0; j < x_dim1; ++j) sum += w[threadIdx.x * x_dim1 + j] * x[blockIdx.x * x_dim1 + j];
    hidden[blockIdx.x * 8 + threadIdx.x] = sum;
}
__global__ void second(const float* hidden, float by, const float* w, const float* b, const float* shift, float* out) {
    float sum = b[threadIdx.x];
    for (int k = 0; k < 8; ++k) sum += w[threadIdx.x * 8 + k] * hidden[blockIdx.x * 8 + k];
    out[blockIdx.x * x_dim1 + threadIdx.x] = sum * by + shift[threadIdx.x];
}
extern "C" int64_t scratch_bytes(void) { return x_dim0 * 8 * sizeof(float); }
extern "C" int launch(const float* x, double by, const float* w0, const float* b0, const float* w1, const float* b1,
                      const float* shift, float* out, void* scratch, cudaStream_t stream) {
    first<<<x_dim0, 8, 0, stream>>>(x, w0, b0, (float*)scratch);
    second<<<x_dim0, x_dim1, 0, stream>>>((float*)scratch, (float)by, w1, b1, shift, out);
    return (int)cudaGetLastError();
}
"""
"""Right for PROBLEM, too."""


def evaluation(device: Device, error: float = 1e-6, labels: tuple[Label, ...] = (), eager: float = 1e-7) -> Evaluation:
    return Evaluation(
        Status.VERIFIED,
        device.id,
        Protocol(0.01),
        accuracy=Accuracy(15, error, eager, "float64", "float32-like"),
        measurement=MEASUREMENT,
        build=Build("g++ -O3 kernel.cpp", 1.0, False, ""),
        software=("g++ 12.2.0", "torch 2.13.0"),
        labels=labels,
    )


def exported(
    source: str = SOURCE,
    problem: str = PROBLEM,
    *,
    name: str = "two_layers",
    language: Language = CPP,
    error: float = 1e-6,
    labels: tuple[Label, ...] = (),
    eager: float = 1e-7,
) -> Exported:
    """A kernel as `gather` would give it, the second of its line."""
    device = H100 if language is CUDA else CPU
    subject = from_source(name, problem)
    judged = evaluation(device, error, labels, eager)
    run = Run("r1", subject.digest, name, Config(("file/x",), language.name), device.id)
    first = Entry(Kernel("r1", 0, "0.0", language.name, "// plain", "a0"), judged)
    proposal = Proposal("r1", 1, 0, first.kernel.id, "a1", IDEA)
    second = Entry(Kernel("r1", 1, "0.0", language.name, source, "a2", proposal), judged)
    answers = {id: Answer("", "openai/o3", answered_by=f"o3 ({id})") for id in ("a0", "a1", "a2")}
    return Exported(subject, run, second, source, judged, False, device, (first, second), answers, Spending(3, 3))
