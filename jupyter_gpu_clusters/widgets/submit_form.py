"""The form that submits a workload to a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import ipywidgets
from anyio import to_thread
from pydantic import BaseModel

from ..core import bridge
from ..core.cell_text import submit_cell
from ..core.consent import Consent
from ..core.errors import GpuClustersError, NotFoundError, Problem
from ..core.format import phase_text, plural
from ..core.models import Cluster, ClusterPhase, Plan, State, Submitted, Workload
from .fields import control_layout, control_style
from .form import Form
from .plan_view import error_html
from .status_view import card_box

_OVER = (ClusterPhase.DELETED, ClusterPhase.DELETING, ClusterPhase.FAILED)


class SubmitForm(Form[Submitted]):
    """Cluster, name and the fields of the cluster's workload spec.

    Parameters
    ----------
    cluster : name or id of the one chosen at first; ``None`` for the newest.

    Raises
    ------
    NotFoundError, NameTakenError : no such cluster, or several; the names that would do are given.
    """

    command = "%%workload_submit"
    name_help = "left empty, one is made up"

    def __init__(self, cluster: str | None = None) -> None:
        super().__init__("Submit a workload", "Submit workload")
        self._service = bridge.service()
        self._clusters: dict[str, Cluster] = {}
        self._is_filling = False
        wanted = bridge.call(self._service.find_cluster, cluster) if cluster is not None else None
        self.cluster = ipywidgets.Dropdown(
            description="Cluster", style=control_style(), layout=control_layout(flex="1 1 auto")
        )
        self.refresh_button = ipywidgets.Button(
            icon="refresh", tooltip="Look for clusters again", layout={"width": "3em", "flex": "0 0 auto"}
        )
        self.cluster.observe(self._on_cluster, names="value")
        self.refresh_button.on_click(lambda _: self.refresh())
        self._lay_out(ipywidgets.HBox([self.cluster, self.refresh_button], layout=control_layout()))
        self._fill(bridge.call(self._service.state), _key(wanted) if wanted is not None else None)
        self.refresh()

    def refresh(self) -> None:
        """Look for clusters again in the background; the choice stays."""
        self.refresh_button.disabled = True
        bridge.start(self._refresh).add_done_callback(self._show_fault)

    async def _refresh(self) -> None:
        try:
            state = await self._service.refresh()
        except GpuClustersError as exc:
            self.message.value = error_html(exc, exc.problems)
        else:
            await to_thread.run_sync(self._fill, state, self.cluster.value)
        finally:
            self.refresh_button.disabled = False

    def _fill(self, state: State, chosen: str | None) -> None:
        """Offer these clusters; plan again if the chosen one has changed, and never choose another for the user."""
        with self._lock:
            before = self._clusters.get(self.cluster.value or "")
            self._clusters = {_key(c): c for c in state.clusters if c.phase not in _OVER}
            self._is_filling = True
            self.cluster.options = [(_label(c), key) for key, c in self._clusters.items()]
            first = next(iter(self._clusters), None) if chosen is None else None
            self.cluster.value = chosen if chosen in self._clusters else first
            self._is_filling = False
            after = self._clusters.get(self.cluster.value or "")
            if after is None:
                self._show_none()
            elif before is None or after != before:
                self._choose(before, after)

    def _choose(self, before: Cluster | None, after: Cluster) -> None:
        if before is None or before.account != after.account:
            self.use_model(after.account, partial(self._service.workload_model, after.account))
        self.plan_soon()

    def _show_none(self) -> None:
        self.use_model(None, self._no_model)
        self.plan_soon()

    def _no_model(self) -> type[BaseModel]:
        if self._clusters:
            raise NotFoundError("The cluster that was chosen is gone.", hint="Choose another one.")
        raise NotFoundError("There is no cluster to run on.", hint="Create one with %cluster_form, then look again.")

    def _on_cluster(self, change: Any) -> None:
        with self._lock:
            if self._is_filling:
                return
            before, after = self._clusters.get(change["old"] or ""), self._clusters.get(change["new"] or "")
            if after is not None:
                self._choose(before, after)

    def _own_problems(self, name: str) -> list[Problem]:
        return []

    def _planner(self) -> Callable[[str | None, BaseModel], Any]:
        return partial(self._service.plan_submit, self._clusters[self.cluster.value])

    async def _send(self, plan: Plan, consent: Consent | None) -> Submitted:
        return await self._service.submit(plan, consent=consent)

    def _thing(self, result: Submitted) -> tuple[Cluster | Workload, str]:
        return result.workload, result.note or f"Workload {result.workload.full_name}: {result.workload.phase}."

    def _show_thing(self, thing: Cluster | Workload) -> None:
        self.card.children = (card_box(thing),)

    def _cell_text(self, name: str | None, written: Mapping[str, Any]) -> str:
        cluster = self._clusters.get(self.cluster.value or "")
        return submit_cell(cluster.full_name if cluster is not None else "CLUSTER", name, written)


def _key(cluster: Cluster) -> str:
    return f"{cluster.account}/{cluster.cluster_id}"


def _label(cluster: Cluster) -> str:
    phase = phase_text(cluster.phase, cluster.provider_state)
    return f"{cluster.full_name} ({phase}, {plural(cluster.node_count, 'node')})"
