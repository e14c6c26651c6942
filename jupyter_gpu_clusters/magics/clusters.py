"""The magics about clusters."""

from __future__ import annotations

from ..core import bridge
from ..core.errors import NotFoundError
from ..core.format import clean, cost_text, plural
from ..core.models import Cluster, ClusterPhase, State, Workload
from ..core.names import match_clusters
from .arguments import ClusterList, ClusterName, ClusterWait, Create, Delete, Scale
from .asking import agree, confirm
from .blocks import Heading, Note
from .bodies import Body, spec_options
from .forms import has_widgets
from .parsing import parameters
from .run import Call
from .shown import Shown
from .views import cluster_view, clusters_view, plan_view
from .waiting import sending, wait_for_cluster, wait_until_gone

_MAX_NAMED = 5
# What the reason of an ended workload says while processes of it are alive.
_STILL_RUNNING = "still running"


def create(call: Call[Create]) -> Shown:
    """``%cluster_create`` and ``%%cluster_create``."""
    arguments, service = call.arguments, bridge.service()
    model = service.spec_model(arguments.account)
    body = Body.of_cell(call.cell, call.namespace)
    known = [p.written for p in parameters(Create) if not p.is_positional]
    options, body.problems = spec_options(call.parsed, model, known)
    body.add_options(options)
    body.hidden |= {(name,) for name in call.parsed.hidden}
    name = body.take_name(arguments.name, model)
    spec = body.build(model)
    with body.located():
        plan = bridge.call(service.plan_create, arguments.account, name, spec, max_hours=arguments.max_hours)
    if arguments.dry_run:
        call.keep(plan)
        return plan_view(plan, ["Dry run: nothing was sent."])
    consent = agree(plan, yes=arguments.yes)
    with sending(f"{plan.verb} {plan.name!r}"):
        created = bridge.call(service.create, plan, consent=consent, new=arguments.new)
    cluster = created.cluster
    call.keep(cluster)
    if arguments.wait:
        cluster = wait_for_cluster(call.shell, cluster)
        call.keep(cluster)
    return cluster_view(cluster, notes=[created.note])


def show_all(call: Call[ClusterList]) -> Shown:
    """``%cluster_list``."""
    names = call.arguments.accounts
    shown = clusters_view(bridge.call(bridge.service().refresh, names), names)
    call.keep(shown.value)
    return shown


def status(call: Call[ClusterName]) -> Shown:
    """``%cluster_status``."""
    cluster, state = looked_up(call.arguments.cluster)
    call.keep(cluster)
    return cluster_view(cluster, workloads_on(state, cluster), _account_notes(state, cluster))


def wait(call: Call[ClusterWait]) -> Shown:
    """``%cluster_wait``."""
    cluster, _ = looked_up(call.arguments.cluster)
    cluster = wait_for_cluster(call.shell, cluster, timeout_s=call.arguments.timeout)
    call.keep(cluster)
    return cluster_view(cluster)


def scale(call: Call[Scale]) -> Shown:
    """``%cluster_scale``."""
    service = bridge.service()
    cluster = bridge.call(service.find_cluster, call.arguments.cluster)
    plan = bridge.call(service.plan_scale, cluster, call.arguments.nodes)
    if call.arguments.dry_run:
        call.keep(plan)
        return plan_view(plan, ["Dry run: nothing was sent."])
    consent = agree(plan, yes=call.arguments.yes)
    with sending(f"{plan.verb} {plan.name!r}"):
        cluster = bridge.call(service.scale, plan, consent=consent)
    call.keep(cluster)
    return cluster_view(cluster)


