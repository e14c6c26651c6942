"""The nine kinds of storage that a workload can mount. Source: contract, section 3.5."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictStr

from ...core.choices import looked_up
from .fields import KUBE_NAME, PROJECT, KubeName, Name63, Part, Quantity, Text, Uuid, excluding, field, listed

Mode = Annotated[StrictStr, Field(min_length=4, max_length=4, pattern=r"^0[0-7]{3}$")]


class AccessModes(Part):
    """Who may mount a claim at the same time."""

    readWriteOnce: StrictBool | None = field("One node", "Read and written from one node; the usual mode.")
    readOnlyMany: StrictBool | None = field("Many read", "Read from many nodes.")
    readWriteMany: StrictBool | None = field("Many read and write", "Pods on several nodes need this.")


class AddedAttribute(Part):
    """An extra attribute that a storage class asks for."""

    key: Annotated[
        StrictStr, Field(min_length=1, max_length=63, pattern=r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")
    ] = Field(title="Key", description="Name of the attribute.")
    value: StrictStr | None = field("Value", "Its value.")


class ClaimInfo(Part):
    """A claim that is made for the workload."""

    size: Quantity | None = field("Size", "For example 100G; needed where a claim is made.")
    storageClass: Annotated[StrictStr, Field(min_length=1, pattern=KUBE_NAME)] | None = field(
        "Storage class", "Name of the class.", json_schema_extra=looked_up("storage_classes", PROJECT)
    )
    accessModes: AccessModes | None = field("Access", "Who may mount it at the same time.")
    volumeMode: Literal["Filesystem", "Block"] | None = field("Volume", "As files or as a block device.")
    addedAttrValues: list[AddedAttribute] | None = listed("More attributes", "What the storage class asks for.")


class Mount(Part):
    """What every kind has but data volumes."""

    name: Text | None = field("Name", "Name of this entry, which policies can refer to.")
    exclude: StrictBool | None = excluding()


class PvcMount(Mount):
    """A Kubernetes claim."""

    path: Text | None = field("Path", "Where it is mounted.")
    claimName: Name63 | None = field(
        "Claim", "Kubernetes name of the claim.", json_schema_extra=looked_up("pvc_claims", PROJECT)
    )
    existingPvc: StrictBool | None = field("Exists already", "The claim must exist; else it is made where missing.")
    claimInfo: ClaimInfo | None = field("New claim", "What a new claim is like; not with an existing one.")
    readOnly: StrictBool | None = field("Read only", "Mounts it without the right to write.")
    ephemeral: StrictBool | None = field("Ephemeral", "Deleted when the workload stops.")
    dataSharing: StrictBool | None = field("Shared data", "Whether the claim is shared with others.")


class NfsMount(Mount):
    """A network share."""

    server: Text | None = field("Server", "Host of the NFS server.")
    path: Text | None = field("Exported path", "Path on the server.")
    mountPath: Text | None = field("Mount path", "Where it is mounted.")
    readOnly: StrictBool | None = field("Read only", "The usual way when left out.")


class HostPathMount(Mount):
    """A folder of the node."""

    path: Text | None = field("Path on the node", "Folder of the node.")
    mountPath: Text | None = field("Mount path", "Where it is mounted.")
    readOnly: StrictBool | None = field(
        "Read only", "Better said: schema and text of the vendor differ on the default."
    )
    mountPropagation: Literal["None", "HostToContainer"] | None = field(
        "Propagation", "Whether later mounts of the node appear; the same for all entries."
    )


class GitSecretRef(Part):
    """A credential for a repository."""

    name: Text | None = field("Name", "Name of the credential.", json_schema_extra=looked_up("credentials", PROJECT))
    authenticationMethod: Literal["password", "ssh-key"] | None = field("Method", "By password or by SSH key.")
    secretKeyOfUser: Text | None = field("Key of the user", "Which key of the secret has the user's name.")
    secretKeyOfPassword: Text | None = field("Key of the password", "Which key of the secret has the password.")


class GitMount(Mount):
    """A repository."""

    repository: Text | None = field("Repository", "URL of the repository.")
    branch: Text | None = field("Branch", "Which branch.")
    revision: Text | None = field("Revision", "Which commit or tag.")
    path: Text | None = field("Path", "Where it is put.")
    secretRef: GitSecretRef | None = field("Credential", "How the repository is read.")
    passwordSecret: Text | None = field("Secret (old)", "Deprecated; use the credential.")
    secretKeyOfUser: Text | None = field("Key of the user (old)", "Deprecated; use the credential.")
    secretKeyOfPassword: Text | None = field("Key of the password (old)", "Deprecated; use the credential.")


class S3Mount(Mount):
    """A bucket."""

    bucket: Text | None = field("Bucket", "Name of the bucket.")
    path: Text | None = field("Path", "Where it is put.")
    url: Text | None = field("URL", "The service; Amazon's when left out.")
    accessKeySecret: KubeName | None = field("Secret", "Kubernetes secret with the access key.")
    secretKeyOfAccessKeyId: Text | None = field("Key of the id", "Which key of the secret has the access key's id.")
    secretKeyOfSecretKey: Text | None = field("Key of the secret", "Which key of the secret has the secret key.")


class ConfigMapMount(Mount):
    """A config map as files."""

    configMap: KubeName | None = field("Config map", "Name of the config map.")
    mountPath: Text | None = field("Mount path", "Where it is mounted.")
    subPath: Text | None = field("Sub-path", "Only this part of it.")
    defaultMode: Mode | None = field("File mode", "Four octal digits, for example 0644.")


class SecretMount(Mount):
    """A secret as files."""

    secret: Text | None = field("Secret", "Name of the secret.")
    mountPath: Text | None = field("Mount path", "Where it is mounted.")
    defaultMode: Mode | None = field("File mode", "Four octal digits, for example 0400.")


class EmptyDirMount(Mount):
    """A scratch folder."""

    path: Text | None = field("Path", "Where it is mounted.")
    medium: Literal["Memory"] | None = field("Medium", "Memory, or the node's disk when left out.")
    sizeLimit: Quantity | None = field("Size limit", "At most so large.")


class DataVolumeMount(Part):
    """A data volume of the platform."""

    id: Uuid | None = field(
        "Data volume", "Id of the data volume.", json_schema_extra=looked_up("data_volumes", PROJECT)
    )
    mountPath: Text | None = field("Mount path", "Where it is mounted.")
    exclude: StrictBool | None = excluding()


class Storage(Part):
    """Every kind, each a list."""

    pvc: list[PvcMount] | None = listed("Claims", "Kubernetes persistent volume claims.")
    nfs: list[NfsMount] | None = listed("NFS", "Network shares.")
    hostPath: list[HostPathMount] | None = listed("Folders of the node", "Paths on the nodes themselves.")
    git: list[GitMount] | None = listed("Git", "Repositories.")
    s3: list[S3Mount] | None = listed("S3", "Buckets.")
    configMapVolume: list[ConfigMapMount] | None = listed("Config maps", "Config maps as files.")
    secretVolume: list[SecretMount] | None = listed("Secrets", "Secrets as files.")
    emptyDirVolume: list[EmptyDirMount] | None = listed("Scratch folders", "Folders that end with the pod.")
    dataVolume: list[DataVolumeMount] | None = listed("Data volumes", "Data volumes of the platform.")
