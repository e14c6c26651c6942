"""Rules between the fields of one spec; each yields what is broken, never stops at the first."""

from __future__ import annotations

from collections.abc import Iterator

from ..service import Problem
from .fields import Compute, EnvironmentVariable, ExposedUrl, MatchExpression, Part, Port, Security, Toleration
from .quantity import amount
from .spec import MasterSpec, WorkerSpec
from .storage_rules import storage_problems

LONGEST_TEXT = 10_000
_NODE_PORTS = range(30_000, 32_768)
_MPI_ONLY = ("slotsPerWorker", "sshAuthMountPath", "mpiLauncherCreationPolicy")
_PYTORCH_ONLY = ("minReplicas", "maxReplicas", "segmentSize")
_NEEDED = {
    "labels": ("name",),
    "annotations": ("name",),
    "environmentVariables": ("name",),
    "imagePullSecrets": ("name",),
    "exposedUrls": ("container",),
    "ports": ("container", "serviceType"),
    "relatedUrls": ("url", "type"),
    "tolerations": ("key",),
}
_KEY_ONLY = {"ports": ("container",), "relatedUrls": ("url",), "tolerations": ()}
_SOURCES = ("value", "secret", "configMap", "podFieldRef", "userCredential")


def spec_problems(spec: MasterSpec, path: str) -> Iterator[Problem]:
    """Everything that is wrong with a worker or master spec, its fields being right one by one."""
    for name in ("command", "args"):
        if len(getattr(spec, name) or "") > LONGEST_TEXT:
            yield f"{path}.{name}", f"must be at most {LONGEST_TEXT} characters long"
    if spec.tty and not spec.stdin:
        yield f"{path}.tty", "needs stdin to be true"
    yield from _needed(spec, path)
    if spec.compute is not None:
        yield from _compute(spec.compute, f"{path}.compute")
    if spec.storage is not None:
        yield from storage_problems(spec.storage, f"{path}.storage")
    if spec.security is not None:
        yield from _security(spec.security, f"{path}.security")
    for number, variable in enumerate(spec.environmentVariables or ()):
        yield from _variable(variable, f"{path}.environmentVariables.{number}")
    for number, url in enumerate(spec.exposedUrls or ()):
        yield from _exposed(url, f"{path}.exposedUrls.{number}")
    for number, port in enumerate(spec.ports or ()):
        yield from _port(port, f"{path}.ports.{number}")
    for number, toleration in enumerate(spec.tolerations or ()):
        yield from _toleration(toleration, f"{path}.tolerations.{number}")
    yield from _affinity(spec, path)
    if isinstance(spec, WorkerSpec):
        yield from _framework(spec, path)


def _needed(spec: MasterSpec, path: str) -> Iterator[Problem]:
    for field, keys in _NEEDED.items():
        for number, item in enumerate(getattr(spec, field) or ()):
            wanted = _KEY_ONLY.get(field, keys) if item.exclude else keys
            yield from missing(item, wanted, f"{path}.{field}.{number}")
    if spec.podAffinity is not None:
        yield from missing(spec.podAffinity, ("key",), f"{path}.podAffinity")


def missing(part: Part, names: tuple[str, ...], path: str) -> Iterator[Problem]:
    """Keys that are mandatory in practice although the schema lets them be null."""
    yield from ((f"{path}.{name}", "is required") for name in names if getattr(part, name) in (None, ""))


def _framework(spec: WorkerSpec, path: str) -> Iterator[Problem]:
    framework = spec.distributedFramework
    if framework is not None:
        wrong = (_MPI_ONLY if framework != "MPI" else ()) + (_PYTORCH_ONLY if framework != "PyTorch" else ())
        for name in wrong:
            if getattr(spec, name) is not None:
                only = "MPI" if name in _MPI_ONLY else "PyTorch"
                yield f"{path}.{name}", f"is for {only} only, not for {framework}"
    if spec.minReplicas is not None and spec.maxReplicas is not None and spec.maxReplicas < spec.minReplicas:
        yield f"{path}.maxReplicas", "must be at least minReplicas"


