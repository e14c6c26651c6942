"""Forms and live cards, on ipywidgets.

The only package that imports ipywidgets. Faces import it when a form or card is asked for, and go on
without it where ipywidgets is missing. Forms are generated from the providers' spec models (`shapes`,
`fields`, `nested`), so a new provider needs none of its own.
"""

from __future__ import annotations

from .create_form import CreateForm
from .status_view import show_card
from .submit_form import SubmitForm

__all__ = ["cluster_form", "show_card", "workload_form"]


def cluster_form(account: str | None = None) -> CreateForm:
    """The form that creates a cluster; display it by making it the cell's result.

    Raises
    ------
    SettingsError : there is no such account; the nearest name is offered.
    """
    return CreateForm(account)


def workload_form(cluster: str | None = None) -> SubmitForm:
    """The form that submits a workload; display it by making it the cell's result.

    Parameters
    ----------
    cluster : name or id of the cluster chosen at first.

    Raises
    ------
    NotFoundError, NameTakenError : no such cluster, or several.
    """
    return SubmitForm(cluster)
