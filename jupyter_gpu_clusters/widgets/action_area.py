"""The provider's own actions on a cluster: a button for each, and the form of the one that is open."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial
from typing import Any

import ipywidgets

from ..core import bridge
from ..core.errors import GpuClustersError
from ..core.models import Cluster
from ..core.provider import Action
from .action_form import ActionForm


class ActionArea:
    """Buttons below the card of a cluster; empty where the provider has no actions."""

    def __init__(self, cluster: Cluster) -> None:
        self._lock = threading.RLock()
        self._cluster = cluster
        self.form: ActionForm | None = None
        self.buttons: dict[str, Any] = {}
        for name, action in _actions_of(cluster).items():
            button = ipywidgets.Button(
                description=f"{action.title} ...", tooltip=action.description, layout={"width": "auto"}
            )
            button.on_click(partial(self._on_button, name, action))
            self.buttons[name] = button
        self._form_box = ipywidgets.VBox()
        row = ipywidgets.HBox(list(self.buttons.values()), layout={"flex_flow": "row wrap"})
        self.widget = ipywidgets.VBox([row, self._form_box])

    def update(self, cluster: Cluster, why_not: str | None) -> None:
        """Take note of a new state; `why_not` says why nothing can be done to it now."""
        with self._lock:
            self._cluster = cluster
            if self.form is not None:
                self.form.cluster = cluster
            for name, button in self.buttons.items():
                button.disabled = why_not is not None
                button.tooltip = why_not or _actions_of(cluster)[name].description

    def _on_button(self, name: str, action: Action, _: Any) -> None:
        """Open the form of an action; pressed again, close it."""
        with self._lock:
            old, self.form = self.form, None
            if old is not None:
                self._form_box.children = ()
                old.close()
            if old is None or old.action != name:
                self.form = ActionForm(self._cluster, name, action)
                self._form_box.children = (self.form.widget,)


def _actions_of(cluster: Cluster) -> Mapping[str, Action]:
    try:
        return bridge.service().actions(cluster.account)
    except GpuClustersError:
        return {}
