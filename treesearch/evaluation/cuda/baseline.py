"""The reference on a GPU, timed as candidates are: replays of a captured graph, with a cold L2 cache."""

from __future__ import annotations

from typing import Any

import torch

from treesearch.evaluation.baseline import Subject
from treesearch.evaluation.cuda.buffers import map_tensor
from treesearch.evaluation.cuda.device import elapsed


class DeviceSubject(Subject):
    """Where torch cannot capture a call, or its scalars change, the call itself is timed."""

    map = staticmethod(map_tensor)

    def __init__(self, call: dict[str, Any], described: list[dict[str, Any]]) -> None:
        super().__init__(call, described)
        self.graphs: dict[str, tuple[torch.cuda.CUDAGraph, object]] = {}
        """By name, a captured call and what it returned, which every replay writes anew."""
        self.flushed = torch.empty(call["flush_bytes"], dtype=torch.uint8, device="cuda")

    def call(self, which: str, scalars: list[bool | int | float]) -> tuple[int, object]:
        """Nanoseconds of one call on the GPU, by its events, and what it returned."""
        inputs, call = self.arguments(scalars), self.calls[which]
        self.flushed.zero_()
        if which in self.graphs and list(scalars) == list(self.scalars):
            graph, returned = self.graphs[which]
            return round(1e6 * elapsed(graph.replay)), returned
        results: list[object] = []
        milliseconds = elapsed(lambda: results.append(call(*inputs)))
        return round(1e6 * milliseconds), results[0]

    def replays(self, which: str) -> bool:
        return which in self.graphs

    def warm_up(self, which: str) -> None:
        super().warm_up(which)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                returned = self.calls[which](*self.arguments(self.scalars))
        # Synchronising, for one, is forbidden under capture, and what a model makes of that is up to it.
        except Exception:
            torch.cuda.synchronize()
            return
        self.graphs[which] = graph, returned
        self.time(which, self.scalars)
