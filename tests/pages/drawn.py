"""Pages that hold what the charts' scripts expect and nothing else, on a server that tests direct."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from treesearch.pages import assets
from treesearch.pages.guard import POLICY

Json = dict[str, Any]

TYPES = {".js": "text/javascript", ".css": "text/css"}
BASELINES = {"eager_ms": 8.0, "compile_ms": 5.0, "floor_ms": 0.5}


def kernel(id: str, round: int, milliseconds: float | None = None, parent: str | None = None, **more: Any) -> Json:
    """One of run-data's kernels: verified if it has a time, else wrong."""
    relation = "refines" if parent else None
    known = {"id": id, "round": round, "ordinal": "0.0", "parent": parent, "relation": relation, "inspired_by": []}
    judged = {"status": "verified" if milliseconds else "wrong", "milliseconds": milliseconds}
    shown = {
        "speedup": 8.0 / milliseconds if milliseconds else None,
        "title": f"idea {id}",
        "category": "memory access",
    }
    return {**known, **judged, **shown, "href": f"/kernels/{id}", "winning": False, "step": False, **more}


def run(kernels: list[Json], *line: str, version: str = "1", **baselines: float | None) -> Json:
    """run-data whose winning line has these ids."""
    best = float("inf")
    for one in kernels:
        one["winning"] = one["id"] in line
        one["step"] = one["status"] == "verified" and one["milliseconds"] < best
        best = one["milliseconds"] if one["step"] else best
    about = {"problem": "p", "run": "r", "language": "cuda", "device": "d", "state": "running", "version": version}
    rounds = 1 + max((one["round"] for one in kernels), default=0)
    found = {"baselines": {**BASELINES, **baselines}, "rounds": rounds}
    return {**about, **found, "kernels": kernels, "winning_line": list(line)}


def staircase(steps: int) -> Json:
    """A run each of whose rounds has one step of the winning line, two slower kernels and one that failed."""
    kernels = []
    for round in range(steps):
        parent = f"s{round - 1}" if round else None
        time = 8 * 0.82**round
        kernels += [kernel(f"a{round}", round, time * 2, parent), kernel(f"f{round}", round, None, parent)]
        kernels += [kernel(f"s{round}", round, time, parent), kernel(f"b{round}", round, time * 1.5, parent)]
    return run(kernels, *(f"s{round}" for round in range(steps)))


def embedded(id: str, data: Json) -> str:
    text = json.dumps(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="{id}">{text}</script>'


def page(*parts: str, events: bool = False) -> str:
    """A page with these parts in its main landmark, and with all scripts."""
    linked = assets.linked()
    styles = "".join(f'<link rel="stylesheet" href="{name}">' for name in linked.styles)
    scripts = "".join(f'<script defer src="{name}"></script>' for name in linked.scripts)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>t</title>{styles}{scripts}'
    body = f"<body{' data-events=/events' if events else ''}><main><h1>A page</h1>{''.join(parts)}</main></body>"
    return f'<!doctype html><html lang="en"><head>{head}</head>{body}</html>'


def charts(data: Json) -> str:
    figures = "".join(f'<figure id="{id}" hidden><h2>{id}</h2></figure>' for id in ("speed-chart", "lineage-tree"))
    return figures + embedded("run-data", packed(data))


def packed(data: Json) -> Json:
    """run-data as a page embeds it: a column for each member of a kernel, each of its own here."""
    kernels = data["kernels"]
    columns = {name: [one[name] for one in kernels] for name in ("id", "round", "milliseconds", "speedup")}
    places = {id: place for place, id in enumerate(columns["id"])}
    own = list(range(len(kernels)))
    return {
        **data,
        "kernels": {
            **columns,
            "parent": [places.get(one["parent"]) for one in kernels],
            **dict.fromkeys(("relation", "status", "idea"), own),
        },
        "relations": [one["relation"] for one in kernels],
        "statuses": [one["status"] for one in kernels],
        "ideas": [{"title": one["title"], "category": one["category"]} for one in kernels],
        "inspired_by": {str(place): one["inspired_by"] for place, one in enumerate(kernels) if one["inspired_by"]},
        "steps": [place for place, one in enumerate(kernels) if one["step"]],
        "pages": "/kernels/",
        "paged": [place for place, one in enumerate(kernels) if one["href"]],
    }


@dataclass
class Site:
    """Pages by path, and the version that the stream at `/events` tells: at once, and whenever it changes."""

    pages: dict[str, str] = field(default_factory=dict)
    url: str = ""
    gone: bool = False
    """Whether the server refuses everything, and breaks its streams off."""
    version: str = "1"
    told: threading.Condition = field(default_factory=threading.Condition)

    def change(self, version: str, path: str, text: str) -> None:
        """Serve another page there, and say so."""
        with self.told:
            self.pages[path], self.version = text, version
            self.told.notify_all()

    def leave(self) -> None:
        with self.told:
            self.gone = True
            self.told.notify_all()

    def versions(self) -> Iterator[str]:
        last = ""
        while not self.gone:
            last = self.version
            yield last
            with self.told:
                while not self.gone and self.version == last:
                    self.told.wait()


@contextmanager
def served(site: Site) -> Iterator[Site]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield site
    finally:
        site.leave()
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(site: Site) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if site.gone:
                self.reply(503, "text/plain", "gone")
            elif self.path == "/events":
                self.stream()
            elif self.path.startswith("/static/"):
                file = assets.FOLDER / self.path.removeprefix("/static/")
                self.reply(200, TYPES[Path(self.path).suffix], file.read_text(encoding="utf-8"))
            else:
                text = site.pages.get(self.path, page("<p>a page of its own</p>"))
                self.reply(200, "text/html; charset=utf-8", text)

        def reply(self, status: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(body)

        def stream(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for version in site.versions():
                self.wfile.write(f"event: changed\ndata: {version}\n\n".encode())

        def log_message(self, *args: object) -> None:
            """Nothing: requests are told by the browser."""

    return Handler
