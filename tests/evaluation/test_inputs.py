"""The deck: what calls it holds, and that its contents stay within the problem's domain."""

from __future__ import annotations

import pytest
import torch

from treesearch import problem
from treesearch.errors import MachineError, ProblemError
from treesearch.evaluation import calls, inputs
from treesearch.evaluation.calls import NOMINAL, Call, Drawer
from treesearch.evaluation.checks import Check
from treesearch.evaluation.inputs import Deck
from treesearch.evaluation.open.manners import EVALUATING
from treesearch.evaluation.stress import (
    OF_PARAMETERS,
    SORTED,
    STRESS,
)
from treesearch.problem.reference import Reference
from treesearch.records import Protocol

PROTOCOL = Protocol(1e-2, nominal_calls=3)

LINEAR = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(48, 32)
        self.norm = nn.BatchNorm1d(32)
        self.register_buffer("mask", (torch.arange(32) % 2).float())
        self.register_buffer("nothing", torch.full((32,), float("-inf")))

    def forward(self, x):
        return torch.maximum(self.norm(self.linear(x)) * self.mask, self.nothing)

def get_inputs():
    return [torch.randn(16, 48)]

def get_init_inputs():
    return []
"""

ELEMENTWISE = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, FORWARD

def get_inputs():
    return [INPUTS]

def get_init_inputs():
    return []
"""


def elementwise(forward: str, drawn: str) -> str:
    return ELEMENTWISE.replace("FORWARD", forward).replace("INPUTS", drawn)


def deck_of(source: str, seed: int = 5, protocol: Protocol = PROTOCOL, without: Check | None = None) -> Deck:
    subject, reference = problem.from_source("handmade", source), Reference("handmade", source)
    return inputs.draw(subject, reference, protocol, seed, frozenset({without} if without else ()))


def test_a_deck_has_the_nominal_calls_and_one_of_each_kind_of_stress() -> None:
    deck = deck_of(LINEAR)
    strata = [call.stratum for call in deck.calls]
    assert strata == [NOMINAL] * 3 + list(STRESS)
    assert len(strata) >= 10
    assert deck.skipped == ()
    assert deck.oracle == "float64"


@pytest.mark.parametrize("one_model", [False, True])
def test_bursts_are_of_calls_of_their_own(one_model: bool) -> None:
    subject, reference = problem.from_source("handmade", LINEAR), Reference("handmade", LINEAR)
    deck = inputs.draw(subject, reference, PROTOCOL, 5, launches=4, one_model=one_model)
    assert len(deck.bursts) == inputs.BURSTS
    for burst in deck.bursts:
        assert 1 <= len(burst) <= 4
        assert all(call.nominal and call.checked for call in burst)
        weights = {call.values["linear_weight"].sum().item() for call in burst}
        assert len(weights) == (1 if one_model else len(burst))
    calls = [call for calls in (deck.calls, deck.spares, *deck.bursts) for call in calls]
    assert len({call.values["x"].sum().item() for call in calls if call.nominal}) == sum(c.nominal for c in calls)
    call = deck.bursts[0][-1]
    assert torch.equal(reference.model(call.model_seed).get_parameter("linear.weight"), call.values["linear_weight"])
    assert torch.equal(call._drawer.answers(call).expected[0], call.answers.expected[0])
    assert deck_of(LINEAR).bursts == ()


@pytest.mark.parametrize(
    ("forward", "changing"),
    [
        ("x): return x * 2", False),
        ("x): return x > 0", False),
        ("x): return x * 2 if self.training else x", True),
        ("x): return x * 2 if self.training else x / self.nothing", True),
    ],
)
def test_a_reference_that_answers_otherwise_after_eval_is_noticed(forward: str, changing: bool) -> None:
    subject = problem.from_source("made_up", elementwise(forward, "torch.randn(8, 64)"))
    about = subject, Reference(subject.name, subject.source), PROTOCOL, 5
    assert (EVALUATING in inputs.draw(*about, one_model=True).changing) is changing
    assert inputs.draw(*about).changing == (), "it matters to modules alone"


def test_the_same_seed_gives_the_same_deck_and_another_seed_another() -> None:
    first, again, other = deck_of(LINEAR), deck_of(LINEAR), deck_of(LINEAR, seed=6)
    for one, two, three in zip(first.calls, again.calls, other.calls, strict=True):
        assert one.values.keys() == two.values.keys()
        assert all(torch.equal(one.values[name], two.values[name]) for name in one.values)
        assert all(map(torch.equal, one.answers.expected, two.answers.expected))
        assert not torch.equal(one.values["linear_weight"], three.values["linear_weight"])


