"""The order of events of a trial, and what each of its checks finds that no other does."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

import pytest

from treesearch import languages
from treesearch.evaluation import build, clock, device, lanes, processes, visits
from treesearch.evaluation.bench import Bench
from treesearch.evaluation.candidate import Failed
from treesearch.evaluation.checks import NONE, Check, Checks
from treesearch.evaluation.inputs import BURSTS, Deck
from treesearch.evaluation.trial import Outcome, Trial
from treesearch.evaluation.visits import WARM, WATCHED, Visit
from treesearch.records import Label, Problem, Protocol, Status

LONG_SETTLE, LOOKING = 0.05, 0.01
HOSTILE = frozenset({Check.SYMBOLS})
"""What would refuse these candidates before they run."""
KERNEL = """
#include "problem.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static void spin(int microseconds) {
    timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000LL + now.tv_nsec - from.tv_nsec < microseconds * 1000LL);
}
ABOVE
extern "C" int launch(const float* x, float* out, void*) {
    BEFORE
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
    AFTER
    return 0;
}
"""


def kernel(before: str = "", after: str = "", above: str = "") -> str:
    return KERNEL.replace("ABOVE", above).replace("BEFORE", before).replace("AFTER", after)


def thread(body: str) -> tuple[str, str]:
    """What goes above a launch, and to its start, for a thread that is started once and left running."""
    above = f"static const float* volatile latest; static void* thread(void*) {{ {body} return nullptr; }}"
    once = "static bool started = false; pthread_t t; "
    return above, once + "if (!started) { started = true; pthread_create(&t, nullptr, thread, nullptr); } latest = x;"


@pytest.fixture(scope="module")
def bench(compiler: str, tiny_problem: Problem) -> Iterator[Bench]:
    made = Bench.set_up(tiny_problem, protocol_of(tiny_problem), lanes.of(device.cpu()), seed=7, without=NONE)
    yield made
    made.close()


def protocol_of(problem: Problem) -> Protocol:
    return Protocol(problem.tolerance, deadline_seconds=20, threads=2, nominal_calls=4, repeats=3)


@pytest.fixture
def deck(bench: Bench) -> Deck:
    assert bench.deck is not None
    return bench.deck


Run = Callable[[], Outcome]
Try = Callable[..., tuple[Trial, Run]]


@pytest.fixture
def prepare(bench: Bench, deck: Deck, tiny_problem: Problem) -> Try:
    """Builds a candidate; gives its trial and what runs it."""

    def prepared(
        source: str = "",
        *,
        without: Checks = NONE,
        settle: float = 0.003,
        incumbent: float | None = None,
        starts_others: bool = False,
    ) -> tuple[Trial, Run]:
        lane = replace(lanes.of(device.cpu()), settle_seconds=settle)
        parts = (deck, bench.sets, bench.baselines)
        about = (tiny_problem, languages.CPP, protocol_of(tiny_problem), lane)
        left_out = without | HOSTILE
        library = build.build(tiny_problem, languages.CPP, source or kernel(), device.cpu().architecture).library
        assert library is not None
        trial = Trial(
            *about,
            *parts,
            more_sets=bench.more_sets,
            walls=replace(lane.walls(library), processes=True) if starts_others else None,
            incumbent=incumbent,
            without=left_out,
        )
        return trial, lambda: trial.run(library)

    return prepared


def planned(trial: Trial) -> list[Visit]:
    return visits.plan(trial.deck, trial.lane, trial.protocol, trial.chance, trial.without)


def failure(run: Run) -> tuple[Status, str]:
    with pytest.raises(Failed) as caught:
        run()
    return caught.value.status, caught.value.error


# ── the order of events ─────────────────────────────────────────────────────────────────────────


def test_every_call_is_visited_and_bursts_come_in_the_second_half(prepare: Try, deck: Deck) -> None:
    for _ in range(20):
        found = planned(prepare()[0])
        assert {visit.call for visit in found} == {*deck.calls, *deck.spares}
        nominal = sum(call.nominal for call in deck.calls)
        assert len(found) == len(deck.calls) + 2 * nominal
        late = found[len(found) // 2 :]
        bursts = [visit.burst for visit in found if visit.burst]
        assert sum(bool(visit.burst) for visit in late) == len(bursts) == BURSTS
        rows = [call for burst in bursts for call in burst]
        assert len({*rows, *deck.calls, *deck.spares}) == len(rows) + len(deck.calls) + len(deck.spares)
        assert sum(visit.watched for visit in found) == WATCHED
        assert all(visit.call.checked for visit in found if visit.burst or visit.watched)


def test_calls_come_in_an_order_drawn_by_lot_unless_that_is_left_out(prepare: Try) -> None:
    def orders(*without: Check) -> set[tuple[int, ...]]:
        left_out = frozenset({Check.BURSTS, *without})
        return {tuple(visit.call.seed for visit in planned(prepare(without=left_out)[0])) for _ in range(5)}

    assert len(orders()) == 5
    assert len(orders(Check.SHUFFLE)) == 1


def test_new_contents_are_not_seen_before_the_launch_that_they_are_for(prepare: Try) -> None:
    """A thread counts how often it looked at contents that no launch was called with yet."""
    body = """
    static float seen[16]; static const float* last[2];
    for (;;) {
        const float* x = latest;
        if (x && x != last[0]) { last[1] = last[0]; last[0] = x; }
        for (int i = 0; i < 2; ++i)
            if (last[i] && memcmp(seen, last[i], sizeof seen) && memcmp(given[i], last[i], 64)) ++looked;
        usleep(1000);
    }
    """
    above, start = thread(body)
    above = f"static volatile int looked; static float given[2][16];\n{above}"
    start = f"if (looked > 15) return 9; looked = 0; {start} memcpy(given[0], x, 64); memcpy(given[1], x, 64);"
    source = kernel(above=above, before=start)
    assert prepare(source, settle=LONG_SETTLE)[1]().accuracy.calls > 0, "every launch returned 0"
    left_out = frozenset({Check.STOPPED})
    assert failure(prepare(source, settle=LONG_SETTLE, without=left_out)[1]) == (
        Status.CRASHED,
        "launch returned 9; 0 means success",
    )


# ── the screen ──────────────────────────────────────────────────────────────────────────────────


def test_a_kernel_that_is_clearly_slower_is_checked_as_any_other_and_timed_less(prepare: Try, deck: Deck) -> None:
    trial, run = prepare(kernel(before="spin(400);"), incumbent=0.1)
    trial.chance = random.Random(1)  # type: ignore[assignment]
    outcome = run()
    checked = sum(call.nominal for call in deck.calls)
    assert checked <= len(outcome.measurement.kernel.samples) < len(planned(prepare()[0])) - len(trial.stressed)
    assert len(outcome.measurement.eager.samples) == len(outcome.measurement.kernel.samples)
    further = len(trial.warm) + sum(1 + burst.times for burst in trial.bursts)
    assert outcome.accuracy.calls == len(deck.calls) + further
    assert len(trial.bursts) >= 1
    assert outcome.doubt == ""


@pytest.mark.parametrize("incumbent", [0.3, None])
def test_a_kernel_that_may_still_be_as_fast_is_timed_in_full(prepare: Try, incumbent: float | None) -> None:
    trial, run = prepare(kernel(before="spin(400);"), incumbent=incumbent)
    assert len(run().measurement.kernel.samples) == len(planned(trial)) - len(trial.stressed)
    assert len(trial.bursts) == BURSTS


def test_one_quick_sample_is_enough_to_be_timed_in_full(prepare: Try) -> None:
    """What the machine did meanwhile makes samples longer, never shorter."""
    trial, _ = prepare(incumbent=1.0)
    for samples, outclassed in (([9.0] * 3, False), ([9.0] * 4, True), ([9.0] * 9 + [2.9], False)):
        trial.samples["kernel"] = samples
        assert trial._outclassed() is outclassed


def test_one_burst_is_enough_unless_it_was_interrupted(prepare: Try) -> None:
    trial, _ = prepare(incumbent=1.0)
    trial.samples["kernel"] = [9.0] * 4
    for bursts, enough in (([], False), ([90.0], False), ([90.0, 9.1], True)):
        trial.bursts = [clock.Burst(1, each, 0.0) for each in bursts]
        assert trial._enough_bursts() is enough
    trial.incumbent = None
    assert not trial._enough_bursts()


def test_a_clearly_slower_kernel_that_is_wrong_is_wrong(prepare: Try) -> None:
    """The last of its answers counts like the first."""
    late = kernel(before="spin(400);", after="static int n = 0; if (++n > 12) out[0] += 1;")
    assert failure(prepare(late, incumbent=0.1)[1])[0] is Status.WRONG


# ── determinism ─────────────────────────────────────────────────────────────────────────────────


def test_an_honest_kernel_bears_no_label_and_sleeps_when_nothing_is_asked(prepare: Try) -> None:
    trial, run = prepare()
    outcome = run()
    launches = [burst.times for burst in trial.bursts]
    again = BURSTS + WARM  # the calls that precede a burst, and those that are launched once more at once
    assert (outcome.labels, outcome.accuracy.calls) == ((), len(trial.deck.calls) + again + sum(launches))
    assert launches == [len(burst) for burst in trial.deck.bursts]
    assert len(trial.busy) == WATCHED


WATCHES = """
// Notes when new contents first showed behind each pointer, in a process that takes long to parse a question.
static const float* volatile places[64]; static volatile float seen[64]; static volatile long long since[64];
static float last[64]; static volatile int known = 0;
static long long now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
static void* watch(void*) {
    for (;; usleep(50))
        for (int i = 0; i < known; ++i)
            if (float value = places[i][0]; value != seen[i]) since[i] = now(), seen[i] = value;
    return nullptr;
}
__attribute__((constructor)) static void start() {
    auto ensure = (int (*)())dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    auto run = (int (*)(const char*))dlsym(RTLD_DEFAULT, "PyRun_SimpleString");
    auto release = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
    int state = ensure();
    if (run("import json, time; own = json.loads; json.loads = lambda s: [time.sleep(0.03), own(s)][1]")) abort();
    release(state);
    pthread_t thread;
    pthread_create(&thread, nullptr, watch, nullptr);
}
"""
EARLY = """
    int i = 0;
    while (i < known && places[i] != x) ++i;
    if (i == known) places[i] = x, seen[i] = last[i] = x[0], ++known;
    if (x[0] != last[i] && seen[i] == x[0] && now() - since[i] > 20000000) return 7;
    last[i] = x[0];
