"""A real shell in this process, and real kernels in their own."""

from __future__ import annotations

import atexit
import builtins
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from jupyter_gpu_clusters.core import bridge, registry

from .kernel import Kernel
from .shell import Shell

ROOT = Path(__file__).parents[2]
SLOWCLOUD = Path(__file__).parent / "slowcloud"


@pytest.fixture
def slowcloud(jupyter_folders: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An account `slow` at a paid provider that is slow; the folder of its books."""
    for name, value in slow_account(jupyter_folders / "jupyter_config_dir", jupyter_folders / "books").items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(SLOWCLOUD))
    registry._known.cache_clear()
    yield jupyter_folders / "books"
    registry._known.cache_clear()


def slow_account(config: Path, books: Path) -> dict[str, str]:
    """Write the accounts file of `slowcloud`; the variables that make it work."""
    books.mkdir()
    folder = config / "jupyter_gpu_clusters"
    folder.mkdir(parents=True)
    (folder / "accounts.toml").write_text('[accounts.slow]\nprovider = "slowcloud"\n')
    return {"SLOWCLOUD_BOOKS": str(books)}


def delete_everything() -> None:
    """End what a test left running on this machine."""
    service = bridge.service()
    for cluster in bridge.call(service.state).clusters:
        if cluster.provider in ("local", "slowcloud"):
            bridge.call(service.delete, cluster)


@pytest.fixture
def shell() -> Iterator[Shell]:
    """A shell with the extension loaded; what IPython changes in this process is put back."""
    hooks = (sys.displayhook, sys.excepthook, sys.modules["__main__"], dict(vars(builtins)))
    config = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}})
    ip = InteractiveShell.instance(config=config)
    ip.run_line_magic("load_ext", "jupyter_gpu_clusters")
    yield Shell(ip)
    delete_everything()
    ip.run_line_magic("unload_ext", "jupyter_gpu_clusters")
    ip.atexit_operations()  # type: ignore[no-untyped-call]
    atexit.unregister(ip.atexit_operations)
    InteractiveShell.clear_instance()
    sys.displayhook, sys.excepthook, sys.modules["__main__"], names = hooks
    for name in set(vars(builtins)) - set(names):
        delattr(builtins, name)


@pytest.fixture(scope="module")
def shared_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A real ipykernel for all tests of a module, in folders of its own, with the account `slow`."""
    root = tmp_path_factory.mktemp("kernel")
    folders = {name: str(root / name) for name in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")}
    slow = slow_account(root / "JUPYTER_CONFIG_DIR", root / "books")
    path = os.pathsep.join([str(ROOT), str(SLOWCLOUD)])
    started = Kernel(env={**os.environ, **folders, **slow, "PYTHONPATH": path}, folder=root, books=root / "books")
    yield started
    started.close()


@pytest.fixture
def kernel(shared_kernel: Kernel) -> Iterator[Kernel]:
    """The shared kernel with the extension loaded and no clusters."""
    shared_kernel.run("%load_ext jupyter_gpu_clusters").require()
    yield shared_kernel
    shared_kernel.run("for c in get_ipython().run_line_magic('cluster_list', '').value:\n"
                      "    get_ipython().run_line_magic('cluster_delete', f'{c.full_name} --yes')\n"
                      "%reset -f").require()  # fmt: skip
    (shared_kernel.books / "phase").unlink(missing_ok=True)
