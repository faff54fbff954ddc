"""Exceptions of infrastructure. A kernel that fails is a `Status`, never an exception.

    TreesearchError
    ├── UsageError             exit code 2: the command names something that does not exist or fit
    │   ├── ProblemError       a reference that cannot be loaded, or cannot be expressed as a C function
    │   └── UnknownModel       no provider answers to that model string
    ├── ToolchainError         a compiler that is absent or broken
    ├── ArchiveError           a store that is locked, read-only, damaged, or of a newer version
    ├── ModelError             a model that could not be asked
    │   ├── ModelUnavailable   the endpoint is down, refuses the key, or keeps failing
    │   │   └── NothingSaid    it responds each time, with a server error or nothing that can be read
    │   ├── ToolsRefused       an endpoint that takes no tools, though it may answer without
    │   ├── QuestionRefused    a model that will not answer this question, though it may answer others
    │   │   └── PromptTooLong  the question does not fit into the model's context
    │   └── AnswersExhausted   a recorded archive holds no (further) answer to this request
    ├── NoUsableAnswer         models answered, but never with anything that could be used
    ├── LimitReached           the budget allows no further question: the search ends with what it has
    ├── MachineError           the machine itself: a full disk, too little memory, a baseline that died
    └── Waiting                exit code 75: answers or evaluations are due from elsewhere; run again

Each message is one sentence that says what to do; the command line prints it without a traceback.
"""

from __future__ import annotations

from collections.abc import Sequence


class TreesearchError(Exception):
    """Base of everything treesearch raises on purpose."""

    exit_code = 1


class UsageError(TreesearchError):
    exit_code = 2


class ProblemError(UsageError):
    pass


class UnknownModel(UsageError):
    pass


class ToolchainError(TreesearchError):
    pass


class ArchiveError(TreesearchError):
    pass


class ModelError(TreesearchError):
    pass


class ModelUnavailable(ModelError):
    pass


class NothingSaid(ModelUnavailable):
    pass


class ToolsRefused(ModelError):
    pass


class QuestionRefused(ModelError):
    pass


class PromptTooLong(QuestionRefused):
    pass


class AnswersExhausted(ModelError):
    pass


class NoUsableAnswer(TreesearchError):
    pass


class LimitReached(TreesearchError):
    pass


class MachineError(TreesearchError):
    pass


class Waiting(TreesearchError):
    """Something outside this process must happen first.

    `pending` lists what is waited for (paths of answer files, for instance), one line each.
    """

    exit_code = 75

    def __init__(self, message: str, pending: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.pending = tuple(pending)
