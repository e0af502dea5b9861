"""The Secret with the kubeconfig of a whole Colony is known by the Colony that owns it, not by its name."""

from base64 import b64encode
from collections.abc import Mapping

from events.kube.client import Object
from events.kube.resources import COLONIES
from services.clouds.labels import GROUP, MANAGER
from services.gateway.kubeconfig.merge import secret_name


def manifest(meta: Object, text: str) -> Object:
    """The Secret, which goes with its Colony at the latest."""
    owner = {"apiVersion": COLONIES.api_version, "kind": COLONIES.kind, "name": meta["name"], "uid": meta["uid"]}
    return {
        "metadata": {
            "name": secret_name(meta),
            "namespace": meta["namespace"],
            "labels": {"app.kubernetes.io/managed-by": MANAGER, f"{GROUP}/colony": meta["name"]},
            "ownerReferences": [owner | {"controller": True}],
        },
        "type": f"{GROUP}/kubeconfig",
        "data": data(text),
    }


def data(text: str) -> Mapping[str, str]:
    """What the Secret holds."""
    return {"value": b64encode(text.encode()).decode()}


def is_of(secret: Object, meta: Object) -> bool:
    """Whether a Secret is this very Colony's: its name alone says nothing."""
    return meta["uid"] in _owners(secret).values()


def is_of_an_earlier(secret: Object, meta: Object) -> bool:
    """Whether it was a Colony's of the same name, which has gone: Kubernetes deletes it, too."""
    return meta["name"] in _owners(secret)


def _owners(secret: Object) -> Mapping[str, str]:
    """The uids of the Colonies that a Secret is of, by their names."""
    owners = secret["metadata"].get("ownerReferences") or ()
    return {each["name"]: each["uid"] for each in owners if each["kind"] == COLONIES.kind and _ours(each)}


def _ours(owner: Object) -> bool:
    return str(owner["apiVersion"]).partition("/")[0] == COLONIES.group
