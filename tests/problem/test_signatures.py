"""From references to the arguments of `launch`, down to kernels that read and write through them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from treesearch.languages import CPP
from treesearch.records import Evaluation, Problem, Role, Status

pytestmark = pytest.mark.untimed

Judge = Callable[[Problem, str], Evaluation]
Make = Callable[..., Problem]

DTYPES = ("float16", "bfloat16", "float32", "float64", "bool", "uint8", "int8", "int16", "int32", "int64")


def form(subject: Problem) -> list[tuple[str, str, str, tuple[int, ...]]]:
    return [(a.name, str(a.role), a.dtype, a.shape) for a in subject.signature.arguments]


def verified(evaluation: Evaluation) -> bool:
    assert evaluation.status is Status.VERIFIED, (evaluation.status, evaluation.error)
    return True


def test_inputs_scalars_parameters_buffers_and_outputs_come_in_that_order(handmade: Make, judged: Judge) -> None:
    subject = handmade(
        "x, double_it, shift, scale: y = self.net[0](x) * scale + shift; return (y * 2 if double_it else y), y.sum(-1)",
        "torch.randn(8, 64), True, -3, 0.5",
        "self.net = nn.Sequential(nn.Linear(64, 32)); self.register_buffer('unused', torch.ones(2, 3))",
    )
    assert form(subject) == [
        ("x", "input", "float32", (8, 64)),
        ("double_it", "scalar", "bool", ()),
        ("shift", "scalar", "int64", ()),
        ("scale", "scalar", "float64", ()),
        ("net_0_weight", "parameter", "float32", (32, 64)),
        ("net_0_bias", "parameter", "float32", (32,)),
        ("unused", "buffer", "float32", (2, 3)),
        ("out0", "output", "float32", (8, 32)),
        ("out1", "output", "float32", (8,)),
    ]
    assert [a.origin for a in subject.signature.of(Role.PARAMETER)] == ["net.0.weight", "net.0.bias"]
    body = """
    if (unused_dim1 != 3 || unused[5] == 0) return 1;
    for (int64_t i = 0; i < x_dim0; ++i) {
        out1[i] = 0;
        for (int64_t j = 0; j < out0_dim1; ++j) {
            float sum = net_0_bias[j];
            for (int64_t k = 0; k < x_dim1; ++k) sum += x[i * x_dim1 + k] * net_0_weight[j * x_dim1 + k];
            sum = sum * scale + shift;
            out0[i * out0_dim1 + j] = double_it ? 2 * sum : sum;
            out1[i] += sum;
        }
    }"""
    assert verified(judged(subject, body))


def test_every_dtype_reaches_the_kernel_and_comes_back(handmade: Make, judged: Judge) -> None:
    """One input and one output of each dtype; the kernel doubles or negates and must be right everywhere."""
    names = [f"a_{dtype}" for dtype in DTYPES]
    drawn = {"bool": "torch.rand(96) < 0.5"} | {
        dtype: f"torch.randint({0 if dtype == 'uint8' else -50}, 50, (96,)).to(torch.{dtype})"
        for dtype in DTYPES
        if "int" in dtype
    }
    inputs = ", ".join(drawn.get(dtype, f"torch.randn(96).to(torch.{dtype})") for dtype in DTYPES)
    results = ", ".join(f"~{name}" if "bool" in name else f"{name} + {name}" for name in names)
    subject = handmade(f"{', '.join(names)}: return {results}", inputs)
    assert [a.dtype for a in subject.signature.of(Role.INPUT)] == list(DTYPES)
    assert [a.dtype for a in subject.signature.of(Role.OUTPUT)] == list(DTYPES)
    assert subject.precision == "float16"
    lines = []
    for index, (name, dtype) in enumerate(zip(names, DTYPES, strict=True)):
        value = {"bool": f"!{name}[i]", "bfloat16": f"from_float(2 * to_float({name}[i]))"}
        lines.append(f"out{index}[i] = {value.get(dtype, f'{name}[i] + {name}[i]')};")
    loop = "for (int i = 0; i < 96; ++i) { LINES }"
    assert verified(judged(subject, loop.replace("LINES", " ".join(lines))))
    spoiled = [*lines, "if (i == 77) out9[i] += 1;"]
    evaluation = judged(subject, loop.replace("LINES", " ".join(spoiled)))
    assert evaluation.status is Status.WRONG
    assert "output out9 of a" in evaluation.error
    assert "1 of 96 elements differ, the first at (77)" in evaluation.error


def test_plain_attributes_and_nested_modules_are_found_by_dotted_name(handmade: Make, judged: Judge) -> None:
    subject = handmade(
        "x: return x * self.table + self.inner.shift[0] * self.inner.count",
        "torch.randn(4, 64)",
        "self.table = torch.linspace(1, 2, 64); self.inner = Inner()",
        """
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = torch.tensor([3.0])
        self.register_buffer("count", torch.tensor(2))
