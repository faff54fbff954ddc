"""Candidates that attack their process, the clock or the harness; an honest kernel is judged after each."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from treesearch.evaluation import lanes
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Evaluation, Status

pytestmark = pytest.mark.untimed

Judge = Callable[[str], Evaluation]

KERNEL = """
#include "problem.h"
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
ABOVE
extern "C" int launch(const float* x, float* out, void*) {
    BEFORE
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
    AFTER
    return 0;
}
"""

FIND_REPLIES = """
// The reply pipe is the worker's only pipe that is open for writing.
static int replies() {
    char path[64], target[64];
    for (int fd = 3; fd < 256; ++fd) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length > 4 && !strncmp(target, "pipe", 4) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) return fd;
    }
    abort();
}
static void send(const char* text) { if (write(replies(), text, strlen(text)) < 0) abort(); }
"""

PYTHON = """
// The interpreter that measures is in the same process, and this is how to run code in it.
static void python(const char* code) {
    auto ensure = (int (*)())dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    auto run = (int (*)(const char*))dlsym(RTLD_DEFAULT, "PyRun_SimpleString");
    auto release = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
    int state = ensure();
    if (run(code)) abort();
    release(state);
}
"""


def kernel(before: str = "", after: str = "", above: str = "") -> str:
    """An honest kernel for the tiny problem, with code above, at the start of and at the end of `launch`."""
    return KERNEL.replace("ABOVE", above).replace("BEFORE", before).replace("AFTER", after)


def constructor(body: str) -> str:
    return f"__attribute__((constructor)) static void on_load() {{ {body} }}"


# ── builds that fail ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (kernel(before="int 3 = x;"), "expected"),
        (kernel().replace("int launch", "int lunch"), "launch"),
        (kernel().replace("const float* x,", "const double* x,"), "conflicting declaration"),
        (kernel().replace("const float* x,", "const float* x, const float* bias,"), "conflicting declaration"),
        (kernel(above="void elsewhere();", before="elsewhere();"), "undefined reference to `elsewhere()'"),
        ("", "launch"),
        ("\0\0\0", "launch"),
    ],
    ids=["syntax", "no launch", "wrong type", "extra argument", "undefined symbol", "empty", "zero bytes"],
)
def test_what_does_not_build_says_so_with_the_compilers_words(tiny: Evaluator, source: str, told: str) -> None:
    judged = tiny.evaluate(source)
    assert judged.status is Status.BUILD_FAILED, judged
    assert told in judged.error
    assert judged.build is not None
    assert judged.build.log == judged.error


def test_the_prototype_is_seen_where_the_source_forgets_to_include_it(judge: Judge) -> None:
    judged = judge(kernel().replace('extern "C"', "").replace('#include "problem.h"', ""))
    assert judged.status is Status.VERIFIED, judged.error


def test_a_warning_is_no_failure_and_stays_in_the_log(judge: Judge) -> None:
    judged = judge(kernel(before="int unused = 0;"))
    assert judged.status is Status.VERIFIED
    assert judged.build is not None
    assert "unused" in judged.build.log


# ── crashes ─────────────────────────────────────────────────────────────────────────────────────

CRASHES = {
    "segfault": (kernel(before="*(volatile int*)8 = 1;"), "SIGSEGV"),
    "abort": (kernel(before="abort();"), "SIGABRT"),
    "exit(0)": (kernel(after="exit(0);"), "exited with code 0"),
    "_exit(0)": (kernel(after="_exit(0);"), "exited with code 0"),
    "exit(0) on loading": (kernel(above=constructor("_exit(0);")), "exited with code 0"),
    "error code": (kernel(after="return 7;"), "launch returned 7"),
    "negative code": (kernel(after="return -1;"), "launch returned -1"),
    "writes an input": (kernel(before="((float*)x)[5] = 0;"), "SIGSEGV"),
    "stops answering": (kernel(above=FIND_REPLIES, before="close(replies()); for (;;) pause();"), "stopped answering"),
    "closes every descriptor": (kernel(after="for (int fd = 0; fd < 1024; ++fd) close(fd);"), "the worker died"),
    "exception": (kernel(before="throw 1;"), "SIGABRT"),
    "last words": (kernel(before='fprintf(stderr, "no AMX here\\n"); abort();'), "SIGABRT: no AMX here"),
    "endless scratch": (kernel(above='extern "C" int64_t scratch_bytes(void) { return INT64_MAX; }'), "exited with"),
}


@pytest.mark.parametrize("name", CRASHES)
def test_a_crash_is_the_candidates_alone(judge: Judge, name: str) -> None:
    source, told = CRASHES[name]
    judged = judge(source)
    assert judged.status is Status.CRASHED, judged
    assert told in judged.error


@pytest.mark.parametrize(("call", "told"), [("raise(40)", "signal 40"), ("kill(0, SIGKILL)", "SIGKILL")])
def test_a_signal_is_refused_or_the_candidates_alone(judge: Judge, call: str, told: str) -> None:
    judged = judge(kernel(before=f"if ({call}) return 3;"))
    assert judged.status is Status.CRASHED, judged
    assert ("launch returned 3" if "seccomp" in judged.sandbox else told) in judged.error


REPLIES = {
    "garbage": "\\x01\\xff\\n",
    "no object": "[1]\\n",
    "an object that is no reading": '{\\"code\\": null}\\n',
    "a reading of nothing": '{\\"code\\": 0, \\"nanoseconds\\": 0}\\n',
    "a fraction": '{\\"code\\": 0, \\"nanoseconds\\": 0.5}\\n',
    "not a number": '{\\"code\\": 0, \\"nanoseconds\\": NaN}\\n',
}


@pytest.mark.parametrize("name", REPLIES)
def test_what_is_no_reading_is_never_taken_for_one(judge: Judge, name: str) -> None:
    judged = judge(kernel(above=FIND_REPLIES, after=f'send("{REPLIES[name]}");'))
    assert judged.status is Status.CRASHED, judged


@pytest.mark.parametrize(
    ("unit", "times"),
    [("[", 60_000), ('{\\"a\\":', 9_000), ("x", 1_000_000), ("\\n", 100_000)],
    ids=["nested lists", "nested objects", "an endless line", "empty lines"],
)
def test_floods_of_the_reply_pipe_are_crashes(judge: Judge, unit: str, times: int) -> None:
    flood = f'for (int i = 0; i < {times}; ++i) send("{unit}"); send("\\n");'
    above = FIND_REPLIES.replace("static int replies() {", "static int find() {")
    once = "static int replies() { static int fd = find(); return fd; }\n"
    above = above.replace("static void send", once + "static void send")
    judged = judge(kernel(above=above, after=flood))
    assert judged.status is Status.CRASHED, judged


def test_a_reading_too_large_for_any_clock_is_a_crash(judge: Judge) -> None:
    code = 'char text[600] = "{\\"code\\": 0, \\"nanoseconds\\": 1"; memset(text + strlen(text), \'0\', 400);'
    judged = judge(kernel(above=FIND_REPLIES, after=code + ' strcat(text, "}\\n"); send(text);'))
    assert judged.status is Status.CRASHED, judged


def test_a_reply_sent_ahead_of_the_workers_own_is_noticed(judge: Judge) -> None:
    """It would report one nanosecond, and leave the true reading to be taken for the next one. That has been sent when
    the next question is asked, or is sent in answer to it, before anything was to begin."""
    ahead = 'send("{\\"code\\": 0, \\"nanoseconds\\": 1}\\n");'
    judged = judge(kernel(above=FIND_REPLIES, after=ahead))
    assert judged.status is Status.CRASHED, judged
    assert re.search("nobody asked for|answered before it was to begin", judged.error), judged


# ── hangs, and what they leave behind ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "source",
    [
        kernel(before="volatile int spin = 1; while (spin);"),
        kernel(above=constructor("for (;;) pause();")),
        kernel(above='extern "C" int64_t scratch_bytes(void) { for (;;) pause(); }'),
        kernel(above="__attribute__((destructor)) static void f() { for (;;) pause(); }", before="exit(0);"),
    ],
    ids=["endless loop", "asleep on loading", "asleep in scratch_bytes", "asleep on exit"],
)
def test_a_hang_ends_at_the_deadline(judge: Judge, source: str) -> None:
    started = time.monotonic()
    judged = judge(source)
    assert judged.status is Status.TIMED_OUT, judged
    assert "3 s" in judged.error
    assert time.monotonic() - started < 15


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """Where a candidate may write that runs as another user than the tests."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o777)
        yield Path(made)


