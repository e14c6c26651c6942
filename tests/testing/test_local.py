"""The contract suite against this machine: folders and processes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from jupyter_gpu_clusters.core.models import Verb
from jupyter_gpu_clusters.core.paths import data_dir
from jupyter_gpu_clusters.testing import FarSide, Login, ProviderContract, Received, Thing
from jupyter_gpu_clusters.testing.far_side import Spec

from .folder import FolderBooks

_NO_WIRE = "there is no wire between: the folder is the service."
_NO_KEY = "it needs no credential."


class Machine(FarSide):
    """The folder of local clusters, and the processes of this machine."""

    provider = "local"
    reasons: ClassVar[Mapping[str, str]] = {
        "other_logins": "it has one identity, its folder.",
        "wrong_login": _NO_KEY,
        "unreachable_login": _NO_WIRE,
        "secret_spec": "nothing secret can be said of a local cluster.",
        "losing_answers": _NO_WIRE,
        "refusing_credential": _NO_KEY,
        "delaying_answers": _NO_WIRE,
        "listing_incompletely": "a folder is read whole or not at all.",
        "hiding_member": "the nodes are one number in one file.",
        "using_unknown_words": "it has no words but ours.",
        "refusing_writes": "it refuses only names that are taken.",
        "action_specs": "it has no actions.",
        "hiding": "the folder is the truth: what is not there is gone.",
    }

    def __init__(self) -> None:
        self._books = FolderBooks(self._folder, "[!.]*/cluster.json")

    def _folder(self) -> Path:
        return data_dir() / "local"

    def folders(self) -> Sequence[Path]:
        return (self._folder(),)

    def login(self) -> Login:
        return Login()

    def clusters(self) -> Mapping[str, Thing]:
        records = [json.loads(path.read_text()) for path in self._books.clusters()]
        return {record["cluster_id"]: Thing(record["name"], record["nodes"]) for record in records}

    def received(self) -> Sequence[Received]:
        return self._books.received()

    def spec(self) -> Spec:
        return {"nodes": 2}

    def other_spec(self) -> Spec:
        return {"nodes": 1}

    def impossible_spec(self) -> tuple[Spec, str, Sequence[str]]:
        return {"nodes": 2, "gpus_per_node": 64}, "No Name", ["name", "gpus_per_node"]

    def make_foreign(self, name: str) -> str:
        record = {
            "cluster_id": f"{name}-abcd1234",
            "name": name,
            "order_id": "abcd1234efgh5678",
            "host": "elsewhere",
            "created_at": "2026-11-30T00:00:00Z",
            "nodes": 1,
            "gpus_per_node": 0,
            "gpu_type": None,
            "gpus": [],
        }
        folder = self._folder() / name
        (folder / "nodes" / "0").mkdir(parents=True)
        (folder / "cluster.json").write_text(json.dumps(record))
        return str(record["cluster_id"])

    @contextlib.contextmanager
    def refusing_writes(self, verb: Verb) -> Iterator[None]:
        """The name is taken by what this journal did not make."""
        if verb is not Verb.CREATE:
            self.cannot("refusing_writes")
        self.make_foreign("demo")
        yield
        (self._folder() / "demo" / "cluster.json").unlink()

    @contextlib.contextmanager
    def failing_listings(self) -> Iterator[None]:
        """A record that cannot be read."""
        folder = self._folder() / "broken"
        folder.mkdir()
        (folder / "cluster.json").write_text("{")
        yield
        (folder / "cluster.json").unlink()
        folder.rmdir()

    def workloads(self) -> Mapping[str, Thing]:
        ids = {path.name for path in self._folder().glob("*/nodes/*/*") if (path / "state").exists()}
        return {workload_id: Thing(workload_id) for workload_id in sorted(ids) if _runs(workload_id)}

    def long_workload(self) -> Spec:
        return {"command": ["sleep", "60"]}

    def short_workload(self) -> tuple[Spec, str]:
        return {"command": ["sh", "-c", "echo said $((40+2))"]}, "said 42\n"

    def secret_workload(self, secret: str) -> Spec:
        return {"script": f"#!/bin/sh\n# {secret}\ntrue\n", "env": {"TOKEN": secret}}


def _runs(argument: str) -> bool:
    """Whether a process has `argument` in its command line."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if argument.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                return True
    return False


class TestLocal(ProviderContract):
    @pytest.fixture
    def far_side(self) -> FarSide:
        return Machine()
