"""From a workload spec and what was looked up for it to the body of the create call. Pure.

A short word fills its place in the request and is a problem where something else stands there already.
Source: contract, section 3; how pods are counted: gotcha 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from ...core.errors import Problem
from .convert import framework_of
from .kinds import as_number
from .merge import merge, plain
from .rules import MAX_COMMAND, check_pod, check_workers
from .spec import Framework, MasterSpec, RunaiWorkload, WorkerSpec
from .wire_org import Project, Template
from .words import SCRIPT, as_written, command_and_args, script_words, shown_words

Json = dict[str, Any]
_WITH_MASTER = ("PyTorch", "TF", "XGBoost")
_OF_WORKLOAD = frozenset(
    {
        "priorityClass",
        "backoffLimit",
        "terminationGracePeriodSeconds",
        "autoDeletionTimeAfterCompletionSeconds",
    }
)
"""Fields that concern the whole workload and are deprecated for the master (contract, section 3.2, ``Mx``)."""
_OF_LAUNCHER = frozenset(MasterSpec.model_fields) - _OF_WORKLOAD - {"compute"}
_SAME = (("image", "image"), ("workdir", "workingDir"), ("framework", "distributedFramework"))


@dataclass(frozen=True)
class Facts:
    """What was looked up. ``has_policy`` is false where the project's policy could not be read."""

    project_id: str = ""
    project: Project | None = None
    template: Template | None = None
    template_id: str | None = None
    compute: Json = field(default_factory=dict)
    environment: Json = field(default_factory=dict)
    worker_defaults: Json = field(default_factory=dict)
    master_defaults: Json = field(default_factory=dict)
    has_policy: bool = True

    @property
    def worker_base(self) -> Json:
        """What the service lays under the worker spec."""
        return merge(self.worker_defaults, self.template.worker if self.template else {})

    @property
    def master_base(self) -> Json:
        """What the service lays under the master spec."""
        return merge(self.master_defaults, self.template.own_master if self.template else {})

    @property
    def template_has_master(self) -> bool | None:
        """Whether the template brings a master; ``None`` without a template."""
        if self.template is None:
            return None
        return bool(self.template.masterSpecSameAsWorker or self.template.own_master)


@dataclass(frozen=True)
class Draft:
    """A body without its name, and what it amounts to.

    ``worker`` and ``master`` are the specs as far as they are known with what the service lays under them;
    ``master`` is ``None`` without one.
    """

    body: Json
    worker: Json
    master: Json | None
    framework: Framework
    problems: tuple[Problem, ...] = ()

    @property
    def workers(self) -> int:
        """Worker pods; 0 where it is not known."""
        return int(as_number(self.worker.get("numWorkers")) or 0)

    @property
    def pods(self) -> int:
        """Pods in all."""
        return self.workers + (self.master is not None)

    @property
    def gpus(self) -> float:
        """GPU devices of all pods together; a part of one given by its memory counts as one."""
        return self.workers * gpus_of(self.worker) + (gpus_of(self.master) if self.master is not None else 0)

    @property
    def whole_gpus(self) -> int:
        """The same, rounded up."""
        return math.ceil(self.gpus)


def gpus_of(spec: Mapping[str, Any]) -> float:
    """GPU devices of one pod."""
    compute = spec.get("compute")
    compute = compute if isinstance(compute, Mapping) else {}
    devices = as_number(compute.get("gpuDevicesRequest")) or 0.0
    if compute.get("gpuRequestType") == "portion":
        return (devices or 1.0) * (as_number(compute.get("gpuPortionRequest")) or 1.0)
    return devices or (1.0 if compute.get("gpuRequestType") == "memory" else 0.0)


def contradictions(spec: RunaiWorkload) -> Iterator[Problem]:
    """Where a short word and the request itself say different things."""
    worker = spec.spec or WorkerSpec()
    for short, name in _SAME:
        yield from _differs(short, getattr(spec, short), f"spec.{name}", getattr(worker, name))
    compute = worker.compute
    asked = compute.gpuDevicesRequest if compute is not None else None
    yield from _differs("gpus_per_node", spec.gpus_per_node, "spec.compute.gpuDevicesRequest", asked)
    runs = [name for name in ("command", "script") if getattr(spec, name) is not None]
    if len(runs) > 1:
        yield Problem("script", "stands beside command; give only one of them.")
    if runs and (worker.command is not None or worker.args is not None):
        yield Problem(runs[0], "stands beside spec.command or spec.args; give only one of them.")
    listed = {variable.name for variable in worker.environmentVariables or ()}
    yield from (
        Problem(f"env.{name}", "stands in spec.environmentVariables as well.")
        for name in spec.env or {}
        if name in listed
    )
    if spec.masterSpecSameAsWorker and spec.masterSpec is not None:
        yield Problem("masterSpec", "must be left out where masterSpecSameAsWorker is true.")


