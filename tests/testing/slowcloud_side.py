"""The far side of the sample provider `slowcloud`: a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from jupyter_gpu_clusters.core.models import Verb
from jupyter_gpu_clusters.testing import FarSide, Login, Received, Thing
from jupyter_gpu_clusters.testing.far_side import Spec
from jupyter_gpu_clusters.testing.searching import PLANTED

from .folder import FolderBooks


class SlowSide(FarSide):
    """Its folder; ``SLOWCLOUD_BOOKS`` must name it."""

    provider = "slowcloud"
    reasons: ClassVar[Mapping[str, str]] = {
        "other_logins": "its identity is its folder alone.",
        "unreachable_login": "there is no network between.",
        "impossible_spec": "everything that its model lets through is possible.",
        "refusing_writes": "it never refuses.",
        "delaying_answers": "it answers at once.",
        "losing_answers": "it loses answers of creates only.",
        "failing_listings": "its listing never fails.",
        "refusing_credential": "its key is for the account check only.",
        "hiding_member": "it lists no nodes.",
        "listing_incompletely": "it is read whole.",
        "using_unknown_words": "it has no words but ours.",
    }

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._books = FolderBooks(lambda: folder, "*.json", ["acts", "keys.json"])
        folder.mkdir()
        (folder / "key").write_text(PLANTED)

    def login(self) -> Login:
        return Login(secret=PLANTED)

    def wrong_login(self) -> Login:
        return Login(secret=PLANTED[::-1])

    def clusters(self) -> Mapping[str, Thing]:
        found = [json.loads(path.read_text()) for path in self._books.clusters()]
        return {cluster["cluster_id"]: Thing(cluster["name"], cluster["node_count"]) for cluster in found}

    def received(self) -> Sequence[Received]:
        return self._books.received()

    def settle(self) -> None:
        (self._folder / "phase").write_text("running")

    def spec(self) -> Spec:
        return {"nodes": 2}

    def other_spec(self) -> Spec:
        return {"nodes": 1}

    def secret_spec(self, secret: str) -> Spec:
        return {"nodes": 2, "token": secret}

    def make_foreign(self, name: str) -> str:
        cluster = {
            "provider": self.provider,
            "account": self.provider,
            "cluster_id": f"foreign-{name}",
            "name": name,
            "phase": "running",
            "node_count": 1,
            "created_here": False,
        }
        (self._folder / f"foreign-{name}.json").write_text(json.dumps(cluster))
        return f"foreign-{name}"

    def action_specs(self) -> Mapping[str, Spec]:
        return {"reboot_all": {}, "paint": {"colour": "red", "coats": 2}}

    def choices_given(self) -> Spec:
        return {"zone": "north"}

    @contextmanager
    def losing_answers(self, verb: Verb, *, after_work: bool) -> Iterator[None]:
        if verb is not Verb.CREATE:
            self.cannot("losing_answers")
        fault = self._folder / "fault"
        fault.write_text("after" if after_work else "before")
        yield
        fault.unlink(missing_ok=True)

    @contextmanager
    def hiding(self, cluster_id: str) -> Iterator[None]:
        (found,) = (p for p in self._books.clusters() if json.loads(p.read_text())["cluster_id"] == cluster_id)
        away = found.rename(found.with_suffix(".hidden"))
        yield
        away.rename(found)
