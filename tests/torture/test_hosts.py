"""Two hosts on one folder, whose file system is not known to be local: no memory is shared, nothing is lost."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.processes import is_dead, this_process

from .children import in_child
from .disks import mounted, on_host
from .violence import HANDS, Violence

_LEGACY, _WAL = 1, 2
HOSTS = dict(zip(HANDS, ("alpha", "beta", "beta"), strict=True))


def format_of(database: Path) -> set[int]:
    """How the file says that it is to be written and read."""
    return set(database.read_bytes()[18:20])


@pytest.mark.parametrize(("kind", "expected"), [("ramfs", _LEGACY), ("tmpfs", _WAL)])
def test_wal_is_chosen_by_the_kind_of_file_system(tmp_path: Path, kind: str, expected: int) -> None:
    with mounted(kind, tmp_path / "home") as home:
        journal = Journal(home / "journal")
        journal.journal_id()
        journal.close()
        assert format_of(home / "journal" / "journal.sqlite") == {expected}


def test_two_hosts_write_without_shared_memory_and_lose_nothing_under_kills(tmp_path: Path) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print("seed", seed)  # noqa: T201
    with mounted("ramfs", tmp_path / "home") as home:
        folder = home / "journal"
        violence = Violence(folder, seed, prepare={name: partial(on_host, host) for name, host in HOSTS.items()})
        story = violence.run(3)
        print(story)  # noqa: T201
        assert story.violations == [], seed
        assert story.kills > 3
        assert story.writes > 50
        assert {held.order.sender.partition("/")[0] for held in story.held.values()} == {"alpha", "beta"}
        assert format_of(folder / "journal.sqlite") == {_LEGACY}
        assert list(folder.glob("*-wal")) + list(folder.glob("*-shm")) == []


def sender_on(host: str) -> str:
    on_host(host)
    return this_process()


def test_a_process_of_another_host_is_never_called_dead_although_it_has_ended(tmp_path: Path) -> None:
    with mounted("ramfs", tmp_path / "unused"):
        ended = in_child(sender_on, "alpha")
        assert ended.startswith("alpha/")
        assert in_child(is_dead_on, "alpha", ended)
        assert not in_child(is_dead_on, "beta", ended)


def is_dead_on(host: str, process: str) -> bool:
    on_host(host)
    return is_dead(process)
