"""The lists that forms and ``%cluster_choices`` offer. Source: contract, sections 2 and 4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.choices import Choice, LookUp
from ...core.models import Listing
from .client import Client
from .convert import price_of, wholly_free
from .resolve import newest_first
from .wire import Executor, Fabric, SshKey

_MOST = 1000
_GB = 1000**3

LOOK_UPS: Mapping[str, LookUp] = {
    "fabrics": LookUp(title="Fabrics with free nodes", depends_on=("gpu", "nodes")),
    "executors": LookUp(title="Free nodes", depends_on=("fabric", "gpu")),
    "machines": LookUp(title="GPU types"),
    "templates": LookUp(title="Templates"),
    "template_ids": LookUp(title="Templates by id"),
    "ssh_keys": LookUp(title="SSH keys"),
    "volumes": LookUp(title="Volumes"),
    "volume_ids": LookUp(title="Volumes by id"),
    "backups": LookUp(title="Backups"),
}


class Choices:
    """The look-ups for one request as far as it is filled in."""

    def __init__(self, client: Client, given: Mapping[str, Any]) -> None:
        self._client = client
        gpu, fabric, nodes = given.get("gpu"), given.get("fabric"), given.get("nodes")
        self._gpu = gpu.lower() if isinstance(gpu, str) else ""
        self._fabric = fabric if isinstance(fabric, str) else ""
        self._nodes = nodes if isinstance(nodes, int) else 0

    async def look_up(self, name: str) -> Listing[Choice]:
        """One list; at most 1000 entries."""
        choices, is_whole = await self._read(name)
        return Listing[Choice](items=tuple(choices[:_MOST]), is_complete=is_whole and len(choices) <= _MOST)

    async def _read(self, name: str) -> tuple[list[Choice], bool]:
        match name:
            case "fabrics":
                fabrics = await self._client.list_fabrics()
                return [self._fabric_choice(one) for one in fabrics if one.fabric_id], fabrics.is_whole
            case "executors":
                return await self._executors()
            case "machines":
                return [Choice(value=one, label=one) for one in await self._client.list_machines()], True
            case "templates" | "template_ids":
                return await self._templates(is_by_id=name == "template_ids")
            case "volumes" | "volume_ids":
                volumes = await self._client.list_volumes()
                sizes = [(one.id, one.name, {"size_gb": (one.current_size_bytes or 0) / _GB}) for one in volumes]
                return [_named(*row, name == "volume_ids") for row in sizes if row[0]], volumes.is_whole
            case "backups":
                backups = await self._client.list_backups()
                made = [(one.id, one.name, {"pod": one.pod_id, "status": one.status}) for one in backups]
                return [_named(*row, True) for row in made if row[0]], backups.is_whole
        keys = await self._client.list_ssh_keys()
        return [key_choice(key) for key in keys if key.id or key.name], keys.is_whole

    async def _templates(self, *, is_by_id: bool) -> tuple[list[Choice], bool]:
        """Of templates with one name the newest is what the name stands for."""
        templates = await self._client.list_templates()
        choices: dict[str | int, Choice] = {}
        for one in newest_first(templates):
            image = {"image": f"{one.docker_image}:{one.docker_image_tag}"}
            choice = _named(one.id, one.name, image, is_by_id)
            choices.setdefault(choice.value, choice)
        return list(choices.values()), templates.is_whole

    async def _executors(self) -> tuple[list[Choice], bool]:
        """The free nodes of a fabric or, without one, all hosts."""
        if self._fabric:
            fabrics = await self._client.list_fabrics()
            chosen = [one for one in fabrics if (one.fabric_id or "").startswith(self._fabric)]
            nodes, is_whole = [node for one in chosen for node in one.nodes], fabrics.is_whole
        else:
            executors = await self._client.list_executors()
            nodes, is_whole = list(executors), executors.is_whole
        fitting = [one for one in nodes if one.id and self._gpu in (one.machine_name or "").lower()]
        return [_host(one) for one in fitting], is_whole

    def _fabric_choice(self, fabric: Fabric) -> Choice:
        free = wholly_free(fabric)
        nodes = [one for one in free if self._gpu in (one.machine_name or "").lower()]
        names = ", ".join(sorted({one.machine_name or "?" for one in free}))
        few = self._nodes > len(nodes) or not nodes
        detail = {"free nodes": len(nodes), "nodes": fabric.node_count, "rate": fabric.link_rate}
        return Choice(
            value=fabric.fabric_id or "",
            label=f"{len(nodes)} free: {names}" if names else "none free",
            detail=detail,
            why_not=f"{len(nodes)} nodes are free" if few else None,
        )


def key_choice(key: SshKey) -> Choice:
    """A key by its name."""
    name = key.name or key.id or ""
    return Choice(value=name, label=name, detail={"public_key": key.public_key})


def _host(executor: Executor) -> Choice:
    price = price_of(executor)
    free = executor.available_gpu_count if executor.available_gpu_count is not None else executor.gpus
    detail = {"GPUs": executor.gpus, "free GPUs": free, "price": f"{price} an hour" if price else None}
    return Choice(
        value=executor.id or "",
        label=f"{executor.gpus or '?'} x {executor.machine_name or 'GPU'}, {executor.location.country or '?'}",
        detail=detail,
        why_not="no GPU is free" if free == 0 else None,
    )


def _named(number: str | None, name: str | None, detail: Mapping[str, Any], is_by_id: bool) -> Choice:
    label = name or number or ""
    return Choice(value=(number or "") if is_by_id else label, label=label, detail={"id": number, **detail})
