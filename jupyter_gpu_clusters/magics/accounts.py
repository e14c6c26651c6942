"""The magics about accounts and their offers."""

from __future__ import annotations

from ..core import bridge
from ..core.models import Offer
from .arguments import Accounts, Offers
from .run import Call
from .shown import Shown
from .views import accounts_view, offers_view


def check(call: Call[Accounts]) -> Shown:
    """``%cluster_accounts``."""
    shown = accounts_view(bridge.call(bridge.service().check_accounts, call.arguments.accounts))
    call.keep(shown.value)
    return shown


def offers(call: Call[Offers]) -> Shown:
    """``%cluster_offers``."""
    listings = bridge.call(bridge.service().offers, call.arguments.accounts)
    kept = [
        listing.model_copy(update={"offers": tuple(o for o in listing.offers if _fits(o, call.arguments))})
        for listing in listings
    ]
    shown = offers_view(kept)
    call.keep(shown.value)
    return shown


def _fits(offer: Offer, wanted: Offers) -> bool:
    if wanted.gpu is not None and wanted.gpu.lower() not in (offer.gpu_type or "").lower():
        return False
    if wanted.min_gpus is not None and offer.gpus_per_node < wanted.min_gpus:
        return False
    return wanted.min_nodes is None or offer.nodes_available is None or offer.nodes_available >= wanted.min_nodes
