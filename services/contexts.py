"""The clusters of a Colony are contexts of one kubeconfig, named and read alike wherever it is made."""

import base64
import binascii
from collections.abc import Mapping

import yaml

from events.kube_file import Chosen, bad, chosen, parsed, sealed, together
from events.kube_port import Object

DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""Ten times faster than the one in Python, which is taken where PyYAML was built without libyaml."""


def context(colony: str, cluster: str) -> str:
    """What the context of a Colony's cluster is called."""
    return f"{colony}/{cluster}"


def opens(secret: Object, source: str) -> Chosen | None:
    """What a cluster's Secret, called `source`, holds; None while that is nothing. Raises Denied("BadKubeconfig")."""
    encoded = (secret.get("data") or {}).get("value")
    if not encoded:
        return None
    try:
        text = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise bad(f"{source} holds no text under the key value: expected a kubeconfig") from error
    return sealed(chosen(parsed(text, source), source))


def written(contexts: Mapping[str, Chosen]) -> str:
    """One kubeconfig of at least one context, as YAML: of the same ones always the same text."""
    return str(yaml.dump(together(contexts), Dumper=DUMPER, sort_keys=False))
