"""One request as a value that can be shown, logged and sent again: its secrets stay inside `SecretStr`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from urllib.parse import parse_qsl, quote, urlencode

import httpx
from pydantic import SecretBytes, SecretStr

from .errors import SettingsError

Params = Mapping[str, str | int | SecretStr]
Headers = Mapping[str, str | SecretStr]

_HEADER_VALUE = re.compile(rb"[^\x00-\x20\x7f]+(?:[ \t]+[^\x00-\x20\x7f]+)*")
_NO_QUERY = SecretStr("")


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of a request, made once, so that whoever sends again sends the same ones.

    Parameters
    ----------
    content_type : value of the header of that name.
    content : the exact bytes; hidden, for they may hold credentials or the user's environment.
    secrets : single secrets inside, to be cut out of what the service answers.
    """

    content_type: str
    content: SecretBytes
    secrets: tuple[SecretStr, ...] = ()

    @classmethod
    def from_json(cls, value: object) -> Body:
        """JSON in ASCII; `SecretStr` (anywhere inside) is sent in plain, `Decimal` as a number, NaN is an error.

        Raises
        ------
        TypeError, ValueError : `value` has something that JSON cannot express.
        """
        secrets: list[SecretStr] = []

        def unsealed(item: object) -> str | int | float:
            if isinstance(item, SecretStr):
                secrets.append(item)
                return item.get_secret_value()
            if isinstance(item, Decimal):
                return int(item) if item == item.to_integral_value() else float(item)
            raise TypeError(f"{type(item).__name__} cannot be sent as JSON")

        text = json.dumps(value, default=unsealed, allow_nan=False, separators=(",", ":"))
        return cls("application/json", SecretBytes(text.encode("ascii")), tuple(secrets))

    @classmethod
    def from_form(cls, fields: Params) -> Body:
        """Fields as an HTML form sends them."""
        content = urlencode([(name, plain(value)) for name, value in fields.items()]).encode("ascii")
        return cls("application/x-www-form-urlencoded", SecretBytes(content), _secrets_of(fields))

    @property
    def digest(self) -> str:
        """SHA-256 of the exact bytes, in hex; safe to record."""
        return hashlib.sha256(self.content.get_secret_value()).hexdigest()


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked of one service, without the account's credential, which is added as it is sent.

    ``str`` and ``repr`` name method, origin and path; never the query.
    """

    method: str
    origin: str
    path: str
    query: SecretStr = field(default=_NO_QUERY, repr=False)
    headers: Mapping[str, SecretStr] = field(default_factory=dict, repr=False)
    body: Body | None = field(default=None, repr=False)
    secrets: tuple[SecretStr, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"{self.method} {self.origin}{self.path}"


@dataclass(frozen=True, slots=True)
class Base:
    """Where a service is: origin (scheme, host, port) and the path that all its routes share."""

    origin: str
    path: str

    @classmethod
    def parse(cls, url: str) -> Base:
        """Read a base URL such as ``https://host.example/api``.

        Raises
        ------
        SettingsError : it is not one, or it carries a user, a query or a fragment.
        """
        try:
            parsed = httpx.URL(url)
        except httpx.InvalidURL:
            parsed = httpx.URL()
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise SettingsError(
                "The address of the service must look like https://host.example/path; nothing was sent."
            )
        if parsed.userinfo or parsed.query or parsed.fragment:
            raise SettingsError(
                f"The address of {origin_of(parsed)} must have no user, no ? and no #; nothing was sent.",
                hint="Keys go into `secret`, never into the address.",
            )
        return cls(origin_of(parsed), parsed.raw_path.decode("ascii").rstrip("/"))

    def call(self, method: str, path: str, params: Params, headers: Headers, body: Body | None) -> Call:
        """A call of the route `path` below this base. Ids inside a path must have gone through `segment`."""
        sealed = as_headers(headers)
        return Call(
            method=method,
            origin=self.origin,
            path=f"{self.path}/{quote(path.lstrip('/'), safe='/%:@!$&+,;=~')}",
            query=SecretStr(encoded(params)),
            headers=sealed,
            body=body,
            secrets=(*_secrets_of(params), *secrets_of_headers(headers), *(body.secrets if body else ())),
        )


def segment(text: str) -> str:
    """One segment of a path, quoted, so that an id can never lead to another route.

    Raises
    ------
    SettingsError : it is empty or consists of dots.
    """
    if not text.strip("."):
        raise SettingsError(f"{text!r} is not an id; nothing was sent.")
    return quote(text, safe="")


def origin_of(url: httpx.URL) -> str:
    """Scheme, host and port (unless it is the scheme's own)."""
    host = f"[{url.host}]" if ":" in url.host else url.raw_host.decode("ascii")
    return f"{url.scheme}://{host}" + (f":{url.port}" if url.port else "")


def origin_named(call: Call, location: str) -> str:
    """Where a redirect leads, as an origin and nothing more."""
    try:
        return origin_of(httpx.URL(f"{call.origin}{call.path}").join(location))
    except httpx.InvalidURL:
        return "an address that cannot be read"


def encoded(values: Params) -> str:
    """A query string, every reserved character percent-encoded."""
    return urlencode([(name, plain(value)) for name, value in values.items()], quote_via=quote)


def redirected(call: Call, location: str, *, drop: frozenset[str]) -> Call | None:
    """The same read at another path of the same origin; ``None`` when the new place is not one.

    Parameters
    ----------
    location : value of the header, absolute or relative.
    drop : query parameters of the credential, which an answer may have echoed and which are added again.
    """
    try:
        target = httpx.URL(f"{call.origin}{call.path}").join(location)
    except httpx.InvalidURL:
        return None
    if not target.host or origin_of(target) != call.origin:
        return None
    pairs = parse_qsl(target.query.decode("ascii"), keep_blank_values=True)
    query = urlencode([pair for pair in pairs if pair[0] not in drop], quote_via=quote)
    return replace(call, path=target.raw_path.partition(b"?")[0].decode("ascii"), query=SecretStr(query))


def as_headers(headers: Headers) -> dict[str, SecretStr]:
    """Headers with every value hidden, names in lower case; checked, for the HTTP library would repeat a bad value.

    Raises
    ------
    SettingsError : a value is empty, or has a line break, a control character or space around it.
    """
    sealed = {name.lower(): v if isinstance(v, SecretStr) else SecretStr(v) for name, v in headers.items()}
    for name, value in sealed.items():
        if not _HEADER_VALUE.fullmatch(plain(value).encode()):
            raise SettingsError(
                f"The value of {name} cannot be sent: it is empty, or has a line break, a control character or space "
                "around it. Nothing was sent.",
                hint="Copy the key again, without line breaks.",
            )
    return sealed


def secrets_of_headers(headers: Headers) -> tuple[SecretStr, ...]:
    """The secrets in headers; of ``Bearer TOKEN`` also the token alone."""
    found = _secrets_of(headers)
    tails = [SecretStr(secret.get_secret_value().partition(" ")[2]) for secret in found]
    return (*found, *(tail for tail in tails if tail))


def _secrets_of(values: Params) -> tuple[SecretStr, ...]:
    return tuple(value for value in values.values() if isinstance(value, SecretStr))


def plain(value: str | int | SecretStr) -> str:
    """The text to send; what UTF-8 cannot express (half a surrogate pair) becomes ``?``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
    return text.encode("utf-8", "replace").decode()
