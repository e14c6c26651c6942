"""Nothing of ours answers without a login and a permission."""

from __future__ import annotations

import re
from typing import Any

import pytest
from jupyter_server.auth import Authorizer
from jupyter_server.base.handlers import JupyterHandler
from tornado.web import RequestHandler

from jupyter_gpu_clusters.server.app import ROUTES, GpuClustersApp

from .helpers import Client
from .notebook import Notebook

VERBS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
ASKED: list[tuple[str, str]] = []


def _paths() -> list[str]:
    """One concrete path for every registered route, below ``gpu-clusters/``."""
    return [re.sub(r"\([^)]*\)", "x", path).removeprefix("/gpu-clusters/") for path, _ in ROUTES]


def _offered(path: str) -> list[str]:
    """The verbs that the handler of a path has."""
    handler = dict(zip(_paths(), (handler for _, handler in ROUTES), strict=True))[path]
    return [verb for verb in VERBS if getattr(handler, verb.lower()) is not getattr(RequestHandler, verb.lower())]


def test_the_routes_are_those_the_server_has(extension: GpuClustersApp) -> None:
    assert [(path, handler) for path, handler, _ in extension.handlers] == list(ROUTES)
    assert all(_offered(path) for path in _paths())


@pytest.mark.parametrize("path", _paths())
async def test_without_a_token_every_verb_is_refused(stranger: Client, path: str) -> None:
    for verb in VERBS:
        response = await stranger.fetch(verb, path)
        assert response.code == 403 if verb in _offered(path) else response.code in (403, 405), verb


@pytest.mark.parametrize("path", _paths())
async def test_a_wrong_token_is_refused(stranger: Client, path: str) -> None:
    wrong = Client(stranger.http, stranger.base_url, {"Authorization": "token 0123"})
    for verb in _offered(path):
        assert (await wrong.fetch(verb, path)).code == 403


class DenyAll(Authorizer):
    """Refuses everything that is ours and notes what it was asked."""

    def is_authorized(self, handler: JupyterHandler, user: Any, action: str, resource: str) -> bool:
        ASKED.append((action, resource))
        return False


class TestWithoutPermission:
    """A signed-in user whom the server's authorizer grants nothing."""

    @pytest.fixture
    def jp_server_config(self) -> dict[str, Any]:
        return {"ServerApp": {"jpserver_extensions": {"jupyter_gpu_clusters": True}, "authorizer_class": DenyAll}}

    @pytest.mark.parametrize("path", _paths())
    async def test_every_verb_asks_the_authorizer(self, client: Client, path: str) -> None:
        for verb in _offered(path):
            ASKED.clear()
            assert (await client.fetch(verb, path)).code == 403
            action = "read" if verb == "GET" else "write"
            assert [(action, "gpu_clusters")] == ASKED


async def _cookies(client: Client, token: str) -> str:
    """Sign in as a browser does and return its cookies."""
    response = await client.http.fetch(f"{client.base_url}api/status?token={token}")
    return "; ".join(cookie.split(";")[0] for cookie in response.headers.get_list("Set-Cookie"))


async def test_a_write_by_cookie_needs_the_xsrf_token(stranger: Client, notebook: Notebook, jp_serverapp: Any) -> None:
    cluster = await notebook.create()
    cookies = await _cookies(stranger, jp_serverapp.identity_provider.token)
    browser = Client(stranger.http, stranger.base_url, {"Cookie": cookies})
    assert (await browser.get("state")).status == 200
    answer = await browser.delete("clusters", "local", cluster.cluster_id)
    assert answer.status == 403
    assert "_xsrf" in answer.body["message"]
    assert [c.cluster_id for c in (await notebook.service.refresh()).clusters] == [cluster.cluster_id]
