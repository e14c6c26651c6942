"""A user's process that buys: the real service on a real folder, and a far side whose books lie in another one."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_gpu_clusters.core import database
from jupyter_gpu_clusters.core.errors import GpuClustersError
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.models import Cluster, Order
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.settings import Account
from tests.core.fake import Books, FakeAccounts, FakeProvider
from tests.core.worlds import create

Deed = Callable[[], object]


@dataclass
class Far:
    """The far side between processes; `books` is the file."""

    books: Path
    creates: int = 0
    clusters: dict[str, Cluster] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, books: Path) -> Far:
        """As the last process left it."""
        return pickle.loads(books.read_bytes()) if books.exists() else cls(books)

    def keep(self, books: Books) -> None:
        """Write down what exists now."""
        self.creates, self.clusters = books.creates, dict(books.clusters)
        self.books.write_bytes(pickle.dumps(self))


@dataclass(frozen=True)
class Outcome:
    """What a user was told, and what is known afterwards. `error` is the class, `told` all lines."""

    error: str = ""
    told: str = ""
    cluster_id: str = ""
    attached: bool = False
    creates: int = 0
    orders: tuple[Order, ...] = ()


def hide(books: Path, cluster_id: str, *, undo: bool = False) -> None:
    """The listing of the far side does not show that cluster, or (`undo`) shows it again."""
    far = Far.read(books)
    far.hidden = far.hidden - {cluster_id} if undo else far.hidden | {cluster_id}
    books.write_bytes(pickle.dumps(far))


def nothing() -> None:
    """No fault."""


def lose_answer() -> None:
    """The connection is cut after the work."""
    Books().lose_answer()


def refuse() -> None:
    """A definite refusal, before any work."""
    Books().refuse()


def buy(
    folder: Path,
    books: Path,
    name: str = "demo",
    *,
    first: Deed = nothing,
    before: tuple[Deed, ...] = (),
    after: tuple[Deed, ...] = (),
) -> Outcome:
    """Create a cluster `name`; `first` comes before everything, `before` and `after` around the far side's work."""
    FakeProvider.marks = True
    database.BUSY_AFTER_S = 1.0
    first()
    far = Far.read(books)
    side = Books()
    side.creates, side.clusters, side.hidden = far.creates, dict(far.clusters), set(far.hidden)
    side.before_work = lambda: _do(before)
    side.after_work = lambda: _do(after)
    try:
        return asyncio.run(_bought(folder, side, name))
    finally:
        far.keep(side)


def _do(deeds: tuple[Deed, ...]) -> None:
    for deed in deeds:
        deed()


async def _bought(folder: Path, side: Books, name: str) -> Outcome:
    service = Service(Journal(folder), FakeAccounts(FakeProvider(Account(name="fake", provider="fake"), side)))
    orders: tuple[Order, ...] = ()
    try:
        made = await create(service, name=name)
        error = told = ""
        cluster_id, attached = made.cluster.cluster_id, made.attached
    except GpuClustersError as exc:
        error, told, cluster_id, attached = type(exc).__name__, str(exc), "", False
    with contextlib.suppress(GpuClustersError):
        orders = tuple(service._journal.open_orders())
    await service.aclose()
    return Outcome(error, told, cluster_id, attached, side.creates, orders)


def look_again(folder: Path, books: Path) -> Outcome:
    """Look at the far side in a new process, and tell what is still open."""
    FakeProvider.marks = True
    far = Far.read(books)
    side = Books()
    side.creates, side.clusters, side.hidden = far.creates, dict(far.clusters), set(far.hidden)
    return asyncio.run(_looked(folder, side))


async def _looked(folder: Path, side: Books) -> Outcome:
    service = Service(Journal(folder), FakeAccounts(FakeProvider(Account(name="fake", provider="fake"), side)))
    try:
        state = await service.refresh()
        failures = [view.error.message for view in state.accounts if view.error is not None]
        return Outcome(told="\n".join(failures), creates=side.creates, orders=state.orders)
    except GpuClustersError as exc:
        return Outcome(error=type(exc).__name__, told=str(exc), creates=side.creates)
    finally:
        await service.aclose()
