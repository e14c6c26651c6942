"""Books of services whose truth is a folder: what changes in its files is a write that arrived."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from jupyter_gpu_clusters.testing import Received


class FolderBooks:
    """Remembers what was seen.

    Parameters
    ----------
    folder : where it is; asked at each look.
    clusters : pattern of the JSON files of clusters; an ``order_id`` that is new there is a create.
    others : names of files whose every change is a write of another kind.
    """

    def __init__(self, folder: Callable[[], Path], clusters: str, others: Sequence[str] = ()) -> None:
        self._folder, self._clusters, self._others = folder, clusters, others
        self._texts: dict[Path, str] = {}
        self._orders: set[str | None] = set()
        self._received: list[Received] = []

    def received(self) -> Sequence[Received]:
        """All writes up to now; of several changes of one file since the last look only the last one is seen."""
        folder = self._folder()
        others = [path for path in map(folder.joinpath, self._others) if path.exists()]
        for path in (*self.clusters(), *others):
            text = path.read_text()
            if self._texts.get(path) != text:
                self._texts[path] = text
                self._received.append(Received("change" if path in others else self._verb(text)))
        return list(self._received)

    def clusters(self) -> Sequence[Path]:
        """The files of clusters that are there now."""
        return [path for path in sorted(self._folder().glob(self._clusters)) if path.name not in self._others]

    def _verb(self, text: str) -> str:
        order = json.loads(text).get("order_id")
        is_known = order in self._orders
        self._orders.add(order)
        return "change" if is_known else "create"
