"""Fakes to test a search with: a scripted model, a scripted endpoint that speaks HTTP, a scripted evaluator."""

from __future__ import annotations

import json
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from treesearch import languages
from treesearch.evaluation import target
from treesearch.evaluation.build import Built
from treesearch.records import (
    Accuracy,
    Answer,
    Build,
    Evaluation,
    Measurement,
    Protocol,
    Ratio,
    Request,
    Status,
    Timing,
    digest,
)


class ScriptedModel:
    """A model whose answers are a function of the request. `requests` lists what it was asked, in order."""

    def __init__(self, name: str, answer: Callable[[Request], str]) -> None:
        self.name = name
        self.requests: list[Request] = []
        self._answer = answer
        self._lock = threading.Lock()

    def ask(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
        return Answer(text=self._answer(request), model=self.name)


@dataclass(frozen=True)
class Failing:
    """How a scripted kernel fails."""

    status: Status
    error: str


class ScriptedEvaluator:
    """Gives verdicts by a function of the source, at once and without a compiler.

        evaluator = ScriptedEvaluator(lambda source: 0.5 if "vector" in source else 2.0)
        treesearch.search("softmax_small", models=["openai/…"], evaluator=evaluator)

    `verdict` maps a source to milliseconds, which makes its kernel verified, or to a Failing. `judged` lists the
    sources in the order of their verdicts; `eager` is the baseline's time in milliseconds.
    """

    def __init__(self, verdict: Callable[[str], float | Failing], *, language: str = "cpp", eager: float = 1.0) -> None:
        self.protocol = Protocol(1e-2)
        self.builds_here = True
        self.judged: list[str] = []
        self._verdict = verdict
        self._language = languages.named(language)
        self._device = target.at_hand(self._language).device.id
        self._eager = eager
        self._sources: dict[Path, str] = {}
        self._seed = secrets.randbits(62)
        self._lock = threading.Lock()

    def build(self, source: str) -> Built:
        found = self._verdict(source)
        record = Build("scripted", 0.0, False, "")
        if isinstance(found, Failing) and found.status is Status.BUILD_FAILED:
            return Built(None, record, found.error)
        library = Path(f"{digest(source)}.so")
        with self._lock:
            self._sources[library] = source
        return Built(library, record)

    def judge(self, built: Built, *, parent: Built | None = None, incumbent: float | None = None) -> Evaluation:
        if built.library is None:
            return self._failed(Failing(Status.BUILD_FAILED, built.error))
        self.judged.append(self.source(built))
        return self._evaluation(self.source(built), self.source(parent) if parent and parent.library else None)

    def source(self, built: Built) -> str:
        """What was built."""
        assert built.library is not None, "it did not build"
        return self._sources[built.library]

    def remeasure(self, sources: Sequence[str]) -> Iterator[Evaluation]:
        return map(self._evaluation, sources)

    def no_code(self) -> Evaluation:
        return self._failed(Failing(Status.NO_CODE, "the answer holds no code block"))

    def redraw(self) -> None:
        """There is no deck; verdicts have another seed from here on."""
        self._seed = secrets.randbits(62)

    def close(self) -> None:
        """There is nothing to give back."""

    def _evaluation(self, source: str, parent: str | None = None) -> Evaluation:
        found = self._verdict(source)
        if isinstance(found, Failing):
            return self._failed(found)
        above = None if parent is None else self._verdict(parent)
        measured = Measurement(
            kernel=Timing((found,)),
            eager=Timing((self._eager,)),
            eager_speedup=_exactly(self._eager / found),
            parent_speedup=None if above is None or isinstance(above, Failing) else _exactly(above / found),
        )
        accuracy = Accuracy(1, 0.0, 0.0, "float64", "float32-like")
        about = (Status.VERIFIED, self._device, self.protocol)
        return Evaluation(*about, accuracy=accuracy, measurement=measured, seed=self._seed)

    def _failed(self, failing: Failing) -> Evaluation:
        return Evaluation(failing.status, self._device, self.protocol, failing.error)


def _exactly(ratio: float) -> Ratio:
    return Ratio(ratio, ratio, ratio)


@dataclass(frozen=True)
class HttpReply:
    """One response of a ScriptedEndpoint. A status other than 200 carries `text` as the error's message."""

    text: str = ""
    status: int = 200
    finish_reason: str = "stop"
    model: str = "scripted-2026-01-01"
    """The name the endpoint claims to have answered with."""
    usage: tuple[int, int] | None = (11, 7)
    """Tokens read and written; None leaves them out."""
    delay_seconds: float = 0.0
    trickle_seconds: float | None = None
    """Pause before each byte of the response's body; None sends it at once."""
    reset: bool = False
    """Break the connection off in place of a response."""
    refusal: str = ""
    """What the model says in place of an answer, as OpenAI's `refusal`."""
    calls: Sequence[tuple[str, str]] = ()
    """Tools that the model calls in place of an answer: of each the name and the arguments, JSON if they are sound."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    """Sent as it is, in place of a well-formed response."""

    def payload(self) -> bytes:
        if self.body is not None:
            return self.body.encode()
        if self.status != 200:
            return json.dumps({"error": {"message": self.text, "type": "scripted", "code": None}}).encode()
        return json.dumps(self._completion()).encode()

    def _completion(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.refusal:
            message = {"role": "assistant", "content": None, "refusal": self.refusal}
        if self.calls:
            message["tool_calls"] = [_call(place, *call) for place, call in enumerate(self.calls)]
        reason = "tool_calls" if self.calls and self.finish_reason == "stop" else self.finish_reason
        choice = {"index": 0, "message": message, "finish_reason": reason}
        completion = {"id": "scripted", "object": "chat.completion", "created": 0, "model": self.model}
        return completion | {"choices": [choice]} | self._usage()

    def _usage(self) -> dict[str, Any]:
        if self.usage is None:
            return {}
        read, written = self.usage
        return {"usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}}


def _call(place: int, name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": arguments}}


def building(*sources: str) -> HttpReply:
    """A reply that calls the tool `build`, with each of the sources."""
    return HttpReply(calls=[("build", json.dumps({"source": source})) for source in sources])


MALFORMED = HttpReply(body='{"choices": [')
NO_CHOICES = HttpReply(body='{"id": "scripted", "object": "chat.completion", "created": 0, "model": "scripted"}')
RESET = HttpReply(reset=True)
HANG = HttpReply("too late", delay_seconds=3600.0)
TRICKLE = HttpReply("too slow", trickle_seconds=0.2)
REFUSAL = HttpReply(refusal="I cannot help with that.")
FILTERED = HttpReply("", finish_reason="content_filter")
TOO_LONG = HttpReply("This model's maximum context length is 8192 tokens.", status=400)


def nobody_listens() -> str:
    """A base URL at which every connection is refused."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


@dataclass(frozen=True)
class Call:
    """One HTTP request that a ScriptedEndpoint received."""

    prompt: str
    """Content of the last message."""
    at: float
    """Reading of time.monotonic() on arrival, in seconds."""
    parameters: Mapping[str, Any]
    """The request's JSON without its messages."""
    messages: Sequence[Mapping[str, Any]]


class ScriptedEndpoint:
    """A local HTTP server that speaks OpenAI's chat completions; a context manager.

        with ScriptedEndpoint(lambda prompt: "an answer") as endpoint:
            model = ApiModel("openai/scripted", options=ModelOptions(api_base=endpoint.base_url))

    `reply` maps a prompt to a text or an HttpReply and may be called from several threads. OPENAI_API_KEY must
    hold some text; OPENAI_API_BASE works in place of `api_base`.
    """

    def __init__(self, reply: Callable[[str], str | HttpReply]) -> None:
        self.calls: list[Call] = []
        self._reply = reply
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(self)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def respond(self, posted: Mapping[str, Any]) -> HttpReply:
        """Log a request and give its response, after the delay asked for."""
        parameters = {name: value for name, value in posted.items() if name != "messages"}
        messages = posted["messages"]
        call = Call(messages[-1]["content"], time.monotonic(), parameters, messages)
        with self._lock:
            self.calls.append(call)
        reply = self._reply(call.prompt)
        reply = HttpReply(reply) if isinstance(reply, str) else reply
        self.pause(reply.delay_seconds)
        return reply

    def pause(self, seconds: float) -> None:
        """Wait, but not beyond the endpoint's end."""
        self._closing.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512
    """Connections that may wait to be taken; one that finds no room is tried again only after a second."""

    def __init__(self, endpoint: ScriptedEndpoint) -> None:
        self.endpoint = endpoint
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        posted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/chat/completions"):
            self._send(HttpReply(f"no such path: {self.path}", status=404))
            return
        try:
            reply = self.server.endpoint.respond(posted)
        # A mistake in the script must reach the client, not end in a handler thread.
        except Exception as error:
            reply = HttpReply(f"the script failed: {error!r}", status=500)
        self._send(reply)

    def _send(self, reply: HttpReply) -> None:
        if reply.reset:
            self._reset()
            return
        payload = reply.payload()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(payload)), **reply.headers}
        try:
            self.send_response(reply.status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self._write(payload, reply.trickle_seconds)
        except ConnectionError:
            self.close_connection = True  # the client gave up waiting, as a test of timeouts wants it to

    def _write(self, payload: bytes, trickle_seconds: float | None) -> None:
        if trickle_seconds is None:
            self.wfile.write(payload)
            return
        for byte in payload:
            self.server.endpoint.pause(trickle_seconds)
            self.wfile.write(bytes([byte]))

    def _reset(self) -> None:
        """Close with a reset, which is what a lingering time of zero means, in place of a farewell."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: `calls` is the log."""
