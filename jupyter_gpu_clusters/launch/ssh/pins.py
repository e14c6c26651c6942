"""Which host key belongs to which machine: pinned at first contact, by the machine's identity and not its address.

The file is one that the ``ssh`` program reads as well (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"); the place of host
names is taken by aliases.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from ...core.errors import JournalError
from ...core.locks import file_lock
from ...core.paths import data_dir, make_private, write_durably

_LOCKED_WITHIN_S = 10.0
_MAX_PINS = 10_000


def alias_of(identity: str) -> str:
    """What stands for a machine in the file; ``HostKeyAlias`` for the ``ssh`` program."""
    return "jgc-" + hashlib.sha256(identity.encode()).hexdigest()[:24]


def fingerprint_of(key: str) -> str:
    """``SHA256:...`` as ``ssh-keygen -l`` shows it, of ``TYPE BASE64``."""
    digest = hashlib.sha256(base64.b64decode(key.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


class Pins:
    """The file of pinned keys. All methods block for a small file; call them off the event loop."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or data_dir() / "ssh" / "known_hosts"

    def find(self, identity: str) -> str | None:
        """``TYPE BASE64`` of a machine; ``None`` before the first contact.

        Raises
        ------
        JournalError : the file cannot be read, so no machine is trusted.
        """
        try:
            return self._read().get(alias_of(identity))
        except OSError as exc:
            raise self._unusable("read", exc) from exc

    def pin(self, identity: str, key: str) -> str:
        """Pin a key at first contact; returns the pinned one, which is another's where another process was quicker.

        Raises
        ------
        JournalError : it cannot be written down, so the machine is not trusted.
        """
        return self._change(identity, key)

    def forget(self, identity: str) -> None:
        """The next contact is a first one again. Raises JournalError."""
        if self.find(identity) is not None:
            self._change(identity, None)

    def _change(self, identity: str, key: str | None) -> str:
        alias = alias_of(identity)
        try:
            make_private(self.path.parent)
            with file_lock(self.path.with_name(".lock"), within_s=_LOCKED_WITHIN_S):
                keys = self._read()
                known = keys.pop(alias, None)
                kept = (known or key) if key is not None else None
                if kept is not None:
                    keys[alias] = kept
                if kept != known:
                    lines = [f"{name} {pinned}\n" for name, pinned in list(keys.items())[-_MAX_PINS:]]
                    write_durably(self.path, "".join(lines).encode())
                return kept or ""
        except OSError as exc:
            raise self._unusable("written", exc) from exc

    def _unusable(self, verb: str, exc: OSError) -> JournalError:
        return JournalError(
            f"The host keys in {self.path} cannot be {verb} ({exc.strerror or exc}), so no machine is trusted.",
            hint="Make it readable and writable, with room for it, then try again.",
        )

    def _read(self) -> dict[str, str]:
        try:
            text = self.path.read_text()
        except FileNotFoundError:
            return {}
        parts = (line.split(maxsplit=1) for line in text.splitlines() if line.startswith("jgc-"))
        return {pair[0]: pair[1] for pair in parts if len(pair) == 2}
