"""The Jupyter server's half: REST for the sidebar, and events on the server's own bus.

Handlers read a request, call the core and answer; there is no logic here. One `Service` (``owner.py``) is opened
at its first use, so that a broken journal never keeps Jupyter from starting, and one task follows what changes
(``watcher.py``) while somebody looks. Everything ends when the server stops.
"""

from __future__ import annotations

from .app import GpuClustersApp

__all__ = ["GpuClustersApp"]


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    """How Jupyter finds the extension (an app, because only apps are told that the server stops)."""
    return [{"module": __name__, "app": GpuClustersApp}]
