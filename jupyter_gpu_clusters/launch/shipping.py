"""The supervisor as a command: from its folder on this machine, as one file on any other."""

from __future__ import annotations

import functools
import hashlib
import io
import zipfile
from pathlib import Path

_PACKAGE = Path(__file__).with_name("supervisor")
_RUN = "from supervisor.__main__ import run\n\nrun()\n"

LOCAL_PROGRAM = f"import sys\n\nsys.path.append({str(_PACKAGE.parent)!r})\n{_RUN}"
"""For ``python -c``. Modules of a folder keep their compiled form, so a call is faster than one of the archive."""


@functools.cache
def build_archive() -> bytes:
    """The package as a zip file that Python runs, as `zipapp` makes them.

    `zipapp` itself would note when our files were written, and so give every installation an archive of its own;
    here the same release is the same bytes everywhere.
    """
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py"), _RUN)
        for module in sorted(_PACKAGE.glob("*.py")):
            archive.writestr(zipfile.ZipInfo(f"{_PACKAGE.name}/{module.name}"), module.read_bytes())
    return target.getvalue()


@functools.cache
def archive_name() -> str:
    """Says which release it is: a file of this name that is there, whole, is the right one."""
    return f".supervisor-{hashlib.sha256(build_archive()).hexdigest()[:12]}.pyz"
