"""A machine on which something can be run, and this machine.

Programs are started from argument lists, never from a shell's text. A host that can only be reached through a
shell quotes the list in one place of its own. Every call has an end: a time-out, or a caller that cancels it,
and then its child is ended as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..core.errors import TransportError

MAX_OUTPUT_BYTES = 64 * 1024 * 1024
"""Output beyond this is dropped; what is left is then no whole answer, and is refused as such by who parses it."""

MAX_ERROR_BYTES = 64 * 1024

_KEPT_VARIABLES = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")
"""What our own helpers get of this process's environment. Not all of it: it may hold credentials, a detached
process keeps what it was given, and ranks get theirs from the start document."""


@dataclass(frozen=True, slots=True)
class Completed:
    """How a program ended and what it wrote; ``code`` is negative for a signal."""

    code: int
    stdout: bytes
    stderr: bytes


class ByteReader(Protocol):
    """The reading half of a stream."""

    async def readline(self) -> bytes:
        """One line with its end, less at the end of the stream."""

    async def readexactly(self, n: int) -> bytes:
        """So many bytes. Raises ``asyncio.IncompleteReadError`` when the stream ends before."""


class Host(Protocol):
    """One machine."""

    @property
    def name(self) -> str:
        """For messages, and to see that two nodes are on one machine."""

    @property
    def is_local(self) -> bool:
        """Whether paths of this process mean the same there."""

    async def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float) -> Completed:
        """Run a program to its end.

        Raises
        ------
        TransportError : it could not be started, or took longer than `timeout_s`; it may then have done its
            work all the same.
        """

    def stream(self, argv: Sequence[str], *, stdin: bytes) -> AbstractAsyncContextManager[ByteReader]:
        """Run a program and read its output while it goes on. Leaving the context ends it.

        Its stdin stays open behind `stdin`, so that the program can tell when nobody reads any more.
        """

    async def put(self, data: bytes, target: str, *, timeout_s: float) -> None:
        """Write the file `target` there, whole or not at all. Raises TransportError."""

    async def put_tree(self, source: Path, files: Sequence[str], target: str, *, timeout_s: float) -> None:
        """Copy `files`, relative to `source`, into the new directory `target` there; links stay links.

        The parent of `target` has to exist.

        Raises TransportError; what was copied by then may remain at `target`.
        """


@dataclass(frozen=True, slots=True)
class LocalHost:
    """This machine."""

    name: str = "this machine"
    is_local: bool = True

    async def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float) -> Completed:
        """See `Host.run`."""
        process = await _start(argv, asyncio.subprocess.PIPE)
        try:
            async with asyncio.timeout(timeout_s):
                return await _converse(process, stdin)
        except TimeoutError:
            raise TransportError(f"{_shown(argv)} did not end within {timeout_s:g} s on {self.name}.") from None
        finally:
            await _end(process)

    @contextlib.asynccontextmanager
    async def stream(self, argv: Sequence[str], *, stdin: bytes) -> AsyncIterator[ByteReader]:
        """See `Host.stream`."""
        process = await _start(argv, asyncio.subprocess.DEVNULL)
        writer, reader = process.stdin, process.stdout
        assert writer is not None
        assert reader is not None
        try:
            await _feed(writer, stdin, is_closed_after=False)
            yield reader
        finally:
            await _end(process)

    async def put(self, data: bytes, target: str, *, timeout_s: float) -> None:
        """See `Host.put`."""
        await _copy(lambda _: _write_file(data, Path(target)), f"a file to {target}", timeout_s)

    async def put_tree(self, source: Path, files: Sequence[str], target: str, *, timeout_s: float) -> None:
        """See `Host.put_tree`."""
        await _copy(lambda stop: _copy_tree(source, files, Path(target), stop), f"{source} to {target}", timeout_s)


@dataclass(frozen=True, slots=True)
class NoHost:
    """A machine that cannot be reached, for a reason that is known before it is tried."""

    name: str
    why: str
    is_local: bool = False

    async def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float) -> Completed:
        """Raises TransportError."""
        raise self._error()

    @contextlib.asynccontextmanager
    async def stream(self, argv: Sequence[str], *, stdin: bytes) -> AsyncIterator[ByteReader]:
        """Raises TransportError."""
        raise self._error()
        yield  # what makes it a generator

    async def put(self, data: bytes, target: str, *, timeout_s: float) -> None:
        """Raises TransportError."""
        raise self._error()

    async def put_tree(self, source: Path, files: Sequence[str], target: str, *, timeout_s: float) -> None:
        """Raises TransportError."""
        raise self._error()

    def _error(self) -> TransportError:
        return TransportError(f"{self.name} cannot be reached: {self.why}")


async def _start(argv: Sequence[str], stderr: int) -> asyncio.subprocess.Process:
    env = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    try:
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env=env,
            cwd="/",
            start_new_session=True,
            limit=1024 * 1024,
        )
    except OSError as exc:
        raise TransportError(f"{_shown(argv)} could not be started: {exc.strerror}.") from exc


async def _converse(process: asyncio.subprocess.Process, stdin: bytes) -> Completed:
    writer, out, err = process.stdin, process.stdout, process.stderr
    assert writer is not None
    assert out is not None
    assert err is not None
    async with asyncio.TaskGroup() as group:
        group.create_task(_feed(writer, stdin, is_closed_after=True))
        stdout = group.create_task(_read_bounded(out, MAX_OUTPUT_BYTES))
        stderr = group.create_task(_read_bounded(err, MAX_ERROR_BYTES))
    return Completed(await process.wait(), stdout.result(), stderr.result())


async def _feed(pipe: asyncio.StreamWriter, data: bytes, *, is_closed_after: bool) -> None:
    """A program that does not want all of its input says so by its exit code, not by a broken pipe of ours."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        pipe.write(data)
        await pipe.drain()
        if is_closed_after:
            pipe.close()
            await pipe.wait_closed()


