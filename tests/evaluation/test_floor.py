"""What bounds an honest kernel's time: bytes that provably matter, and operations that a device can do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from treesearch import problem
from treesearch.evaluation import floor
from treesearch.problem.reference import Reference
from treesearch.records import Device, Rate

SOURCE = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        STATE

    def forward(self, FORWARD

def get_inputs():
    return [INPUTS]

def get_init_inputs():
    return []
"""

SQUARE = "torch.randn(64, 64)"
FLOAT = 4
PRODUCT = "a, b):\n        return a @ b"


def read(forward: str, drawn: str = SQUARE, state: str = "pass", seed: int = 3) -> int:
    """Bytes that matter of what such a problem reads."""
    source = SOURCE.replace("STATE", state).replace("FORWARD", forward).replace("INPUTS", drawn)
    subject = problem.from_source("handmade", source)
    return floor.moved_bytes(subject, Reference("handmade", source), seed) - subject.bytes_written


class TestBytes:
    def test_all_that_a_product_reads_matters(self) -> None:
        assert read(PRODUCT, f"{SQUARE}, {SQUARE}") == 2 * 64 * 64 * FLOAT

    def test_parameters_and_buffers_count_as_inputs_do(self) -> None:
        state = "self.w = nn.Parameter(torch.randn(64)); self.register_buffer('b', torch.randn(64))"
        assert read("x):\n        return x * self.w + self.b", state=state) == (64 * 64 + 64 + 64) * FLOAT

    def test_what_a_triangle_leaves_out_does_not(self) -> None:
        lower = 64 * 65 // 2
        assert read("a, b):\n        return a.tril() @ b", f"{SQUARE}, {SQUARE}") == (lower + 64 * 64) * FLOAT

    def test_of_a_diagonal_matrix_only_the_diagonal_does(self) -> None:
        diagonal = "a, b):\n        return torch.diag(torch.diagonal(a)) @ b"
        assert read(diagonal, f"{SQUARE}, {SQUARE}") == (64 + 64 * 64) * FLOAT

    def test_a_gather_counts_the_rows_it_touches_and_no_index(self) -> None:
        assert read("t, i):\n        return t[i]", "torch.randn(1000, 64), torch.tensor([1, 5, 5])") == 2 * 64 * FLOAT

    def test_an_embedding_counts_alike_with_sparse_derivatives(self) -> None:
        state = "self.table = nn.Embedding(1000, 64, sparse=True)"
        assert read("i):\n        return self.table(i)", "torch.tensor([1, 5, 5])", state) == 2 * 64 * FLOAT

    def test_half_precision_counts_two_bytes_an_element(self) -> None:
        assert read("x):\n        return x * 2", "torch.randn(64, 64).half()") == 64 * 64 * 2

    def test_a_loss_of_a_single_number_counts_everything_it_reads(self) -> None:
        loss = "x, t):\n        return nn.functional.cross_entropy(x, t)"
        assert read(loss, "torch.randn(64, 64), torch.randint(0, 64, (64,))") == 64 * 64 * FLOAT

    @pytest.mark.parametrize(
        "forward",
        [
            "x):\n        return (x > 0).long()",
            "x):\n        return x.detach() * 2",
            "x):\n        return x * 0",
            "x):\n        return x - x",
            "x):\n        return x.numpy().sum() * torch.ones(4)",
            "x):\n        return torch.zeros(4)",
        ],
    )
    def test_without_a_derivative_nothing_is_proven(self, forward: str) -> None:
        assert read(forward) == 0

    def test_rounding_errors_are_no_derivatives(self) -> None:
        """Sums to one whatever x is: a kernel that writes ones without reading anything is right."""
        ones = read("x):\n        return x.exp().log1p().sigmoid() * 0 + x.sin() ** 2 + x.cos() ** 2")
        assert ones < 0.2 * 64 * 64 * FLOAT
        state = "self.shift = nn.Parameter(torch.randn(64, 1))"
        shifted = read("x):\n        return torch.softmax(x + self.shift, 1)", state=state)
        assert abs(shifted - 64 * 64 * FLOAT) < 0.2 * 64 * FLOAT

    def test_a_forward_that_updates_its_buffers_is_traced(self) -> None:
        updated = "x):\n        self.count.add_(1)\n        return x * 2"
        assert read(updated, state="self.register_buffer('count', torch.zeros(1))") == 64 * 64 * FLOAT
        norm = read("x):\n        return self.norm(x)", state="self.norm = nn.BatchNorm1d(64)")
        assert norm == pytest.approx((64 * 64 + 2 * 64) * FLOAT, rel=0.01)

    def test_what_would_take_too_much_memory_is_not_traced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(floor, "MEMORY_SHARE", 0.0)
        assert read("x):\n        return x * 2") == 0

    @pytest.mark.parametrize(
        ("name", "least"), [("bias_silu_clamp", 0.5), ("softmax_small", 0.99), ("depthwise_conv2d_small", 0.99)]
    )
    def test_shipped_problems_move_most_of_their_bytes(self, name: str, least: float) -> None:
        subject = problem.load(name)
        moved = floor.moved_bytes(subject, Reference(name, subject.source), 1)
        assert moved <= subject.bytes_read + subject.bytes_written
        assert moved - subject.bytes_written >= least * subject.bytes_read


CPU = Device("cpu", "a CPU", cores=2, memory_bytes=1 << 30)
GPU = Device("cuda", "a GPU", 132, 80 << 30, rates=(Rate("float32", 5e13), Rate("float8", 1.4e15)))


class TestAlgorithmic:
    source = SOURCE.replace("STATE", "pass").replace("FORWARD", PRODUCT).replace("INPUTS", f"{SQUARE}, {SQUARE}")
    product = replace(problem.from_source("product", source), flops=2 * 4096**3)

    @pytest.mark.parametrize(("device", "fastest"), [(CPU, 214.8), (GPU, 0.0818)])
    def test_only_a_time_that_no_ordinary_kernel_reaches_is(self, device: Device, fastest: float) -> None:
        assert not floor.algorithmic(self.product, 1.01 * fastest, device)
        assert floor.algorithmic(self.product, 0.99 * fastest, device)

    def test_a_processor_with_half_precision_may_be_twice_as_fast(self) -> None:
        doubled = replace(CPU, features=("avx512_bf16",))
        assert floor.algorithmic(self.product, 200, CPU)
        assert not floor.algorithmic(self.product, 200, doubled)
        assert floor.algorithmic(self.product, 100, doubled)

    def test_nothing_is_said_where_operations_or_rates_are_unknown(self) -> None:
        assert not floor.algorithmic(replace(self.product, flops=None), 1e-6, CPU)
        assert not floor.algorithmic(self.product, 1e-6, replace(GPU, rates=()))
