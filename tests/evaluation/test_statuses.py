"""What becomes of candidates on the shipped problems: right ones, wrong ones, and ones that look alike."""

from __future__ import annotations

import os

import pytest

from treesearch import languages
from treesearch.evaluation.checks import Check
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Evaluation, Problem, Protocol, Status

pytestmark = pytest.mark.timed

SOFTMAX = """
#include "problem.h"
#include <math.h>
extern "C" int launch(const float* x, float* out, void*) {
    #pragma omp parallel for
    for (int64_t row = 0; row < ROWS; ++row) {
        const float* in = x + row * x_dim1;
        float* to = out + row * x_dim1;
        float top = START;
        for (int64_t j = 0; j < x_dim1; ++j) top = MAXIMUM;
        float sum = 0;
        for (int64_t j = 0; j < x_dim1; ++j) sum += to[j] = expf(in[j] - top);
        for (int64_t j = 0; j < x_dim1; ++j) to[j] /= sum;
    }
    return 0;
}
"""

BIAS_SILU_CLAMP = """
#include "problem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
static const float* weights(const float* bias) { WEIGHTS }
extern "C" int launch(const float* x, const float* bias, float* out, void*) {
    const float* b = weights(bias);
    #pragma omp parallel for
    for (int64_t row = 0; row < x_dim0; ++row)
        for (int64_t j = 0; j < x_dim1; ++j) {
            float v = x[row * x_dim1 + j] + b[j];
            out[row * x_dim1 + j] = fminf(fmaxf(v / (1 + expf(-v)), -0.2f), 1.5f);
        }
    return 0;
}
"""

CONVOLUTION = """
#include "problem.h"
extern "C" int launch(const float* x, const float* weight, const float* bias, float* out, void*) {
    const int64_t H = x_dim2, W = x_dim3;
    #pragma omp parallel for
    for (int64_t plane = 0; plane < x_dim0 * x_dim1; ++plane) {
        const float* in = x + plane * H * W;
        const float* w = weight + plane % x_dim1 * 9;
        for (int64_t i = 0; i < H; ++i)
            for (int64_t j = 0; j < W; ++j) {
                float sum = BIAS;
                for (int64_t r = 0; r < 3; ++r)
                    for (int64_t s = 0; s < 3; ++s) {
                        int64_t y = i + r - 1, z = j + s - 1;
                        if (y >= 0 && y < H && z >= 0 && z < W) sum += w[r * 3 + s] * in[y * W + z];
                    }
                out[plane * H * W + i * W + j] = sum;
            }
    }
    return 0;
}
"""

MAXIMUM = "fmaxf(top, in[j])"
SHIPPED = ("bias_silu_clamp", "softmax_small", "depthwise_conv2d_small")


def softmax(rows: str = "x_dim0", start: str = "-INFINITY", maximum: str = MAXIMUM) -> str:
    return SOFTMAX.replace("ROWS", rows).replace("START", start).replace("MAXIMUM", maximum)


def bias_silu_clamp_with(weights: str) -> str:
    return BIAS_SILU_CLAMP.replace("WEIGHTS", weights)


HONEST = {
    "bias_silu_clamp": bias_silu_clamp_with("return bias;"),
    "softmax_small": softmax(),
    "depthwise_conv2d_small": CONVOLUTION.replace("BIAS", "bias[plane % x_dim1]"),
}


def filled_with(evaluator: Evaluator, what: str) -> str:
    """A kernel with the problem's prototype whose body is `what`."""
    prototype = evaluator.language.prototype(evaluator.problem).rstrip(";")
    return f'#include "problem.h"\n{prototype} {{\n    {what}\n    return 0;\n}}\n'


@pytest.fixture
def shipped_evaluator(request: pytest.FixtureRequest) -> Evaluator:
    evaluator = request.getfixturevalue(request.param)
    assert isinstance(evaluator, Evaluator)
    return evaluator


on_each_problem = pytest.mark.parametrize("shipped_evaluator", SHIPPED, indirect=True)


def wrong(evaluation: Evaluation) -> str:
    """The error of an evaluation that must be `wrong`."""
    assert evaluation.status is Status.WRONG, evaluation
    assert evaluation.measurement is None
    return evaluation.error


