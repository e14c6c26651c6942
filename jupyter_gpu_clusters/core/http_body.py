"""Taking in a body piece by piece, unpacked where need be, and never more of it than agreed."""

from __future__ import annotations

import zlib


class UnusableBodyError(Exception):
    """The body is too large or cannot be unpacked.

    Parameters
    ----------
    is_passing : whether another try may do better.
    """

    def __init__(self, text: str, *, is_passing: bool) -> None:
        super().__init__(text)
        self.is_passing = is_passing


class Unpacker:
    """Collects a body.

    Parameters
    ----------
    encoding : value of the header ``Content-Encoding``.
    max_bytes : most that is taken, counted unpacked; memory stays within it whatever the packing ratio.

    Raises
    ------
    UnusableBodyError : packed in a way we did not ask for; from `feed`: too large or damaged; from `finish`: cut short.
    """

    def __init__(self, encoding: str, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._content = bytearray()
        self._has_begun = False
        match encoding.strip().lower():
            case "" | "identity":
                self._zip = None
            case "gzip" | "x-gzip":
                self._zip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
            case _:
                raise UnusableBodyError("the answer is packed in a way that was not asked for", is_passing=False)

    def feed(self, chunk: bytes) -> None:
        """Take the next piece."""
        self._has_begun = True
        room = self._max_bytes - len(self._content) + 1
        try:
            self._content += self._zip.decompress(chunk, room) if self._zip else chunk[:room]
        except zlib.error:
            raise UnusableBodyError("the answer is damaged", is_passing=True) from None
        if len(self._content) > self._max_bytes:
            raise UnusableBodyError(f"the answer is larger than {self._max_bytes:,} bytes", is_passing=False)

    def finish(self) -> bytes:
        """The whole body."""
        if self._zip and self._has_begun and not self._zip.eof:
            raise UnusableBodyError("the answer is cut short", is_passing=True)
        return bytes(self._content)
