"""The routes below ``/_sandbox``: books, recorded requests, faults, clock, choices, and the simulated world."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .faults import KINDS
from .scenarios import SCENARIOS

if TYPE_CHECKING:
    from .frame import Sandbox

Endpoint = Callable[[Request], Awaitable[Response]]


def control_routes(sandbox: Sandbox) -> list[Route]:
    """All of them, bound to one sandbox."""
    table: dict[tuple[str, str], Callable[[Request, dict[str, Any]], Any]] = {
        ("GET", ""): lambda request, _: sandbox.describe(),
        ("GET", "/books"): lambda request, _: sandbox.books(),
        ("GET", "/requests"): lambda request, _: sandbox.requests(),
        ("DELETE", "/requests"): lambda request, _: sandbox.forget_requests(),
        ("GET", "/faults"): lambda request, _: _faults(sandbox),
        ("POST", "/faults"): lambda request, body: {"id": sandbox.fault(**body)},
        ("DELETE", "/faults"): lambda request, _: sandbox.clear_faults(request.query_params.get("id")),
        ("GET", "/clock"): lambda request, _: sandbox.clock_state(),
        ("POST", "/clock"): lambda request, body: sandbox.set_clock(**body),
        ("GET", "/choices"): lambda request, _: sandbox.world.choices.describe(),
        ("POST", "/choices"): lambda request, body: sandbox.choose(body),
        ("POST", "/scenarios"): lambda request, body: sandbox.play(*body.get("names", [])),
        ("POST", "/setup/{service}"): lambda request, body: sandbox.setup(request.path_params["service"], **body),
    }
    return [Route(f"/_sandbox{path}", _endpoint(do), methods=[method]) for (method, path), do in table.items()]


def _endpoint(do: Callable[[Request, dict[str, Any]], Any]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        raw = await request.body()
        try:
            body = json.loads(raw) if raw else {}
            if not isinstance(body, dict):
                raise ValueError("The body must be a JSON object.")
            return JSONResponse(do(request, body))
        except ValidationError as exc:
            problems = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in exc.errors(include_url=False)]
            return JSONResponse({"error": "; ".join(problems)}, 400)
        except (ValueError, TypeError, KeyError) as exc:
            return JSONResponse({"error": str(exc)}, 400)

    return endpoint


def _faults(sandbox: Sandbox) -> dict[str, Any]:
    return {
        "active": [fault.model_dump(mode="json", exclude_defaults=True) for fault in sandbox.faults.active()],
        "kinds": KINDS,
        "shapes": {name: sandbox.shapes(name) for name in sandbox.services},
        "scenarios": {name: scenario.about for name, scenario in SCENARIOS.items()},
    }
