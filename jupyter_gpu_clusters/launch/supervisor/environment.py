"""Who is who: the variables of every rank."""

from __future__ import annotations

from .marks import MARK, NODE_MARK
from .messages import Json


def rank_environment(start: Json, local_rank: int, master_port: int, workdir: str, hostfile: str) -> dict[str, str]:
    """The whole environment of one rank: the document's, and over it who is who.

    ``HOSTFILE`` names a file for ``mpirun --hostfile`` and ``deepspeed --hostfile``.

    Without ``procs_per_node`` also torchrun's defaults (``PET_`` and the name of its option), so that a bare
    ``torchrun train.py`` does the right thing; with it never, for then each rank is one process by itself.
    """
    env = {"PYTHONUNBUFFERED": "1", **start["env"], "PWD": workdir}
    topology = {
        "MASTER_ADDR": start["master_addr"],
        "MASTER_PORT": master_port,
        "NNODES": start["nodes"],
        "NODE_RANK": start["node_index"],
        "NPROC_PER_NODE": start["procs_per_node"] or start["gpus"] or 1,
    }
    if start["procs_per_node"] is None:
        topology.update({"PET_" + name: value for name, value in list(topology.items())})
    else:
        topology.update(_rank_variables(start, local_rank))
        env = {name: value for name, value in env.items() if not name.startswith("PET_")}
    env.update({name: str(value) for name, value in topology.items()})
    env["HOSTFILE"] = hostfile
    env.update({MARK: start["workload_id"], NODE_MARK: str(start["node_index"])})
    return env


def _rank_variables(start: Json, local_rank: int) -> dict[str, int]:
    procs = start["procs_per_node"]
    return {
        "WORLD_SIZE": start["nodes"] * procs,
        "RANK": start["node_index"] * procs + local_rank,
        "LOCAL_RANK": local_rank,
        "LOCAL_WORLD_SIZE": procs,
    }