"""


def test_no_thread_sees_new_contents_while_a_question_is_parsed(prepare: Try) -> None:
    outcome = prepare(kernel(above=WATCHES, before=EARLY))[1]()
    assert outcome.measurement.kernel.samples


def test_it_is_not_on_a_candidates_time_to_look_for_what_it_has_started(
    prepare: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which takes the longer the more threads it has, up to a millisecond on many cores."""
    looked = []

    def look(process: int) -> frozenset[int]:
        time.sleep(LOOKING)
        looked.append(process)
        return frozenset()

    monkeypatch.setattr(processes, "stop_others", look)
    trial, run = prepare(starts_others=True)
    assert run().doubt == ""
    assert len(looked) > len(trial.outside)
    assert statistics.median(trial.outside) < 1e3 * LOOKING


def test_answers_that_vary_are_right_and_labelled(prepare: Try) -> None:
    source = kernel(after="static int n = 0; ++n; for (int64_t i = 0; i < x_numel; ++i) out[i] *= 1 + n * 1e-7f;")
    assert prepare(source)[1]().labels == (Label.VARYING,)


# ── bursts ──────────────────────────────────────────────────────────────────────────────────────

FORGED = """
// The interpreter that measures is in the same process, and this is how to run code in it.
__attribute__((constructor)) static void patch() {
    auto ensure = (int (*)())dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    auto run = (int (*)(const char*))dlsym(RTLD_DEFAULT, "PyRun_SimpleString");
    auto release = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
    int state = ensure();
    if (run("import time; time.perf_counter_ns = iter(range(0, 10**15, 20000)).__next__")) abort();
    release(state);
}
"""


