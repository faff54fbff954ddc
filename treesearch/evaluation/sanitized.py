"""What a sanitizer says of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace

MBARRIERS = "racecheck reports races, which is no proof where threads wait on mbarriers"
NAMED_BARRIERS = "{} reports {}, which is no proof where warps meet at named barriers"


@dataclass(frozen=True)
class Sanitized:
    """What the tools said of one kernel."""

    findings: str
    """Mistakes, in the tools' words and bounded; empty where they found none."""
    tools: tuple[str, ...]
    """Those that came to an end."""
    not_run: str
    """Why the others did not, as `not run: …`; empty where all did."""
    seconds: float
    races: str = ""
    """What racecheck reports of accesses to shared memory, in its words and bounded."""
    divergence: str = ""
    """What synccheck reports of barriers, likewise."""

    @property
    def doubt(self) -> str:
        return "\n".join(filter(None, (self.findings, self.divergence, self.races)))

    def among_mbarriers(self) -> Sanitized:
        """The same of a kernel whose threads wait on mbarriers, of which racecheck's reports prove nothing.

        It takes an mbarrier to order the accesses of those threads alone that arrive on it. Where one lane arrives for
        its warp, after `__syncwarp()`, as is usual and right, it reports a race (compute-sanitizer of CUDA 13.0 on an
        H100, with every thread arriving and with one for each warp).
        """
        if not self.races:
            return self
        return replace(self, races="", not_run=self._because(MBARRIERS))

    def among_named_barriers(self) -> Sanitized:
        """The same of a kernel in which some warps meet at a barrier of their own, of which neither synccheck nor
        racecheck proves anything.

        Synccheck expects all that block at such a barrier to do so at one instruction. PTX asks that of the threads of
        a warp alone, warps with different roles come to one barrier at places of their own, and a compiler that
        specializes a loop for some warps makes such places of a single `bar.sync` in the source. Racecheck now and then
        misses that warps which only arrive, by `bar.arrive`, did so before those that wait went on: of kernels with the
        same such hand-over it reported races in two, a few in thousands of turns, and none in their parent (CUDA 13.0
        on an H100, all of it). `__syncthreads()`, of which CUDA does ask that it be one for all, is no named barrier.
        """
        reports = {"divergence": ("synccheck", self.divergence), "races": ("racecheck", self.races)}
        found = [(tool, what) for what, (tool, said) in reports.items() if said]
        reasons = [NAMED_BARRIERS.format(tool, what) for tool, what in found]
        return replace(self, divergence="", races="", not_run=self._because(*reasons))

    def _because(self, *reasons: str) -> str:
        return "; ".join(filter(None, (self.not_run, *reasons)))


UNINSPECTED = Sanitized("", (), "not run: there is no sanitizer for such kernels", 0.0)
