"""A founded cluster is opened through the kubeconfig in its Secret, and kept open while the Secret stays the same."""

import base64
from collections.abc import Awaitable, Callable, Mapping

import yaml

from events.errors import TryLater
from events.kube.client import Kube
from events.kube.kubeconfig import Chosen, bad, chosen, parsed, sealed, together
from events.kube.port import Object
from events.kube.resources import SECRETS

DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""Ten times faster than the one in Python, which is taken where PyYAML was built without libyaml."""
UNTYPED = "Opaque"
TYPES = (UNTYPED, "cluster.x-k8s.io/secret")
"""Of a Secret with a cluster's kubeconfig: as people make one, and as Cluster API does."""

Open = Callable[[str], Awaitable[Kube]]
"""From a kubeconfig's text to a client."""


class Keyless(TryLater):
    """The Secret is there, the kubeconfig in it is not yet."""


class Workloads:
    """Opens founded clusters."""

    def __init__(self, management: Kube, opener: Open) -> None:
        self._management = management
        self._opener = opener
        self._open: dict[tuple[str, str], tuple[str, Kube]] = {}

    async def open(self, tenant: str, secret: str) -> Kube:
        """The cluster's API. Raises NotFound without its Secret, Keyless while that is empty, Denied for nonsense."""
        found = await self._management.get(SECRETS, secret, tenant)
        text = held(found, f"Secret {tenant}/{secret}")
        if not text:
            raise Keyless(f"Secret {tenant}/{secret} holds no kubeconfig under the key value yet")
        version = found["metadata"]["resourceVersion"]
        kept = self._open.get((tenant, secret))
        if kept and kept[0] == version:
            return kept[1]
        await self.shut(tenant, secret)
        kube = await self._opener(text)
        self._open[tenant, secret] = (version, kube)
        return kube

    async def shut(self, tenant: str, secret: str) -> None:
        """Let go of a cluster's connections."""
        kept = self._open.pop((tenant, secret), None)
        if kept:
            await kept[1].close()

    async def close(self) -> None:
        """Let go of all connections."""
        for tenant, secret in tuple(self._open):
            await self.shut(tenant, secret)


def context(colony: str, cluster: str) -> str:
    """What the context of a Colony's cluster is called."""
    return f"{colony}/{cluster}"


def held(secret: Object, source: str) -> str:
    """The kubeconfig in a cluster's Secret, called `source`; empty while there is none. Raises Denied("BadKubeconfig").

    A Secret that Kubernetes or others gave a type of its own is somebody's token, key or password, and not looked into.
    """
    encoded, kind = (secret.get("data") or {}).get("value"), secret.get("type") or UNTYPED
    if kind not in TYPES:
        raise bad(f"{source} is of type {kind}: expected a kubeconfig's, which is one of {', '.join(TYPES)}")
    try:
        return base64.b64decode(encoded or "", validate=True).decode()
    except (ValueError, TypeError) as error:
        raise bad(f"{source} holds no text under the key value: expected a kubeconfig") from error


def opens(secret: Object, source: str) -> Chosen | None:
    """What a cluster's Secret, called `source`, holds; None while that is nothing. Raises Denied("BadKubeconfig")."""
    text = held(secret, source)
    return sealed(chosen(parsed(text, source), source)) if text else None


def written(contexts: Mapping[str, Chosen]) -> str:
    """One kubeconfig of at least one context, as YAML: of the same ones always the same text."""
    return str(yaml.dump(together(contexts), Dumper=DUMPER, sort_keys=False))
