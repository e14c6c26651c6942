"""Keeping other processes and threads out for a moment, by ``flock`` on a file of its own."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_UNSUPPORTED = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)


@contextmanager
def file_lock(path: Path, *, within_s: float) -> Iterator[None]:
    """Hold the lock of `path` (created, mode 0600) for the block.

    Where the file system has no locks the block runs all the same: what it guards must be right without a lock
    whenever nobody else is there at that very moment.

    Raises
    ------
    TimeoutError : others held it for `within_s` seconds.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + within_s
        while not _taken(handle):
            if time.monotonic() > deadline:
                raise TimeoutError(f"others hold {path}")
            time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as exc:
        if exc.errno not in _UNSUPPORTED:
            raise
    return True


def has_locks(path: Path) -> bool:
    """Whether the locks that SQLite uses (``fcntl``) exist where `path` lies; it is created if need be.

    Never for a file that SQLite has open: closing it would drop SQLite's own locks.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        return exc.errno not in _UNSUPPORTED
    finally:
        os.close(handle)
    return True
