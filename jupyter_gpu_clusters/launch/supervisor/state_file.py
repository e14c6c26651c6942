"""A node's state on disk, written so that neither a full disk nor a sudden end can lose it."""

from __future__ import annotations

import errno
import json
import os
import struct
import zlib

from .messages import Json


class StateFile:
    """Two slots of fixed size, written in place by turns.

    The space is really written and synced before anything runs, so a disk that fills up later cannot lose an exit
    code; and a write that is cut in the middle leaves the other slot, with the state before it.
    """

    NAME = "state"
    HEADER = struct.Struct(">8sQQII")
    MAGIC = b"JGCstate"

    def __init__(self, fd: int, slot_bytes: int) -> None:
        self.fd = fd
        self.slot_bytes = slot_bytes
        self.seq = 0

    @classmethod
    def create(cls, folder: str, payload_bytes: int) -> StateFile:
        """Raises OSError where the space cannot be had."""
        slot_bytes = (payload_bytes + cls.HEADER.size + 4095) // 4096 * 4096
        path = os.path.join(folder, cls.NAME)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            write_all(fd, bytes(2 * slot_bytes))
            os.fsync(fd)
            sync_folder(folder)
        except OSError:
            os.close(fd)
            os.unlink(path)
            raise
        return cls(fd, slot_bytes)

    def write(self, state: Json) -> None:
        """Raises OSError; ValueError for a state that outgrew its slot."""
        payload = json.dumps(state, separators=(",", ":")).encode()
        if len(payload) + self.HEADER.size > self.slot_bytes:
            raise ValueError(f"the state has {len(payload)} bytes, its slot {self.slot_bytes}")
        seq = self.seq + 1
        slot = self.HEADER.pack(self.MAGIC, seq, self.slot_bytes, len(payload), _check(seq, payload)) + payload
        if os.pwrite(self.fd, slot, seq % 2 * self.slot_bytes) != len(slot):
            raise OSError(errno.EIO, "the state was written only in part")
        os.fsync(self.fd)
        self.seq = seq

    @classmethod
    def read(cls, folder: str) -> Json | None:
        """The newest whole state; None when there is none yet. Raises OSError; ValueError where no slot is valid."""
        try:
            with open(os.path.join(folder, cls.NAME), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return None
        half = len(data) // 2
        slots = [slot for slot in (cls._parse(data[:half]), cls._parse(data[half:])) if slot]
        if slots:
            return max(slots, key=lambda slot: slot[0])[1]
        if data.strip(b"\0"):
            raise ValueError("no slot of the state file is valid")
        return None

    @classmethod
    def _parse(cls, slot: bytes) -> tuple[int, Json] | None:
        if len(slot) < cls.HEADER.size:
            return None
        magic, seq, slot_bytes, length, check = cls.HEADER.unpack_from(slot)
        payload = slot[cls.HEADER.size : cls.HEADER.size + length]
        if magic != cls.MAGIC or slot_bytes != len(slot) or len(payload) != length or check != _check(seq, payload):
            return None
        state = json.loads(payload.decode())
        return (seq, state) if isinstance(state, dict) else None


def _check(seq: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(struct.pack(">Q", seq)))


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_folder(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