def _differs(short: str, said: object, path: str, there: object) -> Iterator[Problem]:
    if said is not None and there is not None and said != there:
        yield Problem(short, f"is {said!r} and {path} is {there!r}; leave one of them out.")


def build(spec: RunaiWorkload, facts: Facts, cluster_id: str) -> Draft:
    """The body and everything that is wrong with it."""
    framework = _framework(spec, facts)
    worker, master, same = _specs(spec, facts, framework)
    is_there = bool(same) or master is not None
    if same is None and master is None and facts.template_has_master:
        is_there = True
    problems = [*contradictions(spec), *_fill_workers(spec, facts, worker, has_master=is_there)]
    if "distributedFramework" not in {**facts.worker_base, **worker}:
        worker["distributedFramework"] = framework
    body: Json = {
        "useGivenNameAsPrefix": spec.useGivenNameAsPrefix,
        "projectId": facts.project_id,
        "clusterId": spec.clusterId or cluster_id,
        "templateId": facts.template_id,
        "spec": worker,
        "masterSpecSameAsWorker": same,
        "masterSpec": master,
    }
    whole = merge(facts.worker_base, worker)
    like_worker = bool(same) or (master is None and bool(facts.template and facts.template.masterSpecSameAsWorker))
    whole_master = whole if like_worker else merge(facts.master_base, master or {})
    draft = Draft(
        {name: value for name, value in body.items() if value is not None},
        whole,
        whole_master if is_there else None,
        framework,
    )
    problems += _broken_rules(spec, draft)
    problems += _missing(spec, facts, draft)
    return Draft(draft.body, draft.worker, draft.master, framework, tuple(problems))


def _framework(spec: RunaiWorkload, facts: Facts) -> Framework:
    """The one that will be used: the user's, else that of template or policy, else PyTorch."""
    own = spec.framework or (spec.spec.distributedFramework if spec.spec else None)
    return own or framework_of(facts.worker_base.get("distributedFramework")) or "PyTorch"


def _specs(spec: RunaiWorkload, facts: Facts, framework: Framework) -> tuple[Json, Json | None, bool | None]:
    """Worker spec, master spec and the flag between them, the short words filled in.

    What is written wins over an asset. Several nodes get a master, where the framework has one; that of MPI (the
    launcher) runs the command, and no GPU is asked for it.
    """
    worker = merge(facts.environment, plain(spec.spec))
    if facts.compute:
        worker["compute"] = merge(facts.compute, worker.get("compute") or {})
    if spec.framework is not None:
        worker["distributedFramework"] = spec.framework
    is_mpi, same = framework == "MPI", spec.masterSpecSameAsWorker
    master = plain(spec.masterSpec) if spec.masterSpec is not None else None
    is_free_to_choose = master is None and same is None and facts.template is None and (spec.nodes or 1) > 1
    if is_free_to_choose and framework in _WITH_MASTER:
        same = True
    _fill_pod(worker, spec.spec, spec, runs=not is_mpi or same is not None, has_gpus=True)
    if master is not None:
        _fill_pod(master, spec.masterSpec, spec, runs=True, has_gpus=not is_mpi)
    elif is_free_to_choose and is_mpi:
        master = {name: value for name, value in worker.items() if name in _OF_LAUNCHER}
        _fill_pod(master, None, spec, runs=True, has_gpus=False)
        worker = {name: value for name, value in worker.items() if name not in ("command", "args")}
    return worker, master, same


def _fill_pod(pod: Json, own: MasterSpec | None, spec: RunaiWorkload, *, runs: bool, has_gpus: bool) -> None:
    """Put the short words where the user's own spec of the pod says nothing."""
    own = own or MasterSpec()
    if spec.image is not None and own.image is None:
        pod["image"] = spec.image
    if spec.workdir is not None and own.workingDir is None:
        pod["workingDir"] = spec.workdir
    words = _words(spec)
    if words is not None and runs and own.command is None and own.args is None:
        command, args = command_and_args(words)
        pod.pop("args", None)
        pod |= {"command": command} | ({"args": args} if args is not None else {})
    devices = own.compute.gpuDevicesRequest if own.compute is not None else None
    if spec.gpus_per_node is not None and has_gpus and devices is None:
        pod["compute"] = {**(pod.get("compute") or {}), "gpuDevicesRequest": spec.gpus_per_node}
    if spec.env:
        written = {variable.name for variable in own.environmentVariables or ()}
        listed = [{"name": n, "value": as_written(v)} for n, v in spec.env.items() if n not in written]
        pod["environmentVariables"] = merge(pod, {"environmentVariables": listed})["environmentVariables"]


