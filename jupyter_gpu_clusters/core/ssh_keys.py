"""Public SSH keys as texts: read from a file, compared without their comments."""

from __future__ import annotations

import re
from pathlib import Path

from .errors import SettingsError

_KEY = re.compile(r"(ssh-[a-z0-9-]+|ecdsa-[a-z0-9-]+|sk-[a-z0-9@.-]+) [A-Za-z0-9+/=]{16,}( [^\r\n]*)?")
_LARGEST = 64 * 1024


def read_public_key(path: str) -> str:
    """The one line of a public key file.

    Raises
    ------
    SettingsError : there is no such file, or it holds something else (a private key is named as such).
    """
    file = Path(path).expanduser()
    try:
        with file.open("rb") as stream:
            text = stream.read(_LARGEST).decode("utf-8", "replace").strip()
    except OSError as exc:
        raise SettingsError(
            f"{file} cannot be read ({exc.strerror}).", hint="Name the .pub file of a key pair."
        ) from exc
    if "PRIVATE KEY" in text:
        raise SettingsError(f"{file} is a private key; it was not sent.", hint=f"Name the public half: {path}.pub")
    if not _KEY.fullmatch(text):
        raise SettingsError(f"{file} is not one public SSH key.", hint="Name the .pub file of a key pair.")
    return text


def same_key(one: str, other: str) -> bool:
    """Whether two lines are the same key, whatever their comments."""
    return bool(one.strip()) and one.split()[:2] == other.split()[:2]
