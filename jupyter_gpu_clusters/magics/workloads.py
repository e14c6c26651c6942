"""The magics about workloads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ..core import bridge
from ..core.errors import SettingsError
from ..core.format import plural
from ..core.models import Workload
from .arguments import Submit, WorkloadList, WorkloadName, WorkloadWait
from .asking import agree
from .bodies import Body, spec_options
from .parsing import parameters
from .run import Call
from .shown import Shown
from .views import plan_view, workload_view, workloads_view
from .waiting import require_success, sending, wait_for_workload
from .words import command_arguments

_SPEC_OPTIONS = ("nodes", "procs_per_node", "gpus_per_node", "env", "workdir", "sync")


def submit(call: Call[Submit]) -> Shown:
    """``%workload_submit`` and ``%%workload_submit``."""
    arguments, service = call.arguments, bridge.service()
    body = _body(call)
    cluster = bridge.call(service.find_cluster, arguments.cluster)
    model = service.workload_model(cluster.account)
    known = [p.written for p in parameters(Submit) if not p.is_positional]
    options, body.problems = spec_options(call.parsed, model, known)
    body.add_options(options)
    name = body.take_name(arguments.name, model)
    spec = body.build(model)
    with body.located():
        plan = bridge.call(service.plan_submit, cluster, name, spec)
    if arguments.dry_run:
        call.keep(plan)
        return plan_view(plan, ["Dry run: nothing was started."])
    consent = agree(plan, yes=arguments.yes)
    with sending(f"{plan.verb} {plan.name!r}"):
        submitted = bridge.call(service.submit, plan, consent=consent)
    workload = submitted.workload
    call.keep(workload)
    if arguments.wait:
        workload = wait_for_workload(call.shell, workload)
        call.keep(workload)
    elif not submitted.attached:
        require_success(workload)
    return workload_view(workload, notes=[submitted.note])


def show_all(call: Call[WorkloadList]) -> Shown:
    """``%workload_list``."""
    service, ref = bridge.service(), call.arguments.cluster
    if ref is None:
        found = bridge.call(service.refresh).workloads
    else:
        cluster = bridge.call(service.find_cluster, ref)
        state = bridge.call(service.refresh, [cluster.account])
        found = tuple(w for w in state.workloads if (w.account, w.cluster_id) == (cluster.account, cluster.cluster_id))
    shown = workloads_view(found)
    call.keep(shown.value)
    return shown


def status(call: Call[WorkloadName]) -> Shown:
    """``%workload_status``."""
    workload = bridge.call(bridge.service().find_workload, call.arguments.workload)
    call.keep(workload)
    return workload_view(workload)


def wait(call: Call[WorkloadWait]) -> Shown:
    """``%workload_wait``."""
    workload = bridge.call(bridge.service().find_workload, call.arguments.workload)
    call.keep(workload)
    workload = wait_for_workload(call.shell, workload, timeout_s=call.arguments.timeout)
    call.keep(workload)
    return workload_view(workload)


def cancel(call: Call[WorkloadName]) -> Shown:
    """``%workload_cancel``."""
    service = bridge.service()
    workload = bridge.call(service.find_workload, call.arguments.workload)
    with sending(f"cancel {workload.name!r}"):
        report = bridge.call(service.cancel, workload)
    call.keep(report.workload)
    left = report.left_over
    note = f"{plural(len(left), 'process')} would not go: {', '.join(left)}." if left else None
    return workload_view(report.workload, notes=[note])


def suspend(call: Call[WorkloadName]) -> Shown:
    """``%workload_suspend``."""
    return _rest(call, "suspend", bridge.service().suspend)


def resume(call: Call[WorkloadName]) -> Shown:
    """``%workload_resume``."""
    return _rest(call, "resume", bridge.service().resume)


def _rest(call: Call[WorkloadName], verb: str, send: Callable[[Workload], Awaitable[Workload]]) -> Shown:
    workload = bridge.call(bridge.service().find_workload, call.arguments.workload)
    with sending(f"{verb} {workload.name!r}"):
        workload = bridge.call(send, workload)
    call.keep(workload)
    return workload_view(workload)


def _body(call: Call[Submit]) -> Body:
    """What is to be run, from the three forms of the magic; exactly one of them must be there."""
    arguments, command = call.arguments, call.parsed.command
    given = {name: getattr(arguments, name) for name in _SPEC_OPTIONS if name in arguments.model_fields_set}
    if call.cell is not None and command is not None:
        raise SettingsError(
            "The cell has both a command after `--` and a body.",
            hint="Use one %, or leave the command out of the line.",
        )
    body = Body() if arguments.script or call.cell is None else Body.of_cell(call.cell, call.namespace)
    body.add_options({**given, **_what_runs(arguments, call.cell, command)})
    body.hidden |= {(name,) for name in call.parsed.hidden}
    return body


def _what_runs(arguments: Submit, cell: str | None, command: str | None) -> dict[str, Any]:
    if arguments.script:
        text = cell if cell is not None else command
        if text is None or not text.strip():
            raise SettingsError("There is no script.", hint="Write it as the cell's body, or after `--`.")
        return {"script": text}
    if cell is not None:
        return {}
    if command is None:
        raise SettingsError(
            "There is nothing to run.",
            hint="Write the command after `--`: %workload_submit CLUSTER -- python train.py",
        )
    return {"command": command_arguments(command)}
