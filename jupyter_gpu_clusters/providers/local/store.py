"""The folders that are the truth about local clusters: ``NAME/cluster.json`` and ``NAME/nodes/INDEX/``.

A cluster comes into being by one rename of a complete folder onto a name that is free, and ends by one rename
away from it, so no half cluster can be seen and no name can be taken twice.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from ...core.locks import file_lock
from ...core.paths import make_private, sync_folder, write_durably

_LOCKED_WITHIN_S = 30.0


class Record(BaseModel):
    """``cluster.json``. ``gpus`` has the GPU indices of each node; ``host`` is where the processes live."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    cluster_id: str
    name: str
    order_id: str
    host: str
    created_at: datetime
    nodes: int
    gpus_per_node: int = 0
    gpu_type: str | None = None
    gpus: tuple[tuple[int, ...], ...] = ()


class Store:
    """All local clusters of one user below `root`. Methods block; call them off the event loop."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other creates and scales out (GPUs are handed out under it). Held for milliseconds."""
        make_private(self.root)
        with file_lock(self.root / ".lock", within_s=_LOCKED_WITHIN_S):
            yield

    def all(self) -> list[Record]:
        """Every cluster, oldest first. An unreadable record is an error of the caller's listing, never skipped.

        Raises
        ------
        OSError, ValidationError : a folder or record cannot be read.
        """
        if not self.root.is_dir():
            return []
        names = [entry.name for entry in os.scandir(self.root) if entry.is_dir() and not entry.name.startswith(".")]
        found = (self.read(name) for name in names)
        return sorted((record for record in found if record), key=lambda record: record.created_at)

    def read(self, name: str) -> Record | None:
        """The cluster that holds a name."""
        try:
            return Record.model_validate_json((self.root / name / "cluster.json").read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None

    def find(self, cluster_id: str) -> Record | None:
        """The cluster of an id (its name and a mark)."""
        record = self.read(cluster_id.rpartition("-")[0]) if "/" not in cluster_id else None
        return record if record and record.cluster_id == cluster_id else None

    def node_root(self, record: Record, index: int) -> Path:
        """The folder of one node."""
        return self.root / record.name / "nodes" / str(index)

    def create(self, record: Record) -> bool:
        """Make the cluster; False when the name is taken."""
        scratch = self.root / f".new-{record.order_id}"
        try:
            make_private(scratch / "nodes")
            for index in range(record.nodes):
                make_private(scratch / "nodes" / str(index))
            self._write(scratch, record)
            os.rename(scratch, self.root / record.name)
        except OSError as exc:
            shutil.rmtree(scratch, ignore_errors=True)
            if exc.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                return False
            raise
        sync_folder(self.root)
        return True

    def resize(self, record: Record) -> None:
        """Record another number of nodes; new folders first, dropped ones after."""
        folder = self.root / record.name
        for index in range(record.nodes):
            make_private(folder / "nodes" / str(index))
        self._write(folder, record)
        for path in (folder / "nodes").iterdir():
            if path.name.isdigit() and int(path.name) >= record.nodes:
                shutil.rmtree(path)

    def remove(self, record: Record) -> None:
        """End the cluster: its name is free at once, its folders go after."""
        trash = self.root / f".gone-{record.cluster_id}"
        try:
            os.rename(self.root / record.name, trash)
        except FileNotFoundError:
            return
        sync_folder(self.root)
        shutil.rmtree(trash)

    def _write(self, folder: Path, record: Record) -> None:
        write_durably(folder / "cluster.json", record.model_dump_json(indent=1).encode())


def is_broken(exc: Exception) -> str:
    """Why a record could not be read, in one clause."""
    return "it is damaged" if isinstance(exc, ValidationError) else str(exc)
