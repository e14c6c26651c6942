"""What clients may send, as strict as the contract: unknown keys, nulls, texts for numbers are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator


class Body(BaseModel):
    """The strictness common to all."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Mount(Body):
    """One volume of ``sfs_mount_list``."""

    id: int
    name: str
    mount_path: str


class LooseMount(Body):
    """One volume of the lists whose items are not published; which of the three fields it needs is a choice."""

    id: int = 0
    name: str = ""
    mount_path: str = ""


class CreateBody(Body):
    """A new cluster."""

    name: str = Field(min_length=1)
    image_version_id: int
    ssh_key_ids: list[int] = Field(min_length=1)
    security_group_id: int
    script_added: bool = False
    lifecycle_script: str = ""
    sfs_mount_list: list[Mount] = Field(default_factory=list)
    pfs_mount_list: list[LooseMount] = Field(default_factory=list)
    dataset_mount_list: list[LooseMount] = Field(default_factory=list)
    sku_id: int
    no_of_nodes: int = Field(ge=1)
    sku_item_price_id: int

    def clone(self, project: int) -> dict[str, Any]:
        """The echo of this body in ``clone_data``."""
        mounts = ("sfs_mount_list", "pfs_mount_list", "dataset_mount_list")
        lists = {name: [item.model_dump(exclude_unset=True) for item in getattr(self, name)] for name in mounts}
        return {**self.model_dump(), **lists, "project_id": project}


class UpdateSshKeys(Body):
    action: Literal["update_ssh_keys"]
    ssh_key_ids: list[int] = Field(min_length=1)


class UpdateImage(Body):
    action: Literal["update_image"]
    image_version_id: int


class RestartWorkers(Body):
    action: Literal["restart_workers"]


class RestartCluster(Body):
    action: Literal["restart_cluster"]


class ScaleCluster(Body):
    action: Literal["scale_cluster"]
    additional_nodes: int = Field(ge=1)


class AttachIp(Body):
    action: Literal["attach_ip"]
    reserved_ip_id: int


class DetachIp(Body):
    action: Literal["detach_ip"]
    reserved_ip_id: int
    ip_type: Literal["reserved"]


class AddSecurityGroup(Body):
    action: Literal["add_security_group"]
    security_groups_ids: list[int] = Field(min_length=1)


class RemoveSecurityGroup(Body):
    action: Literal["remove_security_group"]
    security_group_id: int


ACTIONS: Mapping[str, type[Body]] = {
    "update_ssh_keys": UpdateSshKeys,
    "update_image": UpdateImage,
    "restart_workers": RestartWorkers,
    "restart_cluster": RestartCluster,
    "scale_cluster": ScaleCluster,
    "attach_ip": AttachIp,
    "detach_ip": DetachIp,
    "add_security_group": AddSecurityGroup,
    "remove_security_group": RemoveSecurityGroup,
}


class AnyAction(BaseModel):
    """The word that decides what else belongs into the body."""

    model_config = ConfigDict(extra="ignore", strict=True)

    action: Literal[
        "update_ssh_keys",
        "update_image",
        "restart_workers",
        "restart_cluster",
        "scale_cluster",
        "attach_ip",
        "detach_ip",
        "add_security_group",
        "remove_security_group",
    ]


class SshKeyBody(Body):
    label: str = Field(min_length=1)
    ssh_key: str = Field(pattern=r"^(ssh-|ecdsa-|sk-)\S+ \S+( .*)?\s*$")


class Rule(Body):
    """One rule of a security group."""

    rule_type: Literal["inbound", "outbound"]
    protocol: Literal["TCP", "UDP", "All"]
    protocol_type: Literal["CustomTCP", "CustomUDP", "AllTraffic"]
    network_type: Literal["any", "manual"]
    ports: list[int | str] = Field(default_factory=list)
    cidr_ip: str | None = None
    cidr_subnet: int | str | None = None
    description: str | None = None

    @model_validator(mode="after")
    def _network_is_whole(self) -> Self:
        if self.network_type == "manual" and (not self.cidr_ip or self.cidr_subnet is None):
            raise ValueError("network_type manual needs cidr_ip and cidr_subnet")
        return self


class RuleUpdate(Rule):
    id: int | str | None = None
    isNew: bool = False

    @model_validator(mode="before")
    @classmethod
    def _id_is_not_null(cls, data: object) -> object:
        if isinstance(data, dict) and data.get("id", 0) is None:
            raise ValueError("id must not be null")
        return data


class RulesBody(RootModel[list[RuleUpdate]]):
    """All rules of a group, as a bare array."""


class GroupBody(Body):
    name: str = Field(min_length=1)
    description: str = ""
    rules: list[Rule]


class SfsBody(Body):
    name: str = Field(min_length=1)
    disk_size: int = Field(ge=1)