def test_what_a_forged_clock_hides_in_each_launch_adds_up_in_a_burst(prepare: Try) -> None:
    """0.2 ms a launch is within what the controller can tell of a single one."""
    source = kernel(above=FORGED, before="spin(200);")
    doubt = prepare(source, without=frozenset({Check.CLOCKS}))[1]().doubt
    assert "0.02 ms for a single launch" in doubt
    assert "in a row seen from outside" in doubt
    assert prepare(source, without=frozenset({Check.CLOCKS, Check.BURSTS}))[1]().doubt == ""


def test_a_process_that_answers_slowly_does_not_excuse_its_bursts(prepare: Try) -> None:
    """What it takes to launch nothing is subtracted: a candidate could make that as long as it likes."""
    asked = "import json; own = json.loads; said = ['']; json.loads = lambda s: [said.append(s), own(s)][1]"
    asks = "t.sleep(0.05) if 'set' not in said[-1] and 'burst' not in said[-1] else 0"
    slow = f"{asked}; import os; read = os.read; os.read = lambda *given: [{asks}, read(*given)][1]"
    above = FORGED.replace('run("import time;', f'run("import time as t; {slow}; import time;')
    source = kernel(above=above, before="spin(20000);")
    trial, run = prepare(source)
    assert "the clocks disagree" in run().doubt
    assert max(trial.crossings) < 40


