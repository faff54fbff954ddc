"""Memory of tensors that are freed and made again."""

from __future__ import annotations

import resource

import torch

from treesearch.problem import memory

ELEMENTS = 8 << 20
TIMES = 8


def faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def faults_of_tensors_made_over_and_over() -> int:
    before = faults()
    for _ in range(TIMES):
        torch.zeros(ELEMENTS)
    return faults() - before


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_inside_memory_is_reused_and_outside_it_is_new() -> None:
    with memory.reused():
        faults_of_tensors_made_over_and_over()
        inside = faults_of_tensors_made_over_and_over()
    outside = faults_of_tensors_made_over_and_over()
    assert inside < outside / 4


def test_memory_goes_back_at_the_end_though_what_was_made_last_is_kept() -> None:
    before = resident()
    with memory.reused():
        many = [torch.ones(ELEMENTS) for _ in range(TIMES)]
        kept = torch.ones(16)
        grown = resident() - before
        del many
    assert grown > TIMES * ELEMENTS
    assert resident() - before < grown / 4
    assert kept.sum() == 16
