"""A new cluster that is to be deleted after some hours, by form."""

from __future__ import annotations

from decimal import Decimal

import pytest

from jupyter_gpu_clusters.core import bridge
from jupyter_gpu_clusters.widgets import cluster_form
from jupyter_gpu_clusters.widgets.create_form import CreateForm

from ..until import until
from .driving import agreed, planned
from .paid import PaidProvider


def filled(hours: str) -> CreateForm:
    form = cluster_form()
    form.name.value = "demo"
    form.end.text.value = hours
    return form


def test_the_plan_and_the_order_hold_the_hours(paid: PaidProvider) -> None:
    form = agreed(filled(" 1.5 "))
    assert form._plan is not None
    assert form._plan.max_hours == 1.5
    assert "must be running at that time to delete it" in form.plan_view.value
    form.send_button.click()
    until(lambda: "✔" in form.outcome.value)
    (cluster,) = bridge.call(bridge.service().state).clusters
    assert cluster.price_per_hour is not None
    assert cluster.price_per_hour.amount == Decimal(10)
    assert cluster.ends_at is not None or "NO END TIME" in (cluster.reason or "")


def test_left_empty_it_goes_on(paid: PaidProvider) -> None:
    form = planned(filled(""))
    assert form._plan is not None
    assert form._plan.max_hours is None
    assert "--max-hours" not in form._cell_text("demo", {})


@pytest.mark.parametrize("hours", ["0", "-1", "8761", "soon", "nan", "inf"])
def test_what_is_no_time_is_said_beside_the_field_with_all_other_problems(paid: PaidProvider, hours: str) -> None:
    form = filled(hours)
    form.name.value = ""
    until(lambda: "must be a number of hours" in form.end.note.value)
    assert "needs a name" in form.name_note.value
    assert form.message.value == ""
    assert form.send_button.disabled
    form.end.text.value = "2"
    form.name.value = "demo"
    planned(form)
    assert form.end.note.value == ""
    assert form.end.note.layout.display == "none"


@pytest.mark.parametrize(
    ("written", "cell"),
    [
        ({}, "%cluster_create fake --name demo --max-hours 12\n"),
        ({"nodes": 2}, "%%cluster_create fake --name demo --max-hours 12\nnodes: 2\n"),
    ],
)
def test_the_cell_says_it_too(paid: PaidProvider, written: dict[str, int], cell: str) -> None:
    assert filled("12")._cell_text("demo", written) == cell
