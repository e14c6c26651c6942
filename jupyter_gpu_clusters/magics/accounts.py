"""The magics about accounts and their offers."""

from __future__ import annotations

import socket

from ..core import bridge
from ..core.models import Offer
from ..core.ssh_keys import read_public_key
from .arguments import Accounts, Choices, Offers, SshKeys
from .blocks import Heading, Note, Table
from .run import Call
from .shown import Shown
from .views import accounts_view, choices_view, offers_view


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


def ssh_keys(call: Call[SshKeys]) -> Shown:
    """``%cluster_ssh_keys``."""
    arguments, service = call.arguments, bridge.service()
    note = None
    if arguments.add is not None:
        key = read_public_key(arguments.add)
        choice, is_new = bridge.call(
            service.add_ssh_key, arguments.account, arguments.label or socket.gethostname(), key
        )
        note = (
            f"{choice.label} was added."
            if is_new
            else f"The key is there already, as {choice.label}; nothing was sent."
        )
    listing = bridge.call(service.ssh_keys, arguments.account)
    call.keep(list(listing.items))
    return choices_view(f"SSH keys at {arguments.account}", listing, note)


def choices(call: Call[Choices]) -> Shown:
    """``%cluster_choices``."""
    arguments, service = call.arguments, bridge.service()
    if arguments.look_up is None:
        look_ups = service.look_ups(arguments.account)
        call.keep({name: look_up.title for name, look_up in look_ups.items()})
        rows = [[name, look_up.title, ", ".join(look_up.depends_on)] for name, look_up in look_ups.items()]
        table = Table(["list", "what it shows", "depends on"], rows)
        note = Note(f"`%cluster_choices {arguments.account} LIST` shows one.")
        return Shown("look-ups", sorted(look_ups), [Heading(f"Lists of {arguments.account}"), table, note])
    listing = bridge.call(service.choices, arguments.account, arguments.look_up, dict(call.parsed.fields))
    call.keep(list(listing.items))
    return choices_view(f"{arguments.look_up} of {arguments.account}", listing)


def _fits(offer: Offer, wanted: Offers) -> bool:
    if wanted.gpu is not None and wanted.gpu.lower() not in (offer.gpu_type or "").lower():
        return False
    if wanted.min_gpus is not None and offer.gpus_per_node < wanted.min_gpus:
        return False
    return wanted.min_nodes is None or offer.nodes_available is None or offer.nodes_available >= wanted.min_nodes
