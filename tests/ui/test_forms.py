"""Clusters and workloads made by form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from jupyter_gpu_clusters.core.models import State
from jupyter_gpu_clusters.core.service import Service

from .conftest import Server
from .lab import Lab
from .test_sidebar import _CONTRAST, create


async def state(service: Service) -> State:
    return await service.refresh()


@pytest.fixture
def books(services_server: Server) -> Path:
    """What the paid provider `slow` was ordered to make."""
    return Path(services_server.variables["SLOWCLOUD_BOOKS"])


def form_of(lab: Lab, title: str) -> Locator:
    return lab.page.get_by_role("form", name=title)


def test_a_local_cluster_by_form(lab: Lab) -> None:
    lab.panel.get_by_role("button", name="New cluster", exact=True).click()
    form = form_of(lab, "New cluster")
    send = form.get_by_role("button", name="Create cluster")
    expect(form.get_by_label("Account")).to_be_focused()
    expect(send).to_be_disabled()
    form.get_by_label("Name").fill("Not A Name")
    form.get_by_label("Nodes", exact=True).fill("3")
    expect(form).to_contain_text("lower-case")
    expect(send).to_be_disabled()
    form.get_by_label("Name").fill("by-form")
    expect(form.get_by_role("region", name="Plan")).to_contain_text("free")
    send.dblclick()
    expect(lab.row("cluster", "by-form")).to_contain_text("3 nodes")
    form.get_by_role("button", name="Show in the sidebar").click()
    expect(lab.row("cluster", "by-form")).to_have_attribute("aria-selected", "true")
    assert [(c.name, c.node_count) for c in lab.act(state).clusters] == [("by-form", 3)]


def new_cluster(lab: Lab, account: str, name: str) -> Locator:
    """The form of a new cluster with account and name filled in."""
    lab.panel.get_by_role("button", name="New cluster", exact=True).click()
    form = form_of(lab, "New cluster")
    form.get_by_label("Account").select_option(account)
    form.get_by_label("Name", exact=False).first.fill(name)
    return form


def plan_of(form: Locator) -> Locator:
    return form.get_by_role("region", name="Plan")


def test_a_paid_cluster_needs_a_yes_and_a_double_click_orders_one(services_lab: Lab, books: Path) -> None:
    form = new_cluster(services_lab, "slow", "by-form")
    form.get_by_label("Nodes", exact=True).fill("2")
    expect(plan_of(form)).to_contain_text("12.00 USD per hour")
    expect(plan_of(form)).to_contain_text("The cloud is slow.")
    send = form.get_by_role("button", name="Create cluster")
    expect(send).to_be_disabled()
    form.get_by_label("I agree to pay 12.00 USD per hour until it is deleted").check()
    send.dblclick()
    expect(services_lab.row("cluster", "by-form")).to_contain_text("2 nodes")
    assert [file.name for file in books.glob("*.json")] == ["by-form.json"]


def test_an_unknown_price_asks_for_the_name_and_a_change_asks_again(services_lab: Lab, books: Path) -> None:
    form = new_cluster(services_lab, "slow", "mystery")
    form.get_by_label("Payment").select_option("unknown")
    expect(plan_of(form)).to_contain_text("price unknown")
    send = form.get_by_role("button", name="Create cluster")
    agree = form.get_by_label("I agree although the price is unknown")
    agree.check()
    expect(send).to_be_disabled()
    form.get_by_label("To confirm, type the name: mystery").fill("mystery")
    expect(send).to_be_enabled()
    form.get_by_label("Nodes", exact=True).fill("2")
    expect(agree).not_to_be_checked()
    expect(send).to_be_disabled()
    form.get_by_label("Payment").select_option("committed")
    expect(plan_of(form)).to_contain_text("8,640.00 USD in all")
    assert list(books.glob("*.json")) == []


def test_what_is_secret_is_not_in_the_form(services_lab: Lab) -> None:
    form = new_cluster(services_lab, "slow", "x")
    expect(form).to_contain_text("Not in this form, because they hold secrets: Token.")
    assert form.get_by_label("Token").count() == 0


def test_a_cluster_is_made_by_keyboard_alone(lab: Lab) -> None:
    lab.command("gpu-clusters:new-cluster")
    form = form_of(lab, "New cluster")
    expect(form.get_by_label("Account")).to_be_focused()
    press = lab.page.keyboard.press
    press("Tab")
    lab.page.keyboard.type("typed")
    press("Tab")
    lab.page.keyboard.type("2")
    send = form.get_by_role("button", name="Create cluster")
    expect(send).to_be_enabled()
    for _ in range(4):
        press("Tab")
        if send.evaluate("element => element === document.activeElement"):
            break
    press("Enter")
    expect(lab.row("cluster", "typed")).to_contain_text("2 nodes")
    expect(form.get_by_text("local/typed")).to_be_visible()


def test_a_workload_is_submitted_with_lists_and_pairs(lab: Lab) -> None:
    cluster = lab.act(lambda service: create(service, "busy"))
    lab.row("cluster", "busy").click(button="right")
    lab.page.get_by_role("menuitem", name="Submit Workload…").click()
    form = form_of(lab, f"Submit a workload to {cluster.full_name}")
    form.get_by_label("Name", exact=True).fill("hello")
    for number, word in enumerate(["sh", "-c", "echo $GREETING"], start=1):
        form.get_by_role("button", name="Add to Command").click()
        form.get_by_role("group", name="Command").get_by_role("textbox", name=f"Entry {number}").fill(word)
    form.get_by_role("button", name="Add to Environment").click()
    environment = form.get_by_role("group", name="Environment")
    environment.get_by_label("Name").fill("GREETING")
    environment.get_by_label("Value").fill("good day")
    form.get_by_role("button", name="Submit workload").click()
    expect(lab.row("workload", "hello")).to_contain_text("succeeded")
    lab.button(lab.row("workload", "hello"), "Show the log of hello").click()
    expect(lab.page.get_by_label(re.compile("Log of local/busy/hello"))).to_contain_text("good day")


def test_a_cluster_is_scaled_by_form(lab: Lab) -> None:
    cluster = lab.act(lambda service: create(service, "grows"))
    lab.row("cluster", "grows").click(button="right")
    lab.page.get_by_role("menuitem", name="Scale…").click()
    form = form_of(lab, f"Scale {cluster.full_name}")
    form.get_by_label("Nodes", exact=True).fill("4")
    form.get_by_role("button", name="Change size").click()
    expect(lab.row("cluster", "grows")).to_contain_text("4 nodes")


def test_details_say_what_is_known(lab: Lab) -> None:
    cluster = lab.act(lambda service: create(service, "known"))
    lab.row("cluster", "known").click(button="right")
    lab.page.get_by_role("menuitem", name="Details").click()
    page = lab.page.locator(".jp-GpuClusters-detailsPage")
    expect(page.get_by_role("heading", name=cluster.full_name)).to_be_visible()
    expect(page).to_contain_text(cluster.cluster_id)


def test_two_tabs_with_the_same_form_order_one_each_and_attach(lab: Lab) -> None:
    other = Lab(lab.page.context.new_page(), lab.url, lab.token, lab.work)
    other.open()
    for tab in (lab, other):
        form = new_cluster(tab, "local", "shared")
        expect(form.get_by_role("button", name="Create cluster")).to_be_enabled()
    for tab in (lab, other):
        form_of(tab, "New cluster").get_by_role("button", name="Create cluster").click()
    for tab in (lab, other):
        expect(form_of(tab, "New cluster").get_by_text("local/shared")).to_be_visible()
    assert [c.name for c in lab.act(state).clusters] == ["shared"]


def test_the_same_is_inserted_as_a_cell_into_the_notebook(lab: Lab) -> None:
    lab.notebook("cells.ipynb", "1 + 1")
    expect(lab.output("2")).to_be_visible()
    form = new_cluster(lab, "local", "by-cell")
    form.get_by_label("Nodes", exact=True).fill("2")
    form.get_by_text("The same as a notebook cell").click()
    expect(form.locator("pre", has_text="%%cluster_create local --name by-cell")).to_be_visible()
    form.get_by_role("button", name="Insert as cell").click()
    expect(form.get_by_text("Inserted.")).to_be_visible()
    lab.page.get_by_role("tab", name=re.compile("cells.ipynb")).first.click()
    cell = lab.page.locator(".jp-Notebook .jp-Cell").nth(1)
    expect(cell).to_contain_text("%%cluster_create local --name by-cell")
    expect(cell).to_contain_text("nodes: 2")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"])
def test_problems_and_help_can_be_read_in_every_theme(lab: Lab, theme: str) -> None:
    lab.theme(theme)
    form = new_cluster(lab, "local", "Not A Name")
    for text in ("lower-case", "Who provides it"):
        words = form.get_by_text(text).first
        expect(words).to_be_visible()
        assert words.evaluate(_CONTRAST) >= 4.5