def _words(spec: RunaiWorkload) -> list[str] | None:
    return script_words(spec.script) if spec.script is not None else spec.command


def _fill_workers(spec: RunaiWorkload, facts: Facts, worker: Json, *, has_master: bool) -> Iterator[Problem]:
    """Turn the number of nodes into that of workers."""
    if spec.nodes is None:
        return
    wanted, said = spec.nodes - has_master, worker.get("numWorkers")
    if wanted < 1:
        yield Problem("nodes", "must be at least 2: a master and one worker.")
    elif said is not None and said != wanted:
        kind = "with a master" if has_master else "without a master"
        yield Problem("nodes", f"is {spec.nodes}, which {kind} makes {wanted} workers, and spec.numWorkers is {said}.")
    else:
        worker["numWorkers"] = wanted


def _broken_rules(spec: RunaiWorkload, draft: Draft) -> Iterator[Problem]:
    if spec.spec is not None:
        workers = draft.worker.get("numWorkers")
        counted = spec.spec.model_copy(update={"numWorkers": workers if isinstance(workers, int) else None})
        yield from check_pod(spec.spec, "spec")
        yield from check_workers(counted, draft.framework, "spec")
    if spec.masterSpec is not None:
        yield from check_pod(spec.masterSpec, "masterSpec")
    if (words := _words(spec)) is not None:
        short = "script" if spec.script is not None else "command"
        if not words[0]:
            yield Problem(short, "begins with an empty word; it must begin with the name of a program.")
        if any("\0" in word for word in words):
            yield Problem(short, "holds a zero byte, which no program can receive.")
        if max(len(text or "") for text in command_and_args(words)) > MAX_COMMAND:
            text = f"is longer than the {MAX_COMMAND:,} characters that Run:ai takes; put it into a file on a volume."
            yield Problem(short, text)
    yield from (
        Problem(f"env.{name}", "is not a name for a variable.")
        for name in spec.env or {}
        if not name or "=" in name or "\0" in name
    )


def _missing(spec: RunaiWorkload, facts: Facts, draft: Draft) -> Iterator[Problem]:
    """What the service needs; where the policy could not be read it may come from there."""
    if not facts.has_policy:
        return
    if not draft.worker.get("image"):
        yield Problem("image", "is missing: neither the spec nor a template or policy names a container image.")
    if draft.master is not None and draft.worker.get("image") and not draft.master.get("image"):
        yield Problem("masterSpec.image", "is missing: the master needs a container image as well.")
    if not draft.worker.get("numWorkers") and spec.nodes is None:
        yield Problem("nodes", "is missing: how many pods, the master among them (or spec.numWorkers).")


def sealed(body: Json) -> Json:
    """The body with every value that may be a secret inside `SecretStr`: values of variables, and scripts."""
    return {**body, **{name: _sealed_pod(body[name]) for name in ("spec", "masterSpec") if name in body}}


def _sealed_pod(pod: Json) -> Json:
    hidden = dict(pod)
    if "environmentVariables" in pod:
        hidden["environmentVariables"] = [
            {**variable, "value": SecretStr(variable["value"])} if variable.get("value") is not None else variable
            for variable in pod["environmentVariables"]
        ]
    if "args" in pod and SCRIPT in shown_words(pod.get("command"), pod["args"]):
        hidden["args"] = SecretStr(pod["args"])
    return hidden


def shown(name: str, body: Json) -> Json:
    """The body for people and for the journal: one line a field, values of variables and scripts masked."""
    return {"name": name, **dict(_flat(sealed(body), ""))}


def _flat(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, item in value.items():
        if isinstance(item, Mapping) and item:
            yield from _flat(item, f"{prefix}{name}.")
        elif isinstance(item, SecretStr):
            yield prefix + name, f"{SCRIPT} of {len(item.get_secret_value())} characters"
        else:
            yield prefix + name, _masked(item)


def _masked(item: Any) -> Any:
    match item:
        case SecretStr():
            return "***"
        case list():
            return [_masked(one) for one in item]
        case dict():
            return {name: _masked(one) for name, one in item.items()}
        case _:
            return item


def deprecated_in_master(spec: RunaiWorkload) -> list[str]:
    """Fields that concern the whole workload but were written for the master."""
    return sorted(name for name in _OF_WORKLOAD if getattr(spec.masterSpec or MasterSpec(), name) is not None)
