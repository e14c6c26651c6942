"""Lium's JSON as models. Source: contract, sections 2 and 4; ``tests/contracts/lium.openapi.yaml``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ...core.lenient import OBJECT, OBJECTS, Amount, Balance, Flag, Size, Text, Texts, Time, Whole, Wire, text_in


def _word_in(value: object) -> str | None:
    """A status word; what came in a list is shown as such and means nothing."""
    text = text_in(value)
    return f"[{text}]" if isinstance(value, list) and text else text


Word = Annotated[str | None, BeforeValidator(_word_in)]


class Gpus(Wire):
    """``specs.gpu``."""

    count: Whole = None


class Cpus(Wire):
    """``specs.cpu``."""

    count: Whole = None


class Ram(Wire):
    """``specs.ram``; KiB."""

    total: Size = None


class Specs(Wire):
    """What a host has."""

    gpu: Annotated[Gpus, OBJECT] = Gpus()
    cpu: Annotated[Cpus, OBJECT] = Cpus()
    ram: Annotated[Ram, OBJECT] = Ram()


class Place(Wire):
    """Where a host stands."""

    country: Text = None
    country_code: Text = None


class Executor(Wire):
    """A host. ``price_per_gpu`` is USD an hour; ``gpu_count`` is of the whole host and can be missing."""

    id: Text = None
    machine_name: Text = None
    gpu_count: Whole = None
    available_gpu_count: Whole = None
    min_gpu_count_for_rental: Whole = None
    price_per_gpu: Amount = None
    location: Annotated[Place, OBJECT] = Place()
    specs: Annotated[Specs, OBJECT] = Specs()
    tier: Text = None
    active: Flag = None
    frequent_rent_failures: Flag = None

    @property
    def gpus(self) -> int | None:
        """GPUs of the whole host."""
        return self.gpu_count if self.gpu_count is not None else self.specs.gpu.count


class Fabric(Wire):
    """Hosts on one wire, those that are free now under ``nodes``. The id is opaque."""

    fabric_id: Text = None
    fabric_type: Text = None
    link_rate: Text = None
    fabric_measured: Flag = None
    node_count: Whole = None
    nodes: Annotated[tuple[Executor, ...], OBJECTS] = ()


class Pod(Wire):
    """A rented container. ``price`` is the whole pod's, USD an hour; ``gpu_count`` comes as text."""

    id: Text = None
    executor_id: Text = None
    pod_name: Text = None
    status: Word = None
    phase: Text = None
    ssh_connect_cmd: Text = None
    gpu_name: Text = None
    gpu_count: Whole = None
    price: Amount = None
    created_at: Time = None
    removal_scheduled_at: Time = None
    termination_hours: Whole = None
    jupyter_url: Text = None
    cluster_id: Text = None
    cluster_node_index: Whole = None
    cluster_overlay_ip: Text = None
    executor: Annotated[Executor, OBJECT] = Executor()

    @property
    def host_id(self) -> str | None:
        """The host it runs on, wherever that is told."""
        return self.executor_id or self.executor.id


class Template(Wire):
    """What a container is made of."""

    id: Text = None
    name: Text = None
    docker_image: Text = None
    docker_image_tag: Text = None
    category: Text = None
    status: Text = None


class SshKey(Wire):
    """A public key."""

    id: Text = None
    name: Text = None
    public_key: Text = None
    created_at: Time = None


class Volume(Wire):
    """A volume; it belongs to one pod at a time."""

    id: Text = None
    name: Text = None
    description: Text = None
    current_size_bytes: Whole = None


class User(Wire):
    """Who the key belongs to."""

    id: Text = None
    name: Text = None
    email: Text = None
    balance: Balance = None


class Version(Wire):
    """What the server can do; no list means an old server that can do nothing of it."""

    features: Texts = ()


class Removed(Wire):
    """One member's row in the answer to a delete."""

    pod_id: Text = None
    pod_name: Text = None
    cluster_node_index: Whole = None
    success: Flag = None
    message: Text = None


class ClusterRemoved(Wire):
    """The answer to a delete of a cluster."""

    cluster_id: Text = None
    success: Flag = None
    message: Text = None
    pods: Annotated[tuple[Removed, ...], OBJECTS] = ()


class Event(Wire):
    """One thing that happened to a pod."""

    created_at: Time = None
    event_type: Text = None
    sub_event_type: Text = None
    from_status: Text = None
    to_status: Text = None
    reason: Text = None
    detail: Text = None
    error: Text = None


class Backup(Wire):
    """A backup or its log."""

    id: Text = None
    name: Text = None
    pod_id: Text = None
    status: Text = None
    created_at: Time = None


Rows = tuple[dict[str, Any], ...]
