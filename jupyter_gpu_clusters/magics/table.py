"""Every magic, declared once: name, form, argument model, handler, one line of help.

Models and handlers are named by text and imported when a magic is first used, so that loading the
extension costs next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["line", "line_cell"]


@dataclass(frozen=True, slots=True)
class Magic:
    """One row of the table.

    Parameters
    ----------
    arguments : name of the model in ``magics.arguments``.
    handler : ``module:function`` in ``magics``.
    summary : one sentence without the full stop.
    """

    name: str
    kind: Kind
    arguments: str
    handler: str
    summary: str


MAGICS: tuple[Magic, ...] = (
    Magic(
        "cluster_accounts", "line", "Accounts", "accounts:check", "Which accounts work and where each secret is kept"
    ),
    Magic(
        "cluster_login", "line", "Login", "login:log_in", "Log in to a provider; the secret is kept out of notebooks"
    ),
    Magic("cluster_ssh_keys", "line", "SshKeys", "accounts:ssh_keys", "The public SSH keys that a provider keeps"),
    Magic("cluster_choices", "line", "Choices", "accounts:choices", "What may be chosen for a field of a spec"),
    Magic("cluster_offers", "line", "Offers", "accounts:offers", "What can be rented now, sorted by price"),
    Magic(
        "cluster_create",
        "line_cell",
        "Create",
        "clusters:create",
        "Create a cluster, or attach to the one of that name",
    ),
    Magic("cluster_list", "line", "ClusterList", "clusters:show_all", "All clusters of all accounts, looked up now"),
    Magic("cluster_status", "line", "ClusterName", "clusters:status", "One cluster with its nodes and workloads"),
    Magic("cluster_wait", "line", "ClusterWait", "clusters:wait", "Wait until a cluster is running"),
    Magic("cluster_ssh", "line", "Ssh", "access:ssh", "Log in to the machines of a cluster; forward a port of one"),
    Magic("cluster_scale", "line", "Scale", "clusters:scale", "Change the number of nodes of a cluster"),
    Magic("cluster_restart", "line", "Restart", "cluster_actions:restart", "Restart a cluster"),
    Magic(
        "cluster_action",
        "line_cell",
        "Act",
        "cluster_actions:act",
        "Do what only one provider can do to a cluster: keys, addresses, an end time",
    ),
    Magic(
        "cluster_details", "line", "ClusterDetails", "details:of_cluster", "Tables that only the cluster's provider has"
    ),
    Magic("cluster_delete", "line", "Delete", "clusters:delete", "Delete a cluster and what runs on it"),
    Magic("cluster_attach", "line", "ClusterName", "clusters:attach", "Show the live card of a cluster that exists"),
    Magic(
        "cluster_recover", "line", "Recover", "recovery:recover", "Find out what became of orders whose answer was lost"
    ),
    Magic("cluster_orphans", "line", "Orphans", "recovery:orphans", "What may cost and was not ordered here"),
    Magic("cluster_costs", "line", "Costs", "costs:costs", "What was spent so far, and what is spent per hour now"),
    Magic("cluster_extend", "line", "Extend", "recovery:extend", "Set when a cluster is deleted by itself"),
    Magic("cluster_form", "line", "ClusterForm", "forms:cluster", "A form that creates a cluster"),
    Magic(
        "workload_submit",
        "line_cell",
        "Submit",
        "workloads:submit",
        "Run a command or a script on the nodes of a cluster",
    ),
    Magic("workload_list", "line", "WorkloadList", "workloads:show_all", "The workloads of one cluster, or of all"),
    Magic("workload_status", "line", "WorkloadName", "workloads:status", "One workload with its ranks"),
    Magic(
        "workload_wait", "line", "WorkloadWait", "workloads:wait", "Wait until a workload has ended; fails if it failed"
    ),
    Magic("workload_logs", "line", "Logs", "logs:show", "The output of a workload, rank by rank"),
    Magic("workload_cancel", "line", "WorkloadName", "workloads:cancel", "End a workload on every node"),
    Magic("workload_suspend", "line", "WorkloadName", "workloads:suspend", "Let a workload give back its GPUs for now"),
    Magic("workload_resume", "line", "WorkloadName", "workloads:resume", "Let a suspended workload go on"),
    Magic(
        "workload_details",
        "line",
        "WorkloadDetails",
        "details:of_workload",
        "Tables that only the workload's provider has",
    ),
    Magic("workload_form", "line", "WorkloadForm", "forms:workload", "A form that submits a workload"),
)
