"""Fakes to test a search with: a scripted model, and a scripted endpoint that speaks HTTP."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from treesearch.records import Answer, Request


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
        message = {"role": "assistant", "content": self.text}
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        completion = {"id": "scripted", "object": "chat.completion", "created": 0, "model": self.model}
        return completion | {"choices": [choice]} | self._usage()

    def _usage(self) -> dict[str, Any]:
        if self.usage is None:
            return {}
        read, written = self.usage
        return {"usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}}


MALFORMED = HttpReply(body='{"choices": [')
NO_CHOICES = HttpReply(body='{"id": "scripted", "object": "chat.completion", "created": 0, "model": "scripted"}')


@dataclass(frozen=True)
class Call:
    """One HTTP request that a ScriptedEndpoint received."""

    prompt: str
    """Content of the last message."""
    at: float
    """Reading of time.monotonic() on arrival, in seconds."""
    parameters: Mapping[str, Any]
    """The request's JSON without its messages."""


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
        call = Call(posted["messages"][-1]["content"], time.monotonic(), parameters)
        with self._lock:
            self.calls.append(call)
        reply = self._reply(call.prompt)
        reply = HttpReply(reply) if isinstance(reply, str) else reply
        self._closing.wait(reply.delay_seconds)
        return reply


class _Server(ThreadingHTTPServer):
    daemon_threads = True

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
        payload = reply.payload()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(payload)), **reply.headers}
        try:
            self.send_response(reply.status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(payload)
        except ConnectionError:
            self.close_connection = True  # the client gave up waiting, as a test of timeouts wants it to

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: `calls` is the log."""
