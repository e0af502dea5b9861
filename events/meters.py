"""Counters and gauges as plain dictionaries, cheap on the hot path; exporters read them when they like."""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TypeVar

from schemas.registry import declarations

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets, in seconds: from one loopback publish to the longest call a message may make."""
LONG = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0, 604_800.0)
"""Upper bounds for durations from seconds to a week."""
SERIES = 500
"""How many label values one name may have; what comes beyond is counted as `OTHER`."""
OTHER = "other"

SENT = "messaging.client.sent.messages"
"""Messages that NATS stored."""
CONSUMED = "messaging.client.consumed.messages"
"""Messages that were delivered to a consumer."""
OPERATION = "messaging.client.operation.duration"
"""Seconds from publishing a message until NATS acknowledged it."""
PROCESS = "messaging.process.duration"
"""Seconds from delivering a message until it was processed."""
LAG = "alate.delivery.lag"
"""Seconds from storing a message until it was delivered to a consumer."""
SETTLED = "alate.delivery.duration"
"""Seconds from storing a message until it was processed and everything that follows from it was published."""
DWELT = "alate.state.duration"
"""Seconds that an entity was in the state that it leaves."""
TRANSITIONS = "alate.transitions"
"""Transitions of entities, from the state it `was` in into `state`."""
IGNORED = "alate.ignored"
"""Messages that changed nothing in their entity's state."""
CONFLICTS = "alate.conflicts"
"""Transitions that lost a compare-and-swap and were decided again on the newer state."""
CATALOG_REFUSED = "alate.catalog.refused"
"""Rows that were left out of a catalog when it was new."""
CATALOG_FAILURES = "alate.catalog.failures"
"""Attempts to read a catalog that failed or found it damaged."""
CAPACITY_SIGNALS = "alate.capacity.signals"
"""Refusals that were learnt from failed attempts."""
UNDECODABLE = "alate.undecodable"
"""Messages that cannot be decoded as their subject requires."""
HOOKS = "alate.hooks"
"""Webhook deliveries that were answered."""
TRIGGERS = "alate.triggers"
"""Outcomes of rules that held."""
DEAD_LETTERS = "alate.dead_letters"
"""Dead letters by consumer."""
EXCEEDED = "alate.deliveries.exceeded"
"""Dead letters that were never acknowledged within their deliveries: their consumer crashed or hung each time."""
OUTBOUND = "alate.outbound"
"""Results of attempts to notify a target."""

MetricLabels = Mapping[str, str]
PairKey = TypeVar("PairKey", bound=tuple[tuple[str, str], ...])
"""Names and values of labels."""


def _messaging(operation: str) -> Callable[[str], MetricLabels]:
    return lambda template: {
        "messaging.system": "nats",
        "messaging.operation.name": operation,
        "messaging.destination.template": template,
    }


def _sent(template: str) -> MetricLabels:
    return {**_messaging("send")(template), "cloudevents.event_type": _type(template)}


def _type(template: str) -> str:
    """The CloudEvents type of what is declared on a subject; empty for others' events."""
    return next((each.type for each in declarations() if template in each.subjects), "")


def _transition(turn: str) -> MetricLabels:
    domain, was, state = turn.split(".")
    return {"domain": domain, "was": was, "state": state}


def _dwelt(pair: str) -> MetricLabels:
    domain, _, state = pair.partition(".")
    return {"domain": domain, "state": state}


def _domain(domain: str) -> MetricLabels:
    return {"domain": domain}


def _outcome(outcome: str) -> MetricLabels:
    return {"outcome": outcome}


def _hook(pair: str) -> MetricLabels:
    provider, _, status = pair.partition(".")
    return {"provider": provider, "status": status}


def _told(pair: str) -> MetricLabels:
    target, _, outcome = pair.partition(".")
    return {"target": target, "outcome": outcome}


def _consumer(consumer: str) -> MetricLabels:
    return {"consumer": consumer}


def _cloud(cloud: str) -> MetricLabels:
    return {"cloud": cloud}


LABELS: Mapping[str, Callable[[str], MetricLabels]] = {
    SENT: _sent,
    OPERATION: _messaging("send"),
    CONSUMED: _messaging("receive"),
    PROCESS: _messaging("process"),
    LAG: _messaging("receive"),
    SETTLED: _messaging("process"),
    TRANSITIONS: _transition,
    DWELT: _dwelt,
    CATALOG_REFUSED: _cloud,
    CATALOG_FAILURES: _cloud,
    CAPACITY_SIGNALS: _cloud,
    HOOKS: _hook,
    TRIGGERS: _outcome,
    OUTBOUND: _told,
    DEAD_LETTERS: _consumer,
    EXCEEDED: _consumer,
}
"""The label name under which a counter is exported; all others use ``domain``."""


def labels_of(name: str, value: str) -> MetricLabels:
    """The attributes of one series."""
    return LABELS.get(name, _domain)(value)


