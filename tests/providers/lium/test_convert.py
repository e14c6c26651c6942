"""From rows to clusters and offers, without a network: odd words, numbers, indices, prices, times and commands."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from jupyter_gpu_clusters.core.models import Billing, Cluster, ClusterPhase
from jupyter_gpu_clusters.providers.lium.clusters import cluster_of
from jupyter_gpu_clusters.providers.lium.convert import (
    address_of,
    cheapest_first,
    cluster_id_of,
    fabric_offer,
    groups_of,
    host_offer,
    pod_of,
    price_of,
    spend_of,
)
from jupyter_gpu_clusters.providers.lium.wire import Executor, Fabric, Pod

WORDS = {
    "PENDING": (ClusterPhase.CREATING, Billing.YES),
    "START_PENDING": (ClusterPhase.CREATING, Billing.YES),
    "REBOOT_PENDING": (ClusterPhase.CREATING, Billing.YES),
    "RUNNING": (ClusterPhase.RUNNING, Billing.YES),
    "STOP_PENDING": (ClusterPhase.STOPPING, Billing.UNKNOWN),
    "STOPPED": (ClusterPhase.STOPPED, Billing.UNKNOWN),
    "DELETING": (ClusterPhase.DELETING, Billing.NO),
    "CREATION_FAILED": (ClusterPhase.FAILED, Billing.NO),
    "FAILED": (ClusterPhase.FAILED, Billing.UNKNOWN),
    "REBOOT_FAILED": (ClusterPhase.FAILED, Billing.YES),
    "BROKEN": (ClusterPhase.FAILED, Billing.NO),
    "ERROR": (ClusterPhase.FAILED, Billing.UNKNOWN),
    "TERMINATED": (ClusterPhase.DELETED, Billing.NO),
    "DELETED": (ClusterPhase.DELETED, Billing.NO),
    "REMOVED": (ClusterPhase.DELETED, Billing.NO),
    "CANCELLED": (ClusterPhase.DELETED, Billing.NO),
}
STRANGE: list[Any] = [
    "HIBERNATING",
    "",
    " ",
    None,
    7,
    True,
    {},
    [],
    ["RUNNING"],
    ["DELETED"],
    ["BROKEN", "DELETED"],
    [None],
]


def pod(index: Any = 0, **changes: Any) -> Pod:
    row = {
        "id": f"p{index}",
        "executor_id": f"h{index}",
        "pod_name": "pair-abc",
        "status": "RUNNING",
        "ssh_connect_cmd": "ssh root@203.0.113.1 -p 31022",
        "gpu_name": "H100",
        "gpu_count": "8",
        "price": 16.8,
        "created_at": "2026-12-01T00:00:00",
        "cluster_id": "c",
        "cluster_node_index": index,
        **changes,
    }
    return Pod.model_validate(row)


def cluster(*pods: Pod, expected: tuple[str, ...] = ()) -> Cluster:
    return cluster_of("c", pods or (pod(0), pod(1)), "lium", expected)


def host(number: str = "h", **changes: Any) -> Executor:
    row = {"id": number, "machine_name": "NVIDIA H100", "gpu_count": 8, "price_per_gpu": 2.1, **changes}
    return Executor.model_validate(row)


# Words


@pytest.mark.parametrize("word", WORDS)
def test_every_word_of_the_contract_in_any_case(word: str) -> None:
    for written in (word, word.lower(), word.title()):
        made = cluster(*(pod(n, status=written) for n in range(2)))
        assert (made.phase, made.billing) == WORDS[word], written


@pytest.mark.parametrize("word", STRANGE)
def test_what_is_no_known_word_is_unknown_and_never_final(word: Any) -> None:
    made = cluster(*(pod(n, status=word) for n in range(2)))
    assert (made.phase, made.billing) == (ClusterPhase.UNKNOWN, Billing.UNKNOWN)


def test_a_word_that_came_in_a_list_is_shown_as_one() -> None:
    assert cluster(*(pod(n, status=["DELETED"]) for n in range(2))).provider_state == "[DELETED]"


@pytest.mark.parametrize("command", [None, "", " ", {}, True])
def test_running_without_an_ssh_command_is_not_running(command: Any) -> None:
    made = cluster(pod(0), pod(1, ssh_connect_cmd=command))
    assert (made.phase, made.nodes[1].address, made.billing) == (ClusterPhase.CREATING, None, Billing.YES)


@pytest.mark.parametrize("command", ["ssh root@h -p 22; curl evil", ["ssh root@evil", "x"], "evil", 7])
def test_a_command_that_is_none_is_said_and_never_used(command: Any) -> None:
    made = cluster(pod(0), pod(1, ssh_connect_cmd=command))
    assert (made.phase, made.nodes[1].address) == (ClusterPhase.DEGRADED, None)
    assert "SSH command that Lium shows for node 1" in (made.reason or "")
    assert "evil" not in repr(made)


# Commands


@pytest.mark.parametrize(
    ("command", "address"),
    [
        ("ssh root@203.0.113.9 -p 31022", "root@203.0.113.9:31022"),
        ("ssh root@203.0.113.9", "root@203.0.113.9:22"),
        ("  ssh   root@host.example  -p   1 ", "root@host.example:1"),
        ("ssh a.b-c_1@[2001:db8::1] -p 65535", "a.b-c_1@[2001:db8::1]:65535"),
        ("ssh root@h -p 0022", "root@h:22"),
    ],
)
def test_commands_are_taken_apart(command: str, address: str) -> None:
    assert address_of(command) == address


def test_nothing_else_gets_through() -> None:
    hostile = [
        "ssh root@h -p 0",
        "ssh root@h -p 65536",
        "ssh root@h -p 123456",
        "ssh root@h -p -1",
        "ssh root@h -p 22 -p 23",
        "ssh root@h -p 22 reboot",
        "ssh root@h -p 22; reboot",
        "ssh root@h -p 22 && reboot",
        "ssh root@h -p 22\nreboot",
        "ssh root@`id`",
        "ssh root@$(id)",
        "ssh root@${HOME}",
        "ssh root@h|sh",
        "ssh root@h>x",
        "ssh 'root'@h",
        "ssh -oProxyCommand=sh root@h",
        "ssh root@h -o ProxyCommand=sh",
        "ssh -p 22 root@h",
        "ssh -l root h",
        "ssh root@-oProxyCommand=sh",
        "ssh -root@h",
        "ssh root@h/x",
        "ssh root@h%20",
        "ssh röot@h",
        "ssh root@hößt",
        "ssh root@h -p ٢٢",
        "ssh root@",
        "ssh @h",
        "ssh h",
        "SSH root@h",
        "sudo ssh root@h",
        "ssh root@h\x00",
        "",
        None,
    ]
    assert [command for command in hostile if address_of(command) is not None] == []


# Members


def test_pods_are_grouped_and_single_ones_stand_alone() -> None:
    pods = [pod(1), pod(0, id="s1", cluster_id=None), pod(0), pod(5, id=None), pod(0, id="s2", cluster_id="")]
    groups = groups_of(pods)
    assert {name: [one.id for one in found] for name, found in groups.items()} == {
        "c": ["p1", "p0"],
        "pod/s1": ["s1"],
        "pod/s2": ["s2"],
    }
    assert (pod_of("pod/s1"), pod_of("c"), cluster_id_of(pods[0])) == ("s1", None, "c")


def test_members_are_in_rank_order_whatever_the_order_of_the_list() -> None:
    made = cluster(pod(2), pod(0), pod(1))
    assert [(node.index, node.node_id) for node in made.nodes] == [(0, "p0"), (1, "p1"), (2, "p2")]


@pytest.mark.parametrize("indices", [(0, 0), (1, 1), (None, 1), (-1, 0), (0, 10**9), ("x", 0), (0.5, 1), ([0], 1)])
def test_a_rank_order_that_cannot_be_trusted_is_said(indices: tuple[Any, Any]) -> None:
    made = cluster(*(pod(n, cluster_node_index=index) for n, index in enumerate(indices)))
    assert made.phase is ClusterPhase.DEGRADED
    assert "no rank order can be trusted" in (made.reason or "")
    assert [node.index for node in made.nodes] == [0, 1]


@pytest.mark.parametrize(("indices", "gone"), [((1,), "node 0"), ((0, 2), "node 1"), ((1, 4), "node 0, 2, 3")])
def test_indices_that_nobody_has_are_members_that_are_not_listed(indices: tuple[int, ...], gone: str) -> None:
    made = cluster(*(pod(n) for n in indices))
    assert made.phase is ClusterPhase.DEGRADED
    assert f"there must be: {gone}." in (made.reason or "")
    assert [node.index for node in made.nodes] == list(indices)


def test_indices_may_be_texts() -> None:
    made = cluster(pod(0, cluster_node_index="1"), pod(1, cluster_node_index="0"))
    assert [node.node_id for node in made.nodes] == ["p1", "p0"]
    assert made.phase is ClusterPhase.RUNNING


def test_members_that_an_answer_named_and_no_list_shows_take_the_free_indices() -> None:
    made = cluster(pod(1), expected=("p0", "p1", "p2"))
    assert [(node.index, node.node_id, node.phase) for node in made.nodes] == [
        (0, "p0", ClusterPhase.UNKNOWN),
        (1, "p1", ClusterPhase.RUNNING),
        (2, "p2", ClusterPhase.UNKNOWN),
    ]
    assert (made.phase, made.price_per_hour, made.ends_at) == (ClusterPhase.DEGRADED, None, None)
    assert "They may be billed." in (made.reason or "")


@pytest.mark.parametrize(
    ("status", "phase"),
    [
        ("PENDING", ClusterPhase.CREATING),
        ("RUNNING", ClusterPhase.DEGRADED),
        ("STOP_PENDING", ClusterPhase.DEGRADED),
        ("NOBODY_KNOWS", ClusterPhase.DEGRADED),
        ("FAILED", ClusterPhase.DEGRADED),
        ("DELETING", ClusterPhase.DELETING),
    ],
)
def test_a_member_that_no_list_shows_degrades_all_that_is_more_than_begun(status: str, phase: ClusterPhase) -> None:
    made = cluster(pod(0, status=status), expected=("p0", "p1"))
    assert (made.phase, made.member_ids) == (phase, ("p0", "p1"))
    assert made.billing is not Billing.NO
    assert "p1. They may be billed." in (made.reason or "")


@pytest.mark.parametrize(("count", "gpus"), [("8", 8), (8, 8), ("8.0", 8), (None, 0), ("many", 0), ([8], 0), (True, 0)])
def test_gpus_are_a_text_a_number_or_not_known(count: Any, gpus: int) -> None:
    assert cluster(*(pod(n, gpu_count=count) for n in range(2))).gpus_per_node == gpus


def test_everything_may_be_missing_or_more() -> None:
    bare = Pod.model_validate({"id": "p", "new": [1], "executor": "text", "price": {}, "created_at": 5})
    made = cluster_of("pod/p", [bare], "lium")
    assert (made.name, made.phase, made.node_count, made.region) == ("pod/p", ClusterPhase.UNKNOWN, 1, None)


# Money and time


@pytest.mark.parametrize("price", [0, "0", None, -1, "-1", "soon", "", [3], {}, True, "1e3x", "nan"])
def test_what_is_no_price_is_unknown_and_never_free(price: Any) -> None:
    made = cluster(pod(0), pod(1, price=price))
    assert (made.price_per_hour, made.is_free) == (None, False)
    assert price_of(host(price_per_gpu=price)) is None
    offer = host_offer(host(price_per_gpu=price), "lium")
    assert offer is not None
    assert offer.price_per_node_hour is None


@pytest.mark.parametrize("price", [16.8, "16.8", Decimal("16.8")])
def test_the_price_of_a_pod_is_that_of_the_whole_pod(price: Any) -> None:
    assert str(cluster(*(pod(n, price=price) for n in range(2))).price_per_hour) == "33.60 USD"


def test_only_what_is_not_closed_is_spent() -> None:
    words = ["RUNNING", "BROKEN", "DELETING", "PENDING", "HIBERNATING", ["DELETED"]]
    assert spend_of(pod(n, status=word, price=1) for n, word in enumerate(words)) == 4
    assert spend_of([pod(0, price=None), pod(1, price=2)]) == 2


@pytest.mark.parametrize(
    "written", ["2026-12-24T18:00:00", "2026-12-24T18:00:00Z", "2026-12-24T20:00:00+02:00", "2026-12-24T18:00:00.5"]
)
def test_times_with_and_without_a_zone(written: str) -> None:
    made = cluster(*(pod(n, created_at=written, removal_scheduled_at=written) for n in range(2)))
    for moment in (made.created_at, made.ends_at):
        assert moment is not None
        assert moment.astimezone(UTC).replace(microsecond=0) == datetime(2026, 12, 24, 18, tzinfo=UTC)


@pytest.mark.parametrize("end", [None, "", "never", 7, [], {}, "2026-13-45T00:00:00"])
def test_an_end_is_told_only_where_every_member_has_one(end: Any) -> None:
    made = cluster(pod(0, removal_scheduled_at="2026-12-24T18:00:00"), pod(1, removal_scheduled_at=end))
    assert made.ends_at is None
    assert "NO END TIME on node 1" in (made.reason or "")


# Offers


def test_the_cheapest_host_is_first_and_one_without_a_price_last() -> None:
    hosts = [host("b"), host("a"), host("z", price_per_gpu=None), host("c", gpu_count=4), host("a"), host(id=None)]
    assert [one.id for one in cheapest_first(hosts)] == ["c", "a", "b", "z"]


def test_the_gpus_of_a_host_may_stand_in_its_specs() -> None:
    made = host_offer(host(gpu_count=None, specs={"gpu": {"count": "8"}, "cpu": 7, "ram": {"total": 2**20}}), "lium")
    assert made is not None
    assert (made.gpus_per_node, str(made.price_per_node_hour), made.memory_gib_per_node) == (8, "16.80 USD", 1.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"id": None},
        {"active": False},
        {"available_gpu_count": 0},
        {"available_gpu_count": 3},
        {"available_gpu_count": 1, "min_gpu_count_for_rental": 2},
        {"gpu_count": None},
    ],
)
def test_a_host_of_which_nothing_can_be_rented_is_no_offer(changes: dict[str, Any]) -> None:
    assert host_offer(host(**changes), "lium") is None


def test_a_part_of_a_host_is_offered_where_it_may_be_split() -> None:
    offer = host_offer(host(available_gpu_count=3, min_gpu_count_for_rental=1, tier="SPOT"), "lium")
    assert offer is not None
    assert offer.spec == {"nodes": 1, "executor_uuids": ["h"], "gpu_count": 3}
    assert "3 of 8 GPUs free (spot" in offer.title


@pytest.mark.parametrize(
    ("changes", "interconnect"),
    [
        ({"fabric_type": "infiniband", "link_rate": "400 Gb/sec", "fabric_measured": True}, "InfiniBand 400 Gb/sec"),
        ({"fabric_type": "RoCE", "fabric_measured": True}, "RoCE"),
        ({"link_rate": None}, "InfiniBand, not measured"),
        ({"fabric_type": ["roce"], "link_rate": 400, "fabric_measured": "yes"}, "RoCE 400, not measured"),
    ],
)
def test_what_a_fabric_is_made_of(changes: dict[str, Any], interconnect: str) -> None:
    nodes = [host(n).model_dump() for n in "ab"]
    offer = fabric_offer(Fabric.model_validate({"fabric_id": "f:1 x", "nodes": nodes, **changes}), "lium")
    assert offer is not None
    assert (offer.interconnect, offer.nodes_available) == (interconnect, 2)
    assert offer.spec == {"fabric": "f:1 x", "nodes": 2}


@pytest.mark.parametrize(
    "nodes", [None, [], {}, "x", [7, None], [{"id": None}], [{"id": "a", "available_gpu_count": 0, "gpu_count": 8}]]
)
def test_a_fabric_without_free_nodes_is_no_offer(nodes: Any) -> None:
    assert fabric_offer(Fabric.model_validate({"fabric_id": "f", "nodes": nodes}), "lium") is None
