"""A stream of the cluster API over a WebSocket, without letting the token out.

The library logs and keeps request headers, so it gets a logger that says nothing, and its errors come back as text.
"""

from __future__ import annotations

import importlib.metadata
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from pydantic import SecretStr

from ...core.errors import TransportError

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

_MIN_VERSION = 15
_OPEN_S = 15.0
_MAX_MESSAGE = 16 * 1024 * 1024
_SILENT = logging.Logger("jupyter_gpu_clusters.silent", logging.CRITICAL + 1)
_SILENT.disabled = True


def is_there() -> bool:
    """Whether the library for WebSockets is installed, and new enough to be told to use no proxy."""
    try:
        return int(importlib.metadata.version("websockets").partition(".")[0]) >= _MIN_VERSION
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return False


async def open_stream(
    base_url: str, path: str, params: Mapping[str, str], token: SecretStr
) -> AsyncGenerator[bytes, None]:
    """The messages of a stream as bytes, until it is closed by the far side or breaks off.

    Raises
    ------
    TransportError : it could not be opened.
    """
    from websockets.exceptions import WebSocketException

    url = f"{base_url.replace('http', 'ws', 1)}{path}?{urlencode(params)}"
    connection = await _open(url, token)
    if isinstance(connection, str):
        raise TransportError(f"The log stream at {base_url} could not be opened: {connection}.", provider="runai")
    try:
        with suppress(WebSocketException, OSError):
            async for message in connection:
                yield message.encode() if isinstance(message, str) else message
    finally:
        await connection.close()


async def _open(url: str, token: SecretStr) -> ClientConnection | str:
    """The connection, or in words why there is none."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidStatus, WebSocketException

    try:
        return await connect(
            url,
            additional_headers={"Authorization": f"Bearer {token.get_secret_value()}"},
            open_timeout=_OPEN_S,
            max_size=_MAX_MESSAGE,
            logger=_SILENT,
            proxy=None,
        )
    except InvalidStatus as exc:
        return f"HTTP {exc.response.status_code}"
    except (WebSocketException, OSError) as exc:
        return type(exc).__name__
    except BaseException as exc:
        # A cancellation: it goes on, without the frames below, which hold the token.
        exc.__cause__ = exc.__context__ = exc.__traceback__ = None
        raise
