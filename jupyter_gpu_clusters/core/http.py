"""The one HTTP client of an account: time-outs, repeats of reads, translation of failures, and no secret let out.

What other modules of its family know: `http_request` how a request is made, `http_wire` how it travels,
`http_answer` what comes back, `http_errors` which error that is, `retry` how long to wait, `redact` what to hide.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Never

import httpx
from pydantic import SecretStr

from .errors import GpuClustersError, RateLimitedError, TransportError
from .http_answer import Answer, ErrorReader, Refusal, Trouble
from .http_errors import LostAnswerError, NotSentError, Translator, kind_of_status
from .http_request import Base, Body, Call, Headers, Params, as_headers, redirected, secrets_of_headers, segment
from .http_wire import Credential, Wire
from .redact import Redactor
from .retry import Limits, pause_s

__all__ = [
    "Answer",
    "Body",
    "ErrorReader",
    "HttpClient",
    "Limits",
    "LostAnswerError",
    "NotSentError",
    "Refusal",
    "kind_of_status",
    "segment",
]

_log = logging.getLogger("jupyter_gpu_clusters.http")
_MAX_REDIRECTS = 5
_MAX_LINE = 64 * 1024
_KEPT_SECRETS = 32
_READS = frozenset({"GET", "HEAD"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PASSING = frozenset({408, *range(500, 600)}) - {501}
_NOTHING: Mapping[str, Never] = {}


class HttpClient:
    """Calls of one service as one account. It belongs to one event loop and opens nothing before the first call.

    Parameters
    ----------
    base_url : where the service is, for example ``https://host.example/api``.
    provider : its name, put into errors.
    read_error : tells from any answer, a 2xx as well, whether it is a failure and which.
    auth_hint : next step after a refused credential; say where the credential came from.
    proxy : URL of an HTTP proxy. Variables such as ``HTTPS_PROXY`` are not read (see `http_wire`).
    limits : time and size; a call may have its own.

    Raises
    ------
    SettingsError : the address of the service or of the proxy is not one.
    """

    def __init__(
        self,
        base_url: str,
        *,
        provider: str,
        read_error: ErrorReader,
        auth_hint: str | None = None,
        proxy: SecretStr | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._base = Base.parse(base_url)
        self._translator = Translator(provider, read_error, auth_hint)
        self._limits = limits or Limits()
        self._wire = Wire(self._base.origin, proxy=proxy)
        self._credential = Credential({}, {})
        self._fixed = (SecretStr(httpx.URL(proxy.get_secret_value()).password),) if proxy is not None else ()
        self._secrets: deque[SecretStr] = deque(maxlen=_KEPT_SECRETS)
        self._redact = Redactor(self._fixed)

    @property
    def origin(self) -> str:
        """Scheme, host and port of the service."""
        return self._base.origin

    def authorize(
        self, *, query: Mapping[str, SecretStr] = _NOTHING, headers: Mapping[str, SecretStr] = _NOTHING
    ) -> None:
        """From now on every request carries these; what was there before is still cut out of texts.

        Raises
        ------
        SettingsError : a header's value cannot be sent.
        """
        self._credential = Credential(dict(query), as_headers(headers))
        self._secrets.extend((*query.values(), *secrets_of_headers(headers)))
        self._redact = Redactor((*self._fixed, *self._secrets))

    def hide(self, *secrets: SecretStr) -> None:
        """Cut these out of texts too: secrets of the account that are not sent with every request."""
        self._fixed = (*self._fixed, *secrets)
        self._redact = Redactor((*self._fixed, *self._secrets))

    def redact(self, text: str) -> str:
        """`text` without the secrets of this account."""
        return self._redact(text)

    async def get(
        self,
        path: str,
        params: Params = _NOTHING,
        *,
        headers: Headers = _NOTHING,
        needs_json: bool = True,
        limits: Limits | None = None,
    ) -> Answer:
        """Read something; repeated a few times on 5xx and network trouble, and on 429 that says when.

        Parameters
        ----------
        path : below the base URL; ids in it go through `segment`. A slash at its end is kept.
        needs_json : false for a route that answers in text.

        Raises
        ------
        ProviderError : the service said no; the class says what.
        TransportError : no usable answer (also HTML, a body cut short, another origin).
        """
        accept = "application/json" if needs_json else "*/*"
        call = self._base.call("GET", path, params, {"accept": accept, **headers}, None)
        return await self._read(call, limits or self._limits, needs_json=needs_json)

    async def send(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        *,
        params: Params = _NOTHING,
        headers: Headers = _NOTHING,
        is_repeatable: bool = False,
        limits: Limits | None = None,
    ) -> Answer:
        """Send a request once, over a fresh connection, without repeat or redirect.

        A 2xx answer may be empty; then ``data`` is ``None``.

        Parameters
        ----------
        body : keep it to send the very same bytes again, or to record its digest.
        is_repeatable : this method on this route changes nothing (asking for a token), so it is treated as a read.

        Raises
        ------
        ProviderError : the service said no; ``is_definite`` only where the provider's reader says so.
        NotSentError : no connection came to be; certainly nothing was sent.
        OutcomeUnknownError : it may have been carried out; `LostAnswerError.ids` has what was named nevertheless.
        """
        call = self._base.call(method, path, params, headers, body)
        limits = limits or self._limits
        if is_repeatable or method in _READS:
            return await self._read(call, limits, needs_json=method != "HEAD")
        redact = self._redact.including(call.secrets)
        result = await self._exchange(call, limits, redact, within_s=limits.call_s, is_fresh=True)
        if isinstance(result, Answer) and self._translator.is_good(result, is_write=True, needs_json=True):
            return result
        raise self._translator.error(result, call, redact, is_write=True)

    async def lines(
        self, path: str, params: Params = _NOTHING, *, headers: Headers = _NOTHING, silence_s: float | None = None
    ) -> AsyncGenerator[str, None]:
        """Lines of a text that may never end (logs), as they come; over-long ones in pieces. Not repeated.

        Parameters
        ----------
        silence_s : longest wait for the next piece; without it that of the limits.

        Raises
        ------
        ProviderError, TransportError : as for `get`; a stream that breaks off is a TransportError.
        """
        plain = {"accept": "*/*", "accept-encoding": "identity"}
        call = self._base.call("GET", path, params, {**plain, **headers}, None)
        redact = self._redact.including(call.secrets)
        limits = self._limits if silence_s is None else replace(self._limits, read_s=silence_s)
        decode, rest = codecs.getincrementaldecoder("utf-8")("replace").decode, ""
        async with aclosing(self._wire.stream(call, self._credential, limits, redact)) as pieces:
            async for piece in pieces:
                if not isinstance(piece, bytes):
                    raise self._translator.error(piece, call, redact, is_write=False)
                *whole, rest = (rest + decode(piece)).split("\n")
                for line in whole:
                    yield line.removesuffix("\r")
                if len(rest) > _MAX_LINE:
                    yield rest
                    rest = ""
        if rest:
            yield rest

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        await self._wire.aclose()

    async def _read(self, call: Call, limits: Limits, *, needs_json: bool) -> Answer:
        now = asyncio.get_running_loop().time
        deadline, attempt = now() + limits.call_s, 0
        while True:
            attempt += 1
            redact = self._redact.including(call.secrets)
            result = await self._follow(call, limits, redact, deadline)
            if isinstance(result, Answer) and self._translator.is_good(result, is_write=False, needs_json=needs_json):
                return result
            error = self._translator.error(result, call, redact, is_write=False)
            pause = _pause(result, error, attempt, limits)
            if pause is None or now() + pause >= deadline:
                raise error
            await asyncio.sleep(pause)

    async def _follow(self, call: Call, limits: Limits, redact: Redactor, deadline: float) -> Answer | Trouble:
        """One try of a read, led on by redirects within the origin."""
        now = asyncio.get_running_loop().time
        own = frozenset(self._credential.query)
        for _ in range(_MAX_REDIRECTS):
            result = await self._exchange(call, limits, redact, within_s=deadline - now(), is_fresh=False)
            if isinstance(result, Trouble) or result.status not in _REDIRECTS or call.method not in _READS:
                return result
            target = redirected(call, result.headers.get("location", ""), drop=own)
            if target is None:
                return result
            call = target
        return await self._exchange(call, limits, redact, within_s=deadline - now(), is_fresh=False)

    async def _exchange(
        self, call: Call, limits: Limits, redact: Redactor, *, within_s: float, is_fresh: bool
    ) -> Answer | Trouble:
        now = asyncio.get_running_loop().time
        started = now()
        result = await self._wire.exchange(call, self._credential, limits, redact, within_s=within_s, is_fresh=is_fresh)
        told = result.text if isinstance(result, Trouble) else f"HTTP {result.status}"
        _log.debug("%s", redact(f"{call}: {told} after {now() - started:.3f} s"))
        return result


def _pause(result: Answer | Trouble, error: GpuClustersError, attempt: int, limits: Limits) -> float | None:
    """Seconds until a failed read is tried again; ``None`` when it is not."""
    if attempt >= limits.tries:
        return None
    if isinstance(error, RateLimitedError):
        return error.retry_after_s
    if isinstance(result, Trouble):
        return pause_s(attempt, limits) if result.is_passing else None
    is_unreadable = result.is_success and isinstance(error, TransportError)
    if is_unreadable or result.status in _PASSING:
        return max(pause_s(attempt, limits), result.retry_after_s or 0.0)
    return None
