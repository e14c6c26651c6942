"""``GET state`` and ``GET health``."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from jupyter_gpu_clusters.core.paths import accounts_file, data_dir
from jupyter_gpu_clusters.server.app import GpuClustersApp

from .helpers import Client, by_name, eventually
from .notebook import Notebook

ROOT = Path(__file__).parents[2]
SECRET = "pa55-%+&\"'-word"


async def test_health_names_the_version_of_the_package(client: Client) -> None:
    version = json.loads((ROOT / "package.json").read_text())["version"]
    answer = await client.get("health")
    assert answer.status == 200
    assert answer.body == {"version": version, "schema_version": 1, "error": None}


async def test_an_account_that_was_never_looked_at_says_so_and_is_then_looked_at(client: Client) -> None:
    first = (await client.get("state")).body
    (account,) = first["accounts"]
    assert (account["account"], account["provider"], account["error"]) == ("local", "local", None)
    assert account["observed_at"] is None
    assert account["age_s"] is None

    async def looked() -> dict[str, Any] | None:
        (now,) = (await client.get("state")).body["accounts"]
        return now if now["observed_at"] else None

    seen = await eventually(looked)
    assert seen["is_complete"] is True
    assert 0 <= seen["age_s"] < 60
    assert set(seen["can"]) == {"create", "delete", "offers", "scale", "workloads"}


async def test_clusters_and_workloads_are_shown_with_their_full_names(client: Client, notebook: Notebook) -> None:
    cluster = await notebook.create("demo", nodes=2)
    workload = await notebook.run(cluster, "import time; time.sleep(600)", procs_per_node=2)
    body = (await client.get("state")).body
    shown = by_name(body["clusters"], "demo")
    assert shown is not None
    assert (shown["full_name"], shown["cluster_id"], shown["node_count"]) == ("local/demo", cluster.cluster_id, 2)
    ranks = by_name(body["workloads"], "train")
    assert ranks is not None
    assert (ranks["full_name"], ranks["workload_id"]) == ("local/demo/train", workload.workload_id)
    assert len(ranks["ranks"]) == 4
    assert datetime.fromisoformat(body["now"]).tzinfo is not None


async def test_a_planted_secret_is_in_no_answer(client: Client, notebook: Notebook) -> None:
    cluster = await notebook.create()
    await notebook.run(cluster, "import time; time.sleep(600)", env={"TOKEN": SECRET})
    answer = await client.get("state")
    assert by_name(answer.body["workloads"], "train")
    assert SECRET not in json.dumps(answer.body, ensure_ascii=False)
    assert json.dumps(SECRET)[1:-1] not in json.dumps(answer.body)


async def test_answers_are_never_cached(client: Client) -> None:
    assert (await client.get("state")).headers["Cache-Control"] == "no-store"


async def test_asking_is_no_user_activity_when_marked(client: Client, jp_serverapp: Any) -> None:
    def last_activity() -> Any:
        return jp_serverapp.web_app.settings.get("api_last_activity")

    before = last_activity()
    await client.get("state", no_track_activity="1")
    assert last_activity() == before
    await client.get("state")
    assert last_activity() != before


async def test_an_unknown_route_and_verb_are_jupyters_404_and_405(client: Client) -> None:
    assert (await client.fetch("GET", "nothing")).code == 404
    answer = await client.post("state")
    assert answer.status == 405
    assert answer.body == {"message": "Method Not Allowed", "code": "http", "hint": None, "fields": []}


def _journal_of_the_future() -> None:
    data_dir().mkdir(parents=True)
    with sqlite3.connect(data_dir() / "journal.sqlite") as connection:
        connection.execute("PRAGMA user_version = 9999")
    connection.close()


async def test_a_journal_that_cannot_be_used_stops_us_and_not_jupyter(client: Client, jp_fetch: Any) -> None:
    _journal_of_the_future()
    health = await client.get("health")
    assert health.status == 200
    assert health.body["error"]["code"] == "journal_version"
    assert health.body["error"]["message"]
    state = await client.get("state")
    assert state.status == 500
    assert state.body["code"] == "journal_version"
    assert state.body["message"] == health.body["error"]["message"]
    assert (await jp_fetch("api", "status")).code == 200


async def test_mistakes_in_the_accounts_file_are_named_until_they_are_corrected(client: Client) -> None:
    accounts_file().parent.mkdir(parents=True)
    accounts_file().write_text('[accounts.lab]\nsecret = "hunter2"\n')
    state = await client.get("state")
    assert state.status == 400
    assert {problem["field"] for problem in state.body["fields"]} == {"accounts.lab.provider", "accounts.lab.secret"}
    assert "hunter2" not in json.dumps(state.body)
    assert (await client.get("health")).body["error"]["code"] == "settings"
    accounts_file().unlink()
    assert (await client.get("state")).status == 200


async def test_an_unforeseen_error_is_told_plainly_and_logged_without_its_text(
    client: Client, extension: GpuClustersApp, monkeypatch: pytest.MonkeyPatch, jp_logging_stream: Any, caplog: Any
) -> None:
    class Broken:
        def note_attention(self) -> None:
            raise RuntimeError(f"key={SECRET}")

    async def service() -> Broken:
        return Broken()

    assert extension._parts is not None
    monkeypatch.setattr(extension._parts.owner, "service", service)
    answer = await client.get("state")
    assert answer.status == 500
    assert answer.body["code"] == "internal"
    assert SECRET not in json.dumps(answer.body) + caplog.text
    assert "in note_attention" in caplog.text


@pytest.mark.parametrize("base", ["/", "/a%40b/", "/user/a.b-c%2Fd/"])
class TestBelowOtherPrefixes:
    """Base URLs that hubs and proxies make."""

    @pytest.fixture
    def jp_base_url(self, base: str) -> str:
        return base

    async def test_state_answers(self, client: Client) -> None:
        assert (await client.get("state")).status == 200
