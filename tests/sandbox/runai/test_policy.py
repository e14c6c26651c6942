"""Policies: defaults that come in, rules that refuse, and the 502 that a one-sided policy once gave."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.runai.caller import DISTRIBUTED, ROBOTS, SPEECH, Caller

TYPED = {"nodeType": "fast-disk"}


def issues(runai: Caller, **changes: Any) -> set[tuple[str, str]]:
    refused = runai.refusal(runai.body(project=SPEECH, **changes))
    assert refused["message"] == "request does not comply with policy"
    return {(issue["field"], issue["rule"]) for issue in refused["complianceIssues"]}


def test_defaults_come_in_under_the_request(runai: Caller) -> None:
    made = runai.submit(project=SPEECH, spec={**TYPED, "environmentVariables": [{"name": "TEAM", "value": "mine"}]})
    assert made["spec"]["imagePullPolicy"] == "IfNotPresent"
    assert made["spec"]["environmentVariables"] == [
        {"name": "HTTP_PROXY", "value": "http://proxy.example.org:3128"},
        {"name": "TEAM", "value": "mine"},
    ]


def test_exclude_takes_a_default_out(runai: Caller) -> None:
    spec = {**TYPED, "environmentVariables": [{"name": "TEAM", "exclude": True}]}
    made = runai.submit(project=SPEECH, spec=spec)
    assert [item["name"] for item in made["spec"]["environmentVariables"]] == ["HTTP_PROXY"]


@pytest.mark.parametrize(
    ("spec", "issue"),
    [
        ({"compute": {"gpuDevicesRequest": 5}}, ("compute.gpuDevicesRequest", "max")),
        ({"imagePullPolicy": "Never"}, ("imagePullPolicy", "options")),
        ({"security": {"hostNetwork": True}}, ("security.hostNetwork", "canEdit")),
        ({"nodeType": None}, ("nodeType", "required")),
        ({"environmentVariables": [{"name": "HTTP_PROXY", "exclude": True}]}, ("environmentVariables", "locked")),
        ({"environmentVariables": [{"name": "HTTP_PROXY", "value": ""}]}, ("environmentVariables", "locked")),
        ({"storage": {"hostPath": [{"path": "/a", "mountPath": "/b"}]}}, ("storage.hostPath", "canAdd")),
        ({"terminationGracePeriodSeconds": 301}, ("terminationGracePeriodSeconds", "max")),
    ],
    ids=lambda value: str(value)[:50],
)
def test_broken_rules(runai: Caller, spec: dict[str, Any], issue: tuple[str, str]) -> None:
    assert issues(runai, spec={**TYPED, **spec}) == {issue}


def test_all_broken_rules_at_once_on_both_sides(runai: Caller) -> None:
    found = issues(
        runai,
        spec={"compute": {"gpuDevicesRequest": 8}},
        masterSpec={"image": "x", "imagePullPolicy": "Never", "nodeType": "fast-disk"},
    )
    wanted = {("compute.gpuDevicesRequest", "max"), ("nodeType", "required"), ("imagePullPolicy", "options")}
    assert found == wanted


def test_min_and_step(runai: Caller) -> None:
    rules = {"worker": {"compute.cpuMemoryRequest": {"min": "1Gi"}, "numWorkers": {"step": 2}}}
    runai.sandbox.setup("runai", policy={"project": SPEECH, "rules": rules})
    spec = {"numWorkers": 3, "compute": {"cpuMemoryRequest": "1000M"}}
    assert issues(runai, spec=spec) == {("compute.cpuMemoryRequest", "min"), ("numWorkers", "step")}
    runai.submit(project=SPEECH, spec={"numWorkers": 4, "compute": {"cpuMemoryRequest": "2G"}})


def test_every_project_keeps_the_system_rule(runai: Caller) -> None:
    refused = runai.refusal(runai.body(spec={"terminationGracePeriodSeconds": 301}))
    assert refused["complianceIssues"][0]["details"] == "must be at most 300"
    runai.submit(spec={"terminationGracePeriodSeconds": 300})


def test_policy_is_shown_nested(runai: Caller) -> None:
    shown = runai.get("/api/v2/policy/distributed", scope="project", projectId=SPEECH)
    assert shown["policy"]["rules"]["worker"]["compute"]["gpuDevicesRequest"] == {"max": 4}
    assert shown["policy"]["defaults"]["master"]["security"] == {"hostNetwork": False}
    assert runai.get("/api/v2/policy/distributed", scope="tenant")["policy"] is None


@pytest.mark.parametrize("params", [{}, {"scope": "project"}, {"scope": "world"}])
def test_policy_needs_its_scope(runai: Caller, params: dict[str, str]) -> None:
    assert runai.bad("GET", "/api/v2/policy/distributed", params=params).status_code == 400


@pytest.mark.parametrize(("body", "length"), [("html", 1), ("empty", 0)])
def test_one_sided_policy_is_502_for_ever_by_choice(runai: Caller, body: str, length: int) -> None:
    runai.submit(project=ROBOTS)
    runai.sandbox.choose({"runai.one_sided_policy": "502", "runai.gateway_body": body})
    for _ in range(2):
        answer = runai.http.post(DISTRIBUTED, json=runai.body(project=ROBOTS))
        assert (answer.status_code, bool(answer.content)) == (502, bool(length))
    runai.submit()
    alive = runai.sandbox.books()["services"]["runai"]["alive"]
    assert len(alive) == 2, "nothing was made behind a 502"


def test_wrong_policy_is_explained(runai: Caller) -> None:
    with pytest.raises(ValueError, match="turbo"):
        runai.sandbox.setup("runai", policy={"project": SPEECH, "rules": {"worker": {"image": {"turbo": 1}}}})
