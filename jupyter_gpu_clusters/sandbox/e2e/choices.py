"""What the E2E contract leaves open, and which way the sandbox goes."""

from __future__ import annotations

from ..choices import Choice


def _seconds(text: str) -> float:
    return _at_least(0.0, text)


def _positive(text: str) -> float:
    return _at_least(1.0, text)


def _at_least(least: float, text: str) -> float:
    value = float(text)
    if not least <= value < float("inf"):
        raise ValueError(f"the number must be {least:g} or more")
    return value


CHOICES = (
    Choice(
        "e2e.no_slash",
        "redirect",
        "a path without its last slash: a 301 that makes a POST lose its body, a 308 that keeps it, 404, or served",
        ("redirect", "redirect_308", "not_found", "served"),
    ),
    Choice("e2e.name_rule", "safe", "which names a cluster may have", ("safe", "free", "console")),
    Choice("e2e.names", "free", "whether a name may be used twice, and the status if not", ("free", "400", "409")),
    Choice(
        "e2e.name_kept",
        "kept",
        "what becomes of a name: kept, given a suffix, or cut to 24 characters",
        ("kept", "suffixed", "cut"),
    ),
    Choice(
        "e2e.script_added",
        "checked",
        "whether script_added must agree with lifecycle_script",
        ("checked", "free"),
    ),
    Choice(
        "e2e.mounts",
        "full",
        "whether the items of pfs_mount_list and dataset_mount_list need id, name and mount_path",
        ("full", "loose"),
    ),
    Choice("e2e.start_seconds", "240", "from Creating to Running", check=_seconds),
    Choice("e2e.ip_seconds", "0", "from Running to an ssh_public_ip", check=_seconds),
    Choice("e2e.action_seconds", "90", "how long restarts, image changes and scaling take", check=_seconds),
    Choice("e2e.action_words", "shown", "whether the status says so meanwhile or stays Running", ("shown", "silent")),
    Choice("e2e.teardown_seconds", "60", "from an accepted DELETE until the cluster is gone", check=_seconds),
    Choice("e2e.deleting_word", "Deleting", "the status meanwhile", ("Deleting", "Terminating")),
    Choice("e2e.delete_again", "412", "a second DELETE during the teardown", ("200", "404", "412")),
    Choice("e2e.delete_while_creating", "allowed", "DELETE of a cluster that is not up", ("allowed", "412")),
    Choice(
        "e2e.not_running",
        "412",
        "an action on a cluster that is not Running; 200 is a failure body under HTTP 200",
        ("412", "400", "200"),
    ),
    Choice("e2e.billing_start", "creation", "when hourly billing begins", ("creation", "running")),
    Choice(
        "e2e.committed_deleted",
        "kept",
        "the sum of a committed term when the cluster is deleted early",
        ("kept", "refunded"),
    ),
    Choice("e2e.commitment_end", "hourly", "what follows a committed term", ("hourly", "renewed")),
    Choice("e2e.max_clusters", "0", "clusters a project may hold in one location; 0: any number", check=_seconds),
    Choice("e2e.rate_limit", "0", "calls a minute for each credential; 0: unlimited, no headers", check=_seconds),
    Choice("e2e.per_page", "10", "rows of a page when per_page is left out", check=_positive),
    Choice("e2e.past_last_page", "empty", "a page beyond the last one", ("empty", "404")),
    Choice("e2e.list_order", "newest", "which clusters a listing shows first", ("newest", "oldest")),
    Choice("e2e.free_ip_word", "Available", "the status of a reserved IP that is free", ("Available", "Reserved")),
    Choice("e2e.created_code", "200", "the status of a new security group", ("200", "201")),
    Choice("e2e.group_detail", "group", "what one security group's GET shows", ("group", "rules")),
    Choice(
        "e2e.unknown_filter",
        "empty",
        "an unknown variant, framework or service: an empty answer or 400",
        ("empty", "400"),
    ),
    Choice("e2e.old_paths", "gone", "whether the old team paths still answer", ("gone", "answer")),
    Choice(
        "e2e.sibling_project_ids",
        "other",
        "whether the sibling listing of projects has ids of its own or the same ones",
        ("other", "same"),
    ),
)