def delete(call: Call[Delete]) -> Shown:
    """``%cluster_delete``."""
    arguments, service = call.arguments, bridge.service()
    try:
        cluster, state = looked_up(arguments.cluster)
    except NotFoundError as exc:
        return _delete_unlisted(call, exc)
    if not arguments.yes:
        confirm(
            _delete_question(cluster, workloads_on(state, cluster)), hint="Pass --yes to delete without being asked."
        )
    with sending(f"delete {cluster.name!r}"):
        deleted = bridge.call(service.delete, cluster)
    gone = deleted.cluster
    call.keep(gone)
    if not deleted.is_gone and arguments.timeout > 0:
        gone = wait_until_gone(call.shell, deleted.cluster, timeout_s=arguments.timeout)
        call.keep(gone)
    if deleted.is_gone or gone.phase is ClusterPhase.DELETED:
        return Shown("cluster", gone, [Heading(f"Cluster {cluster.full_name}: ○ deleted")])
    return cluster_view(
        gone, notes=[deleted.note, "Deletion is not confirmed yet; it goes on, `%cluster_list` shows it."]
    )


def _delete_unlisted(call: Call[Delete], unknown: NotFoundError) -> Shown:
    """What an open create of that name made is to go as soon as it shows; what is proven gone needs nothing more."""
    service = bridge.service()
    try:
        order = bridge.call(service.open_order, call.arguments.cluster)
    except NotFoundError:
        gone = bridge.call(service.find_deleted, call.arguments.cluster)
        if gone is None:
            raise unknown from None
        call.keep(gone)
        return Shown("cluster", gone, [Heading(f"Cluster {gone.full_name}: ○ deleted"), Note("It was gone already.")])
    if not call.arguments.yes:
        text = f"{clean(order.name)} was ordered and is not listed yet. Delete it as soon as it shows?"
        confirm(text, hint="Pass --yes to delete without being asked.")
    wished = bridge.call(service.delete_on_sight, order.order_id)
    call.keep(wished)
    note = "Nothing of it is listed yet. Whoever of your notebooks and Jupyter server sees it first deletes it."
    return Shown("order", wished, [Heading(f"Order {wished.order_id}: delete on sight"), Note(note)])


def attach(call: Call[ClusterName]) -> Shown | None:
    """``%cluster_attach``: the live card; the plain status in a terminal and where there are no widgets."""
    cluster, state = looked_up(call.arguments.cluster)
    call.keep(cluster)
    if getattr(call.shell, "kernel", None) is not None and has_widgets():
        from ..widgets import show_card

        show_card(cluster)
        return None
    return cluster_view(cluster, workloads_on(state, cluster), _account_notes(state, cluster))


def looked_up(ref: str) -> tuple[Cluster, State]:
    """A cluster and everything around it, looked up at its provider now."""
    service = bridge.service()
    cluster = bridge.call(service.find_cluster, ref)
    state = bridge.call(service.refresh, [cluster.account])
    fresh = [c for c in match_clusters(state, cluster.cluster_id) if c.account == cluster.account]
    return (fresh[0] if fresh else cluster.model_copy(update={"phase": ClusterPhase.DELETED})), state


def workloads_on(state: State, cluster: Cluster) -> list[Workload]:
    """The workloads of one cluster."""
    return [w for w in state.workloads if (w.account, w.cluster_id) == (cluster.account, cluster.cluster_id)]


def _account_notes(state: State, cluster: Cluster) -> list[str]:
    return [
        f"Could not look just now: {account.error.message}"
        for account in state.accounts
        if account.account == cluster.account and account.error is not None
    ]


def _delete_question(cluster: Cluster, workloads: list[Workload]) -> str:
    running = [w.name for w in workloads if not w.phase.is_final]
    left_over = [w.name for w in workloads if w.phase.is_final and _STILL_RUNNING in (w.reason or "")]
    jobs = []
    if running:
        jobs.append(f"{plural(len(running), 'workload')} on it will end: {_some(running)}.")
    if left_over:
        jobs.append(f"Processes of workloads that have ended are still running: {_some(left_over)}.")
    told = " ".join(jobs) or "Nothing runs on it."
    name, size = clean(cluster.full_name), plural(cluster.node_count, "node")
    return f"Delete cluster {name} ({size})? It {cost_text(cluster)}. {told}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(clean(name) for name in names[:_MAX_NAMED]) + more
