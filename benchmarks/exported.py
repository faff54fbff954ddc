"""Whether an exported kernel is as fast for its users as the archive says.

    python -m benchmarks.exported FOLDER…

Each folder is one that `treesearch export --format module` wrote. Prints a Markdown table: the judged time from its
manifest, one call's time where users capture it into a CUDA graph, and where they call it from Python, which adds what
the call itself takes. Caches are flushed before each call, as for a verdict. A kernel for a CPU has no graph, and finds
its caches warm. Needs torch, a compiler and, for a GPU, Triton; ends with 1 where a folder cannot be measured.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import torch
from torch.utils.benchmark import Timer

GOAL = 0.03
"""How far the time within a graph may be from the archive's, as a share of that."""
SECONDS = 0.5
WARM_CALLS = 3
HEADS = "kernel", "archive", "in a CUDA graph", "of the archive's", "called from Python"


@dataclass(frozen=True)
class Timed:
    """One exported kernel's times in milliseconds; `captured` is None on a CPU."""

    name: str
    archive: float
    captured: float | None
    called: float

    @property
    def cells(self) -> tuple[str, ...]:
        captured, share = "–", "–"
        if self.captured is not None:
            captured, share = f"{self.captured:.4g} ms", f"{self.captured / self.archive:.1%}"
        return self.name, f"{self.archive:.4g} ms", captured, share, f"{self.called:.4g} ms"


def timed(folder: Path) -> Timed:
    """Raises OSError, KeyError, ValueError or RuntimeError for a folder that is no `module` export, or does not run."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (path,) = (one for one in folder.glob("*_kernel.py") if not one.name.startswith("test_"))
    exported = _imported(path)
    torch.manual_seed(0)
    model = exported.ModelNew(*exported.get_init_inputs()).to(exported.KIND)
    inputs = [one.to(exported.KIND) if isinstance(one, torch.Tensor) else one for one in exported.get_inputs()]
    archive = float(manifest["timing"]["milliseconds"])
    with torch.no_grad():
        for _ in range(WARM_CALLS):
            model(*inputs)
        if exported.KIND == "cpu":
            called = Timer("model(*inputs)", globals={"model": model, "inputs": inputs})
            return Timed(path.stem, archive, None, 1e3 * called.blocked_autorange(min_run_time=SECONDS).median)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kept = model(*inputs)
        times = _cold(graph.replay), _cold(lambda: model(*inputs))
        del kept
    return Timed(path.stem, archive, *times)


def _cold(call: Callable[[], object]) -> float:
    """Triton's median of single calls, before each of which it flushes the L2 cache."""
    testing = importlib.import_module("triton.testing")
    return float(testing.do_bench(call, warmup=100, rep=1e3 * SECONDS, return_mode="median"))


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None, "it is a Python file"
    assert spec.loader is not None, "of a folder"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    folders = parser.parse_args(arguments).folders
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}", flush=True)
    found, failed = list[Timed](), False
    for folder in folders:
        try:
            found.append(timed(folder))
            print(f"| {' | '.join(found[-1].cells)} |", flush=True)
        except (OSError, KeyError, ValueError, RuntimeError) as error:
            failed = True
            print(f"{folder}: {type(error).__name__}: {error}", file=sys.stderr)
    far = [abs(one.captured / one.archive - 1) for one in found if one.captured is not None]
    if far:
        print(f"\nAt most {max(far):.1%} from the archive's time (goal: {GOAL:.0%}).")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
