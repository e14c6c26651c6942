"""Forms and cards in a notebook of a real JupyterLab."""

from __future__ import annotations

from playwright.sync_api import expect

from jupyter_gpu_clusters.core.models import State
from jupyter_gpu_clusters.core.service import Service

from .lab import Lab

LOAD = "%load_ext jupyter_gpu_clusters"


async def state(service: Service) -> State:
    return await service.refresh()


def test_the_form_shows_a_problem_beside_its_field_then_a_plan_and_creates_once(lab: Lab) -> None:
    lab.notebook("form.ipynb", LOAD, "%cluster_form")
    form = lab.page.locator(".jp-OutputArea-output", has_text="Create cluster").first
    create = form.get_by_role("button", name="Create cluster")
    expect(create).to_be_visible()
    name = form.get_by_label("Name").first
    name.fill("Not A Name")
    name.press("Tab")
    expect(form).to_contain_text("lower-case")
    expect(create).to_be_disabled()
    name.fill("by-form")
    name.press("Tab")
    expect(create).to_be_enabled()
    expect(form).to_contain_text("free")
    create.dblclick()
    expect(lab.row("cluster", "by-form")).to_contain_text("running")
    assert [c.name for c in lab.act(state).clusters] == ["by-form"]


def test_a_card_follows_its_cluster(lab: Lab) -> None:
    lab.notebook("card.ipynb", LOAD, "%cluster_create local --name carded", "%cluster_attach carded")
    card = lab.page.locator(".jp-Notebook .jp-Cell").nth(2).locator(".jp-OutputArea")
    expect(card).to_contain_text("running")
    lab.button(lab.row("cluster", "carded"), "Delete cluster carded").click()
    lab.dialog.get_by_role("button", name="Delete").click()
    expect(card).to_contain_text("deleted")
