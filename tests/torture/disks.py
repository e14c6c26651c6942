"""File systems of a test's own: small, full, read-only, or of a kind that is not known to be local."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

LIBC = ctypes.CDLL(None, use_errno=True)
_MS_RDONLY, _MS_REMOUNT, _CLONE_NEWUTS = 1, 32, 0x04000000
BLOCK = 4096


@contextmanager
def mounted(kind: str, folder: Path, options: str = "mode=0700") -> Iterator[Path]:
    """A new file system on `folder`; the test is skipped (in CI: failed) where it cannot be mounted."""
    folder.mkdir()
    if LIBC.mount(kind.encode(), os.fsencode(folder), kind.encode(), 0, options.encode()):
        reason = f"a {kind} cannot be mounted ({os.strerror(ctypes.get_errno())}); run the tests as root"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    try:
        yield folder
    finally:
        assert LIBC.umount2(os.fsencode(folder), 0) == 0, os.strerror(ctypes.get_errno())


def make_read_only(folder: Path, *, undo: bool = False) -> None:
    """Remount `folder`, which is a mount point, read-only or (`undo`) writable again."""
    flags = _MS_REMOUNT | (0 if undo else _MS_RDONLY)
    assert LIBC.mount(None, os.fsencode(folder), None, flags, None) == 0, os.strerror(ctypes.get_errno())


def fill(disk: Path, *, but_blocks: int = 0) -> Path:
    """Leave that many free blocks on a tmpfs."""
    filler = disk / "filler"
    handle = os.open(filler, os.O_WRONLY | os.O_CREAT)
    try:
        for size in (65536, BLOCK):
            try:
                while True:
                    os.write(handle, bytes(size))
            except OSError:
                pass
        os.ftruncate(handle, os.fstat(handle).st_size - but_blocks * BLOCK)
    finally:
        os.close(handle)
    assert os.statvfs(disk).f_bavail == but_blocks
    return filler


def on_host(name: str, then: Callable[[], object] | None = None) -> None:
    """This process (a child of the test) goes on under another host name."""
    assert LIBC.unshare(_CLONE_NEWUTS) == 0, os.strerror(ctypes.get_errno())
    assert LIBC.sethostname(name.encode(), len(name)) == 0, os.strerror(ctypes.get_errno())
    if then is not None:
        then()
