"""Output of a workload's pods, which the cluster itself serves while the workload runs.

The control plane has no logs; the cluster API has, below the domain of the cluster and with the same token. What was
written is downloaded over HTTPS, what comes is followed over a WebSocket. Source: contract, section 6; the segments of
the path for distributed workloads and the names of the parameters are inferred, so that several are tried.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from ...core.errors import GpuClustersError, NotFoundError, NotSupportedError, ProviderError, TransportError
from ...core.http import HttpClient, Limits, segment
from ...core.models import Cluster, LogChunk, WorkloadPhase
from .access import Access, ClusterApi
from .convert import framework_of, phase_of, ranks_of
from .pages import read_all
from .resolve import unless_silent
from .sockets import is_there, open_stream
from .wire import Distributed, Pod

MAX_LOG_BYTES = 32 * 1024 * 1024
MAX_FOLLOWED = 32
_CHUNK = 64 * 1024
_POLL_S = 3.0
_QUEUED = 1000
_SEGMENTS = {"MPI": "mpi", "PyTorch": "pytorch", "TF": "tensorflow", "XGBoost": "xgboost", "JAX": "jax"}
_REACH = Limits(connect_s=5.0, pool_s=5.0, read_s=10.0, call_s=15.0, tries=1)
_DOWNLOAD = Limits(max_bytes=MAX_LOG_BYTES, tries=2)
_NO_SOCKETS = "Following logs needs the package websockets, version 15 or newer: pip install 'websockets>=15'."
_SERVED = frozenset({WorkloadPhase.RUNNING})
_NO_PODS_YET = frozenset({WorkloadPhase.PENDING, WorkloadPhase.UNKNOWN})


@dataclass(frozen=True)
class _Place:
    """Where the logs of one workload are."""

    api: ClusterApi
    path: str
    pods: Mapping[int, Pod]


class Logs:
    """The output of one workload."""

    def __init__(self, access: Access, cluster: Cluster, workload_id: str) -> None:
        self._access = access
        self._cluster = cluster
        self._id = workload_id

    async def stream(
        self, *, ranks: Sequence[int] | None, offsets: Mapping[int, int], tail_lines: int | None, follow: bool
    ) -> AsyncGenerator[LogChunk, None]:
        """As `Launcher.stream_logs`; a rank is a pod.

        Raises
        ------
        NotSupportedError : the logs cannot be had (any more); the hint has the ways that are left.
        TransportError : the cluster cannot be reached from here.
        """
        told = await self._running(follow=follow)
        if told is None:
            return
        place = await self._place(told)
        chosen = _chosen(place, ranks)
        positions: dict[int, int] = {}
        for rank in chosen:
            data = await self._download(place, place.pods[rank], told)
            start = min(offsets[rank], len(data)) if rank in offsets else _tail_start(data, tail_lines)
            positions[rank] = len(data) if rank not in offsets else max(offsets[rank], len(data))
            for chunk in _chunks(rank, start, data[start:]):
                yield chunk
        if follow:
            async with aclosing(self._follow_all(place, positions, told)) as chunks:
                async for chunk in chunks:
                    yield chunk

    # Whether there is something to read, and where

    async def _running(self, *, follow: bool) -> Distributed | None:
        """The workload once it runs; ``None`` while it has not begun and nobody wants to wait.

        Raises
        ------
        NotSupportedError : it has ended, or rests.
        """
        client = await self._access.client()
        while True:
            told = await client.get_distributed(self._id)
            phase = phase_of(told.actualPhase or told.phase, is_young=self._access.is_young(self._id))
            if phase in _SERVED and told.deletedAt is None:
                return told
            if phase not in _NO_PODS_YET or told.deletedAt is not None:
                raise await self._gone(told)
            if not follow:
                return None
            await asyncio.sleep(_POLL_S)

    async def _place(self, told: Distributed) -> _Place:
        client = await self._access.client()
        rows = await read_all(lambda offset: client.list_pods(self._id, offset=offset), lambda pod: pod.name)
        pods = ranks_of(rows.items, has_master=bool(told.masterSpecSameAsWorker or told.masterSpec))
        domain = await self._domain()
        if domain is None:
            raise await self._unavailable(told, f"The address of the cluster {self._cluster.name!r} is not told.")
        api = await self._access.cluster_api(domain)
        try:
            await api.http.get("/cluster-api/status", needs_json=False, limits=_REACH)
        except TransportError as exc:
            text = f"Logs are served by the cluster itself, which cannot be reached from here: {exc.message}"
            raise TransportError(text, hint=await self._ways(told), provider="runai") from None
        return _Place(api, await self._find_path(api.http, told), pods)

    async def _domain(self) -> str | None:
        client = await self._access.client()
        row = await unless_silent(client.get_cluster(self._cluster.cluster_id))
        if row is None or not row.domain:
            row = await unless_silent(client.get_cluster_minimal(self._cluster.cluster_id)) or row
        return (row.domain if row is not None else None) or self._cluster.region

    async def _find_path(self, http: HttpClient, told: Distributed) -> str:
        """The first route that the cluster knows for this workload."""
        project, name = await self._project_name(told), told.name or ""
        framework = _SEGMENTS.get(framework_of(told.spec.get("distributedFramework")) or "", "pytorch")
        for kind, word in (("training", framework), ("distributed", framework), ("training", "runai")):
            path = f"/cluster-api/api/v1/{segment(project)}/workloads/{kind}/{word}/{segment(name)}/logs"
            try:
                await http.get(f"{path}/download", {"tailLines": 0}, needs_json=False, limits=_DOWNLOAD)
            except NotFoundError:
                continue
            return path
        raise await self._unavailable(told, f"The cluster serves no logs of {name!r} now.")

    async def _project_name(self, told: Distributed) -> str:
        project_id = told.projectId or ""
        if project_id not in self._access.projects:
            self._access.projects[project_id] = await (await self._access.client()).get_project(project_id)
        return self._access.projects[project_id].name or project_id

    # Reading

    async def _download(self, place: _Place, pod: Pod, told: Distributed) -> bytes:
        params = {"pod": pod.name or ""}
        try:
            return (
                await place.api.http.get(f"{place.path}/download", params, needs_json=False, limits=_DOWNLOAD)
            ).content
        except NotFoundError as exc:
            raise await self._unavailable(
                told, f"The cluster serves no logs of the pod {pod.name}: {exc.message}"
            ) from None

    async def _follow_all(
        self, place: _Place, positions: Mapping[int, int], told: Distributed
    ) -> AsyncGenerator[LogChunk, None]:
        """What all these ranks write from their positions on, until the workload has ended."""
        if not is_there():
            raise await self._unavailable(told, _NO_SOCKETS)
        if len(positions) > MAX_FOLLOWED:
            raise NotSupportedError(
                f"{len(positions)} ranks cannot be followed at once, {MAX_FOLLOWED} can.", hint="Name some with --rank."
            )
        queue: asyncio.Queue[LogChunk | GpuClustersError | None] = asyncio.Queue(_QUEUED)
        tasks = [asyncio.ensure_future(self._feed(place, rank, at, queue)) for rank, at in positions.items()]
        try:
            ended = 0
            while ended < len(tasks):
                item = await queue.get()
                if isinstance(item, GpuClustersError):
                    raise item
                if item is None:
                    ended += 1
                else:
                    yield item
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _feed(
        self, place: _Place, rank: int, position: int, queue: asyncio.Queue[LogChunk | GpuClustersError | None]
    ) -> None:
        try:
            async for chunk in self._follow(place, rank, position):
                await queue.put(chunk)
        except GpuClustersError as exc:
            await queue.put(exc)
        else:
            await queue.put(None)

    async def _follow(self, place: _Place, rank: int, position: int) -> AsyncIterator[LogChunk]:
        """One rank; a stream that breaks off says nothing about the workload, so it is opened again."""
        client = await self._access.client()
        failure: TransportError | None = None
        while True:
            try:
                async with aclosing(self._open(place, rank, position)) as pieces:
                    async for chunk in pieces:
                        failure, position = None, chunk.end
                        yield chunk
            except TransportError as exc:
                if failure is not None:
                    raise
                failure = exc
            told = await client.get_distributed(self._id)
            if phase_of(told.actualPhase or told.phase) not in _SERVED or told.deletedAt is not None:
                return
            await asyncio.sleep(_POLL_S)

    async def _open(self, place: _Place, rank: int, position: int) -> AsyncGenerator[LogChunk, None]:
        """What one stream brings beyond `position`; it begins with what was written before."""
        token = await (await self._access.client()).token()
        params = {"pod": place.pods[rank].name or "", "follow": "true"}
        seen, rest = 0, b""
        async with aclosing(open_stream(place.api.url, place.path, params, token)) as pieces:
            async for piece in pieces:
                fresh = piece[max(0, position + len(rest) - seen) :]
                seen += len(piece)
                rest, text = _rest_and_text(rest + fresh)
                if text:
                    yield _chunk(rank, position, text)
                    position += len(text)
        if rest:
            yield _chunk(rank, position, rest)

    # What is left where there are none

    async def _gone(self, told: Distributed) -> GpuClustersError:
        word = "Deleted" if told.deletedAt is not None else told.actualPhase or told.phase or "gone"
        return await self._unavailable(told, f"{told.name!r} is {word}; Run:ai serves logs only while it runs.")

    async def _unavailable(self, told: Distributed, text: str) -> NotSupportedError:
        return NotSupportedError(text, hint=await self._ways(told), provider="runai")

    async def _ways(self, told: Distributed) -> str:
        """Source: contract, section 6."""
        try:
            project = await self._project_name(told)
        except (ProviderError, TransportError):
            project = told.projectId or "PROJECT"
        kind = _SEGMENTS.get(framework_of(told.spec.get("distributedFramework")) or "", "pytorch")
        return (
            f"Where you can reach the cluster: runai training {kind} logs {told.name} -p {project}, or "
            f"kubectl logs -n runai-{project} -l workloadName={told.name}. "
            "Output that must last goes to a mounted volume."
        )


def _chosen(place: _Place, ranks: Sequence[int] | None) -> list[int]:
    wanted = sorted(place.pods) if ranks is None else list(dict.fromkeys(ranks))
    missing = [rank for rank in wanted if rank not in place.pods]
    if missing:
        known = ", ".join(map(str, sorted(place.pods))) or "none"
        raise NotFoundError(f"Rank {missing[0]} has no pod now; there are: {known}.", provider="runai")
    return wanted


def _tail_start(data: bytes, lines: int | None) -> int:
    """Where the last `lines` lines begin."""
    if lines is None:
        return 0
    end = len(data) - data.endswith(b"\n")
    for _ in range(lines):
        end = data.rfind(b"\n", 0, end)
        if end < 0:
            return 0
    return min(end + 1, len(data)) if lines else len(data)


def _chunks(rank: int, start: int, data: bytes) -> list[LogChunk]:
    """`data` in pieces that cut no character."""
    pieces = []
    while data:
        text = data if len(data) <= _CHUNK else _rest_and_text(data[:_CHUNK])[1]
        pieces.append(_chunk(rank, start, text))
        start, data = start + len(text), data[len(text) :]
    return pieces


def _chunk(rank: int, offset: int, data: bytes) -> LogChunk:
    return LogChunk(rank=rank, offset=offset, end=offset + len(data), text=data.decode("utf-8", "replace"), data=data)


def _rest_and_text(data: bytes) -> tuple[bytes, bytes]:
    """A character that is not whole yet at the end, and everything before it."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return (data[-back:], data[:-back]) if length > back else (b"", data)
    return b"", data