def test_a_kernel_that_takes_as_long_and_says_so_is_believed(prepare: Try) -> None:
    assert prepare(kernel(before="spin(200);"))[1]().doubt == ""


def test_a_kernel_that_is_slower_in_a_row_has_the_slower_time(prepare: Try) -> None:
    """Whether it contends with itself, or did its work before a single launch: it is no lie and gains nothing."""
    since = "timespec now; clock_gettime(CLOCK_MONOTONIC, &now); static timespec last;"
    late = "now.tv_sec == last.tv_sec && now.tv_nsec - last.tv_nsec < 1000000"
    again = f"{since} if ({late}) spin(400); clock_gettime(CLOCK_MONOTONIC, &last);"
    trial, run = prepare(kernel(before=again))
    outcome = run()
    assert outcome.doubt == ""
    assert outcome.labels == (Label.BACK_TO_BACK,)
    assert max(trial.samples["kernel"]) < 0.3
    assert outcome.measurement.kernel.median > 0.3
    assert outcome.measurement.speedup.value == outcome.measurement.eager.median / outcome.measurement.kernel.median


def test_every_launch_in_a_row_has_to_be_right(prepare: Try) -> None:
    """It leaves one of them out, of those that follow another within a millisecond."""
    since = "timespec now; clock_gettime(CLOCK_MONOTONIC, &now); static timespec last; static int row = 0;"
    soon = "now.tv_sec == last.tv_sec && now.tv_nsec - last.tv_nsec < 1000000"
    skip = f"{since} row = ({soon}) ? row + 1 : 0; last = now; if (row == 7) return 0;"
    assert failure(prepare(kernel(before=skip))[1])[0] is Status.WRONG


def test_answers_that_are_kept_serve_no_launch_in_a_row(prepare: Try) -> None:
    """It knows all that it has met again, and spins where it has not: launches in a row meet nothing twice."""
    above = "static float known[999][8]; static int count = 0;"
    look = "bool met = false; for (int i = 0; i < count; ++i) met = met || !memcmp(known[i], x + 100, sizeof known[i]);"
    keep = "if (!met) { memcpy(known[count++], x + 100, sizeof known[0]); spin(200); }"
    trial, run = prepare(kernel(above=above, before=f"{look} {keep}"))
    run()
    assert min(burst.inside / burst.times for burst in trial.bursts if burst.inside) >= 0.2


def test_a_launch_that_leaves_the_last_answer_is_wrong(prepare: Try) -> None:
    """The second of two launches with equal inputs has to work as well: outputs are overwritten in between."""
    again = "static float last[x_numel]; if (!memcmp(last, x, sizeof last)) return 0; memcpy(last, x, sizeof last);"
    status, error = failure(prepare(kernel(before=again))[1])
    assert status is Status.WRONG
    assert "not finite" in error
    assert prepare(kernel(before=again), without=frozenset({Check.BURSTS}))[1]().doubt == ""


# ── warm caches ─────────────────────────────────────────────────────────────────────────────────


def test_a_launch_right_after_another_on_the_same_contents_is_timed_as_well(prepare: Try) -> None:
    again = "static float last[x_numel]; spin(memcmp(last, x, sizeof last) ? 10000 : 3000);"
    again += " memcpy(last, x, sizeof last);"
    trial, run = prepare(kernel(before=again))
    measured = run().measurement
    assert measured.warm is not None
    assert 3 <= measured.warm < measured.kernel.median
    assert len(trial.warm) <= WARM


def test_a_warm_time_that_the_controllers_clock_denies_is_none(prepare: Try) -> None:
    source = kernel(above=FORGED, before="spin(3000);")
    assert prepare(source, without=frozenset({Check.CLOCKS, Check.BURSTS}))[1]().measurement.warm is None


