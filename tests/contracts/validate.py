"""An ASGI wrapper that holds a sandbox, and everybody who talks to it, to the contracts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .document import Document

FAULT_HEADER = "x-sandbox-fault"


class Checked:
    """Notes in `violations` every request and answer that breaks its contract.

    Faulted answers, marked by their header, are exempt, and only they. Requests that break the contract are violations
    too, except inside `bad_requests`, where it is a violation if the sandbox *accepts* one.

    Parameters
    ----------
    app : the sandbox's application.
    contracts : path prefix of a service -> its document; other paths are left alone.
    """

    def __init__(self, app: ASGIApp, contracts: Mapping[str, Document]) -> None:
        self._app = app
        self._contracts = contracts
        self._bad_allowed = False
        self.violations: list[str] = []

    @contextmanager
    def bad_requests(self) -> Iterator[None]:
        """Requests inside the block may break the contract, to see that they are refused."""
        self._bad_allowed = True
        try:
            yield
        finally:
            self._bad_allowed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        prefix = next((prefix for prefix in self._contracts if scope.get("path", "").startswith(prefix + "/")), None)
        if scope["type"] != "http" or prefix is None:
            await self._app(scope, receive, send)
            return
        seen = _Seen()

        async def heard() -> Message:
            message = await receive()
            seen.asked += message.get("body", b"")
            return message

        async def said(message: Message) -> None:
            seen.note(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                self._judge(self._contracts[prefix], prefix, scope, seen)
            await send(message)

        try:
            await self._app(scope, heard, said)
        finally:
            self._judge(self._contracts[prefix], prefix, scope, seen)

    def _judge(self, contract: Document, prefix: str, scope: Scope, seen: _Seen) -> None:
        """Once for each exchange, and before the caller has the whole answer, so that a test sees it in time."""
        if seen.judged:
            return
        seen.judged = True
        path = scope["raw_path"].split(b"?", 1)[0].decode("latin-1").removeprefix(prefix)
        operation = contract.find(scope["method"], path)
        if operation is None:
            self._blame(seen, f"{contract.name}: {scope['method']} {path} is no operation of the contract")
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        for problem in contract.request_problems(operation, query, headers, bytes(seen.asked)):
            self._blame(seen, f"{contract.name} {operation.name} request, {problem}")
        if seen.status is None or FAULT_HEADER in seen.headers:
            return
        media_type = seen.headers.get("content-type", "").partition(";")[0]
        for problem in contract.answer_problems(operation, seen.status, media_type, bytes(seen.body), seen.headers):
            self.violations.append(f"{contract.name} {operation.name}, {problem}")

    def _blame(self, seen: _Seen, problem: str) -> None:
        refused = seen.status is None or seen.status >= 400 or FAULT_HEADER in seen.headers
        if not self._bad_allowed:
            self.violations.append(problem)
        elif not refused:
            self.violations.append(f"{problem}, and it was accepted")


class _Seen:
    """What went through one exchange."""

    def __init__(self) -> None:
        self.asked = bytearray()
        self.body = bytearray()
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.judged = False

    def note(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in message["headers"]}
        elif "event-stream" not in self.headers.get("content-type", ""):
            self.body += message.get("body", b"")
