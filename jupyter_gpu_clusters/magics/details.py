"""The magics that show what only one provider tells."""

from __future__ import annotations

from typing import Any

from ..core import bridge
from ..core.models import Cluster, Workload
from ..core.provider import ShowsDetails
from .arguments import ClusterDetails, WorkloadDetails
from .blocks import Heading, Note, Table
from .run import Call
from .shown import Shown
from .views import details_view


def of_cluster(call: Call[ClusterDetails]) -> Shown:
    """``%cluster_details``."""
    return _show(call, bridge.call(bridge.service().find_cluster, call.arguments.cluster))


def of_workload(call: Call[WorkloadDetails]) -> Shown:
    """``%workload_details``."""
    return _show(call, bridge.call(bridge.service().find_workload, call.arguments.workload))


def _show(call: Call[Any], thing: Cluster | Workload) -> Shown:
    service = bridge.service()
    if call.arguments.kind is not None:
        details = bridge.call(service.details, thing, call.arguments.kind)
        call.keep(details)
        return details_view(thing, details)
    provider = service.provider_class(thing.account)
    kinds = _kinds(provider, thing) if issubclass(provider, ShowsDetails) else {}
    call.keep(dict(kinds))
    if not kinds:
        return Shown("details", {}, [Note(f"{thing.account} has no tables about {thing.full_name}.")])
    table = Table(["table", "what it shows"], [[name, title] for name, title in kinds.items()])
    return Shown("details", dict(kinds), [Heading(f"What {thing.account} tells of {thing.full_name}"), table])


def _kinds(provider: type[ShowsDetails], thing: Cluster | Workload) -> dict[str, str]:
    return dict(provider.cluster_details if isinstance(thing, Cluster) else provider.workload_details)
