"""Divides the evaluators' time fairly among tenants."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from events.backoff import Bucket, Rate, spent
from services.edge.triggers.delivery import WebhookDelivery
from services.edge.triggers.evaluator import SECONDS
from services.edge.triggers.evaluator_pool import Evaluator, TooCostly
from services.edge.triggers.rules import RuleResult
from services.edge.triggers.trigger import ActiveTrigger

SHARE = Rate(0.25, 5)
"""Seconds of a processor that one tenant may take: so many a second, and so many at once."""
ENDED = 2.0
"""Seconds of a processor that it takes to end an evaluator and to start another."""
PER_BYTE = 5e-6
"""Seconds that a text takes at most to be read: held back until it is known, and what a refused one costs."""


class ShareExhausted(Exception):
    """A tenant has had its share; the message is one sentence."""

    def __init__(self, after: float) -> None:
        """`after`: seconds until there is some again."""
        super().__init__(f"the tenant takes more than {SHARE.per_second:.0%} of a processor: send it later")
        self.after = after


class Cost:
    """What was asked took so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class FairShare:
    """Evaluators that also raise Exhausted."""

    def __init__(self, evaluators: Evaluator, clock: Callable[[], datetime]) -> None:
        self._evaluators = evaluators
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}

    async def read(self, trigger: ActiveTrigger) -> float:
        """Seconds of a processor that it took. Raises Refused, TooCostly, Ended, Exhausted."""
        with self._charged(trigger.tenant, trigger.written) as cost:
            cost.seconds = await self._evaluators.read(trigger)
        return cost.seconds

    async def judge(self, trigger: ActiveTrigger, heard: WebhookDelivery) -> tuple[tuple[RuleResult, ...], float]:
        """What every rule says, and seconds of a processor. Raises Refused, TooCostly, Ended, Exhausted."""
        with self._charged(trigger.tenant, trigger.written) as cost:
            verdicts, cost.seconds = await self._evaluators.judge(trigger, heard)
        return verdicts, cost.seconds

    async def check(self, asked: WebhookDelivery) -> float:
        """Seconds of a processor that it took to read a request. Raises Refused, TooCostly, Ended, Exhausted."""
        with self._charged(asked.endpoint.tenant, asked.event.data) as cost:
            cost.seconds = await self._evaluators.check(asked)
        return cost.seconds

    @contextmanager
    def _charged(self, tenant: str, text: bytes) -> Iterator[Cost]:
        """Many may be under way at once: what one may cost is held back from its beginning."""
        if (there := self._spend(tenant, 0.0)) <= 0.0:
            raise ShareExhausted(-there / SHARE.per_second)
        held = min(SECONDS, len(text) * PER_BYTE)
        self._spend(tenant, held)
        cost = Cost(held)
        try:
            yield cost
        except TooCostly:
            cost.seconds = ENDED
            raise
        finally:
            self._spend(tenant, cost.seconds - held)

    def _spend(self, tenant: str, seconds: float) -> float:
        """What is left of its share now, which counts from now on: the clock may have been set."""
        bucket = self._buckets[tenant] = spent(self._buckets.get(tenant), SHARE, self._clock(), seconds)
        return bucket.left
