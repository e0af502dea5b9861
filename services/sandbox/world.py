"""Workload clusters served by the sandbox's own API, each with a token of its own."""

from base64 import b64encode
from dataclasses import dataclass

import structlog

from events.kube.client import Kube, Listed, Object
from events.kube.resources import NAMESPACES, SECRETS
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.kubeconfig import kubeconfig, place_of
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.clouds.engine.executor import SECRET_TYPE
from services.sandbox.state import token

log = structlog.get_logger()


@dataclass
class SandboxWorld:
    """See `services.sandbox.clouds.model.world.World`."""

    api: Api
    seal: bytes
    """The secret that tokens derive from."""
    authority: bytes
    """The server's certificate (PEM), which clients trust."""
    url: str = ""
    """Where the server listens; must be set before the first cluster starts."""

    async def found(self, place: str) -> str:
        """Start the API if necessary; returns its kubeconfig."""
        await self.api.found(place)
        return kubeconfig(self.url, place, self.authority, await self.guard(place))

    async def guard(self, place: str) -> str:
        """Require the cluster's token; a new cluster of the same name has another one."""
        made = token(self.seal, place, await self._incarnation(place))
        self.api.tokens[place] = made
        return made

    async def drop(self, place: str) -> None:
        """Stop the API."""
        if place in self.api.clusters:
            await self.api.drop(place)

    def kube(self, place: str) -> Kube:
        """A client of the API, without sockets."""
        return Kube(LocalTransport(self.api, place, self.api.tokens.get(place, "")), random=lambda: 0.5)

    async def restore(self) -> None:
        """After a restart: require each cluster's token again; remove remains of deleted clusters."""
        for place in self.api.clusters:
            if place == MANAGEMENT:
                continue
            if await self._incarnation(place):
                await self.guard(place)
            else:
                log.warning("sandbox.remains_dropped", cluster=place, reason="it has no namespace kube-system")
                await self.api.drop(place)

    async def reissue(self) -> int:
        """Rewrite the kubeconfigs of workload clusters if the server's address or certificate has changed.

        A real cluster's endpoint stays the same, but this server may get another port at each start. Returns how many
        changed.
        """
        management, anew = self.kube(MANAGEMENT), 0
        for secret in (await management.list(SECRETS)).items:
            if secret.get("type") == SECRET_TYPE and (patch := await self._changed(secret)):
                meta = secret["metadata"]
                await management.patch(SECRETS, meta["name"], meta["namespace"], patch)
                anew += 1
        return anew

    async def _changed(self, secret: Object) -> Object | None:
        """The patch for a kubeconfig's Secret; None where it is right or is not one of ours."""
        place = place_of(secret)
        if place not in self.api.clusters or place == MANAGEMENT:
            return None
        config = b64encode(kubeconfig(self.url, place, self.authority, await self.guard(place)).encode()).decode()
        return None if config == secret["data"]["value"] else {"data": {"value": config}}

    async def _incarnation(self, place: str) -> str:
        """The uid of the cluster; empty where only remains of one exist."""
        listed: Listed = await self.kube(place).list(NAMESPACES)
        spaces = {one["metadata"]["name"]: str(one["metadata"]["uid"]) for one in listed.items}
        return spaces.get("kube-system", "")