class Histogram:
    """How long something took: a count per bucket of `bounds` and one beyond, and the sum in seconds."""

    __slots__ = ("bounds", "buckets", "examples", "sum")

    def __init__(self, bounds: tuple[float, ...] = BOUNDS) -> None:
        self.bounds = bounds
        self.buckets = [0] * (len(bounds) + 1)
        self.sum = 0.0
        self.examples: dict[int, tuple[float, str]] = {}
        """By bucket, the last that is in a trace somebody wants to see: its seconds, and the trace's id."""

    def took(self, seconds: float, trace: str = "") -> None:
        """One more; `trace` is the id of a sampled one."""
        bucket = bisect_left(self.bounds, seconds)
        self.buckets[bucket] += 1
        self.sum += seconds
        if trace:
            self.examples[bucket] = (seconds, trace)


BOUNDS_OF = {DWELT: LONG}
"""The bounds of durations that are longer than that of a message."""


class Meters:
    """Every figure of one process. Label values come from the code or the registry, never from a message."""

    def __init__(self, timer: Callable[[], float] = perf_counter) -> None:
        """`timer` gives seconds, for differences only."""
        self.timer = timer
        self._counts: dict[str, dict[str, int]] = {}
        self._times: dict[str, dict[str, Histogram]] = {}
        self._told: list[Callable[[str], None]] = []
        self._gauges: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
        self._told_gauges: list[Callable[[str], None]] = []

    def gauge(self, name: str, of: str, series: Mapping[PairKey, float]) -> None:
        """All values of `name` whose first label has the value `of`, by their labels; they replace those before.

        What comes beyond `SERIES` is left out, never an old one.
        """
        kept = {labels: value for labels, value in self._gauges.get(name, {}).items() if labels[0][1] != of}
        room = max(0, SERIES - len(kept))
        new = name not in self._gauges
        self._gauges[name] = {**kept, **dict(tuple(series.items())[:room])}
        for told in self._told_gauges if new else ():
            told(name)

    def on_gauge(self, told: Callable[[str], None]) -> None:
        """Call back with every gauge's name: existing ones now, each new one once."""
        self._told_gauges.append(told)
        for name in tuple(self._gauges):
            told(name)

    def gauges(self, name: str) -> tuple[tuple[MetricLabels, float], ...]:
        """Labels and values; safe to call from another thread."""
        return tuple((dict(labels), value) for labels, value in self._gauges.get(name, {}).items())

    def count(self, name: str, domain: str) -> None:
        """One more of `name`, for a domain (or another label value of few)."""
        try:
            self._counts[name][domain] += 1
        except KeyError:
            series = self._series(name)
            label = _bounded(series, domain)
            series[label] = series.get(label, 0) + 1

    def transition(self, domain: str, was: str, state: str, seconds: float = 0.0) -> None:
        """An entity of `domain` went into `state`, after so many seconds in the one it `was` in (empty: none)."""
        self.count(TRANSITIONS, f"{domain}.{was}.{state}")
        if was:
            self.took(DWELT, f"{domain}.{was}", seconds)

    def sent(self, template: str, seconds: float, trace: str = "") -> None:
        """A message was stored; `seconds` until its acknowledgement."""
        self.count(SENT, template)
        self.took(OPERATION, template, seconds, trace)

    def consumed(self, template: str, lag: float, trace: str = "") -> None:
        """A message came, `lag` seconds after it was stored (by two clocks, so that it may seem less than none)."""
        self.count(CONSUMED, template)
        self.took(LAG, template, max(0.0, lag), trace)

    def processed(self, template: str, seconds: float, lag: float, trace: str = "") -> None:
        """A message was worked off, `seconds` after it came, `lag` seconds after it was stored."""
        self.took(PROCESS, template, seconds, trace)
        self.took(SETTLED, template, max(0.0, lag), trace)

    def took(self, name: str, label: str, seconds: float, trace: str = "") -> None:
        """One more duration of `name`; `trace` is the id of a sampled one that shows it."""
        try:
            self._times[name][label].took(seconds, trace)
        except KeyError:
            series = self._times.setdefault(name, {})
            made = Histogram(BOUNDS_OF.get(name, BOUNDS))
            series.setdefault(_bounded(series, label), made).took(seconds, trace)

    def on_counter(self, told: Callable[[str], None]) -> None:
        """Call back with every counter's name: existing ones now, each new one once."""
        self._told.append(told)
        for name in self._counts:
            told(name)

    def counts(self, name: str) -> tuple[tuple[str, int], ...]:
        """Label values and counts; safe to call from another thread."""
        return tuple(self._counts.get(name, {}).items())

    def times(self) -> tuple[tuple[str, str, Histogram], ...]:
        """Name, label value and histogram of every duration; safe to call from another thread."""
        return tuple((name, label, h) for name, s in tuple(self._times.items()) for label, h in tuple(s.items()))

    def _series(self, name: str) -> dict[str, int]:
        if name not in self._counts:
            self._counts[name] = {}
            for told in self._told:
                told(name)
        return self._counts[name]


def _bounded(series: Mapping[str, object], label: str) -> str:
    return label if label in series or len(series) < SERIES else OTHER
