"""Sending an answer, or failing to: late, slowly, in part, or not at all."""

from __future__ import annotations

import socket
import struct
from asyncio import Transport
from collections.abc import Sequence
from typing import Any, cast

import anyio
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from .exchange import Outcome
from .service import Answer

_CUT = "sandbox.cut"
_PIECES = 10


class CuttableProtocol(H11Protocol):
    """The server's HTTP protocol; every request carries a way to cut its connection in ``scope["state"]``."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Remember the connection."""
        self.app_state = {**self.app_state, _CUT: transport}
        super().connection_made(transport)


async def deliver(outcome: Outcome, scope: Scope, receive: Receive, send: Send) -> None:
    """Send the answer as its faults demand."""
    late = outcome.first("delay")
    if late is not None and late.when == "after":
        await anyio.sleep(late.seconds or 0.0)
    cut, half, slow = outcome.cut, outcome.first("cut_body"), outcome.first("slow_body")
    body = outcome.answer.body
    if cut is not None:
        await _cut(scope, receive, reset=cut.reset)
    elif half is not None:
        await _send_pieces(outcome.answer, send, [body[: len(body) // 2]], pause_s=0.0, whole=False)
        await _cut(scope, receive, reset=half.reset)
    elif slow is not None:
        size = max(1, -(-len(body) // _PIECES))
        pieces = [body[start : start + size] for start in range(0, len(body), size)] or [b""]
        await _send_pieces(outcome.answer, send, pieces, pause_s=(slow.seconds or 0.0) / len(pieces), whole=True)
    else:
        await _response(outcome.answer)(scope, receive, send)


def _response(answer: Answer) -> Response:
    if answer.stream is not None:
        return StreamingResponse(answer.stream(), answer.status, answer.headers, answer.media_type)
    response = Response(answer.body, answer.status, answer.headers)
    if answer.media_type:
        response.headers["Content-Type"] = answer.media_type
    return response


async def _send_pieces(answer: Answer, send: Send, pieces: Sequence[bytes], *, pause_s: float, whole: bool) -> None:
    response = _response(answer)
    await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    for number, piece in enumerate(pieces, start=1):
        await anyio.sleep(pause_s)
        await send({"type": "http.response.body", "body": piece, "more_body": not whole or number < len(pieces)})


async def _cut(scope: Scope, receive: Receive, *, reset: bool) -> None:
    transport = cast("dict[str, Any]", scope.get("state") or {}).get(_CUT)
    if transport is None:
        raise ConnectionResetError("The sandbox cuts this connection, but without a socket there is none to cut.")
    if reset:
        linger = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    transport.abort()
    while (await receive())["type"] != "http.disconnect":
        pass
