"""The way to one account of a service: nothing is opened before the first call."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from anyio import to_thread

from .provider import RemoteIdentity
from .settings import Account

C = TypeVar("C")


class LazyAccess(ABC, Generic[C]):
    """A connection `C`, made by the first who needs it."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self._connection: C | None = None
        self._lock = asyncio.Lock()

    async def connect(self) -> C:
        """The connection, made now if there is none.

        Raises
        ------
        SettingsError : options or credential are wrong or missing.
        """
        async with self._lock:
            if self._connection is None:
                self._connection = await to_thread.run_sync(self._make)
            return self._connection

    async def identity(self) -> RemoteIdentity:
        """Whom the account speaks to; needs no network and no working credential."""
        return await to_thread.run_sync(self._identity)

    @abstractmethod
    def _make(self) -> C:
        """Read the options and the credential; may block for a small file; raises `SettingsError`."""

    @abstractmethod
    def _identity(self) -> RemoteIdentity:
        """May block for a small file; never raises for wrong settings."""
