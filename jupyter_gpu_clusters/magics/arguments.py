"""The arguments of every magic as typed models: one source for parsing, completion and help."""

from __future__ import annotations

import keyword
from dataclasses import dataclass
from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Source = Literal[
    "account", "provider", "cluster", "workload", "order", "look_up", "action", "cluster_detail", "workload_detail"
]


@dataclass(frozen=True, slots=True)
class Positional:
    """Marks a field that is given by its place. ``completes`` says whose names fit."""

    metavar: str
    completes: Source | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """How an option is shown and abbreviated. Without this mark a field is ``--its-name`` all the same."""

    metavar: str = "VALUE"
    short: str | None = None
    completes: Source | None = None


def _variable_name(text: str | None) -> str | None:
    if text is not None and (not text.isidentifier() or keyword.iskeyword(text)):
        raise ValueError("must be a name for a variable")
    return text


def _day(text: str | None) -> str | None:
    try:
        return text if text is None else date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError("must be a day, for example 2026-11-01") from None


class Arguments(BaseModel):
    """What every magic takes."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    takes_command: ClassVar[bool] = False
    takes_fields: ClassVar[bool] = False

    output: Annotated[str | None, Option("NAME", short="-o"), AfterValidator(_variable_name)] = Field(
        None, description="Store the result in this notebook variable as well."
    )


Account = Annotated[str, Positional("PROVIDER", "account")]
SomeAccounts = Annotated[tuple[str, ...], Positional("PROVIDER", "account")]
ClusterRef = Annotated[str, Positional("CLUSTER", "cluster")]
WorkloadRef = Annotated[str, Positional("WORKLOAD", "workload")]
Seconds = Annotated[float | None, Option("SECONDS")]

_ACCOUNT_HELP = "A provider, or an account from accounts.toml."
_CLUSTER_HELP = "Its name, or account/name where the name alone is ambiguous."
_WORKLOAD_HELP = "Its name, or cluster/name where the name alone is ambiguous."
_YES_HELP = "Agree to a known hourly price without being asked."
_DRY_RUN_HELP = "Show what would be sent and what it would cost; send nothing."


class Accounts(Arguments):
    """Check accounts and show where each takes its secret from; the secret itself is never shown.

    Examples::

        %cluster_accounts
        %cluster_accounts local
    """

    accounts: SomeAccounts = Field((), description=_ACCOUNT_HELP + " All when left out.")


class Login(Arguments):
    """Log in to a provider. Secrets are asked for, checked, and kept in the keyring or a private file.

    They never stand in the cell, its output, or the accounts file, which only says where they are. Settings that are
    no secret may be options; those that are needed and not given are asked for.

    Examples::

        %cluster_login lium
        %cluster_login e2e --name lab --project-id 1234
    """

    takes_fields: ClassVar[bool] = True

    account: Annotated[str, Positional("PROVIDER", "provider")] = Field(
        description="A provider, or an account of yours."
    )
    name: Annotated[str | None, Option("NAME")] = Field(
        None, description="Name of the account; the provider's when left out."
    )
    store: Annotated[Literal["keyring", "file"] | None, Option("PLACE")] = Field(
        None, description="Where the secret is kept; the keyring where there is one when left out."
    )


class SshKeys(Arguments):
    """Show the public SSH keys that a provider keeps for new clusters, or let it keep one more.

    Examples::

        %cluster_ssh_keys lium
        %cluster_ssh_keys e2e --add ~/.ssh/id_ed25519.pub --label laptop
    """

    account: Account = Field(description=_ACCOUNT_HELP)
    add: Annotated[str | None, Option("FILE")] = Field(
        None, description="A public key file, for example id_ed25519.pub."
    )
    label: Annotated[str | None, Option("TEXT")] = Field(
        None, min_length=1, description="Its name at the provider; this machine's name when left out."
    )


class Ssh(Arguments):
    """Log in to the machines of a cluster once, show their host keys, and let `ssh NAME` work in a terminal.

    Examples::

        %cluster_ssh pair
        %cluster_ssh pair --node 1 --forward 8888
        %cluster_ssh pair --node 1 --forget
    """

    cluster: ClusterRef = Field(description=_CLUSTER_HELP)
    node: Annotated[int | None, Option("N")] = Field(None, ge=0, description="Only this node.")
    forward: Annotated[int | None, Option("PORT")] = Field(
        None, ge=1, le=65535, description="Make this port of the machine one of this machine, while the kernel runs."
    )
    local_port: Annotated[int | None, Option("PORT")] = Field(
        None, ge=1, le=65535, description="Which one; any that is free when left out."
    )
    forget: bool = Field(False, description="Forget the host keys first: the machines were made anew.")


class Choices(Arguments):
    """List what may be chosen for a field of a spec: images, keys, projects. Options fill in the spec so far.

    Examples::

        %cluster_choices e2e
        %cluster_choices e2e images --location Chennai
    """

    takes_fields: ClassVar[bool] = True

    account: Account = Field(description=_ACCOUNT_HELP)
    look_up: Annotated[str | None, Positional("LIST", "look_up")] = Field(
        None, description="Which list; the names of all lists when left out."
    )


class Offers(Arguments):
    """List what can be rented now, the cheapest node-hour first. Currencies are never compared.

    Examples::

        %cluster_offers
        %cluster_offers local --min-nodes 2
    """

    accounts: SomeAccounts = Field((), description=_ACCOUNT_HELP + " All when left out.")
    gpu: Annotated[str | None, Option("TYPE")] = Field(None, description="Only GPU types that contain this text.")
    min_nodes: Annotated[int | None, Option("N")] = Field(None, ge=1, description="Only where so many nodes are free.")
    min_gpus: Annotated[int | None, Option("N")] = Field(
        None, ge=1, description="Only nodes with so many GPUs or more."
    )


class Create(Arguments):
    """Create a cluster. The spec is the body of the cell, in YAML; scalar fields may also be options.

    Run again with the same name and spec it attaches to the cluster that is there; nothing is rented twice.
    An unquoted ``$name`` takes the notebook variable of that name.

    Examples::

        %cluster_create local --name demo --nodes 2

        %%cluster_create local --wait
        name: demo
        nodes: 2
    """

    takes_fields: ClassVar[bool] = True

    account: Account = Field(description=_ACCOUNT_HELP)
    name: Annotated[str | None, Option("NAME")] = Field(None, description="Name of the cluster.")
    yes: bool = Field(False, description=_YES_HELP)
    dry_run: bool = Field(False, description=_DRY_RUN_HELP)
    wait: bool = Field(False, description="Wait until the cluster is running.")
    max_hours: Annotated[float | None, Option("HOURS")] = Field(
        None, gt=0, le=24 * 365, description="Delete it by itself after so many hours."
    )
    new: bool = Field(
        False, description="The name must be unused here; one of another machine or person is no obstacle."
    )


class ClusterList(Arguments):
    """List all clusters that the accounts can see, whoever created them, with the age of what is shown.

    Examples::

        %cluster_list
        %cluster_list local -o clusters
    """

    accounts: SomeAccounts = Field((), description=_ACCOUNT_HELP + " All when left out.")


class ClusterName(Arguments):
    """One cluster.

    Examples::

        %cluster_status demo
    """

    cluster: ClusterRef = Field(description=_CLUSTER_HELP)


class ClusterWait(Arguments):
    """Wait for a cluster. Kernel > Interrupt ends the wait; the cluster goes on.

    Examples::

        %cluster_wait demo --timeout 600
    """

    cluster: ClusterRef = Field(description=_CLUSTER_HELP)
    timeout: Seconds = Field(None, gt=0, description="Give up after so many seconds; the cluster goes on.")


class Scale(Arguments):
    """Change the size of a cluster. ``--nodes`` is the wanted total, not a difference.

    Examples::

        %cluster_scale demo --nodes 4
    """

    cluster: ClusterRef = Field(description=_CLUSTER_HELP)
    nodes: Annotated[int, Option("TOTAL")] = Field(ge=1, description="Nodes it should have afterwards.")
    yes: bool = Field(False, description=_YES_HELP)
    dry_run: bool = Field(False, description=_DRY_RUN_HELP)


class Restart(Arguments):
    """Restart a cluster, whatever its provider calls that. What runs on it ends; asks first.

    Examples::

        %cluster_restart demo
    """

    takes_fields: ClassVar[bool] = True

    cluster: ClusterRef = Field(description=_CLUSTER_HELP)
    yes: bool = Field(False, description="Restart without being asked.")
    dry_run: bool = Field(False, description="Show what would be sent; send nothing.")


class Act(Arguments):
    """Do what only one provider can do to a cluster. What it needs is the cell's body, in YAML, or options.

    Without an action it lists those of the cluster's provider.

    Examples::

        %cluster_action demo
        %cluster_action demo restart_workers --yes
    """

    takes_fields: ClassVar[bool] = True

    cluster: ClusterRef = Field(description=_CLUSTER_HELP)
    action: Annotated[str | None, Positional("ACTION", "action")] = Field(
        None, description="One of the provider's own actions."
    )
    yes: bool = Field(False, description=_YES_HELP)
    dry_run: bool = Field(False, description=_DRY_RUN_HELP)


class ClusterDetails(Arguments):
    """Show a table that only the cluster's provider has: events, quotas, what it billed.

    Examples::

        %cluster_details demo
        %cluster_details demo events
    """

    cluster: ClusterRef = Field(description=_CLUSTER_HELP)
    kind: Annotated[str | None, Positional("TABLE", "cluster_detail")] = Field(
        None, description="Which table; the names of all tables when left out."
    )


class Delete(Arguments):
    """Delete a cluster and end its cost. Asks first, naming what is running on it, and waits until it is proven gone.

    The wish never lapses: interrupt the wait, and whoever of your notebooks and Jupyter server runs goes on.

    Examples::

        %cluster_delete demo
        %cluster_delete demo --yes
    """

    cluster: ClusterRef = Field(description=_CLUSTER_HELP)
    yes: bool = Field(False, description="Delete without being asked.")
    timeout: Annotated[float, Option("SECONDS")] = Field(
        900, ge=0, description="Fail when it is not proven gone after so many seconds; 0 does not wait."
    )


class Recover(Arguments):
    """Look for everything that is not certain: orders whose answer was lost, deletes that are not confirmed, clusters
    that vanished. Looking only reads, except that deletes you asked for before are sent again.

    Closing states that nothing came of it; the statement is recorded, and its mark is watched for 30 more days.

    Examples::

        %cluster_recover
        %cluster_recover 0f3a --adopt Delhi/1234
        %cluster_recover 0f3a --delete
        %cluster_recover 0f3a --close "checked in the console: nothing there"
    """

    order: Annotated[str | None, Positional("ORDER", "order")] = Field(
        None, description="Id of one order or its beginning, or the name of what it is about. All when left out."
    )
    adopt: Annotated[str | None, Option("CLUSTER_ID")] = Field(
        None, min_length=1, description="This cluster is what the order made."
    )
    delete: bool = Field(False, description="Delete what it made as soon as it shows.")
    close: Annotated[str | None, Option("STATEMENT")] = Field(
        None, min_length=1, description="Close it with this statement."
    )
    yes: bool = Field(False, description="Adopt or delete without being asked.")


class Orphans(Arguments):
    """List what may cost and was not ordered here, what vanished, and orders of which nothing is listed.

    Each line says how to deal with it; nothing is deleted in bulk.

    Examples::

        %cluster_orphans
    """


class Costs(Arguments):
    """Estimate what was spent so far and what is being spent per hour now, with what that assumes.

    Each currency stands by itself. Where a service tells the balance, it says how long that lasts. The result's
    ``.records`` are ready for ``pandas.DataFrame``. Days are days of UTC.

    Examples::

        %cluster_costs
        %cluster_costs lium --by day --since 2026-11-01 -o spent
        %cluster_costs --csv costs.csv
    """

    accounts: Annotated[tuple[str, ...], Positional("ACCOUNT", "account")] = Field(
        (), description="Accounts from accounts.toml. All when left out, also those that are no longer in it."
    )
    by: Annotated[Literal["cluster", "account", "currency", "day"], Option("WHAT")] = Field(
        "cluster", description="What makes a row: cluster, account, currency or day."
    )
    since: Annotated[str | None, Option("DATE"), AfterValidator(_day)] = Field(
        None, description="Only what was spent from that day on, for example 2026-11-01."
    )
    csv: Annotated[str | None, Option("FILE")] = Field(
        None, min_length=1, description="Write the records to this file as well."
    )
    force: bool = Field(False, description="The file may be replaced if it exists.")
    free: bool = Field(False, description="Show also what is free.")


class Extend(Arguments):
    """Set when a cluster is deleted by itself, counted from now, whatever was said before.

    Examples::

        %cluster_extend demo --hours 5
    """

    cluster: ClusterRef = Field(description=_CLUSTER_HELP)
    hours: Annotated[float, Option("HOURS")] = Field(gt=0, le=24 * 365, description="Hours from now.")
    yes: bool = Field(False, description=_YES_HELP)
    dry_run: bool = Field(False, description=_DRY_RUN_HELP)


class ClusterForm(Arguments):
    """Show the create form of a provider.

    Examples::

        %cluster_form local
    """

    account: Annotated[str | None, Positional("PROVIDER", "account")] = Field(
        None, description=_ACCOUNT_HELP + " Chosen in the form when left out."
    )


class Submit(Arguments):
    """Run something on a cluster: a command after ``--``, a spec as the YAML body of a cell, or a script.

    The command is split into words and runs without a shell. With ``--script`` the cell (or the text after
    ``--``) is a script. Without ``--procs-per-node`` it starts once per node, with torchrun's defaults set.

    Examples::

        %workload_submit demo --name train --procs-per-node 2 --wait -- python train.py --epochs 3

        %%workload_submit demo --name check --script
        nvidia-smi | head -n 15

        %%workload_submit demo
        name: train
        command: [python, train.py]
        env: {SEED: "7"}

    Scalar fields of the provider's spec that are not listed here may be options too.
    """

    takes_command: ClassVar[bool] = True
    takes_fields: ClassVar[bool] = True

    cluster: ClusterRef = Field(description=_CLUSTER_HELP)
    name: Annotated[str | None, Option("NAME")] = Field(
        None, description="Name of the workload. A running one of that name is attached to, an ended one runs again."
    )
    nodes: Annotated[int | None, Option("N")] = Field(None, ge=1, description="Nodes to use; all when left out.")
    procs_per_node: Annotated[int | None, Option("P")] = Field(
        None, ge=1, description="Start the command so many times on every node."
    )
    gpus_per_node: Annotated[int | None, Option("N")] = Field(
        None, ge=0, description="GPUs of a node that the command sees; all when left out."
    )
    env: Annotated[dict[str, str], Option("KEY=VALUE")] = Field(
        default_factory=dict, description="A variable for every rank; may be repeated."
    )
    workdir: Annotated[str | None, Option("DIR")] = Field(None, description="Directory to run in.")
    sync: Annotated[str | None, Option("DIR")] = Field(None, description="Directory that every node gets a copy of.")
    script: bool = Field(False, description="The cell, or the text after `--`, is a script.")
    yes: bool = Field(False, description=_YES_HELP)
    dry_run: bool = Field(False, description=_DRY_RUN_HELP)
    wait: bool = Field(False, description="Wait until it has ended; the cell fails if it fails.")


class WorkloadList(Arguments):
    """List workloads, the newest first.

    Examples::

        %workload_list demo
    """

    cluster: Annotated[str | None, Positional("CLUSTER", "cluster")] = Field(
        None, description=_CLUSTER_HELP + " All when left out."
    )


class WorkloadName(Arguments):
    """One workload.

    Examples::

        %workload_status demo/train
    """

    workload: WorkloadRef = Field(description=_WORKLOAD_HELP)


class WorkloadDetails(Arguments):
    """Show a table that only the workload's provider has: pods, events, its history.

    Examples::

        %workload_details train
        %workload_details train events
    """

    workload: WorkloadRef = Field(description=_WORKLOAD_HELP)
    kind: Annotated[str | None, Positional("TABLE", "workload_detail")] = Field(
        None, description="Which table; the names of all tables when left out."
    )


class WorkloadWait(Arguments):
    """Wait for a workload to end. Kernel > Interrupt ends the wait; the workload goes on.

    Examples::

        %workload_wait train --timeout 3600
    """

    workload: WorkloadRef = Field(description=_WORKLOAD_HELP)
    timeout: Seconds = Field(None, gt=0, description="Give up after so many seconds; the workload goes on.")


class Logs(Arguments):
    """Print the output of a workload. What is printed is bounded; the log itself is not.

    Examples::

        %workload_logs train -f
        %workload_logs train --rank 0 --tail 50
        %workload_logs train --save logs
    """

    workload: WorkloadRef = Field(description=_WORKLOAD_HELP)
    follow: Annotated[bool, Option(short="-f")] = Field(False, description="Go on until the workload has ended.")
    rank: Annotated[int | None, Option("R")] = Field(None, ge=0, description="Only this rank.")
    tail: Annotated[int | None, Option("N")] = Field(
        None, ge=1, description="Start with the last N lines of each rank."
    )
    save: Annotated[str | None, Option("DIR")] = Field(
        None, min_length=1, description="Show nothing, and write every rank's whole output to DIR/rank-R.log."
    )


class WorkloadForm(Arguments):
    """Show the submit form of a cluster.

    Examples::

        %workload_form demo
    """

    cluster: Annotated[str | None, Positional("CLUSTER", "cluster")] = Field(
        None, description=_CLUSTER_HELP + " Chosen in the form when left out."
    )
