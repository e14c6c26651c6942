"""The magics that show forms. Forms need ipywidgets; everything they do a magic does too."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..core.errors import NotSupportedError
from .arguments import ClusterForm, WorkloadForm
from .run import Call

if TYPE_CHECKING:
    from ..widgets.create_form import CreateForm
    from ..widgets.submit_form import SubmitForm


def has_widgets() -> bool:
    """Whether ipywidgets can be imported in this kernel."""
    return find_spec("ipywidgets") is not None


def cluster(call: Call[ClusterForm]) -> CreateForm:
    """``%cluster_form``."""
    _require_widgets("%%cluster_create")
    from ..widgets import cluster_form

    form = cluster_form(call.arguments.account)
    call.keep(form)
    return form


def workload(call: Call[WorkloadForm]) -> SubmitForm:
    """``%workload_form``."""
    _require_widgets("%workload_submit")
    from ..widgets import workload_form

    form = workload_form(call.arguments.cluster)
    call.keep(form)
    return form


def _require_widgets(magic: str) -> None:
    if not has_widgets():
        raise NotSupportedError(
            "The form needs ipywidgets, which is not installed in this kernel's environment.",
            hint=f"Run `%pip install ipywidgets` and restart the kernel, or use `{magic}`, which does the same.",
        )
