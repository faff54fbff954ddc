"""The checks that a verdict rests on, by name, so that the audit can show that each is needed.

Only `treesearch audit` leaves one out, on a corpus of kernels made for the purpose; a verdict that is stored always
rests on all of them.
"""

from __future__ import annotations

from enum import StrEnum


class Check(StrEnum):
    """One thing that stands between a hostile kernel and a good verdict."""

    # of the built library
    SYMBOLS = "symbols"
    """It imports no function that a kernel has no use for, and needs no library but those that it is built with."""
    GRAPH_NODES = "graph-nodes"
    """What a CUDA launch enqueues are kernels, copies and fills on the device, all of its own."""

    # of what is asked of it
    FRESH_CONTENTS = "fresh-contents"
    """Every call has contents of its own, behind pointers that come again."""
    WEIGHTS = "weights"
    """Parameters and buffers are redrawn as inputs are."""
    STRESS = "stress"
    """Some calls have unusual contents."""
    SHUFFLE = "shuffle"
    """Calls come in an order drawn by lot."""
    PLAIN_CALLS = "plain-calls"
    """A CUDA kernel is right where `launch` is called as a user calls it as well, not replayed from a graph; a module
    in other manners than the one that it is timed in, unless it refuses them."""

    # of what it answers
    ROWS = "rows"
    """Every row's error is small beside that row."""
    ELEMENTS = "elements"
    """Every element of a nominal call is within the published tolerance."""
    POISON = "poison"
    """Outputs are NaN before each launch."""
    GUARDS = "guards"
    """What surrounds a buffer stays as it is."""
    INPUTS = "inputs"
    """Inputs stay as they are."""
    STOPPED = "stopped"
    """The worker is stopped before its outputs are read."""
    CPU_TIME = "cpu-time"
    """No work goes on after `launch` has returned."""

    # of how long it takes
    CLOCKS = "clocks"
    """The worker's clock and the controller's agree on single launches."""
    BURSTS = "bursts"
    """They agree on many launches in a row, whose last answer is right as well."""
    FLOOR = "floor"
    """No time is shorter than moving the bytes that provably matter takes."""
    STRATA = "strata"
    """Nominal calls are not clearly faster than stressed ones."""

    # of what it may reach
    REPLIES = "replies"
    """Nothing is taken for a reply that nobody asked for."""
    NETWORK = "network"
    """It reaches no network."""
    FILES = "files"
    """It reads no file of the user's and writes none."""
    PROCESSES = "processes"
    """It starts no process and signals no other one."""
    MEMORY = "memory"
    """It maps no more memory than a share of the machine's."""
    SPACE = "space"
    """It writes no more to its temporary folder than that may hold."""
    ENVIRONMENT = "environment"
    """It sees no variable of the user's, API keys above all."""
    DEADLINE = "deadline"
    """It has so many seconds, and what it leaves running is killed."""
    COMPILER = "compiler"
    """The compiler reads no file of the user's, and has a share of the memory, of time and of disk space."""
    SANITIZER = "sanitizer"
    """A CUDA kernel that is among the fastest, so far or of its bundle, passes memcheck, racecheck, initcheck and
    synccheck."""


Checks = frozenset[Check]

NONE: Checks = frozenset()
