"""One account's connection, made at the first call."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from anyio import to_thread

from ...core.errors import SettingsError
from ...core.fingerprint import fingerprint
from ...core.http import HttpClient
from ...core.http_request import Base
from ...core.provider import RemoteIdentity
from ...core.settings import Account
from .client import Client
from .errors import read_error
from .options import DEFAULT_URL, Options, key_of


@dataclass(frozen=True)
class Connection:
    """What calls are made with."""

    options: Options
    client: Client


class Access:
    """The way to one account. Nothing is opened before the first call."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self._connection: Connection | None = None
        self._lock = asyncio.Lock()

    async def connect(self) -> Connection:
        """The connection, made now if there is none.

        Raises
        ------
        SettingsError : options or key are wrong or missing.
        """
        async with self._lock:
            if self._connection is None:
                self._connection = await to_thread.run_sync(self._make)
            return self._connection

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

    async def identity(self) -> RemoteIdentity:
        """Origin and key; a key acts in exactly one workspace. Needs no network and no working key."""
        return await to_thread.run_sync(self._identity)

    def _identity(self) -> RemoteIdentity:
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
