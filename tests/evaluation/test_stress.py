"""Unusual contents, kind by kind: what each has that a nominal draw has not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.evaluation.test_inputs import LINEAR, deck_of, elementwise
from treesearch.evaluation.stress import (
    ALIGNED,
    FAINT,
    GAINS,
    SIGNS,
    SMALL,
    STRESS,
    align,
    altered,
    regained,
    shared_length,
)

UNMOVED = (ALIGNED, FAINT, GAINS, SIGNS, SMALL, "large", "weights")
"""Kinds that leave shares of a whole as they are."""


def test_aligned_contents_are_the_same_values_and_larger_at_the_same_places() -> None:
    change, generator = align(64, seed=3), torch.Generator()
    a, b = torch.rand(5, 64, generator=generator), torch.rand(64, 7, generator=generator)
    ordered, also = change(a, generator), change(b, generator)
    assert torch.equal(ordered.sort(dim=1)[0], a.sort(dim=1)[0])
    assert torch.equal(also.sort(dim=0)[0], b.sort(dim=0)[0])
    along = torch.corrcoef(torch.stack([ordered.mean(dim=0), also.mean(dim=1)]))[0, 1]
    assert along > 0.5
    assert torch.equal(change(torch.ones(3, 5), generator), torch.ones(3, 5)), "no axis is that long"


@pytest.mark.parametrize(
    ("shapes", "length"),
    [
        ([(16, 300), (300, 8)], 300),
        ([(400, 32), (32, 8)], 32),
        ([(4, 1, 9), (7, 1)], 9),
        ([(8, 8), (64,)], 64),
        ([(5, 6), (6, 5)], 6),
        ([()], 1),
        ([], 1),
    ],
)
def test_aligned_is_the_longest_axis_that_two_tensors_share(shapes: list[tuple[int, ...]], length: int) -> None:
    assert shared_length(shapes) == length


def test_an_aligned_call_orders_inputs_and_parameters_and_no_buffers() -> None:
    deck = deck_of(LINEAR)
    [call] = [call for call in deck.calls if call.stratum == ALIGNED]
    x, weight = call.values["x"], call.values["linear_weight"]
    length = shared_length([x.shape, weight.shape])
    low = [axis for axis, size in enumerate(x.shape) if size == length][-1]
    places = x.float().movedim(low, 0).flatten(1).mean(dim=1)
    own = weight.float().movedim([axis for axis, size in enumerate(weight.shape) if size == length][-1], 0)
    assert torch.corrcoef(torch.stack([places, own.flatten(1).mean(dim=1)]))[0, 1] > 0.5


TWENTY_LAYERS = (
    LINEAR.split("class Model")[0]
    + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[layer for _ in range(20) for layer in (nn.Linear(64, 64), nn.ReLU())])
        self.scale = nn.Parameter(torch.full((64,), 1e-6))
    def forward(self, x):
        return x + self.scale * self.layers(x)

def get_inputs():
    return [torch.randn(48, 64)]

def get_init_inputs():
    return []
"""
)


def test_with_gains_every_part_of_a_network_has_a_share_in_its_output() -> None:
    deck = deck_of(TWENTY_LAYERS)
    [gains] = [call for call in deck.calls if call.stratum == GAINS]
    for call in [gains, *(call for call in deck.calls if call.nominal)]:
        branch = (call.answers.expected[0] - call.values["x"].double()).norm(dim=1)
        share = branch / call.answers.expected[0].norm(dim=1)
        assert bool((share > 0.1).all()) is (call is gains)
    assert gains.values["layers_0_weight"].std() == pytest.approx((2 / 64) ** 0.5, rel=0.1)
    assert (gains.values["scale"] >= 0).all()


def test_where_vectors_are_faint_what_they_weigh_just_counts() -> None:
    [faint] = [call for call in deck_of(TWENTY_LAYERS).calls if call.stratum == FAINT]
    assert 0.015 < float(faint.values["scale"].square().mean().sqrt()) < 0.1
    assert faint.values["layers_0_weight"].std() == pytest.approx((2 / 64) ** 0.5, rel=0.1)


def test_a_third_of_the_weights_changes_sign() -> None:
    [turned] = [call for call in deck_of(TWENTY_LAYERS).calls if call.stratum == SIGNS]
    assert 0.1 < float((turned.values["scale"] < 0).float().mean()) < 0.6, "all are positive in nominal calls"