""",
    )
    assert form(subject)[1:4] == [
        ("inner_count", "buffer", "int64", ()),
        ("table", "buffer", "float32", (64,)),
        ("inner_shift", "buffer", "float32", (1,)),
    ]
    body = "for (int i = 0; i < x_numel; ++i) out[i] = x[i] * table[i % 64] + inner_shift[0] * *inner_count;"
    assert verified(judged(subject, body))


def test_names_that_c_reserves_or_that_collide_are_told_apart(handmade: Make, judged: Judge) -> None:
    subject = handmade(
        "int_numel, float, register, out, x_numel, x: "
        "return int_numel + float + register + out + x_numel + x + self.a.b + self.a_b",
        ", ".join(["torch.randn(64)"] * 6),
        "self.a = nn.Module(); self.a.b = nn.Parameter(torch.randn(64)); self.a_b = nn.Parameter(torch.randn(64))",
    )
    names = [a.name for a in subject.signature.arguments]
    assert names == ["int_numel", "float_", "register_", "out", "x_numel", "x_2", "a_b", "a_b_2", "out_2"]
    assert len(set(names)) == len(names)
    total = " + ".join(f"{name}[i]" for name in names[:-1])
    assert verified(judged(subject, f"for (int i = 0; i < x_2_numel; ++i) out_2[i] = {total};"))


def test_tensors_without_dimensions_are_pointers_to_one_element(handmade: Make, judged: Judge) -> None:
    subject = handmade("x, k: return (x * k).sum()", "torch.randn(64), torch.tensor(2.5)")
    assert form(subject)[1:] == [("k", "input", "float32", ()), ("out", "output", "float32", ())]
    body = "double sum = 0; for (int i = 0; i < x_numel; ++i) sum += (double)x[i] * *k; *out = sum;"
    assert verified(judged(subject, body))


def test_tied_parameters_are_one_argument(handmade: Make, judged: Judge) -> None:
    subject = handmade(
        "x: return self.second(self.first(x))",
        "torch.randn(4, 32)",
        "self.first = nn.Linear(32, 32, bias=False); self.second = nn.Linear(32, 32, bias=False); "
        "self.second.weight = self.first.weight",
    )
    assert [a.name for a in subject.signature.of(Role.PARAMETER)] == ["first_weight"]
    body = """
    for (int i = 0; i < 4; ++i) {
        double h[32];
        for (int j = 0; j < 32; ++j) {
            h[j] = 0; for (int k = 0; k < 32; ++k) h[j] += (double)x[i*32+k] * first_weight[j*32+k];
        }
        for (int j = 0; j < 32; ++j) {
            double sum = 0; for (int k = 0; k < 32; ++k) sum += h[k] * first_weight[j*32+k]; out[i*32+j] = sum;
        }
    }"""
    assert verified(judged(subject, body))


def test_a_buffer_that_two_modules_share_is_two_arguments(handmade: Make, judged: Judge) -> None:
    """Each module's own would otherwise keep the contents it was born with."""
    subject = handmade(
        "x: return x * self.a.k + self.b.k",
        "torch.randn(4, 64)",
        "k = torch.full((64,), 0.7); self.a = nn.Module(); self.b = nn.Module(); "
        "self.a.register_buffer('k', k); self.b.register_buffer('k', k)",
    )
    assert [a.origin for a in subject.signature.of(Role.BUFFER)] == ["a.k", "b.k"]
    assert verified(judged(subject, "for (int i = 0; i < x_numel; ++i) out[i] = x[i] * a_k[i % 64] + b_k[i % 64];"))


