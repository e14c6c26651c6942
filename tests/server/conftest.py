"""A real Jupyter server with our extension, below a base URL as a hub with unusual user names has it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

# By import rather than `pytest_plugins`, so that its automatic fixtures and its event loop stay in this folder.
from pytest_jupyter.jupyter_server import *  # noqa: F403

from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.server import GpuClustersApp

from .helpers import Client
from .notebook import Notebook


@pytest.fixture  # type: ignore[no-redef]
def jp_server_config() -> dict[str, Any]:
    return {
        "ServerApp": {
            "jpserver_extensions": {"jupyter_gpu_clusters": True},
            "reraise_server_extension_failures": True,
        }
    }


@pytest.fixture  # type: ignore[no-redef]
def jp_base_url() -> str:
    return "/hub/us%C3%A9r%20x/"


@pytest.fixture
def client(http_server_client: Any, jp_base_url: str, jp_auth_header: dict[str, str]) -> Client:
    return Client(http_server_client, jp_base_url, jp_auth_header)


@pytest.fixture
def stranger(http_server_client: Any, jp_base_url: str) -> Client:
    """A client without token or cookie."""
    return Client(http_server_client, jp_base_url)


@pytest.fixture
def extension(jp_serverapp: Any) -> GpuClustersApp:
    (app,) = jp_serverapp.extension_manager.extension_apps["jupyter_gpu_clusters"]
    assert isinstance(app, GpuClustersApp)
    return app


@pytest.fixture
def notebook(jp_environ: None, jp_asyncio_loop: asyncio.AbstractEventLoop) -> Iterator[Notebook]:
    """The user's notebook: a second service on the same journal. What it made is deleted at the end."""
    notebook = Notebook(Service.open())
    yield notebook
    jp_asyncio_loop.run_until_complete(notebook.close())
