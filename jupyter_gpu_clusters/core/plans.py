"""Small facts about plans: digests of what the user wrote, and the plan of a delete."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping

from pydantic import BaseModel

from .models import Cluster, Plan, Verb, Workload


def digest_of(spec: BaseModel, salt: bytes) -> str:
    """A digest of the spec as written; fields left out and fields set to their default are the same.

    Salted, since a spec can hold short secrets that could be guessed from a plain digest.
    """
    text = json.dumps(spec.model_dump(mode="json", exclude_defaults=True), sort_keys=True)
    return hmac.new(salt, text.encode(), hashlib.sha256).hexdigest()


def difference(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    """What differs between two shown requests, for a person: ``nodes: 2 -> 4, image: 'a' -> 'b'``."""
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return ", ".join(f"{key}: {before.get(key)!r} -> {after.get(key)!r}" for key in keys) or "values that are not shown"


def plan_delete(cluster: Cluster, identity_key: str) -> Plan:
    """The wish to delete a cluster, as a plan that costs nothing."""
    return Plan(
        verb=Verb.DELETE,
        provider=cluster.provider,
        account=cluster.account,
        identity_key=identity_key,
        name=cluster.name,
        spec_digest="",
        request=None,
        shown={"cluster_id": cluster.cluster_id},
        target_id=cluster.cluster_id,
        nodes=cluster.node_count,
        is_free=True,
    )


def plan_rest(workload: Workload, identity_key: str, verb: Verb) -> Plan:
    """Suspending or resuming a workload, as a plan that costs nothing new."""
    return Plan(
        verb=verb,
        provider=workload.provider,
        account=workload.account,
        identity_key=identity_key,
        name=workload.name,
        spec_digest="",
        request=None,
        shown={"workload_id": workload.workload_id},
        target_id=workload.workload_id,
        is_free=True,
    )
