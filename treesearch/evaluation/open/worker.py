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
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from treesearch.evaluation.open import places
from treesearch.evaluation.open.candidate import Bare, Broken, Candidate
from treesearch.languages.module import CLASS

ERROR_CHARACTERS = 600


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
    """One ready candidate for each set of buffers."""
    module = import_candidate(Path(call["library"]))
    arguments = pickle.loads(base64.b64decode(call["init_inputs"]))
    candidates = []
    for one in bare:
        torch.manual_seed(0)
        candidates.append(Candidate(getattr(module, CLASS)(*arguments), one))
    return candidates


def answer(candidates: list[Candidate], command: dict[str, Any]) -> dict[str, Any]:
    if "prepare" in command:
        candidates[command["prepare"]].launch(command["scalars"], 1)
        return {}
    if "burst" in command:
        indices = command["burst"]
        spent = sum(candidates[index].launch(command["scalars"], indices.count(index)) for index in sorted({*indices}))
        return {"code": 0, "nanoseconds": spent}
    if "set" in command:
        return {"code": 0, "nanoseconds": candidates[command["set"]].launch(command["scalars"], 1)}
    return rest(candidates[0], command)


def rest(bare: Bare, command: dict[str, Any]) -> dict[str, Any]:
    """How long everything takes but the forward itself is what the controller wants to know."""
    bare.rest(command.get("times", 1))
    return {}


def main() -> None:
    warnings.simplefilter("ignore")
    commands, replies = sys.stdin, os.fdopen(int(sys.argv[1]), "w", buffering=1)
    call = json.loads(commands.readline())
    file = Path(call["library"])
    try:
        with torch.no_grad():
            bare = [Bare({**call, "arguments": call["signature"]}, described) for described in call["sets"]]
            replies.write("{}\n")
            candidates: list[Candidate] = []
            for line in commands:
                command = json.loads(line)
                if "load" in command:  # nothing of the candidate's runs before
                    candidates = load(call, bare)
                    reply: dict[str, Any] = {}
                else:
                    reply = answer(candidates, command) if candidates else rest(bare[0], command)
                replies.write(json.dumps(reply) + "\n")
    except Broken as failure:
        replies.write(json.dumps({"failed": "broke_contract", "error": str(failure)}) + "\n")
    # The candidate's Python may raise anything, SystemExit included.
    except (Exception, SystemExit) as error:
        replies.write(json.dumps({"failed": "crashed", "error": told(error, file)}) + "\n")