def test_of_each_row_one_element_weighs_about_as_much_as_all_others_together() -> None:
    generator = torch.Generator().manual_seed(0)
    shares = STRESS["crest"](torch.randn(200, 4096, generator=generator), generator).softmax(dim=1).max(dim=1).values
    assert bool(((shares > 0.2) & (shares < 0.97)).all())
    assert STRESS["crest"](torch.randn((), generator=generator), generator).shape == ()


def test_mixed_rows_are_each_of_another_kind() -> None:
    generator = torch.Generator().manual_seed(0)
    mixed = STRESS["mixed"](torch.randn(4, 60, 256, generator=generator), generator).view(240, 256)
    small, large = mixed.abs().amax(dim=1) < 0.1, mixed.std(dim=1) > 32
    offset, ordered = (mixed.mean(dim=1) > 6) & (mixed.std(dim=1) < 1), (mixed.diff(dim=1) <= 0).all(dim=1)
    for kind in (small, large, offset, ordered):
        assert 39 <= int(kind.sum()) <= 40
    assert not bool((small & large | small & offset | large & ordered).any())


def test_rows_nearly_nominal_differ_by_more_than_a_tolerance() -> None:
    generator = torch.Generator().manual_seed(0)
    nominal = torch.randn(50, 100_000, generator=generator)
    nearly = STRESS["nearly"](nominal, generator)
    assert bool(((nearly.mean(dim=1).abs() > 0.02) & (nearly.mean(dim=1).abs() < 0.17)).all())
    assert bool((((nearly.std(dim=1) - 1).abs() > 0.02) & ((nearly.std(dim=1) - 1).abs() < 0.17)).all())
    assert STRESS["nearly"](torch.ones(()), generator).shape == ()


def test_skewed_contents_have_a_normal_ones_mean_and_variance() -> None:
    generator = torch.Generator().manual_seed(0)
    skewed = STRESS["skewed"](torch.randn(1_000_000, generator=generator), generator)
    assert abs(float(skewed.mean())) < 0.01
    assert abs(float(skewed.var()) - 1) < 0.02
    assert float(skewed.pow(3).mean()) == pytest.approx(2, rel=0.1)


def test_wide_contents_keep_their_order_and_hardly_any_two_are_equal() -> None:
    generator = torch.Generator().manual_seed(0)
    wide = STRESS["wide"](torch.randn(200, 1000, generator=generator), generator)
    assert float(wide.abs().max()) < 64
    assert float((wide.abs() > 16).float().mean()) > 0.005
    largest = wide.topk(16, dim=1).values
    assert bool((largest.diff(dim=1) < 0).all()), "which of two is larger is never open"


def test_what_is_large_among_smooth_contents_stands_together() -> None:
    generator = torch.Generator().manual_seed(0)
    smooth = STRESS["smooth"](torch.randn(64, 4096, generator=generator), generator)
    assert float(smooth.std()) == pytest.approx(1, rel=0.05)
    largest = smooth.topk(16, dim=1).indices // 16
    assert sum(len(set(row.tolist())) for row in largest) / 64 < 8


def test_only_the_largest_input_is_small() -> None:
    source = elementwise("x, y): return x @ y", "torch.randn(8, 64), torch.randn(64, 64)")
    [small] = [call for call in deck_of(source).calls if call.stratum == SMALL]
    assert float(small.values["x"].std()) > 0.5
    assert 2.0**-16 < float(small.values["y"].std()) < 2.0**-6


def test_ties_are_drawn_where_answers_are_yes_or_no_unless_they_hang_on_the_last_bit() -> None:
    answers = "x > 0", "x / 3 * 3 * 0.1 > x * 0.1"
    sure, unsure = (deck_of(elementwise(f"x): return {answer}", "torch.randn(8, 64)")) for answer in answers)
    assert {"ties", "constant", "spikes"} <= {call.stratum for call in sure.calls}
    assert "close" in unsure.skipped


def test_gains_under_which_rounding_alone_would_make_answers_wrong_are_left_out() -> None:
    excitable = LINEAR.replace("self.linear(x)", "torch.sin(1e4 * self.linear(x))")
    assert GAINS in deck_of(excitable).skipped


def test_gains_leave_masks_and_what_is_not_finite_alone() -> None:
    generator = torch.Generator().manual_seed(3)
    for exact in (torch.eye(5), torch.tensor([1.0, -torch.inf]), torch.arange(4), torch.empty(0)):
        assert torch.equal(regained(exact, 1.0, generator), exact)
    assert regained(torch.tensor(0.7), 1.0, generator) > 0
    assert regained(torch.zeros(64), 0.25, generator).std() == pytest.approx(0.25, rel=0.3)


