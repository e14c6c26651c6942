"""What the contract leaves open, or what differs between releases, and how the sandbox decides it."""

from __future__ import annotations

from ..choices import Choice


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1e9:
        raise ValueError("it must be a number of seconds, not negative")
    return value


CHOICES = (
    Choice("runai.token_v2", "present", "missing: a control plane before 2.24, 404.", ("present", "missing")),
    Choice("runai.token_seconds", "3600", "Seconds that a token lives.", check=_seconds),
    Choice("runai.expires_in", "present", "missing: only the JWT tells.", ("present", "missing")),
    Choice("runai.v1_refusal", "401", "Status for wrong credentials on the v1 token call.", ("401", "400")),
    Choice("runai.create_status", "202", "200: as before the 2.21 schema.", ("202", "200")),
    Choice("runai.duplicate_name", "409", "Status for a name that is taken.", ("409", "400")),
    Choice("runai.unknown_keys", "refuse", "What happens to unknown JSON keys.", ("refuse", "ignore")),
    Choice("runai.framework_missing", "refuse", "A request without any framework.", ("refuse", "PyTorch")),
    Choice("runai.fraction_devices", "allowed", "Fractions of several devices.", ("allowed", "refused")),
    Choice("runai.gpu_limits", "enabled", "Whether GPU limits are enabled.", ("enabled", "disabled")),
    Choice("runai.granted_gpus", "asked", "one: several devices become one, as once.", ("asked", "one")),
    Choice("runai.one_sided_policy", "works", "502: create fails for ever on such a policy.", ("works", "502")),
    Choice("runai.gateway_body", "html", "Body of a 502.", ("html", "empty")),
    Choice("runai.generic_read", "allowed", "403: only the typed read works.", ("allowed", "403")),
    Choice("runai.after_create", "unknown", "Right after create.", ("unknown", "not-found", "creating")),
    Choice("runai.settle_seconds", "2", "Seconds of being unknown after create.", check=_seconds),
    Choice("runai.creating_seconds", "3", "Seconds in Creating.", check=_seconds),
    Choice("runai.init_seconds", "15", "Seconds in Initializing.", check=_seconds),
    Choice("runai.run_seconds", "600", "Seconds in Running.", check=_seconds),
    Choice("runai.outcome", "Completed", "How workloads end.", ("Completed", "Failed")),
    Choice("runai.stop_seconds", "5", "Seconds in Stopping.", check=_seconds),
    Choice("runai.resume_seconds", "2", "Seconds in Resuming.", check=_seconds),
    Choice("runai.delete_seconds", "10", "Seconds in Deleting.", check=_seconds),
    Choice("runai.deleted_read", "deletedAt", "The typed read of what is gone.", ("deletedAt", "404")),
    Choice("runai.preemption", "none", "priority: higher priority and quota take GPUs.", ("none", "priority")),
    Choice("runai.accepted_body", "json", "empty: the 202 of older servers.", ("json", "empty")),
    Choice("runai.list_order", "oldest", "Which workloads come first unsorted.", ("oldest", "newest")),
    Choice("runai.minimal_clusters", "array", "The wrapper of /clusters/minimal.", ("array", "object", "missing")),
    Choice("runai.cluster_api", "here", "The cluster's domain.", ("here", "unreachable", "unset")),
    Choice("runai.log_type", "training", "workloadType in log paths.", ("training", "distributed")),
)
