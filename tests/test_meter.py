"""The meter that questions pass: what it admits, what it counts, and what it says."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from treesearch.errors import LimitReached, ModelUnavailable, Waiting
from treesearch.meter import EXPECTED, Meter, dollars
from treesearch.records import Answer, Budget, Price, Request, Stage, Turn, Usage

PROMPT = "x" * 350
READ = 100
"""Tokens that the prompt is taken for."""
PRICE = Price("openai/s", 10.0, 20.0)


def request(stage: Stage = Stage.KERNEL, ordinal: str = "0") -> Request:
    return Request("r1", 0, stage, "p", "", ordinal, PROMPT)


def answer(usage: Usage | None = None, model: str = "openai/s", text: str = "y" * 70) -> Answer:
    return Answer(text, model, usage=usage or Usage())


def ask(meter: Meter, usage: Usage | None = None, stage: Stage = Stage.KERNEL) -> Answer:
    with meter.asking(request(stage)) as ticket:
        return ticket.priced(answer(usage))


def fail(meter: Meter, error: Exception, asked: threading.Event | None = None, said: Turn | None = None) -> None:
    """Ask a question that ends in an error, having said that it was asked, and after what a model said."""
    with meter.asking(request()) as ticket:
        if said:
            ticket.heard(said)
        if asked:
            asked.set()
        raise error


def refusal(meter: Meter, usage: Usage) -> str:
    """What a meter says at last to somebody who goes on asking."""
    try:
        while True:
            ask(meter, usage)
    except LimitReached as limit:
        return str(limit)


class TestWhatAnAnswerCosts:
    def test_a_given_price_takes_the_place_of_the_providers(self) -> None:
        meter = Meter(prices=[PRICE])
        assert ask(meter, Usage(1000, 100, 0.5)).usage == Usage(1000, 100, 0.012)

    def test_without_a_given_price_an_answer_is_left_as_it_is(self) -> None:
        meter = Meter(listed=[PRICE])
        assert ask(meter, Usage(1000, 100, 0.5)).usage == Usage(1000, 100, 0.5)
        assert ask(meter, Usage(1000, 100)).usage == Usage(1000, 100)

    def test_tokens_that_nobody_counted_stay_unknown_whatever_the_price(self) -> None:
        assert ask(Meter(prices=[PRICE])).usage == Usage()

    @pytest.mark.parametrize(
        ("amount", "shown"),
        [(0.0, "$0.00"), (0.00004, "$0.000040"), (0.0042, "$0.0042"), (0.096, "$0.10"), (12.345, "$12.35")],
    )
    def test_no_cost_looks_like_none(self, amount: float, shown: str) -> None:
        assert dollars(amount) == shown


class TestLimits:
    def test_without_a_budget_everything_is_asked(self) -> None:
        meter = Meter()
        for _ in range(100):
            ask(meter, Usage(10**9, 10**9, 10.0**9))

    def test_dollars_are_counted_as_answered_and_never_exceeded_by_the_next_question(self) -> None:
        meter = Meter(Budget(usd=0.02), [PRICE], max_tokens=400)  # 0.009 a question at most
        ask(meter, Usage(100, 400))
        said = refusal(meter, Usage(100, 100))
        assert said == "$0.012 of $0.020 are used, and the next question may take $0.0090"

    def test_a_question_that_may_cost_more_than_all_there_is_is_not_asked(self) -> None:
        with pytest.raises(LimitReached, match="the next question may take"):
            ask(Meter(Budget(usd=0.001), [PRICE], max_tokens=400))

    def test_what_is_in_flight_counts_at_the_dearest_price_since_any_model_may_answer(self) -> None:
        dear = Price("openai/dear", 0.0, 1000.0)
        with pytest.raises(LimitReached, match=r"may take \$0.40"):
            ask(Meter(Budget(usd=0.3), [PRICE, dear], max_tokens=400))

    def test_tokens_that_nobody_counted_are_taken_from_the_texts(self) -> None:
        meter = Meter(Budget(tokens=400), max_tokens=100)
        ask(meter)  # 100 read and 20 written
        ask(meter)
        with pytest.raises(LimitReached, match="240 of 400 tokens are used, and the next question may take 200 tokens"):
            ask(meter)

    def test_an_estimate_is_the_longest_answer_so_far_where_no_length_is_set(self) -> None:
        meter = Meter(Budget(tokens=READ + EXPECTED[Stage.KERNEL]))
        ask(meter, Usage(READ, 30))
        ask(meter, Usage(READ, 10))
        assert refusal(meter, Usage(READ, 30)).endswith("may take 130 tokens")

    def test_evaluations_count_kernels_and_repairs_but_not_ideas(self) -> None:
        meter = Meter(Budget(evaluations=2))
        ask(meter)
        ask(meter, stage=Stage.IDEAS)
        ask(meter, stage=Stage.REPAIR)
        for stage in Stage:  # an idea could not be implemented any more
            with pytest.raises(LimitReached, match=r"^2 of 2 evaluations are used$"):
                ask(meter, stage=stage)

    def test_minutes_are_those_since_the_start(self) -> None:
        now = [100.0]
        meter = Meter(Budget(minutes=2.0), clock=lambda: now[0])
        now[0] += 119
        ask(meter)
        now[0] += 2
        with pytest.raises(LimitReached, match=r"2.0 of 2.0 minutes are used"):
            ask(meter)

    def test_what_a_run_spent_before_counts(self) -> None:
        counted = [(request(), answer(Usage(0, 0, 0.75))), (request(), answer(Usage(0, 0, 0.25)))]
        with pytest.raises(LimitReached, match=r"^\$1.00 of \$1.00 are used$"):
            ask(Meter(Budget(usd=1.0), [PRICE], counted=counted))

    def test_an_answer_without_a_price_from_before_counts_at_the_price_that_is_known_now(self) -> None:
        counted = [(request(), answer(Usage(100_000, 0)))]
        with pytest.raises(LimitReached, match=r"^\$1.00 of \$1.00 are used$"):
            ask(Meter(Budget(usd=1.0), listed=[PRICE], counted=counted))


class TestInFlight:
    def test_a_question_waits_while_one_in_flight_may_use_up_the_budget(self) -> None:
        meter, asked, first = Meter(Budget(evaluations=1)), list[str](), threading.Event()

        def second() -> None:
            first.wait()
            try:
                ask(meter)
            except LimitReached as limit:
                asked.append(str(limit))

        thread = threading.Thread(target=second)
        thread.start()
        with meter.asking(request()) as ticket:
            first.set()
            ticket.priced(answer())
        thread.join()
        assert asked == ["1 of 1 evaluations are used"]

    def test_one_that_fails_leaves_its_place_to_the_one_that_waits(self) -> None:
        meter, first, answered = Meter(Budget(evaluations=1)), threading.Event(), list[Answer]()

        def second() -> None:
            first.wait()
            answered.append(ask(meter))

        thread = threading.Thread(target=second)
        thread.start()
        with pytest.raises(ModelUnavailable):
            fail(meter, ModelUnavailable("gone"), first)
        thread.join()
        assert answered == [answer()]

    def test_one_whose_answer_is_due_from_outside_keeps_its_place(self) -> None:
        meter = Meter(Budget(evaluations=1))
        with pytest.raises(Waiting):
            fail(meter, Waiting("write it"))
        with pytest.raises(LimitReached):
            ask(meter)

    def test_many_threads_never_ask_more_than_is_allowed(self) -> None:
        meter, refused = Meter(Budget(evaluations=20)), list[LimitReached]()

        def work() -> None:
            try:
                ask(meter)
            except LimitReached as limit:
                refused.append(limit)

        threads = [threading.Thread(target=work) for _ in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 64 - 20

    def test_a_meter_that_is_closed_lets_nobody_wait(self) -> None:
        meter, inside, refused = Meter(Budget(evaluations=1)), threading.Event(), list[str]()

        def second() -> None:
            inside.wait()
            try:
                ask(meter)
            except LimitReached as limit:
                refused.append(str(limit))

        thread = threading.Thread(target=second)
        thread.start()
        with meter.asking(request()):
            inside.set()
            meter.close()
            thread.join()
        assert refused == ["the search is over"]


class TestWarnings:
    def test_half_and_most_of_a_limit_are_said_once(self) -> None:
        said: list[str] = []
        meter = Meter(Budget(usd=10.0), warn=said.append)
        for cost in (4.0, 1.5, 1.0, 2.0, 1.0):
            ask(meter, Usage(0, 0, cost))
        assert said == [
            "55 % of the budget is used: $5.50 of $10.00",
            "85 % of the budget is used: $8.50 of $10.00",
        ]

    @pytest.mark.parametrize(("spent", "words"), [((9.0,), 1), ((1.0,), 0)])
    def test_a_run_that_goes_on_says_where_it_stands(self, spent: Sequence[float], words: int) -> None:
        said: list[str] = []
        Meter(Budget(usd=10.0), counted=[(request(), answer(Usage(0, 0, cost))) for cost in spent], warn=said.append)
        assert len(said) == words


def turn(usage: Usage | None = None, text: str = "z" * 35) -> Turn:
    return Turn("openai/s", 0, text, usage=usage or Usage())


class TestConversations:
    """Calls before the answer. Each writes 400 tokens at most, so that the first may take 500."""

    def test_a_call_has_room_where_there_is_room_for_one_more_after_it(self) -> None:
        """The one after it reads what it wrote: 500 tokens, and writes 400."""
        for limit, room in ((1399, False), (1400, True)):
            with Meter(Budget(tokens=limit), max_tokens=400).asking(request()) as ticket:
                assert ticket.has_room("") is room

    def test_what_was_said_so_far_is_read_again(self) -> None:
        with Meter(Budget(tokens=1400), max_tokens=400).asking(request()) as ticket:
            assert ticket.has_room("")
            assert not ticket.has_room("y")

    def test_room_that_is_given_up_goes_to_a_question_that_waits(self) -> None:
        """Of 1,499 tokens, 1,400 are in flight; then 600, for the answer alone, beside which another takes 500."""
        meter, answered = Meter(Budget(tokens=1499), max_tokens=400), list[Answer]()
        second = threading.Thread(target=lambda: answered.append(ask(meter, Usage(0, 0))))
        with meter.asking(request()) as ticket:
            assert ticket.has_room("")
            second.start()
            assert not ticket.has_room("y" * 350)
            second.join(60)
            assert len(answered) == 1

    def test_what_a_model_says_is_priced_and_counted_at_once_and_its_answer_by_itself(self) -> None:
        meter = Meter(Budget(usd=0.02), [PRICE], max_tokens=100)
        with meter.asking(request()) as ticket:
            assert ticket.heard(turn(Usage(100, 50, 9.0))).usage == Usage(100, 50, 0.002)
            assert meter._used.usd == pytest.approx(0.002)
            ticket.priced(answer(Usage(100, 100)))
        assert meter._used.usd == pytest.approx(0.005)

    def test_what_was_said_counts_though_no_answer_came(self) -> None:
        """100 tokens read and 10 written, as far as the texts tell."""
        meter = Meter(Budget(tokens=110), max_tokens=10)
        with pytest.raises(ModelUnavailable):
            fail(meter, ModelUnavailable("gone"), said=turn())
        assert refusal(meter, Usage()) == "110 of 110 tokens are used"

    def test_turns_that_led_to_no_answer_before_count(self) -> None:
        meter = Meter(Budget(usd=1.0), [PRICE], unanswered=[turn(Usage(0, 0, 0.75)), turn(Usage(0, 0, 0.25))])
        assert refusal(meter, Usage()) == "$1.00 of $1.00 are used"

    def test_a_meter_that_is_closed_has_no_room(self) -> None:
        meter = Meter()
        with meter.asking(request()) as ticket:
            meter.close()
            assert not ticket.has_room("")


class TestRecords:
    @pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf")])
    def test_a_limit_that_is_not_above_zero_is_refused(self, limit: float) -> None:
        with pytest.raises(ValueError, match="no finite number above zero"):
            Budget(usd=limit)

    @pytest.mark.parametrize("dollars", [-1.0, float("nan"), float("inf")])
    def test_a_price_that_is_no_number_of_dollars_is_refused(self, dollars: float) -> None:
        with pytest.raises(ValueError, match="no number of dollars"):
            Price("openai/s", 1.0, dollars)

    def test_goals_alone_limit_no_question(self) -> None:
        assert not Budget(speedup=2.0, floor=0.5, patience=1).spends
        assert Budget(minutes=1.0).spends
