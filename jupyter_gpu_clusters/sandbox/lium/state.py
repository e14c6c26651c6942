"""Everything the simulated Lium remembers, with the few questions that all its routes ask."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from ..choices import Choice
from ..service import Call, Refused
from ..world import Address, World
from .errors import no_pod
from .inventory import Executor, Inventory
from .keys import WINDOWS, Account, Key, presented
from .pod import Event, Pod

CLUSTER_IMAGE = "daturaai/lium-cluster"
_DEBIT_S = 300.0
_FLOOR_HOURS = 0.25
_LINES_KEPT = 10_000


def read_range(text: str) -> tuple[float, float]:
    """``12`` or ``12-31`` as lowest and highest.

    Raises
    ------
    ValueError : it is neither.
    """
    low, _, high = text.partition("-")
    return float(low), float(high or low)


CHOICES = (
    Choice(
        "lium.idempotency",
        "advertised",
        "whether keys of rents are kept and GET /version says so; silent: kept but not said",
        ("advertised", "absent", "silent"),
    ),
    Choice("lium.features", "rent_by_spec,run_record", "what else GET /version advertises, with commas"),
    Choice("lium.termination_hours", "honoured", "an end time in the rent body", ("honoured", "ignored")),
    Choice("lium.rank_order", "request", "which node gets which index", ("request", "shuffled")),
    Choice("lium.listing_order", "oldest", "order of GET /pods", ("oldest", "newest", "shuffled")),
    Choice("lium.pod_name", "kept", "whether the server changes names", ("kept", "lower", "suffixed")),
    Choice("lium.names", "free", "whether a name may be used by two rents", ("free", "unique")),
    Choice("lium.cluster_answer", "pod_ids", "whether the rent also names the cluster", ("pod_ids", "with_cluster_id")),
    Choice("lium.single_answer", "pod_id", "the answer to a single rent", ("pod_id", "pod")),
    Choice("lium.timestamps", "naive", "how times are written", ("naive", "z", "offset", "mixed")),
    Choice("lium.billing", "acceptance", "when the bill begins", ("acceptance", "running")),
    Choice("lium.zero_balance", "keep", "what happens to pods at balance zero", ("keep", "delete")),
    Choice("lium.start_seconds", "12-31", "seconds until RUNNING: a number or a range", check=read_range),
    Choice("lium.pod_polls_per_minute", "60", "more than that get 429, counted on the sandbox's clock", check=float),
    Choice("lium.nodes", "4", "nodes of the InfiniBand fabric, up to 254", check=int),
)


class State:
    """The memory of the service."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.inventory = Inventory(world, int(world.choices["lium.nodes"]))
        account = Account(world.uuid(), "Ada", 1000.0, workspace_id=world.uuid())
        self.accounts = {account.name: account}
        self.keys = [Key(world.uuid(), "notebook", f"sk_{world.hex(40)}", account)]
        self.pods: dict[str, Pod] = {}
        self.templates: dict[str, dict[str, Any]] = {}
        self.ssh_keys: dict[str, dict[str, Any]] = {}
        self.volumes: dict[str, dict[str, Any]] = {}
        self.audit: deque[dict[str, Any]] = deque(maxlen=_LINES_KEPT)
        self.paused = False
        self.fates: list[dict[str, Any]] = []
        self.undeletable: dict[str, int] = {}
        self._addresses = 0
        self._seed_templates()

    def _seed_templates(self) -> None:
        images = [
            ("Multi-node cluster", CLUSTER_IMAGE, "0.0.6"),
            ("Multi-node cluster", CLUSTER_IMAGE, "0.0.7"),
            ("PyTorch", "daturaai/pytorch", "2.9.0-cuda12.8"),
        ]
        for name, image, tag in images:
            self.add_template(
                None, {"name": name, "docker_image": image, "docker_image_tag": tag, "category": "PYTORCH"}
            )

    def add_template(self, user_id: str | None, fields: dict[str, Any]) -> dict[str, Any]:
        """Store a template; without a user it is one of the service's own."""
        status = "VERIFY_SUCCESS" if user_id is None else "CREATED"
        row = {"id": self.world.uuid(), "user_id": user_id, **fields, "status": status}
        row["supports_volume_encryption"] = True
        self.templates[row["id"]] = row
        return row

    def now(self) -> float:
        """The time of the sandbox."""
        return self.world.clock.now()

    def written(self, moment: float | None) -> str | None:
        """A time as the service writes it."""
        if moment is None:
            return None
        shown = self.world.clock.shown(moment)
        style = self.world.choices["lium.timestamps"]
        if style == "mixed":
            style = self.world.random.choice(("naive", "z", "offset"))
        text = shown.replace(tzinfo=None).isoformat(timespec="seconds")
        return text + {"naive": "", "z": "Z", "offset": "+00:00"}[style]

    def features(self) -> list[str]:
        """What the server advertises."""
        kept = ["rent_idempotency"] if self.world.choices["lium.idempotency"] == "advertised" else []
        return kept + [name for name in self.world.choices["lium.features"].split(",") if name]

    def keeps_answers(self) -> bool:
        """Whether idempotency keys of rents mean anything."""
        return self.world.choices["lium.idempotency"] != "absent"

    def key_of(self, call: Call) -> Key | None:
        """The key of a call, if it is one of ours."""
        secret = presented(call)
        return next((key for key in self.keys if key.secret == secret), None)

    def known_key(self, call: Call) -> Key:
        """The key of a call; `Refused` 401 without a right one."""
        key = self.key_of(call)
        if key is None:
            raise Refused(401, "Invalid API key" if presented(call) else "Missing API key")
        return key

    def listed(self, account: Account) -> list[Pod]:
        """The pods of an account that listings show."""
        now = self.now()
        return [pod for pod in self.pods.values() if pod.key.account is account and pod.is_listed(now)]

    def pod(self, call: Call, *, gone: bool = False) -> Pod:
        """The pod named in the path, if the caller may read it; with `gone` also after its removal."""
        pod = self.pods.get(call.params["pod_id"])
        if pod is None or pod.key.account is not self.known_key(call).account:
            raise no_pod()
        if not gone and not pod.is_listed(self.now()):
            raise no_pod()
        return pod

    def own_pod(self, call: Call) -> Pod:
        """The same for changes: ``rent`` covers pods of this key, ``manage`` all."""
        pod = self.pod(call)
        key = self.known_key(call)
        key.need("rent" if pod.key is key and "rent" in key.scopes else "manage")
        return pod

    def free_gpus(self, executor: Executor) -> int:
        """GPUs of a host that can be rented now."""
        if executor.taken or executor.offline:
            return 0
        now = self.now()
        holders = (pod for pod in self.pods.values() if pod.executor is executor and pod.holds_node(now))
        return executor.gpu_count - sum(pod.gpu_count for pod in holders)

    def next_address(self, executor: Executor) -> Address:
        """An SSH address for a new pod: a real one out of the chosen list, in turn, or an invented one."""
        self._addresses += 1
        real = self.world.addresses()
        if real:
            return real[(self._addresses - 1) % len(real)]
        place = list(self.inventory.executors).index(executor.id)
        return Address("root", f"203.0.113.{10 + place % 240}", 31_000 + self._addresses % 20_000)

    def cost(self, pod: Pod, until: float, start: float = 0.0) -> float:
        """USD charged for a pod between two moments, by the second."""
        from_acceptance = self.world.choices["lium.billing"] == "acceptance"
        return pod.price * pod.billed_seconds(start, until, from_acceptance=from_acceptance) / 3600

    def balance(self, account: Account) -> float:
        """What is left, as of the last debit (every five minutes)."""
        debited = math.floor(self.now() / _DEBIT_S) * _DEBIT_S
        pods = (pod for pod in self.pods.values() if pod.key.account is account)
        return account.balance - sum(self.cost(pod, debited) for pod in pods)

    def needed_balance(self, account: Account, more_per_hour: float) -> float:
        """Rents need more than a quarter of an hour of everything that runs and of what is wanted."""
        now = self.now()
        running = sum(pod.price for pod in self.listed(account) if pod.holds_node(now) and pod.removed_at(now) is None)
        return (running + more_per_hour) * _FLOOR_HOURS

    def spent(self, key: Key) -> float:
        """What this key's pods cost within its budget's window."""
        now = self.now()
        start = now - WINDOWS[key.window]
        return sum(self.cost(pod, now, start) for pod in self.pods.values() if pod.key is key)

    def check_budget(self, key: Key) -> None:
        """Raise `Refused` 402 when the key's budget is used up."""
        if key.budget_usd is None or (spent := self.spent(key)) < key.budget_usd:
            return
        raise Refused(
            402,
            f"The {key.window} budget of this key is used up",
            code="API_KEY_BUDGET_EXCEEDED",
            details={
                "window": key.window,
                "budget_usd": key.budget_usd,
                "spent_usd": round(spent, 2),
                "api_key_id": key.id,
            },
        )

    def note(self, call: Call, action: str, resource: str | None = None) -> None:
        """Write a line into the account's audit log."""
        key = self.known_key(call)
        self.audit.append(
            {
                "id": self.world.uuid(),
                "at": self.now(),
                "account": key.account.name,
                "action": action,
                "source": call.headers.get("x-source"),
                "api_key_id": key.id,
                "resource_id": resource,
            }
        )

    def event(self, pod: Pod, kind: str, sub: str) -> None:
        """Write a line into the history of a pod."""
        pod.events.append(Event(self.now(), kind, f"{kind}.{sub}"))
