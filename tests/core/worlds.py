"""One far side with books, and several processes of one user that look at it."""

from __future__ import annotations

from pathlib import Path

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.models import Created
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.settings import Account

from .fake import Books, FakeAccounts, FakeProvider, FakeSpec


class World:
    """One far side, one journal folder; `kernel` opens another process's view of both."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.books = Books()
        self.opened: list[Service] = []

    def kernel(self) -> Service:
        self.provider = FakeProvider(Account(name="fake", provider="fake"), self.books)
        service = Service(Journal(self.folder), FakeAccounts(self.provider))
        self.opened.append(service)
        return service


async def create(service: Service, nodes: int = 2, *, name: str = "demo", new: bool = False) -> Created:
    plan = await service.plan_create("fake", name, FakeSpec(nodes=nodes))
    return await service.create(plan, consent=consent_to(plan), new=new)
