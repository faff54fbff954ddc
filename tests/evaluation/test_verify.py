"""The arithmetic of being right."""

from __future__ import annotations

import pytest
import torch

from treesearch.evaluation import rows as rows_module
from treesearch.evaluation import verify
from treesearch.evaluation.answers import compared
from treesearch.evaluation.calls import NOMINAL
from treesearch.evaluation.checks import Check
from treesearch.evaluation.rows import rows
from treesearch.records import Argument, Problem, Role, Signature


def problem_of(*outputs: torch.Tensor, tolerance: float = 1e-2) -> Problem:
    arguments = [
        Argument(f"out{index}", Role.OUTPUT, str(out.dtype).removeprefix("torch."), tuple(out.shape))
        for index, out in enumerate(outputs)
    ]
    return Problem("handmade", "", Signature(tuple(arguments)), tolerance)


def judged(
    got: torch.Tensor,
    expected: torch.Tensor,
    *,
    eager: torch.Tensor | None = None,
    stratum: str = NOMINAL,
    tolerance: float = 1e-2,
) -> verify.Checked:
    """`got` in place of `expected`, whose float32 rounding is eager's answer unless another is given."""
    exact = expected.double() if expected.is_floating_point() else expected
    answers = compared([expected if eager is None else eager], [exact])
    return verify.check(problem_of(expected, tolerance=tolerance), stratum, answers, [got])


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_an_equal_output_has_no_error() -> None:
    assert judged(draw(8, 64), draw(8, 64)) == verify.Checked(0.0, 0.0, elementwise=0.0)


@pytest.mark.parametrize(("size", "zeros_are_right"), [(1e-40, True), (1e-30, False)])
def test_what_float32_has_no_bits_for_counts_as_zero(size: float, zeros_are_right: bool) -> None:
    tiny = size * (1 + draw(8, 64).abs())
    found = judged(torch.zeros(8, 64), tiny, stratum="below")
    assert (found.failure == "") is zeros_are_right
    assert found.worst_error == (0.0 if zeros_are_right else pytest.approx(1.0))


@pytest.mark.parametrize(("factor", "right"), [(1.009, True), (1.011, False), (0.991, True), (0.989, False)])
def test_a_row_may_err_by_the_tolerance_of_its_norm(factor: float, right: bool) -> None:
    expected = draw(8, 64)
    got = expected.clone()
    got[3] *= factor
    checked = judged(got, expected, stratum="wide")
    assert (checked.failure == "") is right
    assert checked.worst_error == pytest.approx(abs(factor - 1), rel=1e-3)


def test_zeros_are_wrong_however_small_the_output_is() -> None:
    expected = 1e-5 * draw(8, 64)
    assert "rows beyond the tolerance" in judged(torch.zeros_like(expected), expected).failure


def test_one_wrong_small_row_is_not_hidden_by_large_ones() -> None:
    expected = draw(8, 64)
    expected[5] *= 1e-3
    got = expected.clone()
    got[5] = 0
    assert "1 of 8 rows" in judged(got, expected).failure


@pytest.mark.parametrize(("value", "right"), [(0.0, True), (1e-3, True), (1e-2, False), (float("nan"), False)])
def test_a_zero_row_is_judged_absolutely(value: float, right: bool) -> None:
    """64 elements of 1e-3 have a norm of 0.008, of 1e-2 one of 0.08; the tolerance is 0.01."""
    expected = draw(8, 64)
    expected[2] = 0
    got = expected.clone()
    got[2] = value
    checked = judged(got, expected, stratum="ties")
    assert (checked.failure == "") is right
    if right:
        assert checked.worst_error == 0


def test_an_output_that_is_all_zero_accepts_zero_alone() -> None:
    expected = torch.zeros(4, 64)
    assert not judged(torch.zeros(4, 64), expected).failure
    assert judged(torch.full((4, 64), 0.1), expected).failure


def test_nominal_calls_are_also_judged_element_by_element() -> None:
    """One element of 4096 is lost in its row's norm."""
    expected = draw(2, 4096)
    got = expected.clone()
    got[1, 7] += 0.2
    assert not judged(got, expected, stratum="wide").failure
    failure = judged(got, expected).failure
    assert failure.startswith("output out0 of a nominal call: 1 of 8192 elements beyond rtol = atol = 0.01")
    assert f"at (1, 7): got {float(got[1, 7]):.7g}, expected {float(expected[1, 7]):.7g}" in failure


