"""Several GPU nodes from inside a notebook: IPython magics, ipywidgets forms and a JupyterLab sidebar over one core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["__version__", "load_ipython_extension", "unload_ipython_extension"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("jupyter-gpu-clusters")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """``%load_ext jupyter_gpu_clusters``: add the magics. No network, no output."""
    from .magics import register

    register(ipython)


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """``%unload_ext jupyter_gpu_clusters``: take the magics away again."""
    from .magics import unregister

    unregister(ipython)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "jupyter-gpu-clusters"}]


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    from .server import GpuClustersApp

    return [{"module": "jupyter_gpu_clusters.server", "app": GpuClustersApp}]