async def _read_bounded(pipe: asyncio.StreamReader, limit: int) -> bytes:
    """All the output, or its first `limit` bytes; the rest is read and dropped, so that nobody blocks."""
    kept = bytearray()
    while piece := await pipe.read(1024 * 1024):
        kept += piece[: limit - len(kept)]
    return bytes(kept)


async def _end(process: asyncio.subprocess.Process) -> None:
    """The child and what it started in its session are gone afterwards, also when the caller was cancelled."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdin:
        process.stdin.close()
    await process.wait()


def _shown(argv: Sequence[str]) -> str:
    """The program and its last two words: enough to know which call it was."""
    return " ".join([argv[0], *argv[1:][-2:]])


async def _copy(work: Callable[[threading.Event], None], what: str, timeout_s: float) -> None:
    """Run `work` in a thread; it is asked to stop when nobody waits for it any more."""
    stop = threading.Event()
    try:
        async with asyncio.timeout(timeout_s):
            await asyncio.to_thread(work, stop)
    except TimeoutError:
        raise TransportError(f"Copying {what} took longer than {timeout_s:g} s.") from None
    except OSError as exc:
        where = f" ({exc.filename})" if exc.filename else ""
        raise TransportError(f"Copying {what} failed: {exc.strerror}{where}.") from exc
    finally:
        stop.set()


def _write_file(data: bytes, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd, beside = tempfile.mkstemp(prefix=target.name, dir=target.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.replace(beside, target)
    except OSError:
        os.unlink(beside)
        raise


def _copy_tree(source: Path, files: Sequence[str], target: Path, stop: threading.Event) -> None:
    target.mkdir(mode=0o700)
    for name in files:
        if stop.is_set():
            return
        place = target / name
        for parent in reversed(Path(name).parents[:-1]):
            (target / parent).mkdir(exist_ok=True)
        shutil.copy2(source / name, place, follow_symlinks=False)