@pytest.mark.parametrize(("times", "right"), [(3.9, True), (4.1, False)])
@pytest.mark.parametrize("stratum", [NOMINAL, "large"])
def test_a_kernel_may_err_four_times_as_much_as_eager_does(stratum: str, times: float, right: bool) -> None:
    expected, error = draw(8, 64), torch.full((8, 64), 0.1)
    checked = judged(expected + times * error, expected, eager=expected + error, stratum=stratum)
    assert (checked.failure == "") is right
    assert checked.worst_error == pytest.approx(times * checked.eager_error, rel=1e-3)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_wrong_and_located(bad: float) -> None:
    got = draw(2, 4, 32)
    got[1, 2, 3] = bad
    failure = judged(got, draw(2, 4, 32), stratum="spikes").failure
    assert f"output out0 of a spikes call: 1 of 256 elements are not finite, the first at (1, 2, 3) ({bad})" in failure


def test_a_number_whose_square_is_none_is_wrong_and_located() -> None:
    expected, out = torch.ones(4, 8).double(), torch.ones(4, 8).double()
    out[2, 3] = 1e200
    checked = judged(out, expected)
    assert "(2, 3) got 1e+200" in checked.failure


def test_a_wrong_row_is_reported_with_position_and_values() -> None:
    expected = draw(4, 3, 64)
    got = expected.clone()
    got[2, 1, 9] += 5
    failure = judged(got, expected, stratum="offset").failure
    assert "1 of 12 rows beyond the tolerance of 0.01" in failure
    assert f"at (2, 1, 9): got {float(got[2, 1, 9]):.7g}, expected {float(expected[2, 1, 9]):.7g}" in failure


def test_the_first_wrong_elements_are_shown_and_all_are_counted() -> None:
    expected = draw(4, 3, 64)
    got = expected.clone()
    got[1:3, 2] += 5
    failure = judged(got, expected, stratum="offset").failure
    assert "shape (4, 3, 64): 128 elements are wrong, the last at (2, 2, 63); the first: (1, 2, 0) got " in failure
    shown = [f"(1, 2, {place}) got {got[1, 2, place]:.7g}, expected {expected[1, 2, place]:.7g}" for place in range(4)]
    assert failure.endswith("; ".join(shown))


def test_a_row_that_is_wrong_by_little_everywhere_has_wrong_elements() -> None:
    failure = judged(draw(8, 64).fill_(1.0101), draw(8, 64).fill_(1.0), stratum="constant").failure
    assert "shape (8, 64): 512 elements are wrong, the last at (7, 63)" in failure


def test_wrong_elements_far_behind_the_first_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "SLICE", 100)
    expected = torch.zeros(1000, dtype=torch.int64)
    got = expected.clone()
    got[[7, 250, 999]] = 123456789012
    failure = judged(got, expected).failure
    assert (
        "shape (1000): 3 elements are wrong, the last at (999); the first: (7) got 123456789012, expected 0; (25"
        in failure
    )


def test_elements_that_are_not_finite_are_shown_with_what_was_expected() -> None:
    got = draw(2, 64)
    got[1, 60:] = float("nan")
    failure = judged(got, draw(2, 64)).failure
    assert (
        f"4 elements are wrong, the last at (1, 63); the first: (1, 60) got nan, expected {draw(2, 64)[1, 60]:.7g}"
        in failure
    )


def test_short_rows_are_joined_until_they_have_an_error_to_speak_of() -> None:
    assert rows(torch.zeros(5, 4, 8)).shape == (5, 32)
    assert rows(torch.zeros(5, 64)).shape == (5, 64)
    assert rows(torch.zeros(3, 2)).shape == (1, 6)
    assert rows(torch.tensor(1.0)).shape == (1, 1)