def test_warm_launches_follow_some_nominal_calls(prepare: Try) -> None:
    found = planned(prepare()[0])
    assert sum(visit.warm for visit in found) == WARM
    assert all(visit.call.nominal and visit.call.checked for visit in found if visit.warm)


def test_each_manner_of_calling_is_met_once_unless_the_reference_answers_otherwise_in_it(
    prepare: Try, deck: Deck
) -> None:
    def manners() -> list[tuple[str, ...]]:
        return sorted(visit.manners for visit in planned(trial) if visit.manners)

    trial = prepare()[0]
    trial.lane = replace(trial.lane, manners=("one", "other", "other"))
    assert manners() == [("one",), ("other",), ("other",)]
    assert all(visit.call.checked for visit in planned(trial) if visit.manners)
    trial.deck = replace(deck, changing=("other",))
    assert manners() == [("one",)]
    trial.without |= {Check.PLAIN_CALLS}
    assert manners() == []


def test_where_there_are_more_manners_than_checked_calls_some_calls_are_made_in_several(
    prepare: Try, deck: Deck
) -> None:
    trial, names = prepare()[0], tuple(f"manner {number}" for number in range(100))
    trial.lane = replace(trial.lane, manners=names)
    found = [visit.manners for visit in planned(trial) if visit.call.checked]
    assert sorted(chain.from_iterable(found)) == sorted(names)
    assert max(map(len, found)) - min(map(len, found)) <= 1


# ── work after the launch ───────────────────────────────────────────────────────────────────────


def test_a_thread_that_works_on_after_launch_returned_breaks_the_contract(prepare: Try) -> None:
    above, start = thread("for (volatile int i = 0;; ++i) {}")
    source = kernel(above=above, before=start)
    assert failure(prepare(source)[1]) == (Status.BROKE_CONTRACT, "work goes on after launch has returned")
    assert prepare(source, without=frozenset({Check.CPU_TIME}))[1]().labels == ()


def test_threads_that_wait_for_the_next_launch_are_accepted(prepare: Try) -> None:
    above, start = thread("for (;;) usleep(500);")
    prepare(kernel(above=above, before=start))[1]()
    parallel = "double sum = 0;\n#pragma omp parallel for reduction(+:sum)\n"
    parallel += "for (int64_t i = 0; i < x_numel; ++i) sum += x[i];\nif (sum != sum) return 3;"
    prepare(kernel(before=parallel))[1]()


# ── strata ──────────────────────────────────────────────────────────────────────────────────────


def test_a_kernel_that_is_quick_on_nominal_inputs_alone_is_doubted(prepare: Try) -> None:
    tell = "double sum = 0, odd = 0; for (int i = 0; i < 8192; ++i) { sum += x[i] * x[i]; odd += x[i] == (int)x[i]; }"
    tell += " if (sum < 7000 || sum > 9400 || odd > 100) spin(1000);"
    doubt = prepare(kernel(before=tell))[1]().doubt
    assert doubt.startswith("slower on stressed inputs: 1"), doubt
    assert prepare(kernel(before=tell), without=frozenset({Check.STRATA}))[1]().doubt == ""


# ── what the audit leaves out ───────────────────────────────────────────────────────────────────

ANSWERS = frozenset({Check.ROWS, Check.ELEMENTS})


@pytest.mark.parametrize(
    ("check", "others", "source", "told"),
    [
        (Check.GUARDS, NONE, kernel(after="out[out_numel] = 0;"), "memory next to out"),
        (Check.ELEMENTS, NONE, kernel(after="out[0] += 0.1f;"), "1 of 8192 elements beyond"),
        (Check.ROWS, ANSWERS, kernel(after="for (int64_t i = 0; i < x_numel; ++i) out[i] *= 1.05f;"), "rows beyond"),
        (Check.POISON, ANSWERS, kernel().replace("i = 0;", "i = 1;"), "not finite"),
    ],
    ids=["guards", "elements", "rows", "poison"],
)
def test_each_check_finds_what_the_others_do_not(
    prepare: Try, check: Check, others: Checks, source: str, told: str
) -> None:
    assert told in failure(prepare(source, without=others - {check})[1])[1]
    prepare(without=others | {check})[1]()  # it leaves the outputs written
    prepare(source, without=others | {check})[1]()