def write_pid(path: Path) -> str:
    return f'FILE* f = fopen("{path}", "a"); fprintf(f, "%d\\n", getpid()); fclose(f);'


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and waits to be reaped does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def all_end(pids: set[int]) -> bool:
    """Whether processes are gone, given a moment for signals to arrive."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if not any(map(alive, pids)):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    ("ending", "status"),
    [("", Status.VERIFIED), ("abort();", None), ("for (;;) pause();", Status.TIMED_OUT)],
    ids=["verified", "crashed", "timed out"],
)
def test_children_of_a_candidate_are_gone_with_it(
    unwalled: Evaluator, shared_folder: Path, ending: str, status: Status | None
) -> None:
    """A crash may show as a hang, because the child holds the reply pipe open."""
    pids = shared_folder / "pids"
    child = f"{write_pid(pids)} for (;;) pause();"
    fork = f"static bool once = false; if (!once) {{ once = true; if (!fork()) {{ {child} }} }}"
    wait = f'while (access("{pids}", R_OK)) usleep(1000);'
    judged = unwalled.evaluate(kernel(before=fork + wait, after=ending))
    assert judged.status in ((status,) if status else (Status.CRASHED, Status.TIMED_OUT)), judged
    started = {int(line) for line in pids.read_text().split()}
    assert started
    assert os.getpid() not in started
    assert all_end(started)


# ── guards, buffers, repeated contents ──────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "index", ["out_numel", "out_numel + 900", "-1"], ids=["just after", "far after", "just before"]
)
def test_a_write_beside_an_output_is_wrong(judge: Judge, index: str) -> None:
    judged = judge(kernel(after=f"out[{index}] = 0;"))
    assert judged.status is Status.WRONG, judged
    assert judged.error == "the kernel wrote to the memory next to out, which is not an output"


def test_a_single_write_beside_an_output_is_seen_in_whichever_call_it_happens(tiny: Evaluator, honest: str) -> None:
    for call in range(6):
        once = f"static int calls = 0; if (calls++ == {call}) out[-1] = 0;"
        judged = tiny.evaluate(kernel(after=once))
        assert judged.status is Status.WRONG, (call, judged)
    assert tiny.evaluate(honest).status is Status.VERIFIED


def test_the_whole_output_and_nothing_else_may_be_written(judge: Judge) -> None:
    assert judge(kernel(after="out[0] = x[0] * x[0] + 1; out[out_numel - 1] += 0;")).status is Status.VERIFIED


def test_buffers_are_aligned_and_apart(judge: Judge) -> None:
    check = "if ((uintptr_t)x % 256 || (uintptr_t)out % 256) return 1; "
    check += "if (llabs((char*)x - (char*)out) < 4096) return 2;"
    judged = judge(kernel(before=check))
    assert judged.status is Status.VERIFIED, judged.error


def test_no_contents_come_twice(judge: Judge) -> None:
    """A kernel that keeps answers by a sample of its input finds none to give again."""
    seen = """
    static float seen[256][16]; static int count = 0;
    if (count && !memcmp(seen[count - 1], x + 100, sizeof seen[0])) --count;  // some calls are repeated at once
    for (int i = 0; i < count; ++i) if (!memcmp(seen[i], x + 100, sizeof seen[i])) return 9;
    memcpy(seen[count++], x + 100, sizeof seen[0]);
    """
    judged = judge(kernel(before=seen))
    assert judged.status is Status.VERIFIED, judged.error


def test_pointers_come_again_with_other_contents(judge: Judge) -> None:
    """What a cache keyed by pointers would have to notice; there are two sets of buffers, and those of bursts."""
    sets = lanes.BUFFER_SETS + lanes.MOST_SETS
    few = f"static const void* met[{sets}]; int i = 0; while (i < {sets} && met[i] && met[i] != x) ++i; "
    few += f"if (i == {sets}) return 1; met[i] = x;"
    assert judge(kernel(before=few)).status is Status.VERIFIED


# ── output, clocks ──────────────────────────────────────────────────────────────────────────────


def test_printing_a_verdict_changes_nothing(judge: Judge) -> None:
    shout = 'puts("{\\"status\\": \\"verified\\"}"); fprintf(stderr, "\\x1b[2J\\xff junk\\n"); fflush(stdout);'
    assert judge(kernel(before=shout)).status is Status.VERIFIED
    assert judge(kernel(before=shout).replace("+ 1;", "+ 2;")).status is Status.WRONG


def test_megabytes_of_output_fill_no_disk_and_hide_no_failure(judge: Judge) -> None:
    flood = "static char text[1 << 20]; memset(text, 'x', sizeof text); "
    flood += "for (int i = 0; i < 64; ++i) if (write(1, text, sizeof text) < 0) break;"
    judged = judge(kernel(before="static bool done = false; if (!done) { done = true; " + flood + "}"))
    assert judged.status is Status.VERIFIED, judged.error
    judged = judge(kernel(before=flood + " abort();"))
    assert judged.status is Status.CRASHED
    assert len(judged.error) < 500


def test_a_file_larger_than_the_limit_cannot_be_written(unwalled: Evaluator, shared_folder: Path) -> None:
    path = shared_folder / "large"
    attempt = f'int fd = open("{path}", O_CREAT | O_WRONLY, 0600); if (ftruncate(fd, 64 << 20) == 0) return 5;'
    assert unwalled.evaluate(kernel(before=attempt)).status is Status.VERIFIED
    assert path.stat().st_size <= 16 << 20


@pytest.mark.timed
def test_a_patched_clock_disagrees_with_the_controllers(judge: Judge) -> None:
    patch = constructor('python("import time; time.perf_counter_ns = iter(range(1, 10**9)).__next__");')
    judged = judge(kernel(above=PYTHON + patch, before="usleep(5000);"))
    assert judged.status is Status.SUSPECT, judged
    assert "the clocks disagree" in judged.error
    assert "1e-06 ms" in judged.error, judged.error
    assert judged.measurement is not None
    assert judged.measurement.kernel.median > 5, "the time is that of launches in a row, as it is seen from outside"


@pytest.mark.timed
def test_a_kernel_that_is_merely_slow_agrees_with_the_controllers_clock(judge: Judge) -> None:
    judged = judge(kernel(before="usleep(5000);"))
    assert judged.status is Status.VERIFIED, judged.error
    assert judged.milliseconds is not None
    assert judged.milliseconds > 5


@pytest.mark.timed
def test_work_that_goes_on_after_launch_returned_does_not_count(judge: Judge) -> None:
    """A thread that lives on writes the outputs while, and after, launch says that it is done."""
    above = """
