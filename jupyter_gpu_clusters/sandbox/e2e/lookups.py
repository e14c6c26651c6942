"""What a form offers: node types with prices, images, projects, accounts, tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..service import Answer, Call, Refused, Route
from .accounts import LIFETIME_S
from .catalogue import SERVICES, VARIANT, ImageVersion
from .errors import bad
from .route import TirRoute
from .state import Tir, done

SIBLING_PREFIX = "/e2e/myaccount/api/v1/pbac"


class Lookups:
    """The operations that only tell."""

    def __init__(self, tir: Tir) -> None:
        self._tir = tir

    def routes(self) -> Sequence[Route]:
        """All of them."""
        anywhere = ("project_id", "location", "active_iam")
        return [
            TirRoute("GET", "/distributed_jobs_v2/cluster/plans/", self.plans, takes=("active_iam", "variant")),
            TirRoute(
                "GET",
                "/distributed_jobs_v2/deployment_images/{framework}/",
                self.images,
                takes=("active_iam", "job_type"),
            ),
            TirRoute("GET", "/gpu_service/sku/", self.generic_skus, takes=("active_iam", "service")),
            TirRoute("GET", "/users/iam-accounts/", self.iam_accounts, needs=(), takes=()),
            TirRoute("GET", "/auth-token/", self.tokens, needs=(), takes=anywhere),
            TirRoute("GET", "/teams/{team}/projects/", self.old_projects, needs=(), takes=anywhere),
            TirRoute("GET", f"{SIBLING_PREFIX}/project/", self.sibling_projects, needs=(), takes=anywhere),
        ]

    def plans(self, call: Call) -> Answer:
        """Node types of a location with their price rows."""
        if self._asked(call, "variant") != VARIANT:
            return self._unknown("variant", [])
        return done([sku.plan(self._tir.free_nodes(sku)) for sku in self._tir.skus[self._tir.place(call).location]])

    def images(self, call: Call) -> Answer:
        """Images of a framework with their versions."""
        framework = call.params["framework"]
        if self._asked(call, "job_type") != framework:
            raise bad("job_type", "It must be the framework in the path.")
        versions = [one for one in self._tir.images[self._tir.place(call).location] if one.framework == framework]
        if not versions:
            return self._unknown("job_type", [])
        images: dict[int, list[ImageVersion]] = {}
        for version in versions:
            images.setdefault(version.image_id, []).append(version)
        return done([_image_row(of_image) for of_image in images.values()])

    def generic_skus(self, call: Call) -> Answer:
        """Node types of the other products, by series; none of them is for training clusters."""
        service = self._asked(call, "service")
        found: dict[str, list[dict[str, Any]]] = {"CPU": [], "GPU": []}
        if service not in SERVICES:
            return self._unknown("service", found)
        for sku in self._tir.skus[self._tir.place(call).location]:
            rows = [price.json() for price in sku.prices]
            own = {"category": service, "is_inventory_available": True, "plans": rows}
            found[sku.series].append({**sku.specs(1), **own})
        return done(found)

    def iam_accounts(self, call: Call) -> Answer:
        """Values for ``active_iam``; the row's fields are our guess."""
        accounts = self._tir.caller(call).reachable()
        return done([{"id": one.id, "name": one.name, "email": one.email} for one in accounts])

    def tokens(self, call: Call) -> Answer:
        """The account's credentials, secrets included, as the real call does."""
        account, shown = self._tir.acting(call), self._tir.world.clock.shown
        return done(
            [
                {
                    "id": number,
                    "name": one.label,
                    "api_key": one.api_key,
                    "auth_token": one.token,
                    "expiry": shown(one.created + LIFETIME_S).date().isoformat(),
                }
                for number, one in enumerate(self._tir.credentials, start=1)
                if one.account is account
            ]
        )

    def old_projects(self, call: Call) -> Answer:
        """The listing of the time when there were teams."""
        if self._tir.world.choices["e2e.old_paths"] == "gone":
            raise Refused(404, "Not Found", shape="html")
        return done([{"project_id": one.id, "name": one.name} for one in self._tir.acting(call).projects])

    def sibling_projects(self, call: Call) -> Answer:
        """The MyAccount side's listing, whose ids may be other ones."""
        same = self._tir.world.choices["e2e.sibling_project_ids"] == "same"
        rows = [
            {
                "project_id": one.id if same else one.sibling_id,
                "name": one.name,
                "is_default": number == 0,
                "is_starred": False,
            }
            for number, one in enumerate(self._tir.acting(call).projects)
        ]
        return done(rows)

    def _asked(self, call: Call, name: str) -> str:
        value = call.asked(name)
        if not value:
            raise bad(name, "This field is required.")
        return value

    def _unknown(self, name: str, nothing: object) -> Answer:
        if self._tir.world.choices["e2e.unknown_filter"] == "400":
            raise bad(name, "This value is not known.")
        return done(nothing)


def _image_row(versions: Sequence[ImageVersion]) -> dict[str, Any]:
    first = versions[0]
    return {
        "id": first.image_id,
        "name": first.name,
        "slug_name": first.slug_name,
        "framework": first.framework,
        "versions": [one.row() for one in versions],
    }
