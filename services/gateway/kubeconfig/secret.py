"""The Secret with one kubeconfig for all clusters of a Colony: its name, contents and owner, and its condition."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from events.errors import Denied
from events.kube.port import Object
from schemas.cluster import kubeconfig_of
from schemas.crds.manifest import GROUP, VERSION
from services.gateway.status.facts import ConditionState, Facts, KubeconfigStatus
from services.kubernetes.kubeconfig import context_name
from services.kubernetes.labels import MANAGER

SUFFIX = ".kubeconfig"
"""No back end's Secret ends so, but in ``-kubeconfig``; a Colony may have the name of one of their clusters."""
WRITTEN = ConditionState(holds=True, reason="Written")


class KubeconfigSource(NamedTuple):
    """Where the kubeconfig of one cluster is, and whether that is a reason to read it again."""

    secret: str
    unreachable: bool = False
    """The inventory cannot reach the cluster: its kubeconfig may have been rotated."""


KubeconfigSources = Mapping[str, KubeconfigSource]
"""By context of the kubeconfig."""


def sources(facts: Iterable[Facts]) -> KubeconfigSources:
    """The source of each cluster whose API was reached, in the order of the status."""
    found = {}
    for each in facts:
        secret = kubeconfig_of(each.cluster)
        if secret and not each.dropped:
            unreachable = each.seen is not None and not each.seen.known
            found[context_name(each.wish.colony, each.wish.cluster)] = KubeconfigSource(secret, unreachable)
    return found


def secret_name(meta: Object) -> str:
    """The name of a Colony's Secret, by the Colony's metadata."""
    return f"{meta['name']}{SUFFIX}"


def name_taken(meta: Object) -> KubeconfigStatus:
    """The status if the name is taken by a Secret that is not the Colony's."""
    return _not_written(
        "NameTaken", f"Secret {secret_name(meta)} is not of this Colony and stays as it is: delete or rename it"
    )


def write_denied(secret: str | None, why: Denied) -> KubeconfigStatus:
    """The status if the API server refuses the write."""
    return _not_written(why.reason, f"the kubeconfig of all clusters cannot be written: {why.message}", secret)


def written_status(meta: Object, left_out: Mapping[str, str]) -> KubeconfigStatus:
    """The status of a Secret that exists; some clusters may be missing in it, each for a reason."""
    if not left_out:
        return KubeconfigStatus(secret_name(meta), WRITTEN)
    return _not_written("Incomplete", _left_out_message(left_out), secret_name(meta))


def absent_status(left_out: Mapping[str, str]) -> KubeconfigStatus:
    """The status if there is no Secret, as no cluster could be in it."""
    return _not_written("Incomplete", _left_out_message(left_out)) if left_out else KubeconfigStatus()


def _left_out_message(left_out: Mapping[str, str]) -> str:
    return "; ".join(f"{called} is left out: {why}" for called, why in left_out.items())


def _not_written(reason: str, message: str, secret: str | None = None) -> KubeconfigStatus:
    return KubeconfigStatus(secret, ConditionState(holds=False, reason=reason, message=message))


def secret_manifest(meta: Object, text: str) -> Object:
    """The Secret, owned by its Colony, so that Kubernetes deletes it with that."""
    owner = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Colony", "name": meta["name"], "uid": meta["uid"]}
    return {
        "metadata": {
            "name": secret_name(meta),
            "namespace": meta["namespace"],
            "labels": {"app.kubernetes.io/managed-by": MANAGER, f"{GROUP}/colony": meta["name"]},
            "ownerReferences": [owner | {"controller": True}],
        },
        "type": f"{GROUP}/kubeconfig",
        "data": secret_data(text),
    }


def secret_data(text: str) -> Mapping[str, str]:
    """The data of the Secret."""
    return {"value": b64encode(text.encode()).decode()}


def is_owned_by(secret: Object, meta: Object) -> bool:
    """Whether a Secret is owned by this Colony: its name alone proves nothing."""
    return meta["uid"] in _owners(secret).values()


def is_owned_by_predecessor(secret: Object, meta: Object) -> bool:
    """Whether it is owned by an earlier Colony of the same name: Kubernetes deletes it."""
    return meta["name"] in _owners(secret)


def _owners(secret: Object) -> Mapping[str, str]:
    """The uids of the Colonies that own a Secret, by their names."""
    owners = secret["metadata"].get("ownerReferences") or ()
    return {each["name"]: each["uid"] for each in owners if each["kind"] == "Colony" and _is_colony_api(each)}


def _is_colony_api(owner: Object) -> bool:
    return str(owner["apiVersion"]).partition("/")[0] == GROUP
