"""One exchange over HTTP/1.1: the only place where a credential is in plain, and that lets nothing of it out.

It works on httpx's transport, below its client, which would log whole URLs, read ``.netrc`` and keep cookies.
``HTTP_PROXY`` and its kin are not read: a key goes to the named host, or through the proxy that the account
names, and nowhere because of a variable. Certificates are httpx's own list, or the one that ``SSL_CERT_FILE``
names, and those of the system.

Whatever goes wrong comes back as a value (`Trouble`), never as an exception of httpx: its frames hold the request
with the key, and debuggers and verbose tracebacks show the variables of every frame.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, cast

import httpx
from pydantic import SecretStr

from .errors import SettingsError
from .http_answer import Answer, Trouble
from .http_body import Unpacker, UnusableBodyError
from .http_request import Call, as_headers, encoded, plain
from .redact import Redactor, cut_from_logs, guard_loggers
from .retry import Limits

T = TypeVar("T")

_NOTHING_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
_READ_CONNECTIONS = httpx.Limits(max_connections=10, max_keepalive_connections=5, keepalive_expiry=15.0)
_ONE_CONNECTION = httpx.Limits(max_connections=1, max_keepalive_connections=0)
_OWN_HEADERS = as_headers(
    {"accept": "application/json", "accept-encoding": "gzip", "user-agent": "jupyter-gpu-clusters"}
)
_OWN_AUTHORITY = " (if the service has its own authority, add it to the system's certificates or set SSL_CERT_FILE)"
_PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


@dataclass(frozen=True, slots=True)
class Credential:
    """What proves who we are, added to every request as it leaves."""

    query: Mapping[str, SecretStr]
    headers: Mapping[str, SecretStr]


class Wire:
    """Connections to one origin.

    Parameters
    ----------
    origin : scheme, host and port.
    proxy : URL of an HTTP proxy, which may hold a password.

    Raises
    ------
    SettingsError : the proxy's address is not ``http://...`` or ``https://...``.
    """

    def __init__(self, origin: str, *, proxy: SecretStr | None = None) -> None:
        if proxy is not None and not _is_proxy(proxy):
            raise SettingsError("The address of the proxy must look like http://proxy.example:3128; nothing was sent.")
        self._origin = origin
        self._proxy = proxy
        self._shared: httpx.AsyncHTTPTransport | None = None

    async def aclose(self) -> None:
        """Close every connection that is kept."""
        transport, self._shared = self._shared, None
        if transport is not None:
            await transport.aclose()

    async def exchange(
        self, call: Call, credential: Credential, limits: Limits, redact: Redactor, *, within_s: float, is_fresh: bool
    ) -> Answer | Trouble:
        """Send one request, once, and read the whole answer.

        Parameters
        ----------
        within_s : longest time for all of it.
        is_fresh : over a connection made for it, so that one which the far side has just closed cannot swallow it.
        """
        return await self._guarded(self._exchange(call, credential, limits, is_fresh), limits, redact, within_s)

    async def stream(
        self, call: Call, credential: Credential, limits: Limits, redact: Redactor
    ) -> AsyncGenerator[bytes | Answer | Trouble, None]:
        """Send a read and yield the body as it comes, with no end in time: every wait is bounded by `read_s`.

        An answer that is no success is yielded whole, as the only item; a trouble is the last one.
        """
        context = self._response(call, credential, limits, is_fresh=True)
        response = await self._guarded(context.__aenter__(), limits, redact, None)
        if isinstance(response, Trouble):
            yield response
            return
        try:
            if not 200 <= response.status_code < 300:
                yield await self._guarded(_whole_answer(response, limits), limits, redact, limits.call_s)
                return
            if response.headers.get("content-encoding", "identity") != "identity":
                yield Trouble("the stream is packed in a way that was not asked for", is_passing=False)
                return
            async with aclosing(_pieces(response)) as chunks:
                while chunk := await self._guarded(anext(chunks, b""), limits, redact, None):
                    yield chunk
                    if isinstance(chunk, Trouble):
                        return
        finally:
            await context.__aexit__(None, None, None)

    async def _exchange(self, call: Call, credential: Credential, limits: Limits, is_fresh: bool) -> Answer:
        async with self._response(call, credential, limits, is_fresh=is_fresh) as response:
            return await _whole_answer(response, limits)

    @asynccontextmanager
    async def _response(
        self, call: Call, credential: Credential, limits: Limits, *, is_fresh: bool
    ) -> AsyncGenerator[httpx.Response, None]:
        transport = self._transport(_ONE_CONNECTION) if is_fresh else self._shared_transport()
        try:
            response = await transport.handle_async_request(self._request(call, credential, limits))
            try:
                yield response
            finally:
                await response.aclose()
        finally:
            if is_fresh:
                await transport.aclose()

    async def _guarded(
        self, work: Awaitable[T], limits: Limits, redact: Redactor, within_s: float | None
    ) -> T | Trouble:
        try:
            with cut_from_logs(redact):
                async with asyncio.timeout(within_s):
                    return await work
        except TimeoutError:
            return Trouble(f"no whole answer within {limits.call_s:g} s")
        except UnusableBodyError as exc:
            return Trouble(str(exc), is_passing=exc.is_passing)
        except (httpx.TransportError, OSError) as exc:
            return Trouble(redact(self._words(exc, limits)), was_sent=not isinstance(exc, _NOTHING_SENT))
        except BaseException as exc:
            # A cancellation, or a fault of ours: it goes on, without the frames below, which hold the request.
            exc.__cause__ = exc.__context__ = exc.__traceback__ = None
            raise

    def _shared_transport(self) -> httpx.AsyncHTTPTransport:
        if self._shared is None:
            self._shared = self._transport(_READ_CONNECTIONS)
        return self._shared

    def _transport(self, connections: httpx.Limits) -> httpx.AsyncHTTPTransport:
        proxy = httpx.Proxy(self._proxy.get_secret_value()) if self._proxy else None
        transport = httpx.AsyncHTTPTransport(verify=self._certificates, limits=connections, proxy=proxy)
        guard_loggers("httpx", "httpcore")
        return transport

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        if self._origin.startswith("http:"):
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody, and costs nothing
        context = httpx.create_ssl_context()
        context.load_default_certs()
        return context

    def _request(self, call: Call, credential: Credential, limits: Limits) -> httpx.Request:
        sealed = {**_OWN_HEADERS, **call.headers, **credential.headers}
        headers = [(name.encode("ascii"), plain(value).encode()) for name, value in sealed.items()]
        if call.body is not None:
            headers.append((b"content-type", call.body.content_type.encode("ascii")))
        return httpx.Request(
            call.method,
            _url(call, credential),
            headers=headers,
            content=call.body.content.get_secret_value() if call.body is not None else None,
            extensions={"timeout": _timeouts(limits)},
        )

    def _words(self, exc: Exception, limits: Limits) -> str:
        match exc:
            case httpx.ConnectTimeout():
                return f"no connection within {limits.connect_s:g} s{self._proxy_note()}"
            case httpx.ConnectError():
                return f"no connection: {_root_of(exc)}{self._proxy_note()}"
            case httpx.PoolTimeout():
                return f"all connections were busy for {limits.pool_s:g} s"
            case httpx.ReadTimeout():
                return f"nothing came for {limits.read_s:g} s"
            case httpx.WriteTimeout():
                return f"nothing could be sent for {limits.write_s:g} s"
            case httpx.ProxyError():
                return f"the proxy refused: {exc}"
            case _:
                return f"the connection broke ({exc or type(exc).__name__})"

    def _proxy_note(self) -> str:
        named = next((name for name in _PROXY_VARIABLES if os.environ.get(name)), None)
        if named is None or self._proxy is not None:
            return ""
        return f" ({named} is not used; name a proxy in the account's `proxy`)"


def _pieces(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    return cast(AsyncGenerator[bytes, None], response.aiter_raw())


async def _whole_answer(response: httpx.Response, limits: Limits) -> Answer:
    body = Unpacker(response.headers.get("content-encoding", ""), limits.max_bytes)
    async with aclosing(_pieces(response)) as chunks:
        async for chunk in chunks:
            body.feed(chunk)
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, body.finish())


def _is_proxy(proxy: SecretStr) -> bool:
    try:
        url = httpx.URL(proxy.get_secret_value())
    except httpx.InvalidURL:
        return False
    return url.scheme in ("http", "https") and bool(url.host)


def _url(call: Call, credential: Credential) -> str:
    query = "&".join(part for part in (call.query.get_secret_value(), encoded(credential.query)) if part)
    return f"{call.origin}{call.path}" + (f"?{query}" if query else "")


def _timeouts(limits: Limits) -> dict[str, float]:
    return {"connect": limits.connect_s, "read": limits.read_s, "write": limits.write_s, "pool": limits.pool_s}


def _root_of(exc: BaseException) -> str:
    """The system's own words at the root of a failed connection."""
    root: BaseException | None = exc
    while root is not None:
        if isinstance(root, OSError) and root.errno is not None:
            has_own_words = isinstance(root, socket.gaierror | ssl.SSLError)
            text = str(root.strerror) if has_own_words else os.strerror(root.errno)
            return text + _OWN_AUTHORITY if "CERTIFICATE_VERIFY_FAILED" in text else text
        root = root.exceptions[0] if isinstance(root, BaseExceptionGroup) else root.__cause__ or root.__context__
    return str(exc)
