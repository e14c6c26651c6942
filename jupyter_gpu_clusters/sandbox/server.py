"""The sandbox on a real loopback port."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn
from starlette.types import ASGIApp

from .delivery import CuttableProtocol

_START_S = 30.0
_STOP_S = 10.0


class _Server(uvicorn.Server):
    """Says when it is ready, and leaves signals to whoever started it."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    def stop(self) -> None:
        """End at once; open streams do not hold it up."""
        self.should_exit = self.force_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on a loopback address; port 0 takes a free one.

    Raises
    ------
    ValueError : `host` is no loopback address; the sandbox has no protection against strangers.
    OSError : the port is taken.
    """
    if not _is_loopback(host):
        raise ValueError(f"The sandbox listens on loopback addresses only, and {host} is none. Use 127.0.0.1.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol by its name: asyncio sets TCP_NODELAY only then, and else every request waits 40 ms.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(256)
    except OSError:
        sock.close()
        raise
    return sock


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def url_of(sock: socket.socket) -> str:
    """The base URL of a listening socket."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server_for(app: ASGIApp, ready: Callable[[], None]) -> _Server:
    """A server that calls `ready` when it answers, and runs until its ``stop``."""
    config = uvicorn.Config(
        app,
        http=CuttableProtocol,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=60,
    )
    return _Server(config, ready)


@contextmanager
def served(app: ASGIApp, sock: socket.socket) -> Iterator[None]:
    """Serve from a thread of its own for the length of the block."""
    ready = threading.Event()
    server = server_for(app, ready.set)
    thread = threading.Thread(target=server.run, args=([sock],), name="sandbox", daemon=True)
    thread.start()
    try:
        if not ready.wait(_START_S):
            raise RuntimeError("The sandbox's server did not start.")
        yield
    finally:
        server.stop()
        thread.join(_STOP_S)
        with suppress(OSError):
            sock.close()
