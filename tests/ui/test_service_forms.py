"""The forms of the three services, against the simulated services."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, expect

from jupyter_gpu_clusters.sandbox import Sandbox

from .lab import Lab
from .test_forms import form_of, new_cluster, plan_of

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB0000000000000000000000000000000000000000001 me@example.org"


def choose(form: Locator, label: str, option: str) -> None:
    """Choose from the list of a field by its label."""
    field = form.get_by_role("combobox", name=label, exact=True)
    field.click()
    form.get_by_role("listbox", name=label, exact=True).get_by_role("option", name=option).first.click()
    expect(field).to_have_value(re.compile(re.escape(option)))


def options(form: Locator, label: str) -> Locator:
    """The list of a field, opened."""
    form.get_by_role("combobox", name=label, exact=True).click()
    return form.get_by_role("listbox", name=label, exact=True).get_by_role("option")


def orders(services: Sandbox, name: str) -> list[dict[str, Any]]:
    """Everything that was created or submitted at a service."""
    entries: list[dict[str, Any]] = services.books()["services"][name]["entries"]
    return [entry for entry in entries if entry["action"] in ("create", "submit")]


def test_e2e_choices_follow_each_other_and_one_cluster_is_ordered(services_lab: Lab, services: Sandbox) -> None:
    form = new_cluster(services_lab, "e2e", "train")
    prices = options(form, "Price id")
    expect(prices.filter(has_text="12.25 INR")).to_be_visible()
    choose(form, "Node type", "SX.4xL40S-64.384GB")
    prices = options(form, "Price id")
    expect(prices.filter(has_text="hourly: 420.5 INR")).to_be_visible()
    expect(prices.filter(has_text="12.25 INR")).to_have_count(0)
    services_lab.page.keyboard.press("Escape")
    choose(form, "Image", "Ubuntu Slurm v3")
    form.get_by_label("Nodes", exact=True).fill("2")
    choose(form, "Security group", "ssh-only")
    form.get_by_role("button", name="Add to SSH keys", exact=True).click()
    keys = form.get_by_role("group", name="SSH keys")
    keys.get_by_role("combobox", name="Entry 1").click()
    keys.get_by_role("option", name="lab-desktop").click()
    expect(plan_of(form)).to_contain_text("841.00 INR per hour")
    form.get_by_label("I agree to pay 841.00 INR per hour").check()
    form.get_by_role("button", name="Create cluster").dblclick()
    expect(services_lab.row("cluster", "train")).to_contain_text("2 nodes")
    assert len(orders(services, "e2e")) == 1
    expect(services_lab.row("cluster", "train")).to_contain_text("running")
    services_lab.row("cluster", "train").click(button="right")
    services_lab.page.locator(".lm-Menu-itemLabel", has_text="Actions").hover()
    services_lab.page.get_by_role("menuitem", name="Restart").first.click()
    form = services_lab.page.get_by_role("form", name="Restart: e2e/train")
    form.get_by_label(re.compile("I agree")).check()
    form.get_by_role("button", name="Restart").click()
    expect(form.get_by_text("e2e/train").last).to_be_visible()


def test_runai_takes_a_nested_request_and_one_workload_is_submitted(services_lab: Lab, services: Sandbox) -> None:
    services_lab.row("cluster", "gpu-east").click(button="right")
    services_lab.page.get_by_role("menuitem", name="Submit Workload…").click()
    form = form_of(services_lab, "Submit a workload to runai/gpu-east")
    form.get_by_label("Name", exact=True).fill("train")
    choose(form, "Project", "vision")
    form.get_by_label("Nodes", exact=True).fill("2")
    form.get_by_label("GPUs per node", exact=True).fill("8")
    form.get_by_label("Image", exact=True).first.fill("pytorch:2.6")
    form.get_by_role("button", name="Add to Command").click()
    form.get_by_role("group", name="Command").get_by_role("textbox", name="Entry 1").fill("train.sh")
    expect(plan_of(form)).to_contain_text("GPUs16")
    form.get_by_label("I agree. It takes 16 GPUs of the quota of project vision").check()
    form.get_by_role("button", name="Submit workload").dblclick()
    expect(services_lab.row("workload", "train")).to_be_visible()
    assert len(orders(services, "runai")) == 1
    row = services_lab.row("workload", "train")
    expect(row).to_contain_text("running")
    row.click(button="right")
    services_lab.page.get_by_role("menuitem", name="Details").click()
    details = services_lab.page.locator(".jp-GpuClusters-detailsPage")
    expect(details.get_by_role("table").first).to_be_visible()
    row.click(button="right")
    services_lab.page.get_by_role("menuitem", name="Suspend…").click()
    services_lab.dialog.get_by_role("button", name="Suspend").click()
    expect(row).to_contain_text("stopped")
    row.click(button="right")
    services_lab.page.get_by_role("menuitem", name="Resume").click()
    expect(row).to_contain_text("running")


def test_lium_choices_follow_the_gpu_and_one_cluster_is_rented(services_lab: Lab, services: Sandbox) -> None:
    form = new_cluster(services_lab, "lium", "rented")
    form.get_by_role("button", name="Add to Nodes by id").click()
    executors = form.get_by_role("group", name="Nodes by id", exact=True)
    executors.get_by_role("combobox", name="Entry 1").click()
    expect(executors.get_by_role("option").filter(has_text="RTX 4090").first).to_be_visible()
    form.get_by_label("GPU", exact=True).fill("H100")
    executors.get_by_role("combobox", name="Entry 1").click()
    expect(executors.get_by_role("option").filter(has_text="RTX 4090")).to_have_count(0)
    expect(executors.get_by_role("option").filter(has_text="H100")).to_have_count(4)
    services_lab.page.keyboard.press("Escape")
    form.get_by_role("button", name="Remove entry 1 of Nodes by id").click()
    form.get_by_label("Nodes", exact=True).fill("2")
    form.get_by_role("button", name="Add to Public keys").click()
    form.get_by_role("group", name="Public keys").get_by_role("textbox", name="Entry 1").fill(PUBLIC_KEY)
    expect(plan_of(form)).to_contain_text("33.68 USD per hour")
    form.get_by_label(re.compile("I agree to pay 33.68 USD per hour")).check()
    form.get_by_role("button", name="Create cluster").dblclick()
    expect(services_lab.row("cluster", "rented")).to_contain_text("2 nodes")
    assert len(orders(services, "lium")) == 1
    expect(services_lab.row("cluster", "rented")).to_contain_text("running")
