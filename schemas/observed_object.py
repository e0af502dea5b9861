"""What a Trigger watches in a cluster, as the add-on service publishes it."""

from datetime import datetime
from typing import Any

import msgspec

from schemas.addon import OWNER
from schemas.entity import EPOCH
from schemas.registry import WireStruct, level


@level("observed.object.{tenant}.{cluster}.{trigger}.{watch}.{uid}", owner=OWNER)
class ObjectSeen(WireStruct, frozen=True, kw_only=True):
    """An object of a cluster, and whether the condition of a Trigger holds for it."""

    cluster: str
    trigger: str
    watch: str
    """The name of the entry in the Trigger's `objects`."""
    api_version: str
    kind: str
    name: str
    uid: str
    namespace: str = ""
    holds: bool = False
    """Whether `when` is true."""
    gone: bool = False
    """It was deleted, or is watched no longer."""
    version: str = ""
    """Its resourceVersion."""
    object: dict[str, Any] = msgspec.field(default_factory=dict)
    """The object without its managed fields; of one that is too large only its metadata."""
    truncated: bool = False
    """The object was too large."""
    as_of: datetime = EPOCH
    """When it was found to be so (UTC)."""