def test_every_call_has_inputs_and_weights_of_its_own() -> None:
    deck = deck_of(LINEAR)
    for name in ("x", "linear_weight", "linear_bias"):
        values = [call.values[name] for call in deck.calls]
        assert not any(torch.equal(one, two) for index, one in enumerate(values) for two in values[:index]), name


def test_weights_that_are_all_alike_are_changed_and_masks_are_not() -> None:
    deck = deck_of(LINEAR)
    stressed = [call for call in deck.calls if not call.nominal]
    for call in stressed:
        assert call.values["norm_weight"].std() > 0
        assert call.values["norm_bias"].any()
        assert torch.equal(call.values["mask"], (torch.arange(32) % 2).float())
        assert torch.equal(call.values["nothing"], torch.full((32,), float("-inf")))
        assert call.values["norm_num_batches_tracked"] == 0
        assert bool((call.values["norm_running_var"] > 0).all())


def test_the_expected_answer_is_the_references_in_float64() -> None:
    for call in deck_of(elementwise("x):\n        return torch.exp(x)", "torch.rand(64, 64)")).calls:
        assert call.answers.expected[0].dtype is torch.float64
        assert torch.equal(call.answers.expected[0], call.values["x"].double().exp())
        own = (call.values["x"].exp().double() - call.values["x"].double().exp()).norm(dim=1)
        assert call.answers.norms[0] is not None
        assert torch.equal(call.answers.norms[0].own, own)


def test_what_is_not_kept_is_made_again_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = deck_of(LINEAR)
    monkeypatch.setattr(calls, "KEPT_SHARE", 0)
    made = deck_of(LINEAR)
    for one, two in zip((*kept.calls, *kept.spares), (*made.calls, *made.spares), strict=True):
        assert two.values is not two.values, "it was kept"
        assert all(torch.equal(one.values[name], two.values[name]) for name in one.values)
        if one.checked:
            assert all(map(torch.equal, one.answers.expected, two.answers.expected))


def test_stress_answers_stay_within_reach_of_half_precision() -> None:
    deck = deck_of(elementwise("x):\n        return x ** 3", "torch.randn(64, 64)"))
    assert "large" in [call.stratum for call in deck.calls]
    for call in deck.calls:
        assert call.answers.expected[0].abs().max() <= 3e4


def test_stress_whose_answer_is_not_finite_is_left_out_and_named() -> None:
    deck = deck_of(elementwise("x):\n        return torch.exp(x.double() * 20).float()", "torch.randn(64, 64)"))
    strata = {call.stratum for call in deck.calls}
    assert deck.skipped
    assert strata.isdisjoint(deck.skipped)
    assert strata | set(deck.skipped) == {NOMINAL, *STRESS} - {*OF_PARAMETERS}  # there are none


@pytest.mark.parametrize(
    ("drawn", "low", "high"),
    [
        ("torch.rand(64, 64)", 0, 1),
        ("torch.softmax(torch.randn(64, 64), -1)", 0, 1),
        ("torch.rand(64, 64) * 5", 0, float("inf")),
        ("(torch.rand(64, 64) < 0.5).float()", 0, 1),
    ],
)
def test_inputs_stay_in_their_domain(drawn: str, low: float, high: float) -> None:
    for call in deck_of(elementwise("x):\n        return torch.sqrt(x + 1)", drawn)).calls:
        assert low <= float(call.values["x"].min())
        assert float(call.values["x"].max()) <= high


def test_integers_and_bools_are_never_stressed_out_of_their_range() -> None:
    forward = "x, index, mask):\n        return x[index] * mask"
    source = elementwise(forward, "torch.randn(64), torch.randint(0, 64, (32,)), torch.rand(32) < 0.5")
    for call in deck_of(source).calls:
        assert 0 <= int(call.values["index"].min()) <= int(call.values["index"].max()) < 64
        assert call.values["mask"].dtype is torch.bool


def test_index_outputs_meet_no_ties() -> None:
    deck = deck_of(elementwise("x):\n        return x.argmax(-1)", "torch.randn(16, 64)"))
    assert {"ties", "constant", "spikes"}.isdisjoint(call.stratum for call in deck.calls)
    assert deck.calls[0].answers.expected[0].dtype is torch.int64


