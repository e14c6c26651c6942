"""What a page may ask to be planned, and how the core plans it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from ..core.cell_text import action_cell, create_cell, submit_cell
from ..core.errors import Problem, SpecError
from ..core.models import Plan
from ..core.service import Service
from ..core.specs import build_spec, field_names
from .requests import parse_body
from .state import cluster_in
from .written import masked, secret_problems

M = TypeVar("M", bound=BaseModel)

# The form's own field; where a spec has it too, it is the same.
NAME = "name"
# As in the magics: a year.
MOST_HOURS = 24 * 365


class _Wish(BaseModel):
    model_config = ConfigDict(extra="forbid")

    account: str


class Create(_Wish):
    """A new cluster, to be deleted after ``max_hours`` if that is given."""

    verb: Literal["create"]
    name: str | None = None
    spec: dict[str, Any] = {}
    max_hours: Annotated[float | None, Field(gt=0, le=MOST_HOURS)] = None


class Submit(_Wish):
    """A workload on a cluster; without a name it gets one."""

    verb: Literal["submit"]
    cluster_id: str
    name: str | None = None
    spec: dict[str, Any] = {}


class Scale(_Wish):
    """Another number of nodes, in all."""

    verb: Literal["scale"]
    cluster_id: str
    nodes: Annotated[int, Field(strict=True)]


class Act(_Wish):
    """One of the provider's own actions."""

    verb: Literal["act"]
    cluster_id: str
    action: str
    spec: dict[str, Any] = {}


Wish = Create | Submit | Scale | Act
_WISHES: Mapping[str, type[Wish]] = {"create": Create, "submit": Submit, "scale": Scale, "act": Act}


class _AnyWish(BaseModel):
    model_config = ConfigDict(extra="ignore")

    verb: Literal["create", "submit", "scale", "act"]


def wish_in(body: bytes) -> Wish:
    """The wish that a request body states.

    Raises
    ------
    SpecError : with every problem of the body.
    """
    return parse_body(_WISHES[parse_body(_AnyWish, body).verb], body)


async def planned(service: Service, wish: Wish) -> Plan:
    """What the wish would do. Never spends.

    Raises
    ------
    SpecError : with every problem found.
    NotFoundError : the cluster is not known.
    """
    match wish:
        case Create(account=account, name=name, spec=data):
            missing = [] if name else [Problem(NAME, "a cluster needs a name.")]
            spec = spec_of(service.spec_model(account), data, name, missing)
            return await service.plan_create(account, name, spec, max_hours=wish.max_hours)
        case Submit(account=account, name=name, spec=data):
            cluster = cluster_in(await service.state(), account, wish.cluster_id)
            return await service.plan_submit(
                cluster, name or None, spec_of(service.workload_model(account), data, name)
            )
        case Scale(account=account, nodes=nodes):
            return await service.plan_scale(cluster_in(await service.state(), account, wish.cluster_id), nodes)
        case Act(account=account, action=action, spec=data):
            cluster = cluster_in(await service.state(), account, wish.cluster_id)
            spec = spec_of(service.action_model(account, action), data, None)
            return await service.plan_action(cluster, action, spec)


async def cell_of(service: Service, wish: Wish) -> str:
    """The notebook cell that does the same, without values that may be secret."""
    match wish:
        case Create(account=account, name=name, spec=data):
            cell = create_cell(account, name, masked(service.spec_model(account), data))
            return _with_end(cell, wish.max_hours)
        case Submit(account=account, name=name, spec=data):
            cluster = cluster_in(await service.state(), account, wish.cluster_id)
            return submit_cell(cluster.full_name, name, masked(service.workload_model(account), data))
        case Scale(account=account, nodes=nodes):
            cluster = cluster_in(await service.state(), account, wish.cluster_id)
            return f"%cluster_scale {shlex.quote(cluster.full_name)} --nodes {nodes}\n"
        case Act(account=account, action=action, spec=data):
            cluster = cluster_in(await service.state(), account, wish.cluster_id)
            return action_cell(cluster.full_name, action, masked(service.action_model(account, action), data))


def _with_end(cell: str, max_hours: float | None) -> str:
    line, _, body = cell.partition("\n")
    return cell if max_hours is None else f"{line} --max-hours {max_hours:g}\n{body}"


def spec_of(model: type[M], data: Mapping[str, Any], name: str | None, problems: Sequence[Problem] = ()) -> M:
    """The spec as filled in.

    Parameters
    ----------
    name : what stands in the form's own field.
    problems : what is known to be wrong already.

    Raises
    ------
    SpecError : with those problems, secrets that were filled in, and everything wrong with the spec.
    """
    written = {**data, NAME: name} if name and NAME in field_names(model) else dict(data)
    found = [*problems, *secret_problems(model, written)]
    told = {problem.field for problem in found}
    try:
        spec = build_spec(model, written)
    except SpecError as exc:
        found += [problem for problem in exc.problems if problem.field not in told]
    if found:
        raise SpecError("Not ready yet.", problems=found)
    return spec
