"""Lists in answers: wherever the rows are, and all pages of them although they may change while being read.

A page is asked for with its first row being the last one of the page before: where it is not, the list has changed
and is read again. Source: contract, section 5 (``offset``, ``limit``, ``next``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ...core.errors import TransportError
from .kinds import Wire

W = TypeVar("W", bound=Wire)

PAGE = 500
MAX_PAGES = 40
_TRIES = 3


@dataclass(frozen=True)
class Page(Generic[W]):
    """Some rows, and where the next ones begin; `is_whole` is false where a row could not be read."""

    rows: list[W]
    next: int | None = None
    is_whole: bool = True


@dataclass
class Rows(Generic[W]):
    """All rows, each once."""

    items: list[W] = field(default_factory=list)
    is_complete: bool = True


def read_page(data: object, key: str, model: type[W]) -> Page[W]:
    """One page. The rows are the answer itself, or below `key`, or below the only list that there is.

    Raises
    ------
    TransportError : there is no list in the answer.
    """
    found = _list_in(data, key)
    if found is None:
        raise TransportError(
            f"The answer has no list of {key}.", hint="Check the address of the service.", provider="runai"
        )
    rows = [model.model_validate(row) for row in found if isinstance(row, Mapping)]
    return Page(rows, _next_in(data), is_whole=len(rows) == len(found))


def _list_in(data: object, key: str) -> list[Any] | None:
    if isinstance(data, list):
        return data
    if not isinstance(data, Mapping):
        return None
    if key in data:
        inner = data[key]
        return inner if isinstance(inner, list) else [] if inner is None else _list_in(inner, key)
    lists = [value for value in data.values() if isinstance(value, list)]
    return lists[0] if len(lists) == 1 else None


def _next_in(data: object) -> int | None:
    following = data.get("next") if isinstance(data, Mapping) else None
    if isinstance(following, str) and following.isdecimal():
        following = int(following)
    return following if isinstance(following, int) and not isinstance(following, bool) and following > 0 else None


async def read_all(
    fetch: Callable[[int], Awaitable[Page[W]]], key: Callable[[W], str | None], *, max_pages: int = MAX_PAGES
) -> Rows[W]:
    """Every page of a list.

    Parameters
    ----------
    fetch : asks for the page that begins at an offset.
    key : what tells one row from another; rows without it are left out, and the list is incomplete.
    max_pages : more are not read, and the list is incomplete.
    """
    rows = Rows[W]()
    for _ in range(_TRIES):
        rows, has_changed = await _read_once(fetch, key, max_pages)
        if not has_changed:
            return rows
    rows.is_complete = False
    return rows


async def _read_once(
    fetch: Callable[[int], Awaitable[Page[W]]], key: Callable[[W], str | None], max_pages: int
) -> tuple[Rows[W], bool]:
    page = await fetch(0)
    found: dict[str, W] = {}
    rows = Rows[W](is_complete=_take(page, key, found))
    for _ in range(max_pages - 1):
        if page.next is None:
            break
        last = key(page.rows[-1]) if page.rows else None
        page = await fetch(page.next - 1)
        if last is None or not page.rows or key(page.rows[0]) != last:
            return Rows[W](list(found.values())), True
        rows.is_complete = _take(page, key, found) and rows.is_complete
    rows.is_complete = rows.is_complete and page.next is None
    rows.items = list(found.values())
    return rows, False


def _take(page: Page[W], key: Callable[[W], str | None], found: dict[str, W]) -> bool:
    named = [(name, row) for row in page.rows if (name := key(row))]
    found.update(named)
    return page.is_whole and len(named) == len(page.rows)
