"""Pages over HTTP: read-only, made when they are asked for."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from treesearch.errors import TreesearchError, UsageError
from treesearch.pages import assets, comparing, documents, front, render, study
from treesearch.pages.guard import Guard
from treesearch.pages.live import Watch
from treesearch.pages.shelf import Shelf
from treesearch.pages.study import Studies

FRESH = {"cache-control": "no-store"}
SELDOM = (300_000, 50, 100)
"""When garbage is looked for: a page of 5,000 kernels makes a hundred thousand objects that stay, and to look among
them takes a tenth of its time."""
GOODBYE = 3
"""Seconds that a request may take to end once the server is told to."""


@dataclass(frozen=True)
class Site:
    """What the server's pages are made from."""

    shelf: Shelf
    studies: Studies = field(default_factory=Studies)

    def front(self, request: Request) -> Response:
        return _page(documents.front(front.problems(self.shelf.archives())))

    def problem(self, request: Request) -> Response:
        return _page(documents.problem(front.problem(self.shelf.archives(), request.path_params["digest"])))

    def run(self, request: Request) -> Response:
        return _page(documents.run(self.studies.of(*self.shelf.run(request.path_params["id"]))))

    def everything(self, request: Request) -> Response:
        study = self.studies.of(*self.shelf.run(request.path_params["id"]))
        return _page(documents.everything(study, _number(request.query_params.get("part", "1"))))

    def kernel(self, request: Request) -> Response:
        archive, (run, kernel) = self.shelf.kernel(request.path_params["id"])
        return _page(documents.kernel(self.studies.of(archive, run), kernel))

    def compare(self, request: Request) -> Response:
        axis = comparing.axis(request.query_params.get("axis", ""))
        named = dict.fromkeys(request.query_params.getlist("run"))
        runs = {run.id: (archive, run) for archive, run in map(self.shelf.run, list(named)[: comparing.MOST + 1])}
        studies = [self.studies.of(*found) for found in runs.values()]
        known = [run for archive in self.shelf.archives() for run in archive.runs()]
        return _page(documents.compare(comparing.page(studies, axis, known)))

    def version(self, run: str) -> str:
        archive, found = self.shelf.run(run)
        return archive.version(found.id)


def application(site: Site, watch: Watch, token: str = "") -> ASGIApp:
    """The pages of a site, behind the guard."""

    async def events(request: Request) -> Response:
        id = request.path_params["id"]
        await asyncio.to_thread(site.shelf.run, id)
        return StreamingResponse(_stream(watch, id), media_type="text/event-stream", headers=FRESH)

    @asynccontextmanager
    async def looking(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(watch.look())
        yield
        task.cancel()

    app = Starlette(
        routes=[
            Route("/", site.front),
            Route("/problems/{digest}", site.problem),
            Route("/runs/{id}", site.run),
            Route("/runs/{id}/events", events),
            Route("/runs/{id}/everything", site.everything),
            Route("/kernels/{id}", site.kernel),
            Route("/compare", site.compare),
            Mount("/static", StaticFiles(directory=assets.FOLDER)),
        ],
        exception_handlers={UsageError: _absent, TreesearchError: _broken, HTTPException: _refused},
        lifespan=looking,
    )
    return Guard(app, token)


def _number(given: str) -> int:
    """A number of up to four digits; 0 for anything else."""
    return int(given) if re.fullmatch("[0-9]{1,4}", given) else 0


def _page(written: str) -> Response:
    return HTMLResponse(written, headers=FRESH)


async def _stream(watch: Watch, run: str) -> AsyncIterator[str]:
    """Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""
    async for version in watch.changes(run):
        yield f"event: changed\ndata: {version}\n\n" if version else ":\n\n"


async def _absent(_: Request, error: Exception) -> Response:
    return HTMLResponse(documents.error(str(error)), 404)


async def _broken(_: Request, error: Exception) -> Response:
    return HTMLResponse(documents.error(str(error)), 503)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return HTMLResponse(documents.error(error.detail), error.status_code, headers=error.headers)


# ── a server ────────────────────────────────────────────────────────────────────────────────────


class Server(uvicorn.Server):
    """Uvicorn, which ends streams when it is told to end: they would go on for ever."""

    def __init__(self, config: uvicorn.Config, on_exit: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_exit = on_exit

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._on_exit()

    def stop(self) -> None:
        """End in good order; any thread may say so."""
        self.should_exit = True
        self._on_exit()


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises UsageError where the port is taken, or the address none of this machine's."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise UsageError(_why(host, port, error)) from error
    listener.listen(128)
    return listener


def _why(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is taken, perhaps by another `treesearch serve`; name another with --port, or 0 for any."
    return f"The server cannot listen on {host}, port {port} ({error.strerror or error}); name another address."


def address(listener: socket.socket, token: str = "") -> str:
    """Where a browser finds the first page."""
    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    name = f"[{shown}]" if ":" in shown else shown
    return f"http://{name}:{port}/{f'?token={token}' if token else ''}"


def made(shelf: Shelf, *, token: str = "") -> Server:
    """A server of these archives' pages; where there is a token, only for those who bring it."""
    site = Site(shelf)
    watch = Watch(site.version)
    config = uvicorn.Config(
        application(site, watch, token),
        access_log=False,
        log_config=None,
        log_level=logging.WARNING,
        server_header=False,
        timeout_graceful_shutdown=GOODBYE,
    )
    return Server(config, watch.close)


def prepare(shelf: Shelf) -> None:
    """Do ahead what would keep the first visitor waiting: archives count what the first page tells, of 100,000 kernels
    half a second's work, and templates are compiled, as queries are by making the smallest run's page."""
    render.prepare()
    with suppress(Exception):  # whatever is wrong with a run, the others' pages can be served, and its own says it
        found = [one.summary for problem in front.problems(shelf.archives()) for one in problem.runs]
        if smallest := min(found, key=lambda one: one.kernels, default=None):
            documents.run(study.of(*shelf.run(smallest.run.id)))


def serve(shelf: Shelf, listener: socket.socket, *, token: str = "") -> None:
    """Answer until Ctrl-C, which ends it in good order."""
    gc.set_threshold(*SELDOM)
    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again once it has ended
        made(shelf, token=token).run(sockets=[listener])
