"""The reference on a GPU, timed as candidates are: replays of a captured graph, with a cold L2 cache."""

from __future__ import annotations

from typing import Any

import torch

from treesearch.evaluation.baseline import Subject
from treesearch.evaluation.cuda.buffers import map_tensor
from treesearch.evaluation.cuda.device import elapsed
from treesearch.problem.reference import Reference


class DeviceSubject(Subject):
    """Where torch cannot capture a call, or its scalars change, the call itself is timed."""

    map = staticmethod(map_tensor)

    def __init__(self, reference: Reference, call: dict[str, Any], described: list[dict[str, Any]]) -> None:
        super().__init__(reference, call, described)
        self.graphs: dict[str, torch.cuda.CUDAGraph] = {}
        self.flushed = torch.empty(call["flush_bytes"], dtype=torch.uint8, device="cuda")

    def time(self, which: str, scalars: list[bool | int | float]) -> int:
        """Nanoseconds of one call on the GPU, by its events."""
        inputs = self.arguments(scalars)
        graph = self.graphs.get(which) if list(scalars) == list(self.scalars) else None
        call = self.calls[which]
        self.flushed.zero_()
        return round(1e6 * elapsed(graph.replay if graph else lambda: call(*inputs)))

    def warm_up(self, which: str) -> None:
        super().warm_up(which)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                self.calls[which](*self.arguments(self.scalars))
        except RuntimeError:  # it synchronises, or does something else that capture forbids
            torch.cuda.synchronize()
            return
        self.graphs[which] = graph
        self.time(which, self.scalars)
