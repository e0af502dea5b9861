"""A Trigger as the edge stores it: what it hears and its rate; evaluators compile its expressions."""

import msgspec

from events.backoff import Rate
from schemas.crds import InvalidResource, Trigger
from services.edge.triggers.bus_subject import BusSubject
from services.edge.triggers.delivery import Channel

USUAL = Rate(20 / 3600, 20)
"""The rate of requests of a Trigger without a limit."""
LARGEST = 65_536
"""Bytes of a spec."""


class ActiveTrigger:
    """A Trigger that is evaluated on deliveries."""

    def __init__(self, trigger: Trigger) -> None:
        """Raises InvalidResource if it is too large."""
        spec = trigger.spec
        self.name, self.tenant = trigger.metadata.name, trigger.metadata.namespace
        self.written = msgspec.json.encode(_document(trigger))
        """The Trigger without its status, as JSON."""
        if len(self.written) > LARGEST:
            raise InvalidResource(f"spec has {len(self.written)} bytes: must have at most {LARGEST}")
        self.rate = (
            Rate(spec.limit.requests / spec.limit.every.total_seconds(), spec.limit.requests) if spec.limit else USUAL
        )
        self._provider, self._endpoint, self._messages = spec.provider, spec.endpoint, spec.messages
        self._watches = bool(spec.objects)
        self._hears_webhooks = bool(spec.provider or spec.endpoint or not (spec.messages or spec.objects))

    def listens(self, channel: Channel) -> bool:
        """Whether it hears what comes from there; never what is of another tenant."""
        if isinstance(channel, BusSubject):
            return channel.tenant == self.tenant and self._hears(channel)
        named = (self._provider or channel.provider, self.tenant, self._endpoint or channel.name)
        return self._hears_webhooks and named == channel

    def _hears(self, channel: BusSubject) -> bool:
        if channel.trigger:
            return self._watches and channel.trigger == self.name
        return any(map(channel.matches, self._messages))


def _document(trigger: Trigger) -> dict[str, object]:
    meta = trigger.metadata
    named = {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid}
    return {"metadata": named, "spec": trigger.spec.model_dump(mode="json", by_alias=True, exclude_none=True)}
