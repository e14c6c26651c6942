"""The one `Service` of this server process."""

from __future__ import annotations

import asyncio

from ..core.service import Service


class ServiceOwner:
    """Opens the service at its first use and closes it once.

    A failed opening is not kept: the next use tries again, so that a corrected accounts file needs no restart.
    """

    def __init__(self) -> None:
        self._service: Service | None = None
        self._opening = asyncio.Lock()
        self._is_closed = False

    async def service(self) -> Service:
        """The service, opened off the event loop if this is the first use.

        Raises
        ------
        SettingsError : the accounts file has mistakes.
        RuntimeError : the server is stopping.
        """
        async with self._opening:
            if self._is_closed:
                raise RuntimeError("the server is stopping")
            if self._service is None:
                self._service = await asyncio.to_thread(Service.open)
            return self._service

    async def aclose(self) -> None:
        """Close the service, if one was opened. Afterwards there is none."""
        async with self._opening:
            self._is_closed = True
            service, self._service = self._service, None
        if service is not None:
            await service.aclose()
