"""Who may read: the machine itself by default, and whoever has the token where pages are exposed.

Pages are read-only and have no secrets of their own, but hold sources and prompts. A web site that a person visits
could have the browser ask a server on the same machine, under a name that it lets point here; so `Host` must be a name
of this machine, and `Origin`, where a browser sends one, this server.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "treesearch-token"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True)
class Guard:
    """An ASGI application around another that lets only those through who may read, and adds what browsers heed."""

    app: ASGIApp
    token: str = ""
    """What readers must bring, once as `?token=`, then as a cookie; empty where nobody else can reach the server. With
    it, the server may be asked under any name, since no other site has it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self._refusal(scope) or self.app
        await answer(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """Why a request gets no page; None where it does."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self.token and _name(host) not in LOOPBACK:
            return PlainTextResponse("This server answers only under the name of its own machine.", 403)
        if headers.get("origin", f"{scope['scheme']}://{host}") != f"{scope['scheme']}://{host}":
            return PlainTextResponse("This server answers only its own pages.", 403)
        return self._without_token(scope, headers) if self.token else None

    def _without_token(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get("token", "")
        if given and self._fits(given):
            return self._admitted(scope["path"], [pair for pair in query if pair[0] != "token"])
        if self._fits(_cookie(headers.get("cookie", ""))):
            return None
        return PlainTextResponse("Open the address with ?token= that `treesearch serve` printed.", 403)

    def _fits(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _admitted(self, path: str, query: list[tuple[str, str]]) -> Response:
        """The same page without the token in its address, which would stay in histories."""
        target = "/" + path.lstrip("/\\")  # two slashes would begin another site's name
        answer = RedirectResponse(f"{target}?{urlencode(query)}" if query else target, 303)
        answer.set_cookie(COOKIE, self.token, httponly=True, samesite="lax")
        return answer


def _name(host: str) -> str:
    """The name in a `Host` header, without its port: `localhost`, `::1`."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""