def _compute(compute: Compute, path: str) -> Iterator[Problem]:
    for kind, name in (("portion", "gpuPortionRequest"), ("memory", "gpuMemoryRequest")):
        if compute.gpuRequestType == kind and getattr(compute, name) is None:
            yield f"{path}.{name}", f"is required when gpuRequestType is {kind}"
        if compute.gpuRequestType != kind and getattr(compute, name) is not None:
            yield f"{path}.gpuRequestType", f"must be {kind} when {name} is given"
    for name in ("gpuPortionRequest", "gpuPortionLimit"):
        if (getattr(compute, name) or 0) > 1:
            yield f"{path}.{name}", "is a part of one device, at most 1"
    yield from _quantities(compute, path)
    for number, extended in enumerate(compute.extendedResources or ()):
        wanted = ("resource",) if extended.exclude else ("resource", "quantity")
        yield from missing(extended, wanted, f"{path}.extendedResources.{number}")
        if extended.quantity is not None and amount(extended.quantity) is None:
            yield f"{path}.extendedResources.{number}.quantity", "is not a quantity"


def _quantities(compute: Compute, path: str) -> Iterator[Problem]:
    texts = {name: value for name, value in compute.model_dump().items() if "emory" in name and value is not None}
    values = {name: amount(text) for name, text in texts.items()}
    yield from ((f"{path}.{name}", "is not a quantity") for name, value in values.items() if value is None)
    for stem in ("cpuMemory", "gpuMemory"):
        low, high = values.get(f"{stem}Request"), values.get(f"{stem}Limit")
        if low is not None and high is not None and high < low:
            yield f"{path}.{stem}Limit", f"must be at least {stem}Request"
    for stem in ("cpuCore", "gpuPortion"):
        asked, limit = getattr(compute, f"{stem}Request"), getattr(compute, f"{stem}Limit")
        if asked is not None and limit is not None and limit < asked:
            yield f"{path}.{stem}Limit", f"must be at least {stem}Request"


def _security(security: Security, path: str) -> Iterator[Problem]:
    if security.seccompProfileType == "Localhost":
        yield f"{path}.seccompProfileType", "Localhost is not supported"


def _variable(variable: EnvironmentVariable, path: str) -> Iterator[Problem]:
    given = [name for name in _SOURCES if getattr(variable, name) is not None]
    if len(given) > 1:
        yield path, f"has {len(given)} sources ({', '.join(given)}); only one is allowed"
    for name, keys in (
        ("secret", ("name", "key")),
        ("configMap", ("name", "key")),
        ("podFieldRef", ("path",)),
        ("userCredential", ("name", "key")),
    ):
        source = getattr(variable, name)
        if source is not None:
            yield from missing(source, keys, f"{path}.{name}")


def _exposed(url: ExposedUrl, path: str) -> Iterator[Problem]:
    if url.authorizationType is None and url.authorizedUsers is not None and url.authorizedGroups is not None:
        yield path, "authorizedUsers and authorizedGroups exclude each other unless authorizationType picks one"


def _port(port: Port, path: str) -> Iterator[Problem]:
    if port.serviceType == "NodePort" and port.external is not None and port.external not in _NODE_PORTS:
        yield f"{path}.external", "a NodePort lies between 30000 and 32767"


def _toleration(toleration: Toleration, path: str) -> Iterator[Problem]:
    if toleration.seconds is not None and toleration.effect != "NoExecute":
        yield f"{path}.seconds", "goes only with effect NoExecute"
    if toleration.operator == "Exists" and toleration.value:
        yield f"{path}.value", "goes only with operator Equal"


def _affinity(spec: MasterSpec, path: str) -> Iterator[Problem]:
    terms = spec.nodeAffinityRequired.nodeSelectorTerms if spec.nodeAffinityRequired else None
    for number, term in enumerate(terms or ()):
        for place, expression in enumerate(term.matchExpressions):
            where = f"{path}.nodeAffinityRequired.nodeSelectorTerms.{number}.matchExpressions.{place}.values"
            problem = _arity(expression)
            if problem:
                yield where, problem


def _arity(expression: MatchExpression) -> str | None:
    count = len(expression.values)
    if expression.operator in ("In", "NotIn") and not count:
        return f"operator {expression.operator} needs at least one value"
    if expression.operator in ("Exists", "DoesNotExist") and count:
        return f"operator {expression.operator} takes no values"
    if expression.operator in ("Gt", "Lt") and count != 1:
        return f"operator {expression.operator} takes exactly one value"
    return None
