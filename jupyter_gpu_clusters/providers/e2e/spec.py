"""What can be asked of E2E: the whole create request under its own names, words that are shorter to write, and actions.

A short word is looked up and fills the place of the id that it stands for; where both are written and differ, that is a
problem and not a choice. Source: contract, sections 2.1 and 2.3.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from ...core.choices import looked_up
from .options import Location

HERE = ["location"]
_MOST = 1000

Id = Annotated[StrictInt, Field(ge=0)]
Text = Annotated[StrictStr, Field(min_length=1)]
Path = Annotated[StrictStr, Field(min_length=1, max_length=4096, pattern=r"^/")]


def _field(title: str, description: str, **more: Any) -> Any:
    return Field(None, title=title, description=description, **more)


def _chosen(title: str, description: str, look_up: str, **more: Any) -> Any:
    return _field(title, description, json_schema_extra=looked_up(look_up, HERE), **more)


class Part(BaseModel):
    """One object of a request; what is unknown here is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Mount(Part):
    """Something mounted on every node, by id or by name. The fields are documented for SFS, inferred for the others."""

    id: Id | None = _field("Id", "Id of what is mounted; looked up from the name when left out.")
    name: Text | None = _field("Name", "Name of what is mounted; looked up from the id when left out.")
    mount_path: Path = Field(title="Path", description="Where it appears on the nodes, for example /mnt/shared.")


class E2ESpec(Part):
    """A training cluster of E2E Networks TIR. Billed from creation as far as is known; only deleting ends that."""

    location: Location | None = _field(
        "Location", "The account's own when left out; ids of one location fail in another."
    )
    gpu: Text | None = _field(
        "GPU", "Part of a node type's name or GPU card, for example H200; the cheapest that fits."
    )
    sku: Text | None = _chosen("Node type", "Name of the node type.", "skus")
    nodes: Annotated[StrictInt, Field(ge=1)] | None = _field("Nodes", "The same as no_of_nodes.")
    plan: Literal["hourly", "30d", "90d", "365d"] | None = _field(
        "Plan", "hourly when left out. The others buy the whole term at once, with no refund as far as is known."
    )
    image: Text | None = _chosen("Image", "Name, slug or version of an image; its newest version.", "images")
    ssh_keys: Annotated[list[Text], Field(max_length=_MOST)] | None = _chosen(
        "SSH keys", "Labels of keys that may log in.", "ssh_keys"
    )
    security_group: Text | None = _chosen("Security group", "Name of the group.", "security_groups")
    sfs: Annotated[list[Mount], Field(max_length=_MOST)] | None = _field(
        "Shared file systems", "The same as sfs_mount_list."
    )
    pfs: Annotated[list[Mount], Field(max_length=_MOST)] | None = _field(
        "Parallel file systems", "The same as pfs_mount_list."
    )
    datasets: Annotated[list[Mount], Field(max_length=_MOST)] | None = _field(
        "Datasets", "Mounted read-only; the same as dataset_mount_list."
    )
    lifecycle_script: StrictStr | None = _field(
        "Lifecycle script", "Runs on every node after the cluster has started; sent as it is."
    )
    exact_name: StrictBool = Field(
        False,
        title="Exact name",
        description="Sends the name without a mark; a lost answer can then not be found again by itself.",
    )
    image_version_id: Id | None = _chosen("Image version id", "Id of an image's version.", "image_version_ids")
    ssh_key_ids: Annotated[list[Id], Field(max_length=_MOST)] | None = _chosen(
        "SSH key ids", "The keys' `pk`; they go on the login node.", "ssh_key_ids"
    )
    security_group_id: Id | None = _chosen(
        "Security group id", "One group; more can be added later.", "security_group_ids"
    )
    sku_id: Id | None = _chosen("Node type id", "Id of the node type.", "sku_ids")
    sku_item_price_id: Id | None = _field(
        "Price id",
        "Id of the price row, which alone decides whether it is hourly or a committed term.",
        json_schema_extra=looked_up("prices", ["location", "sku", "sku_id"]),
    )
    no_of_nodes: Annotated[StrictInt, Field(ge=1)] | None = _field("Number of nodes", "The same as nodes.")
    script_added: StrictBool | None = _field("Script added", "Follows from the script; must agree with it.")
    sfs_mount_list: Annotated[list[Mount], Field(max_length=_MOST)] | None = _field(
        "SFS mounts", "Shared file systems to mount."
    )
    pfs_mount_list: Annotated[list[Mount], Field(max_length=_MOST)] | None = _field(
        "PFS mounts", "Parallel file systems to mount."
    )
    dataset_mount_list: Annotated[list[Mount], Field(max_length=_MOST)] | None = _field(
        "Dataset mounts", "Datasets to mount read-only."
    )


class UpdateSshKeys(Part):
    """Which keys may log in."""

    ssh_keys: Annotated[list[Text], Field(max_length=_MOST)] | None = _field(
        "SSH keys", "Labels of keys.", json_schema_extra=looked_up("ssh_keys")
    )
    ssh_key_ids: Annotated[list[Id], Field(max_length=_MOST)] | None = _field(
        "SSH key ids", "The keys' `pk`.", json_schema_extra=looked_up("ssh_key_ids")
    )
    replace: StrictBool = Field(
        False, title="Replace", description="Drops the keys that are there now; else these are added to them."
    )


class UpdateImage(Part):
    """Which image the nodes run."""

    image: Text | None = _field("Image", "Name, slug or version.", json_schema_extra=looked_up("images"))
    image_version_id: Id | None = _field(
        "Image version id", "Id of an image's version.", json_schema_extra=looked_up("image_version_ids")
    )


class Nothing(Part):
    """An action that needs nothing."""


class AttachIp(Part):
    """Which reserved address it gets."""

    ip: Text | None = _field("Address", "A reserved address.", json_schema_extra=looked_up("reserved_ips"))
    reserved_ip_id: Id | None = _field(
        "Reserved IP id", "Id of the address.", json_schema_extra=looked_up("reserved_ip_ids")
    )


class DetachIp(AttachIp):
    """Which reserved address it loses."""

    ip_type: Text = Field("reserved", title="Kind", description="Only `reserved` is known.")


class AddSecurityGroup(Part):
    """Which groups are attached besides those it has."""

    security_groups: Annotated[list[Text], Field(max_length=_MOST)] | None = _field(
        "Security groups", "Names of groups.", json_schema_extra=looked_up("security_groups")
    )
    security_groups_ids: Annotated[list[Id], Field(max_length=_MOST)] | None = _field(
        "Security group ids", "Ids of groups.", json_schema_extra=looked_up("security_group_ids")
    )


class RemoveSecurityGroup(Part):
    """Which group is detached."""

    security_group: Text | None = _field(
        "Security group", "Name of the group.", json_schema_extra=looked_up("security_groups")
    )
    security_group_id: Id | None = _field(
        "Security group id", "Id of the group.", json_schema_extra=looked_up("security_group_ids")
    )
