"""Renting through the service, as every face does, and what the sandbox's own books say of it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.models import Cluster
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from tests.contracts.fixtures import CheckedSandbox

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleOnlyExampleOnlyExampleOnlyExampl me"
PAIR: dict[str, Any] = {"gpu": "H100", "nodes": 2, "user_public_key": [PUBLIC_KEY]}

RENT = "/executors/cluster/rent"


async def rented(service: Service, *, spec: BaseModel | None = None, name: str = "pair") -> Cluster:
    """A cluster of two nodes, or what `spec` asks for."""
    wanted = spec if spec is not None else build_spec(service.spec_model("lium"), PAIR)
    plan = await service.plan_create("lium", name, wanted)
    return (await service.create(plan, consent=consent_to(plan))).cluster


def rents(sandbox: CheckedSandbox) -> list[dict[str, Any]]:
    """Orders that arrived, answered or not."""
    return [r for r in sandbox.requests() if r["method"] == "POST" and r["path"].endswith("/rent")]


def deletes(sandbox: CheckedSandbox) -> list[str]:
    """Paths of the deletes that arrived."""
    return [r["path"] for r in sandbox.requests() if r["method"] == "DELETE"]


def made(sandbox: CheckedSandbox) -> list[str]:
    """Ids of all pods that were ever rented, in rank order within an order."""
    entries = sandbox.books()["services"]["lium"]["entries"]
    return [pod for entry in entries if entry["action"] == "create" for pod in entry["made"]]


def left(sandbox: CheckedSandbox) -> list[str]:
    """Ids of the pods that are billed."""
    alive = sandbox.books()["services"]["lium"]["alive"]
    return [pod["id"] for pod in alive if pod["state"] != "DELETING"]


async def listed(service: Service) -> list[Cluster]:
    """What the account shows after a fresh look."""
    return [one for one in (await service.refresh(["lium"])).clusters if one.account == "lium"]


async def running(service: Service, sandbox: CheckedSandbox) -> Cluster:
    """A cluster of two that is up."""
    await rented(service)
    sandbox.advance(600)
    (cluster,) = await listed(service)
    return cluster
