"""Marks an add-on's objects as an ApplySet, so that kubectl sees what belongs together and who keeps it."""

import base64
import hashlib
from collections.abc import Iterable

from services.addons.owned_objects import OwnedObject

PART_OF = "applyset.kubernetes.io/part-of"
"""The label of every member, with the set's id."""
ID = "applyset.kubernetes.io/id"
"""The label of the parent, with the set's id."""
TOOLING = "applyset.kubernetes.io/tooling"
KINDS = "applyset.kubernetes.io/contains-group-kinds"
NAMESPACES = "applyset.kubernetes.io/additional-namespaces"
TOOL = "alate/v1alpha1"


def set_id(name: str, namespace: str, kind: str = "ConfigMap", group: str = "") -> str:
    """The id of the set whose parent this is, as kubectl computes it (KEP-3659, version 1)."""
    digest = hashlib.sha256(f"{name}.{namespace}.{kind}.{group}".encode()).digest()
    return f"applyset-{base64.urlsafe_b64encode(digest).decode().rstrip('=')}-v1"


def hints(members: Iterable[OwnedObject], namespace: str) -> dict[str, str]:
    """The parent's annotations: whose tool it is, and where its members are found; `namespace` is the parent's."""
    members = tuple(members)
    kinds = {f"{one.kind}.{group}" if (group := one.group) else one.kind for one in members}
    spaces = {one.namespace for one in members} - {namespace}
    return {TOOLING: TOOL, KINDS: ",".join(sorted(kinds)), NAMESPACES: ",".join(sorted(spaces))}
