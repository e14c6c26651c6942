"""The notebook of the three services, against the sandbox that it starts itself."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from .running import ROOT, read_notebook, text_of, with_nbclient

NOTEBOOK = "02_three_services.ipynb"
PROBE = """
import json
found = [value for name, value in os.environ.items() if name.endswith(("_KEY", "_TOKEN", "_SECRET"))]
Path({kept!r}).write_text(json.dumps(found)) and None
"""

pytestmark = pytest.mark.timeout(400)


def check_steps(notebook: Any) -> None:
    """All that a reader of the executed notebook may expect."""
    accounts = text_of(notebook, "accounts")
    assert accounts.count("✔ works") == 4
    assert accounts.count("sandbox;") == 3
    assert "33.68 USD per hour" in text_of(notebook, "plan")
    assert "nothing real is rented or billed" in text_of(notebook, "plan")
    assert "Cluster lium/pair: ● running" in text_of(notebook, "lium")
    assert "attached, nothing was ordered" in text_of(notebook, "lium-again")
    assert "PENDING -> RUNNING" in text_of(notebook, "events")
    assert "Cluster e2e/lab: ● running" in text_of(notebook, "e2e")
    assert re.search(r"nodes +3\n", text_of(notebook, "scale"))
    assert "not created here" not in text_of(notebook, "scale")
    assert "Workload runai/gpu-east/train: ✔ succeeded" in text_of(notebook, "workload")
    for name in ("delete-pair", "delete-lab"):
        assert re.search(r"deleting|deleted", text_of(notebook, name))


def check_secrets(secrets: list[str], texts: list[bytes]) -> None:
    assert len(secrets) >= 4
    for secret in secrets:
        forms = (secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode())
        assert not [form for form in forms for text in texts if form.encode() in text]


def test_every_step_works_and_no_secret_gets_into_notebook_journal_or_log(folder: Path, tmp_path: Path) -> None:
    kept = tmp_path / "secrets.json"
    executed = with_nbclient(folder / NOTEBOOK, more={"keygen": PROBE.format(kept=str(kept))})
    check_steps(executed)
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path != kept]
    assert [path for path in files if path.name.startswith("journal")]
    check_secrets(json.loads(kept.read_text()), [json.dumps(executed).encode(), *(f.read_bytes() for f in files)])


def test_the_notebook_is_stored_without_outputs() -> None:
    notebook = read_notebook(ROOT / "notebooks" / NOTEBOOK)
    assert [cell.id for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")] == []
