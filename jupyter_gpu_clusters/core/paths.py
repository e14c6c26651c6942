"""Where things lie on disk: one folder for data, one for settings, both inside Jupyter's own."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir

from .errors import JournalError
from .locks import file_lock

_FOLDER = "jupyter_gpu_clusters"
_SALT_BYTES = 32
_LOCKED_WITHIN_S = 10.0
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)
_CANNOT_LINK = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)


def data_dir() -> Path:
    """The folder of journal, intent files and local clusters (``JUPYTER_DATA_DIR`` moves it)."""
    return Path(jupyter_data_dir()) / _FOLDER


def accounts_file() -> Path:
    """The accounts file (``JUPYTER_CONFIG_DIR`` moves it). It need not exist."""
    return Path(jupyter_config_dir()) / _FOLDER / "accounts.toml"


def make_private(folder: Path) -> Path:
    """Create `folder` with mode 0700 (parents as the system likes) and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def salt_in(folder: Path) -> bytes:
    """The 32 random bytes of digests in `folder`, made at first use; they survive the loss of the database.

    Raises
    ------
    JournalError : they can be neither made nor read, or are damaged.
    """
    path = folder / "salt"
    try:
        make_private(folder)
        with contextlib.suppress(FileExistsError):
            write_once(path, os.urandom(_SALT_BYTES))
        salt = path.read_bytes()
    except OSError as exc:
        raise JournalError(
            f"The file {path} can be neither made nor read ({exc.strerror or exc}); nothing was sent.",
            hint="Make room there or make it writable, then run it again.",
        ) from exc
    if len(salt) != _SALT_BYTES:
        raise JournalError(
            f"The file {path} is damaged; nothing was sent.",
            hint="Move it away: what is live then counts as made from another spec.",
        )
    return salt


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable (``fsync`` of the directory), where its file system knows how."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as exc:
        if exc.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(handle)


def write_durably(path: Path, data: bytes) -> None:
    """Replace `path` by a complete, durable, private (0600) file, or leave it as it was."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        write_new(scratch, data)
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)
    sync_folder(path.parent)


def write_new(path: Path, data: bytes) -> None:
    """Create a private file that must not exist yet; its content is durable, its name not yet."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_once(path: Path, data: bytes) -> None:
    """Create a private file, whole from its first moment; whoever else wanted to create it fails.

    Raises
    ------
    FileExistsError : it is there already.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        write_new(scratch, data)
        _link(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


def _link(source: Path, target: Path) -> None:
    """Give `source` the name `target` unless that exists; where links are missing, under a lock."""
    try:
        os.link(source, target)
    except OSError as exc:
        if exc.errno not in _CANNOT_LINK:
            raise
        with file_lock(target.with_name(".lock"), within_s=_LOCKED_WITHIN_S):
            if target.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from exc
            os.replace(source, target)
