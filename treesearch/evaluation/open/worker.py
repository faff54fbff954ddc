"""The process that runs one candidate of the open lane: imports it, gives it the shared buffers, times its forward.

`main.py` starts it. Torch and the candidate's Python share it with the clock, which is why such verdicts are labelled.
The reference, its answers and the verdict are not here. The lines that it reads and writes are those of the other
workers (`evaluation/worker.py`).
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import pickle
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from treesearch.evaluation.baseline import Subject
from treesearch.evaluation.open import places
from treesearch.evaluation.open.bare import KERNEL, NOTHING, Bare
from treesearch.evaluation.open.candidate import FIRST_CALLS, Candidate
from treesearch.evaluation.open.contract import Broken
from treesearch.evaluation.open.loans import LOT
from treesearch.evaluation.open.manners import Layouts
from treesearch.languages.module import CLASS

ERROR_CHARACTERS = 600
LONGEST_LINE = 64
"""Bytes of one that says no more than that it is time to begin."""


def import_candidate(file: Path) -> ModuleType:
    """The candidate's module, under the name that it had when it was built."""
    os.environ.update(places.caches(file.parent))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def told(error: BaseException, file: Path) -> str:
    """The last line of the traceback, with the candidate's own line that led to it."""
    said = " ".join(traceback.format_exception_only(error)[-1].split())
    short = said if len(said) <= ERROR_CHARACTERS else f"{said[:ERROR_CHARACTERS]} …"
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return f"{short} (line {own[-1].lineno} of the module, in {own[-1].name})" if own else short


def load(call: dict[str, Any], bare: list[Bare]) -> list[Candidate]:
    """One ready candidate for each set of buffers that is to have a model of its own."""
    module = import_candidate(Path(call["library"]))
    arguments = pickle.loads(base64.b64decode(call["init_inputs"]))
    candidates, layouts = [], Layouts()
    for number, one in enumerate(bare[: call["models"]]):
        torch.manual_seed(0)
        shown = LOT.randrange(FIRST_CALLS) if number else 0  # that of the process comes first
        candidates.append(Candidate(getattr(module, CLASS)(*arguments), one, bare, layouts, shown))
    return candidates


def answer(ready: Sequence[Bare], subjects: Sequence[Subject], command: dict[str, Any]) -> dict[str, Any]:
    """Sets beyond those that have a model are the first model's, which keeps its parameters and buffers."""
    if "set" in command:
        return {"code": 0, "nanoseconds": turn(ready, subjects, KERNEL, command["set"], command["scalars"])}
    if "warm" in command:
        again = [turn(ready, subjects, KERNEL, command["warm"], command["scalars"]) for _ in range(2)]
        on_cpu = ready[0].device.type == "cpu"  # a subject on a GPU flushes the cache before every call
        return {"code": 0, "nanoseconds": again[1]} if on_cpu else {"code": 0}
    if "plain" in command:
        index, one = command["plain"], ready[command["plain"]]
        assert isinstance(one, Candidate)
        refused = one.otherwise(command["manner"], command["scalars"], subjects[index])
        return {"code": 0, **({"refused": refused[:ERROR_CHARACTERS]} if refused else {})}
    if "burst" not in command:
        turn(ready, subjects, NOTHING, 0, subjects[0].scalars)
        return {}
    which = NOTHING if "idle" in command else KERNEL
    launched = zip(command["burst"], command["scalars"], strict=True)
    return {"code": 0, "nanoseconds": sum(turn(ready, subjects, which, *each) for each in launched)}


def turn(ready: Sequence[Bare], subjects: Sequence[Subject], which: str, index: int, scalars: list[Any]) -> int:
    """Nanoseconds of one call on a set."""
    return ready[index if index < len(ready) else 0].launch(which, scalars, subjects[index])


def main() -> None:
    warnings.simplefilter("ignore")
    commands, replies = os.fdopen(0, "r"), os.fdopen(int(sys.argv[1]), "w", buffering=1)
    call = json.loads(commands.readline())
    file = Path(call["library"])
    try:
        with torch.no_grad():
            bare = [Bare({**call, "arguments": call["signature"]}, described) for described in call["sets"]]
            subjects = [one.subject for one in bare]
            replies.write("{}\n")
            ready: Sequence[Bare] = bare[: call["models"]]
            for line in commands:
                for one in ready:
                    one.settle()
                command = json.loads(line)
                reply: dict[str, Any] = {}
                if "load" in command:  # nothing of the candidate's runs before
                    ready = load(call, bare)
                elif "prepare" in command:
                    turn(ready, subjects, KERNEL, command["prepare"], command["scalars"])
                else:
                    replies.write("{}\n")
                    os.read(0, LONGEST_LINE)
                    reply = answer(ready, subjects, command)
                replies.write(json.dumps(reply) + "\n")
    except Broken as failure:
        replies.write(json.dumps({"failed": "broke_contract", "error": str(failure)}) + "\n")
    # The candidate's Python may raise anything, SystemExit included.
    except (Exception, SystemExit) as error:
        replies.write(json.dumps({"failed": "crashed", "error": told(error, file)}) + "\n")
