"""`file/DIR`: prompts appear as files, and whoever reasons writes the answers beside them."""

from __future__ import annotations

import time
from pathlib import Path

from treesearch.errors import MachineError, Waiting
from treesearch.models.base import ModelOptions
from treesearch.models.questions import Question, cannot, parted, write
from treesearch.records import Answer, Request

PREFIX = "file/"

README = """\
# Questions and answers

A search asks its questions here. Each `ID.prompt.md` is one question, complete in itself. Write the answer to
`ID.answer.md` in this folder, then run the command that wrote the question once more (or leave it running, if it
was started with `--wait`).

- `treesearch questions` lists those that are open. `treesearch answer ID FILE` looks whether an answer can be used, and
  puts it here at once and whole.
- An answer counts as soon as its file holds more than who answered. Write it under another name and rename it when it
  is complete.
- Answers may come in any order. Several people or programs may share the work.
- Say who answered, and with what help, at the very top if you like:

```
---
model: NAME
help: g++, objdump
---
```
"""


class FileModel:
    """A model that reads `DIR/ID.answer.md` after writing `DIR/ID.prompt.md`.

    An answer is complete when its file holds more than white space and front matter, so a writer should write
    elsewhere and rename. The front matter (`model:`, `help:`), which is optional, fills `answered_by` and `help`
    and is taken off the text; one with any other key is part of the answer.
    """

    def __init__(self, name: str, *, options: ModelOptions | None = None) -> None:
        """`name` is `file/DIR`; `~` is the home directory."""
        self.name = name
        self.folder = Path(name.removeprefix(PREFIX)).expanduser()
        self.options = options or ModelOptions()

    def check(self) -> None:
        """Raises MachineError where questions cannot be written."""
        self._prepare()

    def ask(self, request: Request) -> Answer:
        """The answer. Without one, raises Waiting, or looks again every `poll_seconds` where `wait` is set."""
        self._prepare()
        question = Question.of(self.folder, request)
        question.put(request.prompt)
        path = question.answer
        while (answer := self._read(path)) is None:
            if not self.options.wait:
                raise Waiting(f"{path} is due; write it and run the same command again", pending=(str(path),))
            time.sleep(self.options.poll_seconds)
        return answer

    def _prepare(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MachineError(cannot("create", self.folder, error)) from error
        readme = self.folder / "README.md"
        if not readme.exists():
            write(readme, README)

    def _read(self, path: Path) -> Answer | None:
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise MachineError(cannot("read", path, error)) from error
        given, text = parted(content)
        if not text.strip():
            return None
        return Answer(text=text, model=self.name, answered_by=given.get("model", ""), help=given.get("help", ""))
