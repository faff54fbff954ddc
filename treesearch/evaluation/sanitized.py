"""What a sanitizer says of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace


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

    @property
    def doubt(self) -> str:
        return "\n".join(filter(None, (self.findings, self.races)))

    def among_mbarriers(self) -> Sanitized:
        """The same of a kernel whose threads wait on mbarriers, of which racecheck's reports prove nothing.

        It takes an mbarrier to order the accesses of those threads alone that arrive on it. Where one lane arrives for
        its warp, after `__syncwarp()`, as is usual and right, it reports a race (compute-sanitizer of CUDA 13.0 on an
        H100, with every thread arriving and with one for each warp).
        """
        if not self.races:
            return self
        reported = "racecheck reports races, which is no proof where threads wait on mbarriers"
        return replace(self, races="", not_run=self.not_run or reported)


UNINSPECTED = Sanitized("", (), "not run: there is no sanitizer for such kernels", 0.0)
