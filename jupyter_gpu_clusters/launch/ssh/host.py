"""A machine behind a kept connection, as `launch.hosts.Host`."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import asyncssh

from ...core.errors import TransportError
from ..hosts import MAX_ERROR_BYTES, MAX_OUTPUT_BYTES, ByteReader, Completed
from .connecting import lost
from .remote import command_line, ending_line, new_mark
from .tree import pack

if TYPE_CHECKING:
    from .machines import Link

END_TIMEOUT_S = 5.0
MAX_NOISE_BYTES = 1024 * 1024
_PIECE_BYTES = 256 * 1024

_PUT = """
folder=$(dirname -- "$1") && (umask 077; mkdir -p -- "$folder") && beside=$(mktemp -- "$1.XXXXXX") || exit 1
if cat > "$beside" && [ "$(wc -c < "$beside")" -eq "$2" ] && mv -f -- "$beside" "$1"; then exit 0; fi
rm -f -- "$beside"
exit 1
"""
_PUT_TREE = 'mkdir -m 700 -- "$1" && exec tar -x -p -o -f - -C "$1"'


class SshHost:
    """A machine; several may share one connection."""

    is_local = False

    def __init__(self, name: str, link: Link) -> None:
        self.name = name
        self._link = link

    async def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float) -> Completed:
        """See `Host.run`."""
        try:
            async with asyncio.timeout(timeout_s), self._link.places, self._started(argv) as running:
                return await running.converse(_pieces(stdin))
        except TimeoutError:
            raise TransportError(f"{argv[0]} did not end within {timeout_s:g} s on {self.name}.") from None

    @contextlib.asynccontextmanager
    async def stream(self, argv: Sequence[str], *, stdin: bytes) -> AsyncIterator[ByteReader]:
        """See `Host.stream`."""
        async with self._started(argv) as running:
            await running.feed(_pieces(stdin), is_closed_after=False)
            yield running.process.stdout

    async def put(self, data: bytes, target: str, *, timeout_s: float) -> None:
        """See `Host.put`."""
        argv = ["/bin/sh", "-c", _PUT, "sh", target, str(len(data))]
        done = await self.run(argv, stdin=data, timeout_s=timeout_s)
        self._require(done, f"a file to {target}")

    async def put_tree(self, source: Path, files: Sequence[str], target: str, *, timeout_s: float) -> None:
        """See `Host.put_tree`."""
        argv = ["/bin/sh", "-c", _PUT_TREE, "sh", target]
        try:
            async with asyncio.timeout(timeout_s), self._started(argv) as running:
                done = await running.converse(pack(source, files))
        except TimeoutError:
            raise TransportError(f"Copying {source} to {self.name} took longer than {timeout_s:g} s.") from None
        except OSError as exc:
            raise TransportError(f"{exc.filename or source} cannot be read: {exc.strerror}.") from exc
        self._require(done, f"{source} to {target}")

    def _require(self, done: Completed, what: str) -> None:
        if done.code != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.code}"]
            raise TransportError(f"Copying {what} on {self.name} failed: {said[-1]}.")

    @contextlib.asynccontextmanager
    async def _started(self, argv: Sequence[str]) -> AsyncIterator[_Running]:
        """The program, begun; it and what it started are ended when the block is left before it has ended."""
        mark = new_mark()
        line = command_line(argv, mark)
        process = await self._link.opened(
            self.name,
            lambda connection: connection.create_process(line, encoding=None),
        )
        running = _Running(self.name, process)
        try:
            await running.begin(mark)
            yield running
        except (asyncssh.Error, ConnectionError) as exc:
            running.is_lost = True
            lost(self.name, exc)
        finally:
            if running.must_be_ended:
                await self._end(running.group)
            process.close()

    async def _end(self, group: int | None) -> None:
        """Closing a channel leaves its program running, so it is killed, also when the caller is cancelled."""
        assert group is not None
        with anyio.CancelScope(shield=True), contextlib.suppress(TransportError, asyncssh.Error, OSError, TimeoutError):
            async with asyncio.timeout(END_TIMEOUT_S):
                await self._link.opened(self.name, lambda connection: _kill(connection, group))


async def _kill(connection: asyncssh.SSHClientConnection, group: int) -> None:
    await connection.run(ending_line(group), stdin=asyncssh.DEVNULL)


class _Running:
    """A program on the other side; `group` is its process group once it has said so."""

    def __init__(self, name: str, process: asyncssh.SSHClientProcess[bytes]) -> None:
        self.process = process
        self.group: int | None = None
        self.is_lost = False
        self._name = name

    @property
    def must_be_ended(self) -> bool:
        """Whether it goes on though nobody wants it any more; what a lost connection leaves is left to its end."""
        has_ended = self.process.exit_status is not None or self.process.exit_signal is not None
        return self.group is not None and not has_ended and not self.is_lost

    async def begin(self, mark: str) -> None:
        """Read until the program begins; what a profile printed before is dropped."""
        noise = 0
        while noise <= MAX_NOISE_BYTES:
            line = await self.process.stdout.readline()
            word, _, group = line.strip().rpartition(b" ")
            if word.endswith(mark.encode()) and group.isdigit():
                self.group = int(group)
                return
            if not line:
                await self._explain()
            noise += len(line)
        raise TransportError(
            f"The login to {self._name} prints more than a profile should, so nothing can be run there.",
            hint="Let its profile print for interactive shells only.",
        )

    async def _explain(self) -> None:
        """The login ended before our program began."""
        await self.process.wait_closed()
        if self.process.exit_status is None and self.process.exit_signal is None:
            lost(self._name, None)
        said = (await self.process.stderr.read(MAX_ERROR_BYTES)).decode("utf-8", "replace").strip().splitlines()
        why = said[-1] if said else f"its shell ended with code {self.process.exit_status}"
        raise TransportError(f"Nothing can be run on {self._name}: {why}.")

    async def converse(self, pieces: AsyncIterator[bytes]) -> Completed:
        """Feed it, read what it says, wait for its end."""
        async with _one_error(), asyncio.TaskGroup() as group:
            group.create_task(self.feed(pieces, is_closed_after=True))
            stdout = group.create_task(_read_bounded(self.process.stdout, MAX_OUTPUT_BYTES))
            stderr = group.create_task(_read_bounded(self.process.stderr, MAX_ERROR_BYTES))
        await self.process.wait_closed()
        return Completed(self._code(), stdout.result(), stderr.result())

    def _code(self) -> int:
        """A connection that dies ends the streams without any word about the program."""
        process = self.process
        if process.exit_signal is not None:
            return -_signal_number(process.exit_signal[0])
        if process.exit_status is None:
            self.is_lost = True
            lost(self._name, None)
        return process.exit_status

    async def feed(self, pieces: AsyncIterator[bytes], *, is_closed_after: bool) -> None:
        """A program that does not want all of its input says so by its exit code, not by a broken pipe of ours."""
        writer = self.process.stdin
        async with contextlib.aclosing(_closable(pieces)) as source:
            async for piece in source:
                with contextlib.suppress(BrokenPipeError, ConnectionError, asyncssh.Error):
                    writer.write(piece)
                    await writer.drain()
        if is_closed_after:
            with contextlib.suppress(BrokenPipeError, ConnectionError, asyncssh.Error):
                writer.write_eof()


@contextlib.asynccontextmanager
async def _one_error() -> AsyncIterator[None]:
    """The first of what several tasks raise."""
    try:
        yield
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


async def _closable(pieces: AsyncIterator[bytes]) -> Any:
    async for piece in pieces:
        yield piece


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), _PIECE_BYTES):
        yield data[start : start + _PIECE_BYTES]


async def _read_bounded(pipe: asyncssh.SSHReader[bytes], limit: int) -> bytes:
    """All the output, or its first `limit` bytes; the rest is read and dropped, so that nobody blocks."""
    kept = bytearray()
    while piece := await pipe.read(_PIECE_BYTES):
        kept += piece[: limit - len(kept)]
    return bytes(kept)


def _signal_number(name: str) -> int:
    try:
        return int(signal.Signals[f"SIG{name}"])
    except KeyError:
        return int(signal.SIGKILL)
