"""The calls of the contract, one method each. Every path ends in a slash; the key stands in the query.

Source: contract, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from ...core.http import Answer, Body, HttpClient, LostAnswerError, segment
from .pages import PER_PAGE, Page, all_pages, data_in, page_of
from .wire import Cluster, Image, ReservedIp, Sku, SshKey, Thing

W = TypeVar("W", bound=BaseModel)

_CLUSTERS = "/distributed_jobs_v2/cluster/"


class Client:
    """One account's calls.

    Parameters
    ----------
    http : carries both halves of the credential.
    sibling : the same for the MyAccount side, which knows projects.
    project_id, active_iam : queries that the contract wants on most calls.
    """

    def __init__(self, http: HttpClient, sibling: HttpClient, *, project_id: int, active_iam: int | None) -> None:
        self._http = http
        self._sibling = sibling
        self.project_id = project_id
        self._iam: dict[str, int] = {} if active_iam is None else {"active_iam": active_iam}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()
        await self._sibling.aclose()

    # Clusters

    async def list_clusters(self, location: str) -> Page[Cluster]:
        """``GET cluster/``, all pages."""
        return await self._paged(_CLUSTERS, location, Cluster)

    async def get_cluster(self, location: str, number: str) -> Cluster:
        """``GET cluster/{id}/``."""
        answer = await self._http.get(self._one(number), self._at(location))
        return Cluster.model_validate(_mapping(answer))

    async def create_cluster(self, location: str, body: Body) -> Cluster:
        """``POST cluster/``; paid, never repeated.

        Raises
        ------
        LostAnswerError : accepted, but the answer does not say as what.
        """
        answer = await self._http.send("POST", _CLUSTERS, body, params=self._at(location))
        return _cluster_in(answer)

    async def act(self, location: str, number: str, body: Body) -> object:
        """``PUT cluster/{id}/``: one of nine actions; the kind of what comes back depends on the action."""
        answer = await self._http.send("PUT", self._one(number), body, params=self._at(location))
        return data_in(answer)

    async def delete_cluster(self, location: str, number: str) -> str:
        """``DELETE cluster/{id}/``; the service's words."""
        answer = await self._http.send("DELETE", self._one(number), params=self._at(location))
        data = data_in(answer)
        return data if isinstance(data, str) else ""

    # What can be chosen

    async def list_plans(self, location: str, variant: str) -> Page[Sku]:
        """``GET cluster/plans/``: node types, inferred with their price rows."""
        return _rows(await self._http.get(f"{_CLUSTERS}plans/", {**self._at(location), "variant": variant}), Sku)

    async def list_images(self, location: str, framework: str) -> Page[Image]:
        """``GET deployment_images/{framework}/``."""
        path = f"/distributed_jobs_v2/deployment_images/{segment(framework)}/"
        return _rows(await self._http.get(path, {**self._at(location), "job_type": framework}), Image)

    async def list_ssh_keys(self, location: str) -> Page[SshKey]:
        """``GET /ssh_keys/``; takes no project."""
        return _rows(await self._http.get("/ssh_keys/", {"location": location, **self._iam}), SshKey)

    async def add_ssh_key(self, location: str, label: str, public_key: str) -> SshKey:
        """``POST /ssh_keys/``."""
        body = Body.from_json({"label": label, "ssh_key": public_key})
        answer = await self._http.send("POST", "/ssh_keys/", body, params={"location": location, **self._iam})
        return SshKey.model_validate(_mapping(answer))

    async def delete_ssh_key(self, location: str, pk: int) -> None:
        """``DELETE /ssh_keys/{pk}/`` (seen in the vendor's SDK)."""
        await self._http.send("DELETE", f"/ssh_keys/{pk}/", params={"location": location, **self._iam})

    async def sync_ssh_keys(self, location: str) -> None:
        """``GET /ssh_keys/sync/``: a read that copies keys from MyAccount (seen in the vendor's SDK)."""
        await self._http.get("/ssh_keys/sync/", {"location": location, **self._iam})

    async def list_security_groups(self, location: str) -> Page[Thing]:
        """``GET /security_groups/``."""
        return _rows(await self._http.get("/security_groups/", self._at(location)), Thing)

    async def get_security_group(self, location: str, number: int) -> Mapping[str, Any]:
        """``GET /security_groups/{id}/``."""
        return _mapping(await self._http.get(f"/security_groups/{number}/", self._at(location)))

    async def create_security_group(
        self, location: str, name: str, description: str, rules: Sequence[Mapping[str, Any]]
    ) -> Thing:
        """``POST /security_groups/``; rules as the contract's section 3 lists them."""
        body = Body.from_json({"name": name, "description": description, "rules": list(rules)})
        answer = await self._http.send("POST", "/security_groups/", body, params=self._at(location))
        return Thing.model_validate(_mapping(answer))

    async def put_security_rules(self, location: str, number: int, rules: Sequence[Mapping[str, Any]]) -> None:
        """``PUT /security_groups/{id}/rules/``; the body is a list."""
        body = Body.from_json(list(rules))
        await self._http.send("PUT", f"/security_groups/{number}/rules/", body, params=self._at(location))

    async def delete_security_group(self, location: str, number: int) -> None:
        """``DELETE /security_groups/{id}/rules/``: it deletes the group, not its rules."""
        await self._http.send("DELETE", f"/security_groups/{number}/rules/", params=self._at(location))

    async def list_sfs(self, location: str) -> Page[Thing]:
        """``GET /distributed_jobs/sfs/``; the old prefix, also for new clusters."""
        return await self._paged("/distributed_jobs/sfs/", location, Thing)

    async def create_sfs(self, location: str, name: str, disk_size_gb: int) -> Thing:
        """``POST /distributed_jobs/sfs/``; billed."""
        body = Body.from_json({"name": name, "disk_size": disk_size_gb})
        answer = await self._http.send("POST", "/distributed_jobs/sfs/", body, params=self._at(location))
        return Thing.model_validate(_mapping(answer))

    async def list_pfs(self, location: str) -> Page[Thing]:
        """``GET /pfs/``."""
        return await self._paged("/pfs/", location, Thing)

    async def list_datasets(self, location: str) -> Page[Thing]:
        """``GET /datasets/``."""
        return await self._paged("/datasets/", location, Thing)

    async def list_reserved_ips(self, location: str) -> Page[ReservedIp]:
        """``GET /reserved_ips/``; the list is wrapped."""
        data = data_in(await self._http.get("/reserved_ips/", self._at(location)))
        rows = data.get("reserved_ips") if isinstance(data, dict) else data
        return page_of(rows, ReservedIp)

    async def allocate_reserved_ip(self, location: str) -> ReservedIp:
        """``POST /reserved_ips/``; billed."""
        answer = await self._http.send("POST", "/reserved_ips/", params=self._at(location))
        return ReservedIp.model_validate(_mapping(answer))

    async def list_generic_skus(self, location: str, service: str) -> Page[Sku]:
        """``GET /gpu_service/sku/``: node types of the other products (seen in public clients)."""
        data = data_in(await self._http.get("/gpu_service/sku/", {**self._at(location), "service": service}))
        rows = (
            [row for series in data.values() if isinstance(series, list) for row in series]
            if isinstance(data, dict)
            else []
        )
        return page_of(rows, Sku)

    async def list_iam_accounts(self) -> Page[Thing]:
        """``GET /users/iam-accounts/`` (seen in a public client)."""
        return _rows(await self._http.get("/users/iam-accounts/"), Thing)

    async def list_projects(self) -> Page[Thing]:
        """``GET .../pbac/project/`` of the sibling API; its ids may be others than TIR's (contract, section 3)."""
        return _rows(await self._sibling.get("/project/"), Thing)

    async def _paged(self, path: str, location: str, kind: type[W]) -> Page[W]:
        async def fetch(number: int) -> Answer:
            return await self._http.get(path, {**self._at(location), "page_no": number, "per_page": PER_PAGE})

        return await all_pages(fetch, kind)

    def _at(self, location: str) -> dict[str, Any]:
        return {"project_id": self.project_id, "location": location, **self._iam}

    @staticmethod
    def _one(number: str) -> str:
        return f"{_CLUSTERS}{segment(number)}/"


def _mapping(answer: Answer) -> Mapping[str, Any]:
    data = data_in(answer)
    return data if isinstance(data, dict) else {}


def _cluster_in(answer: Answer) -> Cluster:
    cluster = Cluster.model_validate(_mapping(answer))
    if cluster.id is None:
        raise LostAnswerError(
            f"The service answered HTTP {answer.status}, but its answer names no cluster.",
            provider="e2e",
            status=answer.status,
            request_id=answer.request_id,
        )
    return cluster


def _rows(answer: Answer, kind: type[W]) -> Page[W]:
    return page_of(data_in(answer), kind)
