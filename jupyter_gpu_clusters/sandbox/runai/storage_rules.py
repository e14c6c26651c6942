"""Rules between the fields of storage."""

from __future__ import annotations

from collections.abc import Iterator

from ..service import Problem
from .quantity import amount
from .storage import PvcMount, Storage

_NEEDED = {
    "pvc": ("path",),
    "nfs": ("path", "server", "mountPath"),
    "hostPath": ("path", "mountPath"),
    "git": ("repository", "path"),
    "s3": ("bucket", "path"),
    "configMapVolume": ("configMap", "mountPath"),
    "secretVolume": ("secret", "mountPath"),
    "emptyDirVolume": ("path",),
    "dataVolume": ("id", "mountPath"),
}


def storage_problems(storage: Storage, path: str) -> Iterator[Problem]:
    """Everything that is wrong with the storage of one spec."""
    for kind, names in _NEEDED.items():
        for number, mount in enumerate(getattr(storage, kind) or ()):
            if not mount.exclude:
                lost = [name for name in names if not getattr(mount, name)]
                yield from ((f"{path}.{kind}.{number}.{name}", "is required") for name in lost)
    for number, claim in enumerate(storage.pvc or ()):
        yield from _claim(claim, f"{path}.pvc.{number}")
    if len({mount.mountPropagation for mount in storage.hostPath or ()}) > 1:
        yield f"{path}.hostPath", "mountPropagation must be the same on all entries"
    for number, scratch in enumerate(storage.emptyDirVolume or ()):
        if scratch.medium not in (None, "Memory"):
            yield f"{path}.emptyDirVolume.{number}.medium", "must be Memory, or left out for disk"
        if scratch.sizeLimit is not None and amount(scratch.sizeLimit) is None:
            yield f"{path}.emptyDirVolume.{number}.sizeLimit", "is not a quantity"


def _claim(claim: PvcMount, path: str) -> Iterator[Problem]:
    size = claim.claimInfo.size if claim.claimInfo else None
    if claim.existingPvc and claim.claimInfo is not None:
        yield f"{path}.claimInfo", "must be left out when existingPvc is true"
    if claim.existingPvc is False and size is None:
        yield f"{path}.claimInfo.size", "is required when existingPvc is false"
    if size is not None and amount(size) is None:
        yield f"{path}.claimInfo.size", "is not a quantity"
