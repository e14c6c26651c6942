"""System calls that really fail: a filter in the kernel, for one process and its children, without other tools."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import struct
from collections.abc import Sequence

import pytest

_NUMBERS = {
    "x86_64": {"fcntl": 72, "flock": 73, "fsync": 74, "fdatasync": 75, "link": 86, "linkat": 265, "seccomp": 317},
    "aarch64": {"fcntl": 25, "flock": 32, "fsync": 82, "fdatasync": 83, "linkat": 37, "seccomp": 277},
}
_NUMBER_AT, _SECOND_ARGUMENT_AT = 0, 24
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NO_NEW_PRIVILEGES, _SET_FILTER, _FOR_ALL_THREADS = 38, 1, 1


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def need_filters() -> None:
    """Skip the test where the kernel or the machine has no such filters."""
    if platform.machine() not in _NUMBERS or not os.path.exists("/proc/sys/kernel/seccomp"):
        pytest.skip("system calls can be made to fail only on Linux, on two kinds of machine")


def without_locks() -> None:
    """From now on this process gets ENOLCK for every lock, as on a network file system without a lock service."""
    commands = (fcntl.F_SETLK, fcntl.F_SETLKW)
    _install([*_refused("flock", errno.ENOLCK), *_refused("fcntl", errno.ENOLCK, commands)])


def without_links() -> None:
    """From now on no hard link can be made, as on FAT."""
    _install([*_refused("link", errno.EPERM), *_refused("linkat", errno.EPERM)])


def without_sync() -> None:
    """From now on nothing becomes durable, as on a failing disk."""
    _install([*_refused("fsync", errno.EIO), *_refused("fdatasync", errno.EIO)])


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _refused(call: str, error: int, second: Sequence[int] = ()) -> list[bytes]:
    """Fail `call`, where given only with one of these second arguments."""
    number = _NUMBERS[platform.machine()].get(call)
    if number is None:
        return []
    body = [_step(_RETURN, _ERRNO | error)]
    for value in second:
        body = [_step(_IF_EQUAL, value, 0, 1), _step(_RETURN, _ERRNO | error)] + (body if len(body) > 1 else [])
    if second:
        body = [_step(_LOAD, _SECOND_ARGUMENT_AT), *body]
    return [_step(_LOAD, _NUMBER_AT), _step(_IF_EQUAL, number, 0, len(body)), *body]


def _install(steps: Sequence[bytes]) -> None:
    code = b"".join([*steps, _step(_RETURN, _ALLOW)])
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    number = _NUMBERS[platform.machine()]["seccomp"]
    answer = libc.syscall(number, _SET_FILTER, _FOR_ALL_THREADS, ctypes.byref(program))
    assert answer == 0, os.strerror(ctypes.get_errno())
