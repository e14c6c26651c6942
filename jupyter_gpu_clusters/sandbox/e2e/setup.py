"""Changing the simulated world from outside: credit, credentials, fates, stock, prices, other people's clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ..service import Refused
from .accounts import Account, Credential, Place
from .bodies import CreateBody
from .catalogue import ImageVersion, Price, Sku
from .cluster import GONE, Cluster
from .clusters import Clusters
from .state import Tir
from .things import Group, SshKey

T = TypeVar("T")
_DAY_S = 86400.0


class Setup:
    """What ``POST /_sandbox/setup/e2e`` understands.

    ====================  ==============================================================================
    ``credit``            a number: what the account has before anything was billed
    ``credential``        ``label``, ``api_key``, ``token``; maybe ``read_only``, ``age_days``, ``account``
    ``revoke``            the label of a credential
    ``fate``              the status that new clusters reach instead of Running; Creating: none ever
    ``status``            ``cluster`` and ``word``: what it is from now on
    ``vanish``            the id of a cluster that goes without a DELETE
    ``stock``             ``sku_id`` and ``nodes``
    ``price``             ``sku_item_price_id``; maybe ``unit_price``, ``is_active``
    ``cluster``           ``project_id``, ``location``, ``body``: somebody else's cluster, in no book entry
    ``sku``               ``location`` and the fields of a node type with one hourly price of ``price_id``
    ``image``             ``location``, ``id``; maybe ``version``, ``name``, ``slug_name``, ``framework``
    ``ssh_key``           ``location``, ``pk``; maybe ``label``
    ``security_group``    ``project_id``, ``location``, ``id``; maybe ``name``
    ``sfs``, ``pfs``      ``project_id``, ``location``, ``name``; maybe ``size_gb``, ``id``
    ``dataset``           ``project_id``, ``location``, ``name``; maybe ``storage_type``, ``id``
    ====================  ==============================================================================
    """

    def __init__(self, tir: Tir, clusters: Clusters) -> None:
        self._tir, self._clusters = tir, clusters
        self._table: Mapping[str, Callable[[Any], object]] = {
            "credit": self._credit,
            "credential": lambda what: self._credential(**what),
            "revoke": self._revoke,
            "fate": self._fate,
            "status": lambda what: self._status(**what),
            "vanish": lambda number: self._status(number, GONE),
            "stock": lambda what: self._stock(**what),
            "price": lambda what: self._price(**what),
            "cluster": lambda what: self._cluster(**what),
            "sku": lambda what: self._sku(**what),
            "image": lambda what: self._image(**what),
            "ssh_key": lambda what: self._ssh_key(**what),
            "security_group": lambda what: self._group(**what),
            "sfs": lambda what: self._sfs(**what),
            "pfs": lambda what: self._pfs(**what),
            "dataset": lambda what: self._dataset(**what),
        }

    def do(self, what: Mapping[str, Any]) -> Mapping[str, object]:
        """Each thing's answer under its name.

        Raises
        ------
        ValueError : there is nothing of that name, or it cannot be so.
        """
        unknown = [name for name in what if name not in self._table]
        if unknown:
            raise ValueError(f"e2e has no {', '.join(unknown)} to set up; known: {', '.join(self._table)}.")
        try:
            return {name: self._table[name](value) for name, value in what.items()}
        except Refused as exc:
            raise ValueError(f"{exc}: {exc.problems or 'refused'}") from exc

    def _place(self, project_id: int, location: str) -> Place:
        return Place(self._owner(project_id).id, project_id, location)

    def _owner(self, project_id: int) -> Account:
        owners = [one for one in self._tir.accounts if project_id in {project.id for project in one.projects}]
        return _only(owners, f"project {project_id}")

    def _credit(self, amount: float) -> None:
        self._tir.account.credit = float(amount)

    def _credential(
        self,
        label: str,
        api_key: str,
        token: str,
        account: int | None = None,
        read_only: bool = False,
        age_days: float = 0.0,
    ) -> None:
        owner = _only([one for one in self._tir.accounts if account in (None, one.id)], f"account {account}")
        born = self._tir.now() - age_days * _DAY_S
        self._tir.credentials.append(Credential(label, api_key, token, owner, born, read_only))

    def _revoke(self, label: str) -> None:
        credential = _only([one for one in self._tir.credentials if one.label == label], f"credential {label}")
        self._tir.credentials.remove(credential)

    def _fate(self, word: str) -> None:
        self._tir.fate = word

    def _found(self, number: int | str) -> Cluster:
        return _only([one for one in self._tir.clusters.values() if str(one.id) == str(number)], f"cluster {number}")

    def _status(self, cluster: int | str, word: str) -> None:
        self._found(cluster).force(self._tir.now(), word)

    def _stock(self, sku_id: int, nodes: int) -> None:
        _only([sku for sku in self._skus() if sku.id == sku_id], f"SKU {sku_id}").stock = nodes

    def _skus(self) -> list[Sku]:
        return [sku for skus in self._tir.skus.values() for sku in skus]

    def _price(self, sku_item_price_id: int, **changes: Any) -> None:
        owners = [sku for sku in self._skus() if sku.price(sku_item_price_id)]
        sku = _only(owners, f"price {sku_item_price_id}")
        sku.prices = [replace(one, **changes) if one.id == sku_item_price_id else one for one in sku.prices]

    def _cluster(self, project_id: int, location: str, body: Mapping[str, Any]) -> str:
        made = self._clusters.make(
            self._place(project_id, location), CreateBody.model_validate(body), key="somebody else"
        )
        return str(made.id)

    def _sku(self, location: str, id: int, price_id: int, unit_price: float, **fields: Any) -> None:
        shape = {"series": "CPU", "cpu": 8, "gpu": 0, "memory": 32, "gpu_memory": 0, "family": "SX", "card": None}
        known = {"name": f"SX.{id}", "stock": 64, **shape, **fields}
        self._tir.skus[location].append(Sku(id=id, prices=[Price(price_id, 0, unit_price, location)], **known))

    def _image(self, location: str, id: int, **fields: Any) -> None:
        usual = {"version": "v1", "image_id": id, "name": "Ubuntu Slurm", "slug_name": "ubuntu-slurm"}
        self._tir.images[location].append(ImageVersion(id=id, **{"framework": "Slurm", **usual, **fields}))

    def _ssh_key(self, location: str, pk: int, label: str = "set-up") -> None:
        key = SshKey(pk, label, f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 {label}", self._tir.day(self._tir.now()))
        self._tir.keys.add(Place(self._tir.account.id, 0, location), pk, key)

    def _group(self, project_id: int, location: str, id: int, name: str = "set-up") -> None:
        self._tir.groups.add(self._place(project_id, location), id, Group(id, name, "", []))

    def _sfs(self, project_id: int, location: str, name: str, size_gb: int = 100, id: int | None = None) -> int:
        return self._tir.add_sfs(self._place(project_id, location), name, size_gb, number=id).id

    def _pfs(self, project_id: int, location: str, name: str, size_gb: int = 100, id: int | None = None) -> int:
        return self._tir.add_pfs(self._place(project_id, location), name, size_gb, number=id).id

    def _dataset(
        self, project_id: int, location: str, name: str, storage_type: str = "managed", id: int | None = None
    ) -> int:
        return self._tir.add_dataset(self._place(project_id, location), name, storage_type, number=id).id


def _only(found: list[T], wanted: str) -> T:
    if not found:
        raise ValueError(f"There is no {wanted}.")
    return found[0]