# ── right ───────────────────────────────────────────────────────────────────────────────────────


@on_each_problem
def test_a_right_kernel_is_verified_and_timed_beside_both_baselines(shipped_evaluator: Evaluator) -> None:
    judged = shipped_evaluator.evaluate(HONEST[shipped_evaluator.problem.name])
    assert (judged.status, judged.error) == (Status.VERIFIED, "")
    measured, accuracy, build = judged.measurement, judged.accuracy, judged.build
    assert measured is not None
    assert accuracy is not None
    assert build is not None
    assert measured.compile is not None
    assert len(measured.kernel.samples) == len(measured.eager.samples) == len(measured.compile.samples) == 4 * 3
    better = min(measured.eager.median, measured.compile.median)
    assert measured.speedup.value == pytest.approx(better / measured.kernel.median)
    assert measured.speedup.low <= measured.speedup.value <= measured.speedup.high
    assert judged.milliseconds == measured.kernel.median
    assert accuracy.calls >= 10
    assert 0 < accuracy.worst_error < 1e-4
    assert (accuracy.oracle, accuracy.precision) == ("float64", "float32-like")
    assert judged.device == shipped_evaluator.device.id
    assert judged.seed == 7
    assert any(line.startswith("torch ") for line in judged.software)
    assert judged.seconds > 0
    assert build.command.startswith("g++ ")


def test_no_code_is_a_status_of_its_own(tiny: Evaluator) -> None:
    judged = tiny.evaluate(None)
    assert judged.status is Status.NO_CODE
    assert "launch" in judged.error


def test_scratch_is_as_large_as_asked_for_and_page_aligned(bias_silu_clamp: Evaluator) -> None:
    source = bias_silu_clamp_with("return bias;").replace("void*)", "void* scratch)")
    source = source.replace(
        "const float* b = weights(bias);",
        "if ((uintptr_t)scratch % 4096) return 3; float* b = (float*)scratch; memcpy(b, bias, 4 * bias_numel);",
    )
    source += '\nextern "C" int64_t scratch_bytes(void) { return 4 * bias_numel; }\n'
    judged = bias_silu_clamp.evaluate(source)
    assert judged.status is Status.VERIFIED, judged.error


# ── wrong ───────────────────────────────────────────────────────────────────────────────────────


@on_each_problem
def test_zeros_are_wrong(shipped_evaluator: Evaluator) -> None:
    source = filled_with(shipped_evaluator, "memset(out, 0, sizeof(float) * out_numel);")
    assert "rows beyond the tolerance" in wrong(shipped_evaluator.evaluate(source))


@on_each_problem
def test_an_output_that_is_never_written_is_wrong(shipped_evaluator: Evaluator) -> None:
    error = wrong(shipped_evaluator.evaluate(filled_with(shipped_evaluator, "")))
    assert "it may never have been written" in error


@pytest.mark.parametrize("constant", ["1.0f / 4096", "0.5f"])
def test_a_constant_is_wrong(softmax_small: Evaluator, constant: str) -> None:
    body = f"for (int64_t i = 0; i < out_numel; ++i) out[i] = {constant};"
    wrong(softmax_small.evaluate(filled_with(softmax_small, body)))


def test_the_first_answer_given_again_is_wrong(softmax_small: Evaluator) -> None:
    source = softmax().replace("ROWS", "x_dim0").replace("int launch", "int first")
    body = """static float* kept = nullptr;
    if (!kept) { kept = new float[out_numel]; first(x, kept, scratch); }
    memcpy(out, kept, sizeof(float) * out_numel);"""
    wrong(softmax_small.evaluate(source + filled_with(softmax_small, body)))


def test_an_answer_kept_per_pointer_is_wrong(softmax_small: Evaluator) -> None:
    body = """static const float* seen[64]; static int count = 0;
    for (int i = 0; i < count; ++i) if (seen[i] == x) return 0;
    seen[count++] = x;
    return first(x, out, scratch);"""
    source = softmax().replace("int launch", "int first")
    wrong(softmax_small.evaluate(source + filled_with(softmax_small, body)))