def test_sums_that_float32_leaves_open_by_a_step_may_be_either() -> None:
    source = elementwise("x):\n        return (x.sum(-1) * 1000).round().to(torch.int64)", "torch.rand(64, 512)")
    call = deck_of(source).calls[0]
    undecided = call.answers.undecided[0]
    assert undecided is not None
    exact = 1000 * call.values["x"].double().sum(dim=-1)
    from_the_edge = (exact - exact.floor() - 0.5).abs()
    assert {*undecided.places.tolist()} >= {*(from_the_edge < 0.2).nonzero().flatten().tolist()}, (
        "2e-6 of 256000 is 0.5"
    )
    decided = torch.ones(64, dtype=torch.bool)
    decided[undecided.places] = False
    assert bool(decided.any()), "which a number drawn by lot for each element seldom says"


@pytest.mark.parametrize(
    ("forward", "label"),
    [
        ("x):\n        return (x.half() * 2).float()", "native"),
        ("x):\n        return x * torch.tensor(2.0)", "float64"),
        ("x):\n        return x.sum(dtype=torch.float32)[None]", "native"),
        ("x):\n        return torch.zeros(x.shape[0]) + x[:, 0]", "float64"),
    ],
)
def test_a_forward_that_rounds_has_a_native_oracle(forward: str, label: str) -> None:
    assert deck_of(elementwise(forward, "torch.randn(16, 64)")).oracle == label


def test_scalars_are_drawn_with_the_rest() -> None:
    source = elementwise("x, k, s):\n        return x * k * s", "torch.randn(8, 64), 3, 0.5")
    assert all(call.scalars == (3, 0.5) for call in deck_of(source).calls)


def test_a_reference_that_is_not_finite_on_its_own_inputs_is_refused() -> None:
    with pytest.raises(ProblemError, match="not finite on its own inputs"):
        deck_of(elementwise("x):\n        return x.log()", "torch.randn(8, 64)"))


def test_a_deck_whose_calls_cannot_fit_in_memory_is_refused_before_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "FEWEST_HELD", 10**12)
    with pytest.raises(MachineError, match=r"GiB of memory\b.* Use smaller shapes"):
        deck_of(elementwise("x):\n        return x + 1", "torch.randn(64, 64)"))


def test_spares_are_draws_of_their_own_that_nothing_tells_from_checked_calls() -> None:
    deck = deck_of(LINEAR, protocol=Protocol(1e-2, nominal_calls=3, repeats=4))
    assert len(deck.spares) == 9
    assert not any(spare.checked for spare in deck.spares)
    nominal = [call for call in deck.calls if call.nominal]
    everything = [call.values["x"] for call in (*nominal, *deck.spares)]
    for index, one in enumerate(everything):
        for other in everything[:index]:
            ratio = (one / other).flatten()
            assert float(ratio.std()) > 0.5, "neither the same contents nor a multiple of them"
    spread = torch.stack([spare.values["x"] for spare in deck.spares]).std()
    assert abs(float(spread) - 1) < 0.05
    weights = [spare.values["linear_weight"] for spare in deck.spares]
    assert not any(torch.equal(weights[0], other) for other in weights[1:])


def test_a_deck_has_ten_checked_calls_where_the_reference_survives_little_stress() -> None:
    picky = elementwise(
        "x):\n        assert bool((x.sum(1) - 2).abs().max() < 1e-3)\n        return x * 2",
        "2 * torch.softmax(torch.randn(8, 64), 1)",
    )
    deck = deck_of(picky, protocol=Protocol(1e-2, nominal_calls=4, repeats=2))
    assert len(deck.skipped) >= 5
    assert sum(call.checked for call in deck.calls) == len(deck.calls) >= 10


def alike(calls: tuple[Call, ...], *names: str) -> bool:
    return all(torch.equal(calls[0].values[name], call.values[name]) for call in calls for name in names)


def test_without_fresh_contents_every_nominal_call_is_the_first_over_again() -> None:
    deck = deck_of(LINEAR, protocol=Protocol(1e-2, nominal_calls=3, repeats=2), without=Check.FRESH_CONTENTS)
    nominal = (*(call for call in deck.calls if call.nominal), *deck.spares)
    assert len(nominal) == 6
    assert alike(nominal, "x", "linear_weight", "linear_bias")
    assert alike((deck_of(LINEAR).calls[0], nominal[0]), "x", "linear_weight")
    assert [call.stratum for call in deck.calls if not call.nominal] == list(STRESS)
    assert not any(torch.equal(nominal[0].values["x"], call.values["x"]) for call in deck.calls if not call.nominal)


