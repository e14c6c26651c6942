"""``POST plans`` and ``POST plans/{plan_id}/send``: look first, then agree, then send once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_server.auth.decorator import authorized
from pydantic import BaseModel, ConfigDict
from tornado.web import authenticated

from ..core.consent import VALID_FOR_S, agreement, consent_to, question, what_to_ask
from ..core.models import Cluster, Plan, Verb
from ..core.service import Service
from .handler import GpuClustersHandler, LookingHandler
from .plans import Plans
from .requests import parse_body
from .state import named_body
from .wishes import Wish, cell_of, planned, wish_in

# Not for pages: what tells identities and specs apart, and what existed before.
_NOT_SHOWN = {"identity_key", "spec_digest", "baseline"}


class PlansHandler(LookingHandler):
    """A new plan."""

    @authenticated
    @authorized
    async def post(self) -> None:
        """Say what would happen, with its price; never spends. Ends when the page no longer waits for it."""
        wish = wish_in(self.request.body)
        service = await self.service()
        await self.answer_look(_plan(service, self.parts.plans, wish))


async def _plan(service: Service, plans: Plans, wish: Wish) -> Mapping[str, Any]:
    plan = await planned(service, wish)
    return {
        "plan_id": plans.keep(plan),
        "plan": plan.model_dump(mode="json", exclude=_NOT_SHOWN),
        "ask": what_to_ask(plan),
        "question": question(plan),
        "agreement": agreement(plan),
        "valid_for_s": VALID_FOR_S,
        "cell": await cell_of(service, wish),
    }


class Agreement(BaseModel):
    """What the user said to a plan."""

    model_config = ConfigDict(extra="forbid", strict=True)

    agreed: bool = False
    words: str | None = None


class SendHandler(GpuClustersHandler):
    """Sends one plan, once. A page that goes away does not stop it."""

    @authenticated
    @authorized
    async def post(self, plan_id: str) -> None:
        """Send the plan that was shown and agreed to; answer with what came of it."""
        said = parse_body(Agreement, self.request.body)
        service = await self.service()
        plan = self.parts.plans.take(plan_id, agreed=said.agreed, words=said.words)
        self.parts.watcher.look(service)
        self.answer(await _sent(service, plan))


async def _sent(service: Service, plan: Plan) -> dict[str, Any]:
    consent = consent_to(plan)
    match plan.verb:
        case Verb.CREATE:
            created = await service.create(plan, consent=consent)
            return {"cluster": named_body(created.cluster), "attached": created.attached, "note": created.note}
        case Verb.SUBMIT:
            submitted = await service.submit(plan, consent=consent)
            return {"workload": named_body(submitted.workload), "attached": submitted.attached, "note": submitted.note}
        case Verb.SCALE:
            return _changed(await service.scale(plan, consent=consent))
        case Verb.ACT:
            return _changed(await service.act(plan, consent=consent))
    raise AssertionError(f"no plan of {plan.verb} is ever kept")


def _changed(cluster: Cluster) -> dict[str, Any]:
    return {"cluster": named_body(cluster), "attached": False, "note": None}