def test_half_of_the_rows_are_wrong(softmax_small: Evaluator) -> None:
    error = wrong(softmax_small.evaluate(softmax(rows="x_dim0 / 2")))
    assert "not finite, the first at (512, 0)" in error


def test_a_softmax_that_overflows_on_large_inputs_is_wrong_although_nominal_ones_pass(softmax_small: Evaluator) -> None:
    error = wrong(softmax_small.evaluate(softmax(start="0", maximum="0")))
    assert "nominal" not in error


def test_a_maximum_that_starts_at_zero_overflows_nowhere_and_is_wrong_far_below_zero(softmax_small: Evaluator) -> None:
    error = wrong(softmax_small.evaluate(softmax(start="0")))
    assert "below call" in error
    assert "not finite" in error


def test_a_shift_that_only_nominal_inputs_need_is_wrong(softmax_small: Evaluator) -> None:
    """Right wherever the row's maximum is about that of 4096 normal draws."""
    error = wrong(softmax_small.evaluate(softmax(start="4", maximum="4")))
    assert "nominal" not in error


def test_weights_kept_from_the_first_call_are_wrong(bias_silu_clamp: Evaluator) -> None:
    once = "static float* kept = (float*)memcpy(malloc(4 * bias_numel), bias, 4 * bias_numel); return kept;"
    wrong(bias_silu_clamp.evaluate(bias_silu_clamp_with(once)))


def test_weights_converted_on_every_call_are_accepted(bias_silu_clamp: Evaluator) -> None:
    always = "static float* kept = (float*)malloc(4 * bias_numel); return (float*)memcpy(kept, bias, 4 * bias_numel);"
    judged = bias_silu_clamp.evaluate(bias_silu_clamp_with(always))
    assert judged.status is Status.VERIFIED, judged.error


def test_weights_kept_per_pointer_are_wrong(bias_silu_clamp: Evaluator) -> None:
    by_pointer = """static const float* seen[64]; static float* kept[64]; static int count = 0;
    for (int i = 0; i < count; ++i) if (seen[i] == bias) return kept[i];
    seen[count] = bias;
    return kept[count++] = (float*)memcpy(malloc(4 * bias_numel), bias, 4 * bias_numel);"""
    wrong(bias_silu_clamp.evaluate(bias_silu_clamp_with(by_pointer)))


def test_a_dropped_bias_is_wrong(depthwise_conv2d_small: Evaluator) -> None:
    wrong(depthwise_conv2d_small.evaluate(CONVOLUTION.replace("BIAS", "0")))


def test_an_answer_that_a_thread_writes_after_launch_returned_is_wrong(softmax_small: Evaluator) -> None:
    source = "#include <thread>\n" + softmax().replace("int launch", "int late")
    body = """std::thread([=] {
        for (volatile int i = 0; i < 100000000; ++i) {}
        late(x, out, scratch);
    }).detach();"""
    wrong(softmax_small.evaluate(source + filled_with(softmax_small, body)))


def test_threads_that_are_joined_are_accepted(softmax_small: Evaluator) -> None:
    source = "#include <thread>\n" + softmax().replace("int launch", "int all")
    body = "std::thread([=] { all(x, out, scratch); }).join();"
    judged = softmax_small.evaluate(source + filled_with(softmax_small, body))
    assert judged.status is Status.VERIFIED, judged.error


def test_a_candidate_sees_no_api_key(
    compiler: str, tiny_problem: Problem, honest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    look = """
    #include <stdlib.h>
    #include <string.h>
    extern char** environ;
    __attribute__((constructor)) static void look() {
        if (getenv("OPENAI_API_KEY")) abort();
        for (char** entry = environ; *entry; ++entry) if (strstr(*entry, "sk-secret")) abort();
    }
    """
    assert os.environ["OPENAI_API_KEY"] == "sk-secret"
    protocol = Protocol(tiny_problem.tolerance, nominal_calls=2, repeats=1)
    able_to_look = frozenset({Check.SYMBOLS})
    with Evaluator(tiny_problem, languages.CPP, protocol, seed=7, without=able_to_look) as evaluator:
        judged = evaluator.evaluate(honest + look)
    assert judged.status is Status.VERIFIED, judged.error