def test_without_weights_inputs_alone_change() -> None:
    deck = deck_of(LINEAR, without=Check.WEIGHTS)
    everything = (*deck.calls, *deck.spares)
    assert alike(everything, "linear_weight", "linear_bias", "norm_weight", "norm_bias", "norm_running_var")
    assert alike((deck_of(LINEAR).calls[0], deck.calls[0]), "x", "linear_weight")
    for index, call in enumerate(everything):
        assert not any(torch.equal(call.values["x"], other.values["x"]) for other in everything[:index])


def test_answers_are_those_of_the_weights_that_a_call_has() -> None:
    source = LINEAR.replace("self.norm(self.linear(x)) * self.mask", "self.linear(x)")
    for call in deck_of(source, without=Check.WEIGHTS).calls:
        x, weight, bias = (call.values[name].double() for name in ("x", "linear_weight", "linear_bias"))
        assert torch.allclose(call.answers.expected[0], x @ weight.T + bias)


def test_without_stress_nominal_calls_make_up_for_it() -> None:
    deck = deck_of(LINEAR, without=Check.STRESS)
    assert [call.stratum for call in deck.calls] == [NOMINAL] * 10
    assert deck.skipped == ()


def test_a_deck_knows_which_bytes_matter_unless_told_to_do_without() -> None:
    source = elementwise("x):\n        return x[:, :16] * 2", "torch.randn(64, 64)")
    assert deck_of(source).moved_bytes == 2 * 64 * 16 * 4
    assert deck_of(source, without=Check.FLOOR).moved_bytes == 64 * 16 * 4


@pytest.mark.parametrize(
    ("forward", "drawn", "fixed"),
    [
        ("x, m): return torch.where(m, x, 0.0)", "torch.randn(40, 40), torch.ones(40, 40).tril() > 0", ("m",)),
        ("x, m): return torch.where(m, x, 0.0)", "torch.randn(40, 40), torch.rand(40, 40) > 0.5", ()),
        ("x, p): return x * p", "torch.randn(40, 40), 2.0", ("p",)),
        ("x, w): return x * w", "torch.randn(40, 40), torch.ones(40)", ()),
    ],
)
def test_inputs_that_no_draw_changes_are_named(forward: str, drawn: str, fixed: tuple[str, ...]) -> None:
    assert deck_of(elementwise(forward, drawn)).fixed == fixed


def test_buffers_that_nothing_changes_are_named() -> None:
    assert set(deck_of(LINEAR).fixed) == {"mask", "nothing", "norm_num_batches_tracked"}


PRODUCT = """
from torch import nn
import torch

class Model(nn.Module):
    def forward(self, a, b):
        return a @ b

def get_inputs():
    return [torch.randn(512, 256), torch.randn(256, 256)]

def get_init_inputs():
    return []
"""


def test_sorted_contents_leave_a_product_that_survives_rounding() -> None:
    """With both sorted, a row of the product is nearly its row's sum times a column, and that sum may be nearly 0."""
    subject, reference = problem.from_source("product", PRODUCT), Reference("product", PRODUCT)
    (call,) = [one for one in inputs.draw(subject, reference, PROTOCOL, 5).calls if one.stratum == SORTED]
    a, b = call.values["a"], call.values["b"]
    assert torch.equal(a, a.sort(dim=-1, descending=True).values)
    assert not torch.equal(b, b.sort(dim=-1, descending=True).values)
    assert worst_rounded(call) <= 1e-3


def test_striped_contents_leave_a_product_that_survives_rounding() -> None:
    """Now and then a row of one is a small sum of large terms, and the more so the fewer columns are large."""
    source = PRODUCT.replace("512, 256", "1024, 1024").replace("torch.randn(256, 256)", "torch.randn(1024, 128) / 32")
    drawer = Drawer(problem.from_source("product", source), Reference("product", source))
    for seed in (27, 95, 116):  # of which the first draw is such
        call = drawer.stressed("striped", seed)
        assert call is not None
        assert min(call.values["a"].max(), call.values["b"].max()) > 15
        assert worst_rounded(call) <= 0.75e-2


def worst_rounded(call: Call) -> float:
    """The largest error of a row of the product of `a` and `b` whose operands are rounded to float16."""
    expected = call.answers.expected[0]
    rounded = call.values["a"].half().double() @ call.values["b"].half().double()
    return float(((rounded - expected).norm(dim=1) / expected.norm(dim=1)).max())
