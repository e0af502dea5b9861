"""Divides the evaluators' time fairly among tenants."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from events.backoff import Bucket, Rate, spent
from services.edge.triggers.delivery import Heard, WebhookDelivery
from services.edge.triggers.evaluator_pool import Evaluator
from services.edge.triggers.rules import RuleResult
from services.edge.triggers.trigger import ActiveTrigger
from services.expressions.budget import SECONDS
from services.expressions.processes import TooCostly

SHARE = Rate(0.25, 5)
"""Processor seconds that one tenant may use: so many per second, and so many at once."""
ENDED = 2.0
"""Processor seconds that it takes to end an evaluator and to start another."""
PER_BYTE = 5e-6
"""Processor seconds that a text takes at most: reserved until the real cost is known, and charged for a refused one."""


class ShareExhausted(Exception):
    """A tenant has used up its share; the message is one sentence."""

    def __init__(self, after: float) -> None:
        """`after`: seconds until a part of the share is available again."""
        super().__init__(f"the tenant takes more than {SHARE.per_second:.0%} of a processor: send it later")
        self.after = after


class Cost:
    """The processor seconds that a request took."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class FairShare:
    """Evaluators that also raise ShareExhausted."""

    def __init__(self, evaluators: Evaluator, clock: Callable[[], datetime]) -> None:
        self._evaluators = evaluators
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}

    async def read(self, trigger: ActiveTrigger) -> float:
        """See `Evaluator`; also raises ShareExhausted."""
        with self._charged(trigger.tenant, trigger.written) as cost:
            cost.seconds = await self._evaluators.read(trigger)
        return cost.seconds

    async def evaluate(self, trigger: ActiveTrigger, heard: Heard) -> tuple[tuple[RuleResult, ...], float]:
        """See `Evaluator`; also raises ShareExhausted."""
        with self._charged(trigger.tenant, trigger.written) as cost:
            results, cost.seconds = await self._evaluators.evaluate(trigger, heard)
        return results, cost.seconds

    async def check(self, delivery: WebhookDelivery) -> float:
        """See `Evaluator`; also raises ShareExhausted."""
        with self._charged(delivery.endpoint.tenant, delivery.event.data) as cost:
            cost.seconds = await self._evaluators.check(delivery)
        return cost.seconds

    @contextmanager
    def _charged(self, tenant: str, text: bytes) -> Iterator[Cost]:
        """Charge a tenant for a request; its highest cost is reserved at the start, since many may run at once."""
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
        """Take processor seconds from a tenant's share, counted from now on, since the clock may have been set."""
        bucket = self._buckets[tenant] = spent(self._buckets.get(tenant), SHARE, self._clock(), seconds)
        return bucket.left
