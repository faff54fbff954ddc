"""The questions that `file/DIR` leaves in a folder, and their answers."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from treesearch.errors import MachineError
from treesearch.records import Request, Stage

PROMPT, ANSWER = ".prompt.md", ".answer.md"
OUR_KEYS = ("model", "help")
FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n((?:[a-z_]+:[^\n]*\n)+)---[ \t]*(?:\r?\n|\Z)")


@dataclass(frozen=True)
class Question:
    """A question in a folder: `ID.prompt.md`, whose answer belongs into `ID.answer.md`.

    `.ID.json` beside it notes what it is about. Where that note is missing, `run` is empty and `stage` None.
    """

    folder: Path
    id: str
    run: str = ""
    round: int | None = None
    stage: Stage | None = None

    @classmethod
    def of(cls, folder: Path, request: Request) -> Question:
        return cls(folder, request.id, request.run, request.round, request.stage)

    @property
    def prompt(self) -> Path:
        return self.folder / f"{self.id}{PROMPT}"

    @property
    def answer(self) -> Path:
        return self.folder / f"{self.id}{ANSWER}"

    @property
    def is_answered(self) -> bool:
        """Whether there is an answer that holds more than white space and who gave it, as the search reads it."""
        with suppress(OSError):
            return bool(parted(self.answer.read_bytes())[1].strip())
        return False

    def put(self, prompt: str) -> None:
        """Write the question with its note. Raises MachineError."""
        write(self.prompt, prompt)
        note = {"run": self.run, "round": self.round, "stage": self.stage}
        write(_note(self.folder, self.id), json.dumps(note) + "\n")

    def give(self, text: str, *, answered_by: str = "", help_used: str = "") -> None:
        """Write the answer, at once and whole, with who gave it and what it had at hand. Raises MachineError."""
        said = {"model": " ".join(answered_by.split()), "help": " ".join(help_used.split())}
        lines = [f"{key}: {value}\n" for key, value in said.items() if value]
        write(self.answer, f"---\n{''.join(lines)}---\n{text}" if lines else text)


def lying(folder: Path) -> Iterator[Question]:
    """Every question in a folder, answered or not, the oldest first; none where there is no such folder."""
    prompts = sorted(folder.glob(f"*{PROMPT}"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    for path in prompts:
        id = path.name.removesuffix(PROMPT)
        yield _noted(folder, id)


def _note(folder: Path, id: str) -> Path:
    return folder / f".{id}.json"


def _noted(folder: Path, id: str) -> Question:
    try:
        note = json.loads(_note(folder, id).read_text())
        return Question(folder, id, str(note["run"]), int(note["round"]), Stage(note["stage"]))
    except (OSError, ValueError, KeyError, TypeError):  # it was copied without, or somebody wrote in it
        return Question(folder, id)


def write(path: Path, text: str) -> None:
    """Write a file so that a reader sees all of it or nothing; one that already says the same is left alone."""
    content = text.encode("utf-8", errors="replace")
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        if path.exists() and path.read_bytes() == content:
            return
        try:
            draft.write_bytes(content)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise MachineError(cannot("write", path, error)) from error


def cannot(verb: str, path: Path, error: OSError) -> str:
    if isinstance(error, FileExistsError | NotADirectoryError):
        return f"cannot {verb} {path}: a file is where a folder should be; choose another folder for file/DIR"
    return f"cannot {verb} {path}: {error.strerror or error}; make room or choose another folder for file/DIR"


def parted(content: bytes) -> tuple[dict[str, str], str]:
    """What an answer's file says of itself, and the answer."""
    return split_front_matter(content.decode("utf-8-sig", errors="replace"))


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """What an answer says of itself, and the answer; front matter that is not ours is left in the text."""
    match = FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    pairs = [line.partition(":") for line in match[1].splitlines()]
    given = {key: value.strip() for key, _, value in pairs}
    if not set(given) <= set(OUR_KEYS):
        return {}, text
    return given, text[match.end() :]