def of_numbers(
    got: torch.Tensor, expected: torch.Tensor, moved: torch.Tensor, *, own: float = 0.0, tolerance: float = 1e-2
) -> str:
    """What is wrong with `got`, where operands that are off move answers by `moved`; the reference errs by `own`."""
    answers = compared([expected + own], [expected.double()], {0: [expected.double() + moved]})
    return verify.check(problem_of(expected, tolerance=tolerance), "wide", answers, [got]).failure


LOUD_AND_QUIET = torch.cat([1000 + draw(64), 1 + draw(64).abs(), torch.zeros(64)])
"""Results of their own: in one row, the second third is nothing beside the first."""


@pytest.mark.parametrize("shape", [(192,), (192, 1), (96, 2)])
def test_what_is_small_beside_the_largest_number_counts_as_well(shape: tuple[int, ...]) -> None:
    expected = LOUD_AND_QUIET.reshape(shape)
    got = torch.where(expected < 100, 0, expected)
    assert judged(got, expected, stratum="wide").failure == "", "by rows alone it is right"
    failure = of_numbers(got, expected, torch.zeros(shape))
    assert "the 128 of 192 elements of magnitude " in failure
    assert "‖error‖ ÷ ‖reference‖ is 1 (eager's own: 0)\nshape (" in failure
    assert "64 elements are wrong" in failure
    assert of_numbers(expected * 1.009, expected, torch.zeros(shape)) == ""
    assert of_numbers(torch.where(expected < 100, expected * 1.011, expected), expected, torch.zeros(shape))


def test_numbers_of_several_rows_are_judged_together() -> None:
    expected = LOUD_AND_QUIET.repeat(2).reshape(2, 192, 1)
    got = torch.where(expected < 100, 0, expected)
    assert len(rows(got)) == 2
    assert "the 256 of 384 elements" in of_numbers(got, expected, torch.zeros(2, 192, 1))


@pytest.mark.parametrize(("size", "right"), [(0.99, True), (1.01, False)])
def test_a_part_may_move_as_far_as_operands_do_that_are_off_by_the_tolerance(size: float, right: bool) -> None:
    moved = torch.where(LOUD_AND_QUIET < 100, 6.0, 0.0)
    got = LOUD_AND_QUIET + size * moved
    assert (of_numbers(got, LOUD_AND_QUIET, moved) == "") is right


@pytest.mark.parametrize(("times", "right"), [(3.99, True), (4.01, False)])
def test_a_part_may_err_four_times_as_much_as_eager_does(times: float, right: bool) -> None:
    got = torch.where(LOUD_AND_QUIET < 100, LOUD_AND_QUIET + times * 0.5, LOUD_AND_QUIET)
    assert (of_numbers(got, LOUD_AND_QUIET, torch.zeros(192), own=0.5) == "") is right


def test_a_part_may_be_nothing_beside_the_whole_and_counts() -> None:
    expected = torch.cat([1e6 + draw(64), torch.full((64,), 1e-5)])
    got = torch.cat([expected[:64], torch.zeros(64)])
    assert "the 64 of 128 elements of magnitude 1e-05 and less" in of_numbers(got, expected, torch.zeros(128))


@pytest.mark.parametrize(("size", "right"), [(1e-5, True), (1.0, False)])
def test_a_part_of_zeros_is_judged_absolutely(size: float, right: bool) -> None:
    expected = torch.cat([1e6 + draw(64), torch.zeros(64)])
    got = torch.cat([expected[:64], torch.full((64,), size)])
    assert (of_numbers(got, expected, torch.zeros(128)) == "") is right


@pytest.mark.parametrize(("steps", "right"), [(0.99, True), (1.01, False)])
def test_nobody_is_held_to_less_than_float16_can_tell(steps: float, right: bool) -> None:
    expected = torch.cat([1e-2 * (1 + draw(64).abs()), torch.full((64,), 1e-6)])
    got = torch.cat([expected[:64], expected[64:] + steps * 2.0**-24])
    assert (of_numbers(got, expected, torch.zeros(128)) == "") is right


def test_fewer_than_a_row_of_quiet_numbers_is_no_part() -> None:
    expected = torch.cat([1000 + draw(64), torch.ones(31)])
    assert of_numbers(torch.cat([expected[:64], torch.zeros(31)]), expected, torch.zeros(95)) == ""


