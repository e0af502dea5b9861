"""A Trigger as the edge keeps it: its endpoints and its rate; evaluators hold its expressions."""

import msgspec

from events.backoff import Rate
from schemas.crds import InvalidResource, Trigger
from services.edge.triggers.delivery import WebhookDelivery

USUAL = Rate(20 / 3600, 20)
"""Requests of a Trigger that says no limit."""
LARGEST = 65_536
"""Bytes of a spec."""


class ActiveTrigger:
    """One Trigger."""

    def __init__(self, trigger: Trigger) -> None:
        """Raises Refused for one that is too large."""
        spec = trigger.spec
        self.name, self.tenant = trigger.metadata.name, trigger.metadata.namespace
        self.written = msgspec.json.encode(_document(trigger))
        """The whole of it but its status, as JSON."""
        if len(self.written) > LARGEST:
            raise InvalidResource(f"spec has {len(self.written)} bytes: must have at most {LARGEST}")
        self.rate = (
            Rate(spec.limit.requests / spec.limit.every.total_seconds(), spec.limit.requests) if spec.limit else USUAL
        )
        self._provider, self._endpoint = spec.provider, spec.endpoint

    def listens(self, heard: WebhookDelivery) -> bool:
        """Whether it is about this endpoint: of its own tenant, and of those it names."""
        named = (self._provider or heard.endpoint.provider, self.tenant, self._endpoint or heard.endpoint.name)
        return named == heard.endpoint


def _document(trigger: Trigger) -> dict[str, object]:
    meta = {"name": trigger.metadata.name, "namespace": trigger.metadata.namespace}
    return {"metadata": meta, "spec": trigger.spec.model_dump(mode="json", by_alias=True, exclude_none=True)}
