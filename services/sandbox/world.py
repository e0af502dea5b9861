"""Founded clusters live in the same process as the management cluster, each with a token of its own."""

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
    """What tokens are made from."""
    authority: bytes
    """The server's certificate (PEM), which clients trust."""
    url: str = ""
    """Where the server listens; to be known before the first cluster is founded."""

    async def found(self, place: str) -> str:
        """See that the API is there; gives its kubeconfig."""
        await self.api.found(place)
        return kubeconfig(self.url, place, self.authority, await self.guard(place))

    async def guard(self, place: str) -> str:
        """Ask for a token from now on; a cluster made anew under an old name gets another one."""
        made = token(self.seal, place, await self._incarnation(place))
        self.api.tokens[place] = made
        return made

    async def drop(self, place: str) -> None:
        """See that it is not."""
        if place in self.api.clusters:
            await self.api.drop(place)

    def kube(self, place: str) -> Kube:
        """The way into it, without sockets."""
        return Kube(LocalTransport(self.api, place, self.api.tokens.get(place, "")), random=lambda: 0.5)

    async def restore(self) -> None:
        """After a restart: every cluster asks for the token it asked for before; what is left of one is dropped."""
        for place in self.api.clusters:
            if place == MANAGEMENT:
                continue
            if await self._incarnation(place):
                await self.guard(place)
            else:
                log.warning("sandbox.remains_dropped", cluster=place, reason="it has no namespace kube-system")
                await self.api.drop(place)

    async def reissue(self) -> int:
        """Write the kubeconfigs of founded clusters anew where the server has another address or certificate.

        A real cluster's endpoint stays where it is; this server may be at another port after each start.
        Gives how many.
        """
        management, anew = self.kube(MANAGEMENT), 0
        for secret in (await management.list(SECRETS)).items:
            if secret.get("type") == SECRET_TYPE and (patch := await self._changed(secret)):
                meta = secret["metadata"]
                await management.patch(SECRETS, meta["name"], meta["namespace"], patch)
                anew += 1
        return anew

    async def _changed(self, secret: Object) -> Object | None:
        """What of a kubeconfig's Secret is to be another; None where it is right, or opens nothing of ours."""
        place = place_of(secret)
        if place not in self.api.clusters or place == MANAGEMENT:
            return None
        config = b64encode(kubeconfig(self.url, place, self.authority, await self.guard(place)).encode()).decode()
        return None if config == secret["data"]["value"] else {"data": {"value": config}}

    async def _incarnation(self, place: str) -> str:
        """What tells it from its namesakes; empty where there is only what is left of one."""
        listed: Listed = await self.kube(place).list(NAMESPACES)
        spaces = {one["metadata"]["name"]: str(one["metadata"]["uid"]) for one in listed.items}
        return spaces.get("kube-system", "")