def test_a_number_is_judged_like_a_row_of_one() -> None:
    assert not judged(torch.tensor(100.5), torch.tensor(100.0)).failure
    assert "at (): got 102, expected 100" in judged(torch.tensor(102.0), torch.tensor(100.0)).failure


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool])
def test_integers_must_be_equal(dtype: torch.dtype) -> None:
    expected = torch.ones(4, 5, dtype=dtype)
    got = expected.clone()
    got[2, 3] = 0
    assert not judged(expected.clone(), expected).failure
    assert "1 of 20 elements differ, the first at (2, 3): got 0, expected 1" in judged(got, expected).failure


@pytest.mark.parametrize("dtype", [torch.int8, torch.bool])
def test_integers_that_hang_on_a_rounding_may_be_what_the_reference_or_moved_operands_say(dtype: torch.dtype) -> None:
    expected = torch.zeros(3, 4, dtype=dtype)
    own, moved = expected.clone(), expected.clone()
    own[0, 1] = moved[2, 3] = 1
    answers = compared([own], [expected], {0: [moved]})

    def failure(*places: tuple[int, int]) -> str:
        got = expected.clone()
        for place in places:
            got[place] = 1
        return verify.check(problem_of(expected), NOMINAL, answers, [got]).failure

    assert failure() == failure((0, 1)) == failure((2, 3)) == failure((0, 1), (2, 3)) == ""
    assert "1 of 12 elements differ, the first at (1, 1): got 1, expected 0" in failure((0, 1), (1, 1))


def among_steps_of(step: int, values: dict[str, int], *, changed: int = 256, fields: int = 1) -> str:
    """Why an element is refused that is `got`, where float64 says `least` and the reference `most`, beside others of
    which as many as are `changed` are a step apart, all of them made of so many decisions."""
    said = torch.full((len(values), 1024), 10**6, dtype=torch.int64)
    said[1, :changed] += step
    said[:, -1] = torch.tensor([*values.values()])
    expected, own, got = said
    return verify.check(problem_of(expected), NOMINAL, compared([own], [expected], fields=[fields]), [got]).failure


@pytest.mark.parametrize(
    ("least", "most", "got", "right"),
    [
        (999_999, 1_000_003, 1_000_001, True),
        (999_999, 1_000_003, 1_000_004, False),
        (-1_000_003, -999_999, -1_000_001, True),
        (3, 700, 350, False),
        (3, 700, 700, True),
    ],
)
def test_between_integers_that_are_close_any_may_stand_and_between_indices_none(
    least: int, most: int, got: int, right: bool
) -> None:
    assert (among_steps_of(1, {"least": least, "most": most, "got": got}) == "") is right


@pytest.mark.parametrize(("index", "right"), [(7, True), (8, False)])
def test_an_index_in_the_lower_digits_of_a_number_is_an_index_still(index: int, right: bool) -> None:
    packed = {"least": 2**36 + 7, "most": 2**36 + 3 * 4096 + 7, "got": 2**36 + 2 * 4096 + index}
    assert (among_steps_of(4096, packed) == "") is right


def test_between_numbers_that_share_their_digits_with_others_none_may_stand() -> None:
    packed = {"least": 2**36 + 7, "most": 2**36 + 3 * 4096 + 7}
    assert among_steps_of(4096, {**packed, "got": packed["most"]}, fields=2) == ""
    assert "elements differ" in among_steps_of(4096, {**packed, "got": 2**36 + 4096 + 7}, fields=2)


@pytest.mark.parametrize(("wrong", "right"), [(64, True), (65, False)])
def test_no_more_may_be_otherwise_than_rounding_accounts_for(wrong: int, right: bool) -> None:
    expected = torch.zeros(1024, dtype=torch.int64)
    moved, got = torch.ones_like(expected), expected.clone()
    got[:wrong] = 1

    def failure(own: torch.Tensor, *, exact: bool = True) -> str:
        answers = compared([own], [expected], {0: [moved]}, exact=exact)
        return verify.check(problem_of(expected), NOMINAL, answers, [got]).failure

    assert (failure(expected) == "") is right
    differently = expected.clone()
    differently[-3:] = 1
    assert failure(differently) == "", "where the reference rounds otherwise in 3, 96 may be"
    assert failure(expected, exact=False) == "", "nothing is known of how it rounds"


