"""A Colony's clusters are contexts of one kubeconfig, named and parsed the same way everywhere."""

import base64
from collections.abc import Mapping

import yaml

from events.kube.kubeconfig import Chosen, bad, chosen, parsed, sealed, together
from events.kube.port import Object

DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""Ten times faster than the pure Python dumper, which is used if PyYAML was built without libyaml."""


UNTYPED = "Opaque"
TYPES = (UNTYPED, "cluster.x-k8s.io/secret")
"""The types of a Secret with a cluster's kubeconfig: as people create one, and as Cluster API does."""


def context_name(colony: str, cluster: str) -> str:
    """The name of the context of a Colony's cluster."""
    return f"{colony}/{cluster}"


def kubeconfig_text(secret: Object, source: str) -> str:
    """The kubeconfig in a cluster's Secret, called `source`; empty if there is none. Raises Denied("BadKubeconfig").

    A Secret with any other type is a token, key or password of somebody, and is not read.
    """
    encoded, kind = (secret.get("data") or {}).get("value"), secret.get("type") or UNTYPED
    if kind not in TYPES:
        raise bad(f"{source} is of type {kind}: expected a kubeconfig's, which is one of {', '.join(TYPES)}")
    try:
        return base64.b64decode(encoded or "", validate=True).decode()
    except (ValueError, TypeError) as error:
        raise bad(f"{source} holds no text under the key value: expected a kubeconfig") from error


def chosen_context(secret: Object, source: str) -> Chosen | None:
    """What a cluster's Secret, called `source`, opens; None while it is empty. Raises Denied("BadKubeconfig")."""
    text = kubeconfig_text(secret, source)
    return sealed(chosen(parsed(text, source), source)) if text else None


def merged_yaml(contexts: Mapping[str, Chosen]) -> str:
    """One kubeconfig of at least one context, as YAML: the same contexts always give the same text."""
    return str(yaml.dump(together(contexts), Dumper=DUMPER, sort_keys=False))
