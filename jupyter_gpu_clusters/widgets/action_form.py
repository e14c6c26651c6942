"""The small form of one of the provider's own actions on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from ..core import bridge
from ..core.cell_text import action_cell
from ..core.consent import Consent
from ..core.errors import Problem
from ..core.models import Cluster, Plan, Workload
from ..core.provider import Action
from .form import Form


class ActionForm(Form[Cluster]):
    """What an action needs, what it would do, consent where it disturbs; acts once.

    Parameters
    ----------
    cluster : as last seen; `cluster` may be set again when more is known.
    name : of the action, as the provider calls it.
    """

    command = "%cluster_action"
    has_name = False

    def __init__(self, cluster: Cluster, name: str, action: Action) -> None:
        super().__init__(f"{action.title}: {cluster.full_name}", action.title)
        self._service = bridge.service()
        self.cluster = cluster
        self.action = name
        self._lay_out()
        self.use_model(cluster.account, lambda: action.model)
        self._is_touched = not action.model.model_fields
        self.plan_soon()

    def _own_problems(self, name: str) -> list[Problem]:
        return []

    def _planner(self) -> Callable[[str | None, BaseModel], Any]:
        cluster = self.cluster
        return lambda _, spec: self._service.plan_action(cluster, self.action, spec)

    async def _send(self, plan: Plan, consent: Consent | None) -> Cluster:
        return await self._service.act(plan, consent=consent)

    def _thing(self, result: Cluster) -> tuple[Cluster | Workload, str]:
        return result, f"{self._verb}: sent and accepted. {result.full_name}: {result.phase}."

    def _show_thing(self, thing: Cluster | Workload) -> None:
        """Show nothing more: the form stands under the cluster's card."""

    def _cell_text(self, name: str | None, written: Mapping[str, Any]) -> str:
        return action_cell(self.cluster.full_name, self.action, written)
