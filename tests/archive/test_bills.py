"""What was paid for in a run, in the order in which it came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treesearch.archive import Archive, Bill
from treesearch.records import Turn, Usage

if TYPE_CHECKING:
    from tests.archive.conftest import Samples

SAID = '{"role": "assistant", "content": "", "tool_calls": []}'


def test_bills_come_as_they_were_paid_and_add_up_to_what_was_spent(archive: Archive, samples: Samples) -> None:
    run, other = samples.open(archive), samples.open(archive, new=True)
    late, early = samples.request(run, ordinal="0"), samples.request(run, ordinal="1")
    archive.save_answer(late, samples.answer(usage=Usage(1, 2, 0.5), created="2020-11-22T09:00:00"))
    archive.save_answer(early, samples.answer(usage=Usage(1, 2), created="2020-11-22T08:00:00"))
    archive.save_answer(samples.request(other), samples.answer())
    asked = samples.request(run, ordinal="2")
    archive.save_failed_ask(asked, "openai/o3", "cut off", usage=Usage(3, 4, 0.25))
    archive.save_turn(asked, Turn("openai/o3", 0, SAID, (), Usage(5, 6, 0.125)))
    archive.save_turn(early, Turn("openai/o3", 0, SAID, (), Usage(1, 1, 0.1)))
    bills = archive.bills(run.id)
    assert bills[:2] == (Bill("2020-11-22T08:00:00", None), Bill("2020-11-22T09:00:00", 0.5))
    assert [bill.cost_usd for bill in bills[2:]] == [0.25, 0.125], "and not the turn that its answer counts"
    assert sum(bill.cost_usd or 0.0 for bill in bills) == archive.spend(run.id).cost_usd
    assert archive.bills("none") == ()
