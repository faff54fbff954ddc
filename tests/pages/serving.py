"""A real server on a free port of this machine, and plain requests to it."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from treesearch.pages import server
from treesearch.pages.shelf import Shelf


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    text: str


@dataclass(frozen=True)
class Asked:
    """A server that is asked under its port."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, method: str = "GET", **headers: str) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, headers=headers)
            reply = connection.getresponse()
            named = {name.lower(): value for name, value in reply.getheaders()}
            return Reply(reply.status, named, reply.read().decode())
        finally:
            connection.close()

    @contextmanager
    def events(self, path: str) -> Iterator[http.client.HTTPResponse]:
        """A stream of server-sent events, to be read line by line."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path)
        try:
            with connection.getresponse() as stream:
                yield stream
        finally:
            connection.close()


@contextmanager
def serving(*archives: Path, awaited: Path | None = None, token: str = "") -> Iterator[Asked]:
    """The pages of these archives, for as long as the block lasts."""
    shelf, listener = Shelf(*archives, awaited=awaited), server.bound("127.0.0.1", 0)
    running = server.made(shelf, token=token)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield Asked(listener.getsockname()[1])
    finally:
        running.stop()
        thread.join(60)
        shelf.close()
    assert not thread.is_alive()


def told(stream: http.client.HTTPResponse) -> str:
    """The data of the next event, which comes before the stream has been quiet for a minute."""
    quiet = 0
    for line in stream:
        if line.startswith(b"data: "):
            return line[6:].decode().strip()
        quiet += line == b":\n"
        assert quiet < 4, "nothing has changed for a minute"
    raise AssertionError("the stream has ended")
