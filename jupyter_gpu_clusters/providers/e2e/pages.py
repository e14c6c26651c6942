"""Rows of listings, which may come in pages and may change while they are read. Source: contract, section 1."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from ...core.errors import NotFoundError
from ...core.http import Answer
from ...core.lenient import whole_in

W = TypeVar("W", bound=BaseModel)

PER_PAGE = 100
MAX_PAGES = 50


class Page(list[W]):
    """Rows of one listing; ``is_whole`` unless some could not be read, it changed meanwhile, or it was too long."""

    is_whole: bool = True


def data_in(answer: Answer) -> Any:
    """What the envelope holds."""
    body = answer.data
    return body.get("data") if isinstance(body, dict) else None


def page_of(data: object, kind: type[W]) -> Page[W]:
    """The rows of one answer."""
    page: Page[W] = Page()
    if not isinstance(data, list):
        page.is_whole = False
        return page
    rows = [row for row in data if isinstance(row, dict)]
    page.is_whole = len(rows) == len(data)
    page.extend(kind.model_validate(row) for row in rows)
    return page


async def all_pages(fetch: Callable[[int], Awaitable[Answer]], kind: type[W]) -> Page[W]:
    """All rows that have an id; read once more where the listing changed meanwhile.

    Parameters
    ----------
    fetch : reads the page of a number, from 1.
    kind : has a field ``id``.
    """
    reading = await _Reading(kind).run(fetch)
    if reading.has_moved:
        reading = await _Reading(kind).run(fetch)
    reading.rows.is_whole = reading.rows.is_whole and not reading.has_moved
    return reading.rows


class _Reading(Generic[W]):
    """One run over all pages. It has moved if a row came twice, or the totals are not those of what came."""

    def __init__(self, kind: type[W]) -> None:
        self._kind = kind
        self._seen: set[Any] = set()
        self._totals: set[int] = set()
        self._first: list[Any] = []
        self.rows: Page[W] = Page()
        self.has_moved = False

    async def run(self, fetch: Callable[[int], Awaitable[Answer]]) -> _Reading[W]:
        last: int | None = None
        for number in range(1, MAX_PAGES + 1):
            try:
                answer = await fetch(number)
            except NotFoundError:
                if number == 1:
                    raise
                self.has_moved = self.has_moved or last is not None
                break
            last = self._total(answer, "total_page_number") or last
            if self._take(answer, number, last):
                break
        else:
            self.rows.is_whole = False
        self.has_moved = self.has_moved or not self._totals <= {len(self.rows)}
        return self

    def _take(self, answer: Answer, number: int, last: int | None) -> bool:
        """Add a page; whether it is the last one. Where no totals say so, that is one with nothing new."""
        page = page_of(data_in(answer), self._kind)
        self.rows.is_whole = self.rows.is_whole and page.is_whole
        keys = [getattr(row, "id", None) for row in page]
        if number > 1 and last is None and keys == self._first:
            return True
        self._first = self._first or keys
        for row, key in zip(page, keys, strict=True):
            self.rows.is_whole = self.rows.is_whole and key is not None
            self.has_moved = self.has_moved or key in self._seen
            if key is not None and key not in self._seen:
                self._seen.add(key)
                self.rows.append(row)
        total = self._total(answer, "total_count")
        self._totals |= set() if total is None else {total}
        if last is not None:
            return number >= last or not page
        return not page or (total is not None and len(self.rows) >= total)

    @staticmethod
    def _total(answer: Answer, name: str) -> int | None:
        body = answer.data
        return whole_in(body.get(name)) if isinstance(body, dict) else None
