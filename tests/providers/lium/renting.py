"""Renting through the service, as every face does."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.models import Cluster
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleOnlyExampleOnlyExampleOnlyExampl me"
PAIR: dict[str, Any] = {"gpu": "H100", "nodes": 2, "user_public_key": [PUBLIC_KEY]}


async def rented(service: Service, *, spec: BaseModel | None = None, name: str = "pair") -> Cluster:
    """A cluster of two nodes, or what `spec` asks for."""
    wanted = spec if spec is not None else build_spec(service.spec_model("lium"), PAIR)
    plan = await service.plan_create("lium", name, wanted)
    return (await service.create(plan, consent=consent_to(plan))).cluster
