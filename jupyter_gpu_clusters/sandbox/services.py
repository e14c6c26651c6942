"""The services that a sandbox serves; adding one is a line here."""

from __future__ import annotations

from .e2e import E2E
from .lium import Lium
from .runai import Runai
from .service import Service

SERVICES: tuple[type[Service], ...] = (E2E, Lium, Runai)
