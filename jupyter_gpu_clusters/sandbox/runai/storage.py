"""The nine kinds of storage that a workload mounts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .fields import Items, KubeName, Name63, Part, Quantity, Text, Uuid

Mode = Annotated[str, Field(min_length=4, max_length=4, pattern=r"^0[0-7]{3}$")]


class AccessModes(Part):
    """Who may mount a claim at the same time."""

    readWriteOnce: bool | None = None
    readOnlyMany: bool | None = None
    readWriteMany: bool | None = None


class AddedAttribute(Part):
    """An extra attribute that a storage class asks for."""

    key: Annotated[str, Field(min_length=1, max_length=63, pattern=r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")]
    value: str = ""


class ClaimInfo(Part):
    """A claim that is made on the way."""

    size: Quantity | None = None
    storageClass: KubeName | None = None
    accessModes: AccessModes | None = None
    volumeMode: Literal["Filesystem", "Block"] | None = None
    addedAttrValues: list[AddedAttribute] = Field(default_factory=list)


class Mount(Part):
    """What every named kind has."""

    name: Text | None = None
    exclude: bool | None = None


class PvcMount(Mount):
    """A Kubernetes claim."""

    claimName: Name63 | None = None
    path: Text | None = None
    existingPvc: bool | None = None
    readOnly: bool | None = None
    ephemeral: bool | None = None
    dataSharing: bool | None = None
    claimInfo: ClaimInfo | None = None


class NfsMount(Mount):
    """A network share."""

    path: Text | None = None
    server: Text | None = None
    mountPath: Text | None = None
    readOnly: bool | None = None


class HostPathMount(Mount):
    """A folder of the node."""

    path: Text | None = None
    mountPath: Text | None = None
    readOnly: bool | None = None
    mountPropagation: Literal["None", "HostToContainer"] | None = None


class GitSecretRef(Part):
    """A credential for a repository."""

    name: Text = ""
    authenticationMethod: Literal["password", "ssh-key"] = "password"
    secretKeyOfUser: Text | None = None
    secretKeyOfPassword: Text | None = None


class GitMount(Mount):
    """A repository."""

    repository: Text | None = None
    branch: Text | None = None
    revision: Text | None = None
    path: Text | None = None
    secretRef: GitSecretRef | None = None
    passwordSecret: Text | None = None
    secretKeyOfUser: Text | None = None
    secretKeyOfPassword: Text | None = None


class S3Mount(Mount):
    """A bucket."""

    bucket: Text | None = None
    path: Text | None = None
    url: Text | None = None
    accessKeySecret: KubeName | None = None
    secretKeyOfAccessKeyId: Text | None = None
    secretKeyOfSecretKey: Text | None = None


class ConfigMapMount(Mount):
    """A config map as files."""

    configMap: KubeName | None = None
    mountPath: Text | None = None
    subPath: Text | None = None
    defaultMode: Mode | None = None


class SecretMount(Mount):
    """A secret as files."""

    secret: Text | None = None
    mountPath: Text | None = None
    defaultMode: Mode | None = None


class EmptyDirMount(Mount):
    """A scratch folder."""

    path: Text | None = None
    medium: Text | None = None
    sizeLimit: Quantity | None = None


class DataVolumeMount(Part):
    """A data volume of the platform."""

    id: Uuid | None = None
    mountPath: str | None = None
    exclude: bool | None = None


class Storage(Part):
    """Every kind, each a list."""

    pvc: Items[PvcMount] | None = None
    nfs: Items[NfsMount] | None = None
    hostPath: Items[HostPathMount] | None = None
    git: Items[GitMount] | None = None
    s3: Items[S3Mount] | None = None
    configMapVolume: Items[ConfigMapMount] | None = None
    secretVolume: Items[SecretMount] | None = None
    emptyDirVolume: Items[EmptyDirMount] | None = None
    dataVolume: Items[DataVolumeMount] | None = None
