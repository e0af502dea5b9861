"""The clusters of a Colony are contexts of one kubeconfig, named and read alike wherever it is made."""

import base64
from collections.abc import Mapping

import yaml

from events.kube.kubeconfig import Chosen, bad, chosen, parsed, sealed, together
from events.kube.port import Object

DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""Ten times faster than the one in Python, which is taken where PyYAML was built without libyaml."""


UNTYPED = "Opaque"
TYPES = (UNTYPED, "cluster.x-k8s.io/secret")
"""Of a Secret with a cluster's kubeconfig: as people make one, and as Cluster API does."""


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