def test_striped_contents_have_what_is_large_in_one_threads_columns() -> None:
    for seed in range(8):
        striped = STRESS["striped"](torch.randn(64, 1024), torch.Generator().manual_seed(seed))
        columns = (striped.mean(dim=0) > 6).nonzero().flatten()
        assert len(columns) in (8, 16, 32)
        assert len(set((columns % (1024 // len(columns))).tolist())) == 1


@pytest.mark.parametrize("kind", STRESS)
@pytest.mark.parametrize("shape", [(), (1,), (3, 1), (2, 200)])
def test_contents_of_any_shape_keep_it(kind: str, shape: tuple[int, ...]) -> None:
    assert STRESS[kind](torch.ones(shape), torch.Generator().manual_seed(1)).shape == shape


@pytest.mark.parametrize(
    "structure",
    [torch.triu, torch.tril, lambda x: x + x.mT, lambda x: x.triu().tril()],
)
@pytest.mark.parametrize("kind", STRESS)
def test_triangles_and_symmetric_matrices_stay_so(structure: Callable[[torch.Tensor], torch.Tensor], kind: str) -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = structure(torch.randn(3, 32, 32, generator=generator))
    changed = altered(drawn, STRESS[kind], 1.0, generator)
    assert isinstance(changed, torch.Tensor)
    ways: list[Callable[[torch.Tensor], torch.Tensor]] = [torch.triu, torch.tril, lambda x: x.mT]
    for way in ways:
        assert torch.equal(way(changed), changed) or not torch.equal(way(drawn), drawn)
    assert bool((changed != 0).any())


@pytest.mark.parametrize("kind", STRESS)
@pytest.mark.parametrize("falling", [False, True])
def test_rows_in_order_stay_so_and_others_do_not_become_so(kind: str, falling: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(3, 64, generator=generator)
    ordered = drawn.sort(dim=-1, descending=falling).values
    changed = altered(ordered, STRESS[kind], 1.0, generator)
    assert isinstance(changed, torch.Tensor)
    assert torch.equal(changed.sort(dim=-1, descending=falling).values, changed)
    ordered[1, 10], ordered[1, 50] = ordered[1, 50].clone(), ordered[1, 10].clone()
    moved = altered(ordered, STRESS["offset"], 1.0, generator)
    assert isinstance(moved, torch.Tensor)
    assert torch.equal(moved, STRESS["offset"](ordered, generator))


@pytest.mark.parametrize("kind", STRESS)
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("order", [1, 2])
def test_shares_of_a_whole_and_unit_vectors_stay_so(order: int, axis: int, kind: str) -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(8, 16, 32, generator=generator)
    drawn = drawn.softmax(axis) if order == 1 else torch.nn.functional.normalize(drawn, dim=axis)
    changed = altered(drawn, STRESS[kind], 64.0, generator)
    assert isinstance(changed, torch.Tensor)
    assert torch.allclose(changed.norm(order, axis), torch.ones(()), atol=1e-5)
    assert order == 2 or bool((changed >= 0).all())
    assert kind in UNMOVED or not torch.allclose(changed, drawn, rtol=1e-3)


def test_shares_in_half_precision_are_known_as_such() -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(8, 1024, generator=generator).softmax(-1).half()
    changed = altered(drawn, STRESS["offset"], 1.0, generator)
    assert isinstance(changed, torch.Tensor)
    assert torch.allclose(changed.double().sum(-1), torch.ones(8).double(), atol=1e-2)


@pytest.mark.parametrize("values", [(0.0, 1.0), (-1.0, 1.0), (-1.0, 0.0, 1.0)])
def test_labels_that_are_numbers_come_as_they_are_drawn(values: tuple[float, ...]) -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.tensor(values)[torch.randint(len(values), (8, 8), generator=generator)]
    assert altered(labels, STRESS["spikes"], 1.0, generator) is labels


def test_a_constant_matrix_is_not_taken_for_a_symmetric_one() -> None:
    generator = torch.Generator().manual_seed(0)
    changed = altered(torch.ones(16, 16), STRESS["spikes"], 1.0, generator)
    assert isinstance(changed, torch.Tensor)
    assert not torch.equal(changed, changed.mT)
