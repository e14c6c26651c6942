"""The form that creates a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import ipywidgets
from pydantic import BaseModel

from ..core import bridge
from ..core.cell_text import create_cell
from ..core.consent import Consent
from ..core.errors import Problem
from ..core.models import Cluster, Created, Plan, Workload
from .end_field import MAX_HOURS, EndField
from .fields import control_layout, control_style
from .form import Form
from .status_view import card_box


class CreateForm(Form[Created]):
    """Account, name and the fields of the account's cluster spec.

    Parameters
    ----------
    account : the one chosen at first; ``None`` for the first there is (``local`` unless there are others before it).

    Raises
    ------
    SettingsError : there is no such account; the nearest name is offered.
    """

    command = "%%cluster_create"
    name_help = "a name for the cluster"

    def __init__(self, account: str | None = None) -> None:
        super().__init__("Create a cluster", "Create cluster")
        self._service = bridge.service()
        names = self._service.account_names()
        if account is not None:
            self._service.provider_class(account)
        self.account = ipywidgets.Dropdown(
            options=names,
            value=account or names[0],
            description="Account",
            tooltip="Who provides the cluster, and on whose bill",
            style=control_style(),
            layout=control_layout(),
        )
        self.account.observe(self._on_account, names="value")
        self.end = EndField(self.changed)
        self._lay_out(self.account, below=self.end.widgets)
        self.use_model(self.account.value, self._find_model)
        self.plan_soon()

    def _on_account(self, _: Any) -> None:
        self.use_model(self.account.value, self._find_model)
        self.changed()

    def _find_model(self) -> type[BaseModel]:
        return self._service.spec_model(self.account.value)

    def _own_problems(self, name: str) -> list[Problem]:
        of_name = [] if name else [Problem("name", "a cluster needs a name.")]
        return [*of_name, *self.end.problems()]

    def _show_own_problems(self, problems: Sequence[Problem]) -> list[Problem]:
        mine = [problem for problem in problems if problem.field == MAX_HOURS]
        self.end.show_problems([problem.text for problem in mine])
        return super()._show_own_problems([problem for problem in problems if problem not in mine])

    def _planner(self) -> Callable[[str | None, BaseModel], Any]:
        return partial(self._service.plan_create, self.account.value, max_hours=self.end.hours)

    async def _send(self, plan: Plan, consent: Consent | None) -> Created:
        return await self._service.create(plan, consent=consent)

    def _thing(self, result: Created) -> tuple[Cluster | Workload, str]:
        return result.cluster, result.note or f"Cluster {result.cluster.full_name}: {result.cluster.phase}."

    def _show_thing(self, thing: Cluster | Workload) -> None:
        self.card.children = (card_box(thing),)

    def _cell_text(self, name: str | None, written: Mapping[str, Any]) -> str:
        cell = create_cell(self.account.value, name, written)
        if self.end.hours is None:
            return cell
        line, _, body = cell.partition("\n")
        return f"{line} --max-hours {self.end.hours:g}\n{body}"
