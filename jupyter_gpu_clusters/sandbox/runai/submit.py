"""From a request body to a workload, or to a refusal that names everything wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ..choices import Choices
from ..service import Call, Problem, Refused
from ..world import World
from .bodies import plain, read_body
from .catalogue import Catalogue
from .inventory import CATEGORIES, PRIORITIES, Inventory, Project
from .merge import Spec, merge
from .rules import spec_problems
from .scheduler import Scheduler
from .spec import DistributedRequest, MasterSpec, WorkerSpec
from .workload import GONE, Phases, Workload

LONGEST_NAME, LONGEST_PREFIX = 63, 34
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_SUFFIX_DIGITS = 8


@dataclass(frozen=True)
class _Drafts:
    """Effective worker and master spec, and whether the master is like the workers."""

    worker: Spec
    master: Spec | None
    same: bool | None


class Submission:
    """Takes requests for distributed workloads."""

    def __init__(self, world: World, inventory: Inventory, catalogue: Catalogue, scheduler: Scheduler) -> None:
        self._world, self._inventory, self._catalogue, self._scheduler = world, inventory, catalogue, scheduler

    def create(self, call: Call) -> Workload:
        """Validate and queue.

        Raises
        ------
        Refused : 400 (schema, rules, policy), 403 (project), 409 or 400 (name), 502 (one-sided policy, by choice).
        """
        request = read_body(call, DistributedRequest, self._world.choices)
        project = self._project(request)
        drafts = self._drafts(request, project)
        problems = [*self._name_problems(request), *_sent_problems(request), *self._problems(drafts, project)]
        if problems:
            raise Refused(400, "workload spec is not valid", problems=dict.fromkeys(problems))
        self._comply(request, project, drafts)
        if project.policy.one_sided and self._world.choices["runai.one_sided_policy"] == "502":
            raise Refused(502, "Bad Gateway", shape=self._world.choices["runai.gateway_body"])
        workload = self._make(request, project, drafts, call.key)
        self._scheduler.add(workload)
        return workload

    def _project(self, request: DistributedRequest) -> Project:
        project = self._inventory.projects.get(request.projectId)
        if project is None:
            raise Refused(
                400, "project not found", problems=[("projectId", f"there is no project {request.projectId}")]
            )
        if not project.is_ours:
            raise Refused(403, "insufficient permissions in this project")
        if request.clusterId.lower() != project.cluster.id:
            raise Refused(400, "wrong cluster", problems=[("clusterId", f"project {project.id} is on another cluster")])
        if not project.cluster.runs_distributed:
            raise Refused(400, f"cluster version {project.cluster.version} is too old, at least 2.18 is needed")
        return project

    def _drafts(self, request: DistributedRequest, project: Project) -> _Drafts:
        template: Mapping[str, Any] = {}
        if request.templateId is not None:
            found = self._catalogue.template(request.templateId.lower())
            if found is None:
                raise Refused(400, "template not found", problems=[("templateId", "there is no such template")])
            template = found
        defaults = project.policy.defaults
        worker = merge(merge(defaults.get("worker", {}), template.get("combinedSpec") or {}), plain(request.spec))
        same = request.masterSpecSameAsWorker
        same = template.get("masterSpecSameAsWorker") if same is None and request.masterSpec is None else same
        master_template = template.get("combinedMasterSpec")
        master = None
        if not same and (request.masterSpec is not None or master_template is not None):
            base = merge(defaults.get("master", {}), master_template or {})
            master = merge(base, plain(request.masterSpec))
        if self._world.choices["runai.framework_missing"] != "refuse":
            worker.setdefault("distributedFramework", self._world.choices["runai.framework_missing"])
        return _Drafts(worker, master, same)

    def _name_problems(self, request: DistributedRequest) -> Iterator[Problem]:
        longest = LONGEST_PREFIX if request.useGivenNameAsPrefix else LONGEST_NAME
        if len(request.name) > longest:
            yield "name", f"must be at most {longest} characters long"
        if not _NAME.fullmatch(request.name):
            yield "name", "must begin with a lower-case letter and hold only lower-case letters, digits and '-'"

    def _problems(self, drafts: _Drafts, project: Project) -> Iterator[Problem]:
        for name in ("distributedFramework", "numWorkers", "image"):
            if drafts.worker.get(name) is None:
                yield f"spec.{name}", "is required unless a template or a policy gives it"
        if drafts.master is not None and drafts.master.get("image") is None:
            yield "masterSpec.image", "is required unless a template or a policy gives it"
        for path, spec, model in (("spec", drafts.worker, WorkerSpec), ("masterSpec", drafts.master, MasterSpec)):
            if spec is not None:
                yield from _model_problems(spec, path, model)
                yield from _known(spec, path, project)
                yield from _gpu_problems(spec, path, self._world.choices)

    def _comply(self, request: DistributedRequest, project: Project, drafts: _Drafts) -> None:
        issues = project.policy.issues("worker", plain(request.spec), drafts.worker)
        if drafts.master is not None:
            issues += project.policy.issues("master", plain(request.masterSpec), drafts.master)
        if issues:
            text = "request does not comply with policy"
            raise Refused(400, text, details={"complianceIssues": issues})

    def _make(self, request: DistributedRequest, project: Project, drafts: _Drafts, creator: str) -> Workload:
        now = self._world.clock.now()
        name = request.name
        if request.useGivenNameAsPrefix:
            name = f"{name}-{self._world.hex(_SUFFIX_DIGITS)}"
        if any(w.name == name and w.project is project and w.life.state(now) != GONE for w in self._all()):
            status = int(self._world.choices["runai.duplicate_name"])
            raise Refused(status, f"workload with name {name} already exists in project {project.name}")
        worker = drafts.worker
        devices = (worker.get("compute") or {}).get("gpuDevicesRequest") or 0
        if self._world.choices["runai.granted_gpus"] == "one" and devices > 1:
            worker = merge(worker, {"compute": {"gpuDevicesRequest": 1}})
        return Workload(
            id=self._world.uuid(),
            name=name,
            requested_name=request.name,
            project=project,
            created_by=creator,
            created_at=now,
            life=Phases(now),
            spec=worker,
            master=drafts.master,
            same_as_worker=drafts.same,
        )

    def _all(self) -> list[Workload]:
        return list(self._scheduler.workloads.values())


def _sent_problems(request: DistributedRequest) -> Iterator[Problem]:
    if request.masterSpecSameAsWorker and request.masterSpec is not None:
        yield "masterSpec", "must be left out when masterSpecSameAsWorker is true"
    if request.spec is not None:
        yield from spec_problems(request.spec, "spec")
    if request.masterSpec is not None:
        yield from spec_problems(request.masterSpec, "masterSpec")


def _model_problems(spec: Spec, path: str, model: type[MasterSpec]) -> Iterator[Problem]:
    try:
        yield from spec_problems(model.model_validate(spec), path)
    except ValidationError as exc:
        yield from ((".".join(map(str, (path, *e["loc"]))), e["msg"]) for e in exc.errors(include_url=False))


def _known(spec: Spec, path: str, project: Project) -> Iterator[Problem]:
    pools = [name for name in spec.get("nodePools") or () if name not in project.cluster.pools]
    if pools:
        yield f"{path}.nodePools", f"there is no node pool {', '.join(pools)} in cluster {project.cluster.name}"
    if spec.get("priorityClass") not in (None, *PRIORITIES):
        yield f"{path}.priorityClass", f"is none of {', '.join(PRIORITIES)}"
    if spec.get("category") not in (None, *CATEGORIES):
        yield f"{path}.category", f"is none of {', '.join(CATEGORIES)}"


def _gpu_problems(spec: Spec, path: str, choices: Choices) -> Iterator[Problem]:
    compute = spec.get("compute") or {}
    fraction = compute.get("gpuRequestType") is not None
    if choices["runai.fraction_devices"] == "refused" and fraction and (compute.get("gpuDevicesRequest") or 1) > 1:
        yield f"{path}.compute.gpuDevicesRequest", "must be 1 with a portion or an amount of memory"
    if choices["runai.gpu_limits"] == "disabled":
        names = [name for name in ("gpuPortionLimit", "gpuMemoryLimit") if compute.get(name) is not None]
        yield from ((f"{path}.compute.{name}", "GPU limits are not enabled") for name in names)
