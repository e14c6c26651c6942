"""The magics for what only some providers can do to a cluster."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from ..core import bridge
from ..core.errors import NotSupportedError
from ..core.models import Cluster, Plan
from .arguments import Act, Restart
from .asking import agree
from .blocks import Block, Heading, Note, Table
from .bodies import Body, spec_options
from .parsing import parameters
from .run import Call
from .shown import Shown
from .views import cluster_view, plan_view
from .waiting import sending


def restart(call: Call[Restart]) -> Shown:
    """``%cluster_restart``."""
    cluster = bridge.call(bridge.service().find_cluster, call.arguments.cluster)
    actions = bridge.service().actions(cluster.account)
    name = next((name for name, action in actions.items() if action.is_restart), None)
    if name is None:
        raise NotSupportedError(f"{cluster.account} cannot restart a cluster.", hint=f"It can: {', '.join(actions)}.")
    return _do(call, cluster, name, Body())


def act(call: Call[Act]) -> Shown:
    """``%cluster_action`` and ``%%cluster_action``."""
    cluster = bridge.call(bridge.service().find_cluster, call.arguments.cluster)
    if call.arguments.action is None:
        return _all_actions(call, cluster)
    return _do(call, cluster, call.arguments.action, Body.of_cell(call.cell, call.namespace))


def _all_actions(call: Call[Act], cluster: Cluster) -> Shown:
    actions = bridge.service().actions(cluster.account)
    call.keep(dict(actions))
    rows = [[name, action.title, _needs(action.model), action.description] for name, action in actions.items()]
    blocks: list[Block] = [
        Heading(f"What {cluster.account} can do to {cluster.name}"),
        Table(["action", "title", "takes", "what happens"], rows),
        Note(f"`%cluster_action {cluster.name} ACTION --FIELD VALUE`"),
    ]
    return Shown("actions", {name: action.title for name, action in actions.items()}, blocks)


def _needs(model: type[BaseModel]) -> str:
    return ", ".join(name if info.is_required() else f"[{name}]" for name, info in model.model_fields.items())


def _do(call: Call[Any], cluster: Cluster, action: str, body: Body) -> Shown:
    arguments, service = call.arguments, bridge.service()
    model = service.action_model(cluster.account, action)
    known = [p.written for p in parameters(type(arguments)) if not p.is_positional]
    options, body.problems = spec_options(call.parsed, model, known)
    body.add_options(options)
    body.hidden |= {(name,) for name in call.parsed.hidden}
    spec = body.build(model)
    with body.located():
        plan: Plan = bridge.call(service.plan_action, cluster, action, spec)
    if arguments.dry_run:
        call.keep(plan)
        return plan_view(plan, ["Dry run: nothing was sent."])
    consent = agree(plan, yes=arguments.yes)
    with sending(f"{action} {cluster.name!r}"):
        changed = bridge.call(service.act, plan, consent=consent)
    call.keep(changed)
    return cluster_view(changed, notes=[f"{action}: sent and accepted."])
