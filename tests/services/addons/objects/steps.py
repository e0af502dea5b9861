"""Applies manifests as an add-on, and says what of it was sent to the API server."""

from collections.abc import Callable
from typing import Any

import yaml

from events.kube.client import Kube, Request, Response
from events.kube.impersonation import account_user
from services.addons.objects.apply import ApplyResult, apply
from services.addons.objects.compare import Compared, compare
from services.addons.objects.target import Target
from services.addons.owned_objects import owner_label
from services.addons.record import read_records


class Counted:
    """A transport that keeps what it sent."""

    def __init__(self, below: Any) -> None:
        self.below = below
        self.sent: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.sent.append(request)
        return await self.below.send(request)

    def stream(self, request: Request):
        self.sent.append(request)
        return self.below.stream(request)

    async def close(self) -> None:
        """The owner of the transport closes it."""

    @property
    def writes(self) -> list[str]:
        """What changed something, or could have."""
        return [
            f"{each.method} {each.path.rpartition('/')[2]}"
            for each in self.sent
            if each.method != "GET" and "dryRun" not in each.query
        ]

    def forget(self) -> None:
        self.sent.clear()


class Hand:
    """Somebody with a cluster, who applies add-ons to it."""

    def __init__(self, kube: Kube) -> None:
        self.plain = kube
        self.road = Counted(kube.transport)
        self.kube = Kube(self.road, random=lambda: 0.5)

    def target(self, addon: str = "driver", **how: Any) -> Target:
        return Target(how.pop("kube", self.kube), self.kube, addon, **how)

    async def apply(self, manifests: str, addon: str = "driver", **how: Any) -> ApplyResult:
        return await apply(self.target(addon, **how), documents(manifests), self.others(addon))

    async def compare(
        self, manifests: str, addon: str = "driver", manager: str = "alate-addons", **how: Any
    ) -> Compared:
        return await compare(self.target(addon, **how), documents(manifests), manager=manager)

    def others(self, addon: str) -> Callable[[], Any]:
        """All other add-ons stay."""

        async def staying():
            records = await read_records(self.kube)
            return {name: record.has for name, record in records.items() if name != owner_label(addon)}

        return staying

    def tenant(self, namespace: str = "default") -> Kube:
        """The same API server in the name of the account ``tenant``."""
        return self.kube.impersonating(account_user(namespace, "tenant"))

    async def exist(self, resource, namespace="default"):
        listed = (await self.plain.list(resource, namespace)).items
        return {each["metadata"]["name"] for each in listed}


def documents(manifests: str) -> list[Any]:
    return [each for each in yaml.safe_load_all(manifests) if each]
