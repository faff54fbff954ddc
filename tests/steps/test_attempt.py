"""A round's slots under way: each is handed on when it is ready, whatever the others do."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

from treesearch.records import Entry, Kernel
from treesearch.steps.attempt import Candidate, Slot, Work


def candidate(slot: Slot) -> Candidate:
    return Candidate(slot, Entry(Kernel("run", 1, slot.ordinal, "cpp", None, "")))


def slots(count: int) -> list[Slot]:
    return [Slot(f"{place}.0", 0, 1) for place in range(count)]


def ordinal(future: Future[Candidate]) -> str:
    return future.result().slot.ordinal


def test_what_is_ready_first_comes_first_and_what_follows_from_it_need_not_wait() -> None:
    first, second = slots(2)
    released = threading.Event()

    def prepare(slot: Slot) -> Candidate:
        if slot is first:
            assert released.wait(60)
        return candidate(slot)

    found = []
    with ThreadPoolExecutor(2) as pool:
        work = Work(pool, prepare)
        work.begin([first, second])
        for future in work:
            found.append(ordinal(future))
            if ordinal(future) == "1.0":
                work.begin([Slot("1.0", 0, 1, repair=1)])
            else:
                released.set()
    assert found == ["1.0", "1.0r1", "0.0"]


def test_what_has_not_begun_is_left_out_and_what_has_is_waited_for() -> None:
    begun, released = threading.Event(), threading.Event()

    def prepare(slot: Slot) -> Candidate:
        begun.set()
        assert released.wait(60)
        return candidate(slot)

    with ThreadPoolExecutor(1) as pool:
        work = Work(pool, prepare)
        work.begin(slots(5))
        assert begun.wait(60)
        work.cancel()
        released.set()
        assert [ordinal(future) for future in work] == ["0.0"]
