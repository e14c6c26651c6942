"""The part of a provider that lets users reach the machines of its clusters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence

from anyio import to_thread

from ...core.models import SshTarget
from ...core.provider import ReachesMachines
from .machines import SshMachines
from .openssh import include_line, write_include
from .options import SshOptions
from .pins import fingerprint_of


class OverSsh(ReachesMachines):
    """Everything but where the machines are. Comes first among the bases, since it has connections to close."""

    _machines: SshMachines | None = None

    @abstractmethod
    def _ssh_options(self) -> SshOptions:
        """The part of the account's settings that is about SSH. Raises SettingsError."""

    def _ssh(self) -> SshMachines:
        if self._machines is None:
            self._machines = SshMachines(self._ssh_options())
        return self._machines

    async def aclose(self) -> None:
        """Close the connections."""
        await super().aclose()
        if self._machines is not None:
            await self._machines.aclose()

    async def host_keys(self, targets: Sequence[SshTarget]) -> Mapping[str, str]:
        """See `ReachesMachines.host_keys`."""
        pins = self._ssh().pins
        found = {target.name: await to_thread.run_sync(pins.find, target.identity) for target in targets}
        return {name: fingerprint_of(key) for name, key in found.items() if key is not None}

    async def meet(self, target: SshTarget, name: str) -> None:
        """See `ReachesMachines.meet`."""
        link = self._ssh().link(target)
        link.try_again()
        await link.connection(name)

    async def forget_host_keys(self, identities: Collection[str]) -> None:
        """See `ReachesMachines.forget_host_keys`."""
        for identity in identities:
            await self._ssh().forget(identity)

    async def forward(self, target: SshTarget, name: str, port: int, local_port: int) -> int:
        """See `ReachesMachines.forward`."""
        from .forward import Forward

        forward = Forward(self._ssh().link(target), name, port)
        await forward.open(local_port)
        self._ssh().forwards.append(forward)
        return forward.local_port

    async def write_ssh_config(self, clusters: Mapping[str, Sequence[SshTarget]]) -> str:
        """See `ReachesMachines.write_ssh_config`."""
        machines = self._ssh()
        await to_thread.run_sync(write_include, self.account.name, clusters, machines.options, machines.pins)
        return include_line()
