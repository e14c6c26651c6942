"""Cutting secrets out of text: whatever form a secret takes on its way through URLs, JSON, logs and tracebacks.

A secret is found as it is; percent-encoded (any mix of cases, doubly as well, a space as ``+``); with the escapes
of JSON, Python and HTML; and in base64, alone or inside a longer text such as ``user:key``. Secrets shorter than
`MIN_LENGTH` characters are left, since cutting them would cut half of every sentence.
"""

from __future__ import annotations

import base64
import itertools
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pydantic import SecretStr

MIN_LENGTH = 4
MASK = "***"

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_HTML_NAMES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_LETTER_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f", "\v": "v", "\a": "a", "\0": "0"}
_BASE64_SPECIAL = {
    "+": r"(?:\+|-|%(?:25)*2[bB]|\\+u002[bB])",
    "/": r"(?:\\*/|_|%(?:25)*2[fF]|\\+u002[fF])",
}


class Redactor:
    """Replaces known secrets in a text by ``***``.

    Its own repr, and that of everything it holds, shows no secret.

    Parameters
    ----------
    secrets : what to cut out; of two that overlap the longer one goes first.
    """

    __slots__ = ("_replace", "_secrets")

    def __init__(self, secrets: Iterable[SecretStr] = ()) -> None:
        unique = dict.fromkeys(secret for secret in secrets if len(secret) >= MIN_LENGTH)
        self._secrets = tuple(sorted(unique, key=len, reverse=True))
        self._replace = _replacer(self._secrets)

    def __call__(self, text: str) -> str:
        """The text without the secrets."""
        return self._replace(text)

    def including(self, secrets: Iterable[SecretStr]) -> Redactor:
        """One that cuts out these as well."""
        more = tuple(secrets)
        return Redactor((*self._secrets, *more)) if more else self


def _replacer(secrets: Iterable[SecretStr]) -> Callable[[str], str]:
    forms = [form for secret in secrets for form in _forms(secret.get_secret_value())]
    if not forms:
        return str
    substitute = re.compile("|".join(forms)).subn

    def replace(text: str) -> str:
        while True:  # ends: every match is longer than the mask; what a cut brings together may be a secret again
            text, count = substitute(MASK, text)
            if not count:
                return text

    return replace


def _forms(secret: str) -> Iterator[str]:
    yield "".join(_run(character, len(list(group))) for character, group in itertools.groupby(secret))
    data = secret.encode("utf-8", "surrogatepass")
    yield from (_base64(data, offset) for offset in range(3))


def _run(character: str, count: int) -> str:
    """A pattern for one character repeated; every level of quoting doubles a run of backslashes."""
    if character == "\\":
        encoded = "|".join((_percent(b"\\"), r"\\+u005[cC]", r"&(?:amp;)*#(?:92|[xX]5[cC]);"))
        return rf"(?:\\{{{count},}}+|(?:{encoded}){{{count}}})"
    return _character(character) * count


def _character(character: str) -> str:
    """A pattern for one character of a secret in all its forms."""
    if character in _UNRESERVED:
        return re.escape(character)
    return f"(?:{'|'.join(dict.fromkeys(_character_forms(character)))})"


def _character_forms(character: str) -> Iterator[str]:
    code, data = ord(character), character.encode("utf-8", "surrogatepass")
    yield rf"\\*+{re.escape(character)}"
    yield re.escape(data.decode("latin-1"))
    yield _percent(data)
    if character == " ":
        yield r"\+"
    if code < 0x100:
        yield _percent(bytes([code]))
        yield rf"\\*+x{_any_case(f'{code:02x}')}"
    yield "".join(rf"\\*+x{_any_case(f'{byte:02x}')}" for byte in data)
    units = character.encode("utf-16-be", "surrogatepass").hex()
    yield "".join(rf"\\*+u{_any_case(units[i : i + 4])}" for i in range(0, len(units), 4))
    yield rf"\\*+U{_any_case(f'{code:08x}')}"
    yield rf"&(?:amp;)*#(?:0*{code}|[xX]0*{_any_case(f'{code:x}')});"
    if character in _HTML_NAMES:
        yield f"&(?:amp;)*{_HTML_NAMES[character]};"
    if character in _LETTER_ESCAPES:
        yield rf"\\*+{_LETTER_ESCAPES[character]}"


def _percent(data: bytes) -> str:
    return "".join(f"%(?:25)*{_any_case(f'{byte:02x}')}" for byte in data)


def _any_case(digits: str) -> str:
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits)


def _base64(data: bytes, offset: int) -> str:
    """The characters that these bytes alone decide when `offset` bytes stand before them, and what may trail."""
    encoded = base64.b64encode(b"\0" * offset + data).decode("ascii")
    skipped, whole = -(-offset * 8 // 6), (offset + len(data)) * 8 // 6
    core = "".join(_BASE64_SPECIAL.get(c, re.escape(c)) for c in encoded[skipped:whole])
    return f"{core}[A-Za-z0-9+/_-]?(?:=|%(?:25)*3[dD]){{0,2}}"


_active: ContextVar[Redactor | None] = ContextVar("gpu_clusters_redactor", default=None)


class _CutSecrets(logging.Filter):
    """Cuts secrets out of records made during a call of ours; the records of other users stay as they are."""

    def filter(self, record: logging.LogRecord) -> bool:
        redact = _active.get()
        if redact is not None:
            record.msg, record.args = redact(record.getMessage()), None
        return True


_cut_secrets = _CutSecrets()


def guard_loggers(*roots: str) -> None:
    """Let the loggers that exist under these names cut secrets out during `cut_from_logs`; safe to repeat."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in roots:
            logging.getLogger(name).addFilter(_cut_secrets)


@contextmanager
def cut_from_logs(redact: Redactor) -> Iterator[None]:
    """While this lasts, guarded loggers show what this task logs without the secrets."""
    token = _active.set(redact)
    try:
        yield
    finally:
        _active.reset(token)
