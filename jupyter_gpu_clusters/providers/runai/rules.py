"""Rules between the fields of one spec: every broken one is told, each by the path of its field.

Source: contract, section 3.8 and the field tables before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...core.errors import Problem
from .fields import Compute, EnvironmentVariable, ExposedUrl, MatchExpression, Part, Port, Security, Toleration
from .quantities import amount_of
from .spec import Framework, MasterSpec, WorkerSpec
from .storage import PvcMount, Storage

MAX_COMMAND = 10_000
MPI_ONLY = ("slotsPerWorker", "sshAuthMountPath", "mpiLauncherCreationPolicy")
PYTORCH_ONLY = ("minReplicas", "maxReplicas", "segmentSize")
_SOURCES: dict[str, tuple[str, ...]] = {
    "value": (),
    "secret": ("name", "key"),
    "configMap": ("name", "key"),
    "podFieldRef": ("path",),
    "userCredential": ("name", "key"),
}
_NEEDED: dict[str, tuple[str, ...]] = {
    "labels": ("name",),
    "annotations": ("name",),
    "environmentVariables": ("name",),
    "imagePullSecrets": ("name",),
    "exposedUrls": ("container",),
    "ports": ("container", "serviceType"),
    "relatedUrls": ("url", "type"),
    "tolerations": ("key",),
}
_KEYS: dict[str, tuple[str, ...]] = {**_NEEDED, "ports": ("container",), "relatedUrls": ("url",), "tolerations": ()}
_NEEDED_OF_STORAGE: dict[str, tuple[str, ...]] = {
    "pvc": ("path",),
    "nfs": ("server", "path", "mountPath"),
    "hostPath": ("path", "mountPath"),
    "git": ("repository", "path"),
    "s3": ("bucket", "path"),
    "configMapVolume": ("configMap", "mountPath"),
    "secretVolume": ("secret", "mountPath"),
    "emptyDirVolume": ("path",),
    "dataVolume": ("id", "mountPath"),
}
_NODE_PORTS = range(30_000, 32_768)


def check_pod(spec: MasterSpec, path: str) -> Iterator[Problem]:
    """What is wrong with a worker or master spec.

    Parameters
    ----------
    path : where it stands, ``spec`` or ``masterSpec``.
    """
    for name in ("command", "args"):
        if len(getattr(spec, name) or "") > MAX_COMMAND:
            yield Problem(
                f"{path}.{name}", f"has more than {MAX_COMMAND:,} characters, which Run:ai refuses; put it into a file."
            )
    if spec.tty and not spec.stdin:
        yield Problem(f"{path}.tty", "needs stdin: true.")
    if spec.compute is not None:
        yield from _check_compute(spec.compute, f"{path}.compute")
    if spec.storage is not None:
        yield from _check_storage(spec.storage, f"{path}.storage")
    if spec.security is not None:
        yield from _check_security(spec.security, f"{path}.security")
    yield from _check_lists(spec, path)
    yield from _check_affinity(spec, path)


def check_workers(spec: WorkerSpec, framework: Framework | None, path: str) -> Iterator[Problem]:
    """What is wrong with the fields that only workers have; `framework` is the one that will be used."""
    if framework is not None:
        wrong = [(name, "MPI") for name in MPI_ONLY if framework != "MPI"]
        wrong += [(name, "PyTorch") for name in PYTORCH_ONLY if framework != "PyTorch"]
        for name, only in wrong:
            if getattr(spec, name) is not None:
                yield Problem(f"{path}.{name}", f"is for {only} only, and this is {framework}.")
    low, high, workers = spec.minReplicas, spec.maxReplicas, spec.numWorkers
    if low is not None and high is not None and high < low:
        yield Problem(f"{path}.maxReplicas", f"must be at least minReplicas ({low}).")
    if workers is not None and low is not None and low > workers:
        yield Problem(f"{path}.minReplicas", f"must be at most numWorkers ({workers}).")
    if workers is not None and high is not None and high < workers:
        yield Problem(f"{path}.maxReplicas", f"must be at least numWorkers ({workers}).")
    if workers is not None and spec.segmentSize is not None and workers % spec.segmentSize:
        yield Problem(f"{path}.segmentSize", f"must divide the number of workers ({workers}).")


def _check_lists(spec: MasterSpec, path: str) -> Iterator[Problem]:
    for name, needed in _NEEDED.items():
        for number, item in enumerate(getattr(spec, name) or ()):
            wanted = _KEYS[name] if item.exclude else needed
            yield from _missing(item, wanted, f"{path}.{name}[{number}]")
    for number, variable in enumerate(spec.environmentVariables or ()):
        yield from _check_variable(variable, f"{path}.environmentVariables[{number}]")
    yield from _check_unique([v.name for v in spec.environmentVariables or ()], f"{path}.environmentVariables")
    for number, url in enumerate(spec.exposedUrls or ()):
        yield from _check_url(url, f"{path}.exposedUrls[{number}]")
    for number, port in enumerate(spec.ports or ()):
        yield from _check_port(port, f"{path}.ports[{number}]")
    for number, toleration in enumerate(spec.tolerations or ()):
        yield from _check_toleration(toleration, f"{path}.tolerations[{number}]")


def _missing(part: Part, names: Sequence[str], path: str) -> Iterator[Problem]:
    """Fields that the service needs although its schema lets them be null."""
    yield from (Problem(f"{path}.{name}", "is missing.") for name in names if getattr(part, name) in (None, ""))


def _check_unique(names: Sequence[str | None], path: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, name in enumerate(names):
        if name is not None and name in seen:
            yield Problem(f"{path}[{number}].name", f"{name!r} stands there twice.")
        seen.add(name or "")


def _check_variable(variable: EnvironmentVariable, path: str) -> Iterator[Problem]:
    given = [name for name in _SOURCES if getattr(variable, name) is not None]
    if len(given) > 1:
        yield Problem(path, f"takes its value from {' and '.join(given)}; only one of them is allowed.")
    for name in given:
        if _SOURCES[name]:
            yield from _missing(getattr(variable, name), _SOURCES[name], f"{path}.{name}")


def _check_url(url: ExposedUrl, path: str) -> Iterator[Problem]:
    if url.authorizationType is None and url.authorizedUsers is not None and url.authorizedGroups is not None:
        yield Problem(
            path, "authorizedUsers and authorizedGroups exclude each other unless authorizationType picks one."
        )


def _check_port(port: Port, path: str) -> Iterator[Problem]:
    if port.serviceType == "NodePort" and port.external is not None and port.external not in _NODE_PORTS:
        yield Problem(f"{path}.external", "must be 30000 to 32767 for a NodePort.")


def _check_toleration(toleration: Toleration, path: str) -> Iterator[Problem]:
    if toleration.seconds is not None and toleration.effect != "NoExecute":
        yield Problem(f"{path}.seconds", "goes only with effect: NoExecute.")
    if toleration.operator == "Exists" and toleration.value:
        yield Problem(f"{path}.value", "goes only with operator: Equal.")


def _check_compute(compute: Compute, path: str) -> Iterator[Problem]:
    for unit, name in (("portion", "gpuPortionRequest"), ("memory", "gpuMemoryRequest")):
        is_asked = getattr(compute, name) is not None
        if compute.gpuRequestType == unit and not is_asked:
            yield Problem(f"{path}.{name}", f"is needed with gpuRequestType: {unit}.")
        if compute.gpuRequestType != unit and is_asked:
            yield Problem(f"{path}.gpuRequestType", f"must be {unit} where {name} is given.")
    for stem in ("cpuCore", "gpuPortion", "cpuMemory", "gpuMemory"):
        yield from _check_limit(compute, stem, path)
    for number, device in enumerate(compute.extendedResources or ()):
        where = f"{path}.extendedResources[{number}]"
        yield from _missing(device, ("resource",) if device.exclude else ("resource", "quantity"), where)
        yield from _check_quantity(device.quantity, f"{where}.quantity")


def _check_limit(compute: Compute, stem: str, path: str) -> Iterator[Problem]:
    asked, limit = getattr(compute, f"{stem}Request"), getattr(compute, f"{stem}Limit")
    for name, value in (("Request", asked), ("Limit", limit)):
        if isinstance(value, str):
            yield from _check_quantity(value, f"{path}.{stem}{name}")
    low = amount_of(asked) if isinstance(asked, str) else asked
    high = amount_of(limit) if isinstance(limit, str) else limit
    if low is not None and high is not None and high < low:
        yield Problem(f"{path}.{stem}Limit", f"must be at least {stem}Request ({asked}).")


def _check_quantity(value: str | None, path: str) -> Iterator[Problem]:
    if value is not None and amount_of(value) is None:
        yield Problem(path, f"{value!r} is not a quantity such as 500M, 64G or 1.5Ti.")


def _check_security(security: Security, path: str) -> Iterator[Problem]:
    if security.seccompProfileType == "Localhost":
        yield Problem(f"{path}.seccompProfileType", "Localhost is listed but not supported by Run:ai.")
    for name in ("runAsUid", "runAsGid"):
        if getattr(security, name) is not None and security.uidGidSource in ("fromTheImage", "fromIdpToken"):
            yield Problem(f"{path}.{name}", "goes only with uidGidSource: custom.")


def _check_affinity(spec: MasterSpec, path: str) -> Iterator[Problem]:
    if spec.podAffinity is not None:
        yield from _missing(spec.podAffinity, ("key",), f"{path}.podAffinity")
    terms = spec.nodeAffinityRequired.nodeSelectorTerms if spec.nodeAffinityRequired else None
    for number, term in enumerate(terms or ()):
        for place, expression in enumerate(term.matchExpressions or ()):
            where = f"{path}.nodeAffinityRequired.nodeSelectorTerms[{number}].matchExpressions[{place}].values"
            if text := _wrong_count(expression):
                yield Problem(where, text)


def _wrong_count(expression: MatchExpression) -> str | None:
    count = len(expression.values or ())
    match expression.operator:
        case "In" | "NotIn" if count == 0:
            return f"operator {expression.operator} needs at least one value."
        case "Exists" | "DoesNotExist" if count > 0:
            return f"operator {expression.operator} takes no values."
        case "Gt" | "Lt" if count != 1:
            return f"operator {expression.operator} takes exactly one value."
        case _:
            return None


def _check_storage(storage: Storage, path: str) -> Iterator[Problem]:
    for kind, needed in _NEEDED_OF_STORAGE.items():
        for number, mount in enumerate(getattr(storage, kind) or ()):
            if not mount.exclude:
                yield from _missing(mount, needed, f"{path}.{kind}[{number}]")
    for number, claim in enumerate(storage.pvc or ()):
        yield from _check_claim(claim, f"{path}.pvc[{number}]")
    if len({mount.mountPropagation for mount in storage.hostPath or ()}) > 1:
        yield Problem(f"{path}.hostPath", "mountPropagation must be the same for all entries.")
    for number, scratch in enumerate(storage.emptyDirVolume or ()):
        yield from _check_quantity(scratch.sizeLimit, f"{path}.emptyDirVolume[{number}].sizeLimit")


def _check_claim(claim: PvcMount, path: str) -> Iterator[Problem]:
    size = claim.claimInfo.size if claim.claimInfo is not None else None
    if claim.existingPvc and claim.claimInfo is not None:
        yield Problem(f"{path}.claimInfo", "is for a new claim only, and existingPvc is true.")
    if claim.existingPvc is False and size is None:
        yield Problem(f"{path}.claimInfo.size", "is needed with existingPvc: false.")
    yield from _check_quantity(size, f"{path}.claimInfo.size")
