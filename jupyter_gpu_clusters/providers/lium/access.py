"""One account's connection, made at the first call."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from ...core.access import LazyAccess
from ...core.errors import SettingsError
from ...core.fingerprint import fingerprint
from ...core.http import HttpClient
from ...core.http_request import Base
from ...core.provider import RemoteIdentity
from .client import Client
from .errors import read_error
from .options import DEFAULT_URL, Options, key_of


@dataclass(frozen=True)
class Connection:
    """What calls are made with."""

    options: Options
    client: Client


class Access(LazyAccess[Connection]):
    """The way to one account."""

    def _make(self) -> Connection:
        options = Options.of(self.account)
        key = key_of(self.account, Base.parse(options.base_url).origin)
        hint = (
            f"The API key ({self.account.credential}) is wrong, expired, or may not do this. "
            f"Log in: %cluster_login {self.account.name}"
        )
        http = HttpClient(options.base_url, provider="lium", read_error=read_error, auth_hint=hint)
        http.authorize(headers={"X-API-Key": key})
        return Connection(options, Client(http))

    def _identity(self) -> RemoteIdentity:
        """Origin and key; a key acts in exactly one workspace."""
        origin, mark = Base.parse(DEFAULT_URL).origin, ""
        with suppress(SettingsError):
            options = Options.of(self.account)
            origin = Base.parse(options.base_url).origin
            mark = fingerprint(key_of(self.account, origin))
        return RemoteIdentity(provider="lium", origin=origin, credential=mark)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._connection is not None:
            await self._connection.client.aclose()
