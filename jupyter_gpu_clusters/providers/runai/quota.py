"""What a plan takes of the project's quota, and what should be known before it is sent. Source: contract, section 7."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .fields import Compute
from .request import Draft, Facts, deprecated_in_master
from .spec import RunaiWorkload
from .wire_org import Project
from .words import needs_quoting, script_words

_NON_PREEMPTIBLE = frozenset({"high", "very-high"})


@dataclass(frozen=True)
class Share:
    """GPU devices of a project in some node pools; ``None`` where they are not told."""

    deserved: float | None
    limit: float | None
    allocated: float | None

    @classmethod
    def of(cls, project: Project | None, pools: list[str]) -> Share:
        """Those of the named pools, or of all."""
        if project is None:
            return cls(None, None, None)
        rows = [q for q in project.resources if not pools or q.nodePool.name in pools]
        used = [u for u in project.status.nodePoolQuotaStatuses if not pools or u.nodePoolName in pools]
        known = [u.allocated.gpu for u in used if u.allocated.gpu is not None]
        allocated = sum(known) if known else None if pools else project.status.quotaStatus.allocated.gpu
        deserved = [q.gpu.deserved for q in rows if q.gpu.deserved is not None]
        limits = [q.gpu.limit for q in rows if q.gpu.limit is not None]
        has_limit = bool(rows) and len(limits) == len(rows)
        whole = sum(deserved) if deserved else None if pools else project.totalResources.gpuQuota
        return cls(whole, sum(limits) if has_limit else None, allocated)

    def __str__(self) -> str:
        told = [("deserved", self.deserved), ("allocated now", self.allocated), ("limit", self.limit)]
        return ", ".join(f"{name} {value:g}" for name, value in told if value is not None)


def confirmation(facts: Facts, draft: Draft) -> str:
    """What is agreed to, in one sentence."""
    share = str(Share.of(facts.project, _pools(draft)))
    project = (facts.project.name if facts.project else None) or facts.project_id
    gpus = "no GPU" if draft.gpus == 0 else f"{draft.gpus:g} GPU{'s' * (draft.gpus != 1)}"
    return (
        f"It takes {gpus} of the quota of project {project}{f' ({share})' if share else ''}, in {draft.pods} "
        f"pod{'s' * (draft.pods != 1)}; Run:ai tells no price."
    )


def warnings_for(spec: RunaiWorkload, facts: Facts, draft: Draft) -> tuple[str, ...]:
    """What is not wrong but may surprise."""
    return (*_about_size(spec, facts, draft), *_about_quota(facts, draft), *_about_fields(spec))


def _about_size(spec: RunaiWorkload, facts: Facts, draft: Draft) -> Iterator[str]:
    if not facts.has_policy:
        yield "The project's policy could not be read; what it adds or refuses is not known here."
    if draft.gpus == 0:
        yield "No GPU is asked for; gpus_per_node asks for some."
    compute = (spec.spec.compute if spec.spec else None) or Compute()
    if compute.gpuRequestType is not None and (compute.gpuDevicesRequest or 1) > 1:
        yield "Parts of several GPUs: the vendor's texts differ on whether that is allowed."
    if compute.gpuRequestType == "memory":
        yield "A part of a GPU that is given by its memory is counted as a whole one here."
    if draft.framework in ("MPI", "XGBoost") and draft.master is None:
        yield f"{draft.framework} without a master: Run:ai's own tools do not offer that."
    if draft.framework == "JAX" and draft.master is not None:
        yield "JAX with a master: Run:ai's own tools do not offer that."
    if draft.framework == "MPI" and draft.master is not None and spec.masterSpec is None and spec.nodes:
        yield "With MPI one of the pods is the launcher; it runs the command."
    if spec.spec is not None and spec.spec.maxReplicas is not None:
        yield f"It is elastic: it may grow to {spec.spec.maxReplicas} workers, which are not counted here."


def _about_quota(facts: Facts, draft: Draft) -> Iterator[str]:
    share = Share.of(facts.project, _pools(draft))
    if not draft.gpus or share.allocated is None:
        return
    wanted = share.allocated + draft.gpus
    if share.limit is not None and wanted > share.limit:
        yield f"It goes beyond the project's limit of {share.limit:g} GPUs and will wait."
    elif share.deserved is not None and wanted > share.deserved:
        if _is_preemptible(draft):
            yield "It goes beyond the quota: it runs only on idle GPUs, and may be stopped when others need them."
        else:
            yield "It goes beyond the quota and cannot be preempted, so it will wait until the quota has room."


def _is_preemptible(draft: Draft) -> bool:
    said = draft.worker.get("preemptibility")
    return said != "non-preemptible" if said else draft.worker.get("priorityClass") not in _NON_PREEMPTIBLE


def _about_fields(spec: RunaiWorkload) -> Iterator[str]:
    own = spec.spec
    words = script_words(spec.script) if spec.script is not None else spec.command
    if words is not None and needs_quoting(words):
        yield "The command is quoted for a split into words as a shell does it; that Run:ai does so is inferred."
    if old := deprecated_in_master(spec):
        yield f"For the master these are deprecated and belong into spec: {', '.join(old)}."
    if own is not None and own.cleanPodPolicy == "All":
        yield "cleanPodPolicy: All removes the pods at the end, and their logs with them."
    if own is not None and own.segmentSize is not None:
        yield "segmentSize needs Run:ai 3.0."
    if own is not None and own.preemptibility == "semi-preemptible":
        yield "preemptibility: semi-preemptible needs Run:ai 3.0, and its spelling is inferred."
    if spec.exact_name:
        yield "It is sent under its exact name: after a lost answer it cannot be told from others of that name."


def _pools(draft: Draft) -> list[str]:
    pools = draft.worker.get("nodePools")
    return [pool for pool in pools if isinstance(pool, str)] if isinstance(pools, list) else []
