"""A real HTTP server on 127.0.0.1 that misbehaves on demand: every test scripts what its connections do."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs


@dataclass
class Seen:
    """One request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(self.target.partition("?")[2])


Act = Callable[[asyncio.StreamWriter, Seen], Awaitable[None]]


@dataclass
class Nasty:
    """The server: what it will do (the last act is repeated) and what it saw."""

    acts: list[Act]
    port: int = 0
    scheme: str = "http"
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0
    hung_up: list[int] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        try:
            while (seen := await _request(reader, number)) is not None:
                self.seen.append(seen)
                act = self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]
                await act(writer, seen)
                if writer.is_closing():
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.hung_up.append(number)
            writer.close()


async def _request(reader: asyncio.StreamReader, connection: int) -> Seen | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(method, target, headers, body, connection)


@asynccontextmanager
async def running(*acts: Act, tls: ssl.SSLContext | None = None) -> AsyncIterator[Nasty]:
    """A server for one test, closed with all its connections at the end."""
    nasty = Nasty(list(acts), scheme="https" if tls else "http")
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(nasty.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    nasty.port = server.sockets[0].getsockname()[1]
    try:
        yield nasty
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


def raw(data: bytes, *, close: bool = False) -> Act:
    """Exactly these bytes."""

    async def act(writer: asyncio.StreamWriter, _: Seen) -> None:
        writer.write(data)
        await writer.drain()
        if close:
            writer.close()

    return act


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Word", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def reply(status: int, body: bytes = b"", *, close: bool = False, **headers: str) -> Act:
    """A whole answer; underscores in names of headers become dashes."""
    return _reply(status, body, headers, close=close)


def _reply(status: int, body: bytes, headers: Mapping[str, str], *, close: bool = False) -> Act:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return raw(_head(status, {"content-length": str(len(body)), **named}) + body, close=close)


def as_json(status: int, value: object, **headers: str) -> Act:
    return _reply(status, json.dumps(value).encode(), {"content-type": "application/json", **headers})


def page(status: int, title: str = "Bad gateway") -> Act:
    text = f"<!doctype html><html><head><title>{title}</title></head><body><h1>oops</h1></body></html>"
    return reply(status, text.encode(), content_type="text/html")


def gzipped(status: int, body: bytes, *, cut: int = 0) -> Act:
    packed = gzip.compress(body)
    return reply(status, packed[: len(packed) - cut], content_encoding="gzip")


def truncated(status: int, body: bytes) -> Act:
    """Promises twice as much as it sends."""
    return raw(_head(status, {"content-length": str(len(body) * 2)}) + body, close=True)


async def drop(writer: asyncio.StreamWriter, _: Seen) -> None:
    """The request arrives, the connection goes."""
    writer.transport.abort()


async def silence(_: asyncio.StreamWriter, __: Seen) -> None:
    """Takes the request and never answers."""


def dripping(every_s: float) -> Act:
    """A chunked body without end, a byte at a time."""

    async def act(writer: asyncio.StreamWriter, _: Seen) -> None:
        writer.write(_head(200, {"transfer-encoding": "chunked"}))
        while True:
            writer.write(b"1\r\n \r\n")
            await writer.drain()
            await asyncio.sleep(every_s)

    return act


def endless(piece: bytes) -> Act:
    """A chunked body without end, as fast as it goes."""

    async def act(writer: asyncio.StreamWriter, _: Seen) -> None:
        writer.write(_head(200, {"transfer-encoding": "chunked"}))
        while True:
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()

    return act


def chunked(*pieces: bytes, ends: bool = True) -> Act:
    """These pieces, each at once; without an end the connection is cut."""

    async def act(writer: asyncio.StreamWriter, _: Seen) -> None:
        writer.write(_head(200, {"transfer-encoding": "chunked"}))
        for piece in pieces:
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n" if ends else b"")
        await writer.drain()
        if not ends:
            writer.close()

    return act


def echo(status: int) -> Act:
    """A refusal that repeats what it was sent, in headers and body."""

    async def act(writer: asyncio.StreamWriter, seen: Seen) -> None:
        said = {"message": " ".join([seen.target, *seen.headers.values(), seen.body.decode("latin-1")])}
        headers = {"x-request-id": seen.target, "x-echo": seen.target}
        body = json.dumps(said).encode()
        writer.write(_head(status, {**headers, "content-length": str(len(body))}) + body)
        await writer.drain()

    return act
