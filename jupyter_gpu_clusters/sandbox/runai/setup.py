"""Changes of the simulated world from outside: what tests and experiments need and no client could do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..world import World
from .inventory import Inventory, Node, Quota
from .policy import read_policy
from .scheduler import Scheduler
from .tokens import ROLES, Account, Tokens
from .workload import FINAL, HOLDING, Phases, Workload

_FOREIGN_TYPES = ("Training", "Workspace")
_FOREVER_S = 1e9


class Setup:
    """One method per word; each takes the JSON value that came with it."""

    def __init__(self, world: World, inventory: Inventory, scheduler: Scheduler, tokens: Tokens) -> None:
        self._world, self._inventory, self._scheduler, self._tokens = world, inventory, scheduler, tokens
        self._words: dict[str, Callable[[Any], Any]] = {
            "credential": self._credential,
            "revoke_tokens": self._revoke,
            "projects": self._projects,
            "foreign": self._foreign,
            "policy": self._policy,
            "quota": self._quota,
            "node": self._node,
            "preempt": self._preempt,
            "phase": self._phase,
            "finish": self._finish,
            "run": self._run,
            "log": self._log,
        }

    def do(self, what: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out every word, in order; word -> its result.

        Raises
        ------
        ValueError : an unknown word, or one whose value makes no sense.
        """
        unknown = [word for word in what if word not in self._words]
        if unknown:
            raise ValueError(f"runai cannot set up {', '.join(unknown)}; known: {', '.join(self._words)}.")
        done = {word: self._words[word](value) for word, value in what.items()}
        self._scheduler.reconsider(self._world.clock.now())
        return done

    def _credential(self, value: Mapping[str, Any]) -> dict[str, str]:
        client = str(value["client_id"])
        old = self._tokens.accounts.get(client)
        role = str(value.get("role", old.role if old else "member"))
        if role not in ROLES:
            raise ValueError(f"A role is one of {', '.join(ROLES)}, not {role}.")
        secret = str(value.get("secret") or (old.secret if old else f"sbx-{self._world.hex(32)}"))
        self._tokens.accounts[client] = Account(secret, role)
        return {"client_id": client, "secret": secret}

    def _revoke(self, value: object) -> None:
        self._tokens.revoke_all()

    def _projects(self, count: int) -> list[str]:
        return [project.id for project in self._inventory.add_projects(count)]

    def _foreign(self, value: Mapping[str, Any]) -> list[str]:
        """Workloads of other types that somebody else runs: ``count``, ``project``, ``name``."""
        project = self._inventory.projects[str(value.get("project", "4500014"))]
        made = []
        for number in range(int(value.get("count", 1))):
            now = self._world.clock.now()
            workload = Workload(
                id=self._world.uuid(),
                name=f"{value.get('name', 'foreign')}-{number}",
                requested_name=f"{value.get('name', 'foreign')}-{number}",
                project=project,
                created_by="ada@example.org",
                created_at=now,
                life=Phases(now),
                spec={"image": "registry.example.org/jupyter:7"},
                type=_FOREIGN_TYPES[number % len(_FOREIGN_TYPES)],
                run_seconds=_FOREVER_S,
            )
            self._scheduler.add(workload)
            made.append(workload.id)
        return made

    def _policy(self, value: Mapping[str, Any]) -> None:
        self._inventory.projects[str(value["project"])].policy = read_policy(value)

    def _quota(self, value: Mapping[str, Any]) -> None:
        project, pool = self._inventory.projects[str(value["project"])], str(value["pool"])
        if pool not in project.cluster.pools:
            raise ValueError(f"Cluster {project.cluster.name} has no node pool {pool}.")
        limit = value.get("limit")
        project.quotas[pool] = Quota(float(value["deserved"]), None if limit is None else float(limit))

    def _node(self, value: Mapping[str, Any]) -> list[str]:
        """``name`` and ``status``; work on a node that is not ready is degraded, until it is ready again."""
        node = self._find_node(str(value["name"]))
        node.status = str(value["status"])
        now, touched = self._world.clock.now(), []
        for workload in self._scheduler.holders():
            nodes = [pod.node for pod in workload.run.pods if pod.node] if workload.run else []
            ready = all(other.status == "Ready" for other in nodes)
            was, word = ("Degraded", "Running") if ready else ("Running", "Degraded")
            if node in nodes and workload.life.state(now) == was:
                workload.life.force(now, word)
                workload.message = "" if ready else f"node {node.name} is {node.status}"
                touched.append(workload.id)
        return touched

    def _find_node(self, name: str) -> Node:
        pools = [pool for cluster in self._inventory.clusters.values() for pool in cluster.pools.values()]
        found = next((node for pool in pools for node in pool.nodes if node.name == name), None)
        if found is None:
            raise ValueError(f"There is no node {name}.")
        return found

    def _preempt(self, workload_id: str) -> None:
        workload, now = self._workload(workload_id), self._world.clock.now()
        if workload.life.state(now) not in HOLDING:
            raise ValueError(f"Workload {workload.name} holds no nodes that could be taken away.")
        self._scheduler.preempt(workload, now)

    def _phase(self, value: Mapping[str, Any]) -> None:
        """``id`` and ``phase``: only the word changes, until the next planned step."""
        self._workload(value["id"]).life.force(self._world.clock.now(), str(value["phase"]))

    def _finish(self, value: Mapping[str, Any]) -> None:
        outcome = str(value.get("outcome", "Completed"))
        if outcome not in FINAL:
            raise ValueError(f"A workload ends as one of {', '.join(FINAL)}, not {outcome}.")
        self._scheduler.finish(self._workload(value["id"]), self._world.clock.now(), outcome)

    def _run(self, value: Mapping[str, Any]) -> None:
        """``id`` with ``seconds`` and ``outcome``: how its next run goes, if it has not started yet."""
        workload = self._workload(value["id"])
        workload.run_seconds = float(value["seconds"]) if "seconds" in value else workload.run_seconds
        workload.outcome = str(value["outcome"]) if "outcome" in value else workload.outcome

    def _log(self, value: Mapping[str, Any]) -> None:
        """``id`` and ``lines`` that replace what its log says; more lines may follow the same way."""
        self._workload(value["id"]).log = [str(line) for line in value["lines"]]

    def _workload(self, workload_id: str) -> Workload:
        if workload_id not in self._scheduler.workloads:
            raise ValueError(f"There is no workload {workload_id}.")
        return self._scheduler.workloads[workload_id]
