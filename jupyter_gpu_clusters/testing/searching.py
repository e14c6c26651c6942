"""Finding planted secrets, in whatever form they come back."""

from __future__ import annotations

import base64
import html
import json
import logging
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote, quote_plus

PLANTED = "pl4nt%ed+sec&ret'\"w ord/9"
"""A secret for accounts: everything that URLs, forms, JSON, HTML and shells treat in a special way."""

CONFIDED = "wr1tten%in+the&sp'e\"c ~/7"
"""Such a secret for specs, another one: a user's own text may be seen where an account's secret may not."""

_SHORTEST = 8


def forms_of(secret: str) -> dict[str, str]:
    """How a secret may look: form -> text."""
    data = secret.encode()
    return {
        "plain": secret,
        "percent-encoded": quote(secret, safe=""),
        "percent-encoded, slash kept": quote(secret),
        "percent-encoded as in a form": quote_plus(secret),
        "percent-encoded twice": quote(quote(secret, safe=""), safe=""),
        "in JSON": json.dumps(secret)[1:-1],
        "in JSON in JSON": json.dumps(json.dumps(secret))[3:-3],
        "in a repr": repr(secret)[1:-1],
        "in HTML": html.escape(secret),
        **{f"in base64 behind {n} bytes": _base64_inside(data, n, base64.b64encode) for n in range(3)},
        **{f"in base64 for URLs behind {n} bytes": _base64_inside(data, n, base64.urlsafe_b64encode) for n in range(3)},
    }


def _base64_inside(data: bytes, before: int, encode: object) -> str:
    """The letters that base64 of a longer text has for certain where `data` stands in it behind `before` bytes."""
    assert callable(encode)
    whole = (len(data) + before) // 3 * 3 - before
    text: str = encode(b"\0" * before + data[:whole]).decode()
    return text[(before * 8 + 5) // 6 :]


def found_in(text: str, secrets: Iterable[str]) -> list[str]:
    """The forms in which one of `secrets` (8 characters or more) stands in `text`."""
    long = [secret for secret in secrets if len(secret) >= _SHORTEST]
    return [form for secret in long for form, look in forms_of(secret).items() if look in text]


def texts_of(folder: Path, but: Sequence[Path] = ()) -> Iterator[tuple[Path, str]]:
    """Every file below `folder` with its bytes as text, but for what lies in the folders `but`."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(path.is_relative_to(other) for other in but):
            yield path, path.read_bytes().decode("utf-8", "replace")


def everything(exc: BaseException, *, with_variables: bool = True) -> str:
    """Traceback, text and repr of an exception and of all it is chained to, suppressed or not."""
    shown: list[str] = []
    chain: list[BaseException] = [exc]
    while chain:
        one = chain.pop()
        whole = traceback.TracebackException.from_exception(one, capture_locals=with_variables)
        shown += [str(one), repr(one), repr(vars(one)), *whole.format()]
        chain += [other for other in (one.__cause__, one.__context__) if other is not None]
    return "\n".join(shown)


class Records(logging.Handler):
    """Log records of this process as text, down to DEBUG, but for those of loggers whose names begin with `but`."""

    def __init__(self, but: Sequence[str] = ()) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self._but = tuple(but)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it as a user would see it, and its raw parts."""
        if not record.name.startswith(self._but):
            self.lines.append(f"{self.format(record)} {record.msg!r} {record.args!r}")
