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

from ...core.errors import ProviderError
from ...core.locks import file_lock
from ...core.paths import make_private, sync_folder, write_durably

_LOCKED_WITHIN_S = 30.0


class DamagedRecordError(ProviderError):
    """A ``cluster.json`` that cannot be read."""


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
        """Every cluster, oldest first. A damaged record is an error, never skipped."""
        if not self.root.is_dir():
            return []
        names = [entry.name for entry in os.scandir(self.root) if entry.is_dir() and not entry.name.startswith(".")]
        found = (self.read(name) for name in names)
        return sorted((record for record in found if record), key=lambda record: record.created_at)

    def read(self, name: str) -> Record | None:
        """The cluster that holds a name; a folder without a record holds none.

        Raises
        ------
        DamagedRecordError : the record is there and cannot be read.
        """
        path = self.root / name / "cluster.json"
        try:
            return Record.model_validate_json(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValidationError, OSError) as exc:
            raise DamagedRecordError(
                f"The record of a local cluster {path} is damaged, so what it stands for cannot be told.",
                hint=f"Repair it, or move {path.parent} away after ending what runs there.",
                provider="local",
                is_definite=True,
            ) from exc

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
        folder = self.root / record.name
        if folder.is_dir() and not (folder / "cluster.json").exists():
            os.rename(folder, self.root / f".gone-{record.order_id}")
        try:
            make_private(scratch / "nodes")
            for index in range(record.nodes):
                make_private(scratch / "nodes" / str(index))
            self._write(scratch, record)
            os.rename(scratch, folder)
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

    def retire(self, record: Record) -> Path | None:
        """Free the cluster's name; what is left of it is in the folder returned (``None``: it was gone)."""
        trash = self.root / f".gone-{record.cluster_id}"
        try:
            os.rename(self.root / record.name, trash)
        except FileNotFoundError:
            return None
        sync_folder(self.root)
        return trash

    def _write(self, folder: Path, record: Record) -> None:
        write_durably(folder / "cluster.json", record.model_dump_json(indent=1).encode())