def test_a_bool_that_is_neither_0_nor_1_is_wrong() -> None:
    got = torch.full((4,), 2, dtype=torch.uint8).view(torch.bool)
    assert "got 2, expected 1" in judged(got, torch.ones(4, dtype=torch.bool)).failure


def test_every_output_counts_and_is_named() -> None:
    first, second = draw(4, 64), draw(4, 64, seed=1)
    answers = compared([first, second], [first.double(), second.double()])
    failure = verify.check(problem_of(first, second), NOMINAL, answers, [first, -second]).failure
    assert failure.startswith("output out1 of a nominal call")


def test_precision_labels_follow_what_rounding_costs() -> None:
    expected = draw(64, 512)

    def label(got: torch.Tensor) -> str:
        return verify.precision([judged(got, expected)])

    assert label(expected * (1 + 5e-5)) == "float32-like"
    assert label(expected.half().float()) == "float16-like"
    assert label(expected.bfloat16().float()) == "lower"


def test_an_error_that_eager_shares_is_no_better_for_that() -> None:
    """torch computes convolutions in tf32."""
    assert verify.precision([verify.Checked(5e-4, 3e-4, elementwise=1e-3)]) == "float16-like"


def test_stressed_calls_say_nothing_of_a_precision() -> None:
    checks = [verify.Checked(9e-3, 8e-3), verify.Checked(1e-7, 1e-7, elementwise=1e-7)]
    assert verify.precision(checks) == "float32-like"


def test_the_elementwise_error_is_the_tolerance_that_allclose_would_take() -> None:
    expected = draw(16, 64)
    got = expected + 1e-3 * draw(16, 64, seed=1) * expected.abs()
    found = judged(got, expected).elementwise
    assert found is not None
    assert torch.allclose(got.double(), expected.double(), rtol=1.0001 * found, atol=1.0001 * found)
    assert not torch.allclose(got.double(), expected.double(), rtol=0.9999 * found, atol=0.9999 * found)
    assert judged(got, expected, stratum="wide").elementwise is None


def test_outputs_are_the_same_only_bit_by_bit() -> None:
    nan = torch.tensor([float("nan"), 1.0])
    assert verify.same_bits([nan, draw(3, 5)], [nan.clone(), draw(3, 5)])
    assert not verify.same_bits([torch.tensor([0.0])], [torch.tensor([-0.0])])
    assert not verify.same_bits([draw(3, 5)], [draw(3, 5, seed=1)])


@pytest.mark.parametrize("row", [0, 40, 63])
def test_a_wrong_row_is_found_in_whatever_block_it_is(monkeypatch: pytest.MonkeyPatch, row: int) -> None:
    expected = draw(64, 64)
    got = expected.clone()
    got[row, 5] += 9
    whole = judged(got, expected), judged(got, expected, stratum="wide")
    monkeypatch.setattr(rows_module, "BLOCK", {"cpu": 3 * 64 + 1})
    assert (judged(got, expected), judged(got, expected, stratum="wide")) == whole
    assert f"({row}, 5)" in whole[0].failure
    assert judged(expected, expected) == verify.Checked(0.0, 0.0, elementwise=0.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_errors_are_taken_in_float64_whatever_the_output_is(dtype: torch.dtype) -> None:
    expected = draw(8, 64).to(dtype)
    answers = compared([expected], [expected.double() + 1e-6])
    checked = verify.check(problem_of(expected), NOMINAL, answers, [expected])
    assert checked.worst_error == pytest.approx(
        float((1e-6 * 8 / (expected.double() + 1e-6).norm(dim=1)).max()), rel=1e-6
    )


def test_what_is_not_finite_is_wrong_whatever_is_left_out() -> None:
    expected = draw(2, 32)
    got = torch.full_like(expected, float("nan"))
    answers = compared([expected], [expected.double()])
    left_out = frozenset({Check.ROWS, Check.ELEMENTS})
    assert "not finite" in verify.check(problem_of(expected), NOMINAL, answers, [got], left_out).failure
    assert not verify.check(problem_of(expected), NOMINAL, answers, [torch.zeros_like(got)], left_out).failure
