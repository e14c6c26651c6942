"""What can be named in one location, read when it is needed, and the numbers behind the names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from ...core.findings import Findings, named
from ...core.nearest import did_you_mean
from .client import Client
from .options import Options
from .pages import Page
from .wire import Image, Sku, Thing

T = TypeVar("T")

Known = Mapping[str, Sequence[int]]
"""A name and the numbers of all that are called so."""


class Lists:
    """The look-ups of one location; one that fails is ``None`` and a warning."""

    def __init__(self, client: Client, options: Options, location: str, findings: Findings) -> None:
        self._client = client
        self._options = options
        self.location = location
        self._findings = findings

    async def plans(self) -> Page[Sku] | None:
        """Node types with prices."""
        return await self._read("node types", lambda: self._client.list_plans(self.location, self._options.variant))

    async def images(self) -> list[Image] | None:
        """Images of all frameworks; ``None`` only where none could be read."""
        found: list[Image] | None = None
        for framework in self._options.frameworks:
            call = partial(self._client.list_images, self.location, framework)
            page = await self._read(f"{framework} images", call)
            found = found if page is None else [*(found or []), *page]
        return found

    async def keys(self) -> Known | None:
        """SSH keys by label."""
        page = await self._read("SSH keys", lambda: self._client.list_ssh_keys(self.location))
        return None if page is None else _by_name((key.label, key.pk) for key in page)

    async def groups(self) -> Known | None:
        """Security groups by name."""
        return _things(await self._read("security groups", lambda: self._client.list_security_groups(self.location)))

    async def things(self, kind: str) -> Known | None:
        """File systems or datasets by name."""
        calls: dict[str, Callable[[str], Awaitable[Page[Thing]]]] = {
            "sfs": self._client.list_sfs,
            "pfs": self._client.list_pfs,
            "datasets": self._client.list_datasets,
        }
        return _things(await self._read(kind, lambda: calls[kind](self.location)))

    async def addresses(self) -> Known | None:
        """Reserved addresses."""
        page = await self._read("reserved addresses", lambda: self._client.list_reserved_ips(self.location))
        return None if page is None else _by_name((ip.ip_address, ip.id) for ip in page)

    async def _read(self, what: str, call: Callable[[], Awaitable[T]]) -> T | None:
        return await self._findings.unless_silent(f"{what} of {self.location}", call)


def chosen(findings: Findings, field: str, wanted: str, known: Known | None) -> int | None:
    """The number behind a name; a fault of `field` where there is not exactly one."""
    if known is None:
        findings.wrong(field, f"{wanted!r} cannot be looked up now; write its id instead, or try again.")
        return None
    same = known.get(wanted) or [n for name, ns in known.items() if name.lower() == wanted.lower() for n in ns]
    if len(same) == 1:
        return same[0]
    if same:
        findings.wrong(field, f"{wanted!r} may mean several: write one of the ids {', '.join(map(str, same))} instead.")
    else:
        findings.wrong(field, f"there is no {wanted!r} here.{did_you_mean(wanted, known)}{named(known)}")
    return None


def expect(findings: Findings, what: str, numbers: Iterable[int], known: Known | None) -> None:
    """Warn of ids that are not among those listed; the service decides."""
    listed = {number for same in (known or {}).values() for number in same}
    missing = [str(number) for number in numbers if number not in listed]
    if known is not None and missing:
        findings.warnings.append(f"{what} {', '.join(missing)}: not among those listed in this location.")


def _things(page: Page[Thing] | None) -> Known | None:
    return None if page is None else _by_name((one.name, one.id) for one in page)


def _by_name(pairs: Iterable[tuple[str | None, int | None]]) -> Known:
    found: dict[str, list[int]] = {}
    for name, number in pairs:
        if number is not None:
            found.setdefault(name or str(number), []).append(number)
    return found