def test_batch_norm_runs_in_train_mode(handmade: Make, judged: Judge) -> None:
    subject = handmade("x: return self.norm(x)", "torch.randn(64, 8) * 3 + 1", "self.norm = nn.BatchNorm1d(8)")
    names = [a.name for a in subject.signature.of(Role.BUFFER)]
    assert names == ["norm_running_mean", "norm_running_var", "norm_num_batches_tracked"]
    body = """
    for (int c = 0; c < 8; ++c) {
        double mean = 0, square = 0;
        for (int i = 0; i < 64; ++i) mean += x[i * 8 + c] / 64.0;
        for (int i = 0; i < 64; ++i) square += (x[i * 8 + c] - mean) * (x[i * 8 + c] - mean) / 64;
        for (int i = 0; i < 64; ++i)
            out[i * 8 + c] = (x[i * 8 + c] - mean) / sqrt(square + 1e-5) * norm_weight[c] + norm_bias[c];
    }"""
    assert verified(judged(subject, body))


def test_indices_are_compared_exactly(handmade: Make, judged: Judge) -> None:
    subject = handmade("x: return x.argmax(-1)", "torch.randn(16, 64)")
    assert form(subject)[-1] == ("out", "output", "int64", (16,))
    body = """
    for (int i = 0; i < 16; ++i) {
        int best = 0;
        for (int j = 1; j < COUNT; ++j) if (x[i * 64 + j] > x[i * 64 + best]) best = j;
        out[i] = best;
    }"""
    assert verified(judged(subject, body.replace("COUNT", "64")))
    assert judged(subject, body.replace("COUNT", "32")).status is Status.WRONG


def test_inputs_that_are_views_arrive_contiguous_and_so_do_outputs(handmade: Make, judged: Judge) -> None:
    subject = handmade("x, y: return (x + y).t()", "torch.randn(8, 16).t(), torch.randn(16, 1).expand(16, 8)")
    assert form(subject) == [
        ("x", "input", "float32", (16, 8)),
        ("y", "input", "float32", (16, 8)),
        ("out", "output", "float32", (8, 16)),
    ]
    assert verified(
        judged(subject, "for (int i = 0; i < 8; ++i) for (int j = 0; j < 16; ++j) out[i*16+j] = x[j*8+i] + y[j*8+i];")
    )


def test_a_problem_may_set_its_own_tolerance_and_precision(handmade: Make) -> None:
    plain = handmade("x: return x + 1", "torch.randn(4)")
    own = handmade("x: return x + 1", "torch.randn(4)", extra="TOLERANCE = 1e-4\nPRECISION = 'float16'")
    assert (plain.tolerance, plain.precision) == (1e-2, "float32")
    assert (own.tolerance, own.precision) == (1e-4, "float16")


def test_the_signature_is_the_same_each_time(handmade: Make) -> None:
    first, again = (handmade("x: return self.f(x)", "torch.randn(4, 8)", "self.f = nn.Linear(8, 8)") for _ in range(2))
    assert first == again
    assert CPP.header(first) == CPP.header(again)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_floating_input_names_the_precision(handmade: Make, dtype: str) -> None:
    subject = handmade("x: return x", f"torch.ones(4, dtype=torch.{dtype})")
    assert subject.precision == (dtype if "float" in dtype else "float32")