#include <atomic>
#include <thread>
static std::atomic<const float*> from{nullptr};
static std::atomic<float*> to{nullptr};
static void finish() {
    for (;;) {
        float* out = to.exchange(nullptr);
        if (!out) { usleep(50); continue; }
        const float* x = from.load();
        for (int64_t i = 0; i < x_numel; ++i) { out[i] = x[i] * x[i] + 1; if (i % 512 == 0) usleep(100); }
    }
}
"""
    lazily = """
    static bool started = false;
    if (!started) { started = true; std::thread(finish).detach(); }
    from = x; to = out;
    return 0;
"""
    judged = judge(kernel(above=above, before=lazily))
    assert judged.status is Status.WRONG, judged
    joined = (
        "std::thread worker([=] { for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1; }); worker.join();"
    )
    assert judge(kernel(above="#include <thread>", before=f"{joined} return 0;")).status is Status.VERIFIED


def test_what_a_compiler_prints_does_not_pass_for_a_full_disk(judge: Judge) -> None:
    warned = judge(kernel(above="#warning No space left on device"))
    assert warned.status is Status.VERIFIED, warned.error
    failed = judge(kernel(above="#error No space left on device"))
    assert failed.status is Status.BUILD_FAILED


def test_a_candidate_cannot_take_all_memory(judge: Judge) -> None:
    """It is refused the memory; the machine does not have to choose whom to kill."""
    greedy = (
        "size_t size = (size_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE); if (malloc(size / 10 * 9)) return 7;"
    )
    judged = judge(kernel(before=greedy))
    assert judged.status is Status.VERIFIED, judged.error
