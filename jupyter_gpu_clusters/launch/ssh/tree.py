"""Many files as one stream."""

from __future__ import annotations

import asyncio
import queue
import tarfile
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

PIECE_BYTES = 256 * 1024
_QUEUED = 8
_PAUSE_S = 0.5


async def pack(source: Path, files: Sequence[str]) -> AsyncIterator[bytes]:
    """`files`, relative to `source`, as a tar archive in pieces; links stay links, owners are left out.

    Memory is bounded by a few pieces.

    Raises
    ------
    OSError : a file cannot be read (any more), or has become shorter.
    """
    pieces: queue.Queue[bytes | BaseException | None] = queue.Queue(_QUEUED)
    stop = threading.Event()
    work = asyncio.get_running_loop().run_in_executor(None, _write, source, files, pieces, stop)
    try:
        while (piece := await asyncio.to_thread(pieces.get)) is not None:
            if isinstance(piece, BaseException):
                raise piece
            yield piece
    finally:
        stop.set()
        while not work.done():
            _drain(pieces)
            await asyncio.sleep(0)
        await work


def _drain(pieces: queue.Queue[bytes | BaseException | None]) -> None:
    while not pieces.empty():
        pieces.get_nowait()


class _Sink:
    """A file that hands on what is written, and gives up when nobody takes it any more."""

    def __init__(self, pieces: queue.Queue[bytes | BaseException | None], stop: threading.Event) -> None:
        self._pieces = pieces
        self._stop = stop
        self._held = bytearray()

    def write(self, data: bytes) -> int:
        self._held += data
        if len(self._held) >= PIECE_BYTES:
            self.flush()
        return len(data)

    def flush(self) -> None:
        piece, self._held = bytes(self._held), bytearray()
        if piece:
            self.hand_on(piece)

    def hand_on(self, item: bytes | BaseException | None) -> None:
        while not self._stop.is_set():
            try:
                return self._pieces.put(item, timeout=_PAUSE_S)
            except queue.Full:
                continue
        raise InterruptedError


def _write(
    source: Path, files: Sequence[str], pieces: queue.Queue[bytes | BaseException | None], stop: threading.Event
) -> None:
    sink = _Sink(pieces, stop)
    try:
        with tarfile.open(fileobj=sink, mode="w|", format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
            for name in files:
                archive.add(source / name, arcname=name, recursive=False, filter=_without_owner)
        sink.flush()
        sink.hand_on(None)
    except InterruptedError:
        return
    except Exception as exc:  # noqa: BLE001 (raised again by who reads the pieces)
        if not stop.is_set():
            pieces.put(exc)


def _without_owner(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info
