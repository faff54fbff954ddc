"""Build, verify and time kernels. The trust boundary runs through here: see ARCHITECTURE.md.

Whatever begins to judge imports this before torch, whose idle threads it tells to sleep.
"""

import os

SPINS = "1000"
"""How often an idle thread of torch looks for work before it sleeps: libgomp's own choice where there are more threads
than cores, and microseconds. Its usual choice is milliseconds, on a core that builds and baselines could use."""

os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
