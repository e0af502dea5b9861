"""The report of the demo: what happened, what it cost, and what was left over."""

from collections.abc import Iterator, Sequence

import msgspec

from schemas.cluster import Placed, Released
from schemas.entity import State
from schemas.registry import WireStruct
from services.cli.demo.audit import TERMINAL, CountResult
from services.cli.demo.chaos import Chaos, Killed
from services.cli.demo.proof import Proof
from services.cli.demo.story import Story, event_of, spans


class FirstOffer(WireStruct, frozen=True):
    """The offer that the first cluster was created on."""

    cloud: str
    region: str
    instance: str
    price_per_hour: float
    """USD, the whole cluster."""
    spot: bool


class DemoReport(WireStruct, frozen=True, kw_only=True):
    """What `alate demo -o json` prints."""

    ok: bool
    """Every check was made, and came out right."""
    seconds: float
    transitions: int
    phases: dict[str, float]
    """Seconds in each state of the first cluster, then of its teardown (``teardown.<state>``)."""
    offer: FirstOffer | None
    cost_usd: float
    leftovers: dict[str, int]
    leftovers_total: int
    lost: int
    duplicates: int
    killed: tuple[Killed, ...] | msgspec.UnsetType = msgspec.UNSET
    """With ``--chaos``: which process, when."""
    cut_off_seconds: float | msgspec.UnsetType = msgspec.UNSET
    """With ``--chaos``: from the delete of a Colony whose job runs to the proof that nothing is left of it."""
    problems: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """If it is not ok: everything that is wrong, in words."""


def made(story: Story, seconds: float, proof: Proof | str, failure: str, chaos: Chaos | None) -> DemoReport:
    """Everything together; `proof` is a sentence if nothing could be counted, `failure` is empty if all went well."""
    counted = proof if isinstance(proof, Proof) else Proof({}, CountResult())
    problems = (*filter(None, (failure, "" if isinstance(proof, Proof) else proof)), *_found(counted))
    return DemoReport(
        ok=not problems,
        seconds=round(seconds, 2),
        transitions=story.transitions,
        phases=phases(story),
        offer=offer(story),
        cost_usd=cost(story),
        leftovers=counted.leftovers,
        leftovers_total=sum(counted.leftovers.values()),
        lost=len(counted.audit.lost),
        duplicates=len(counted.audit.duplicates),
        killed=tuple(chaos.killed) if chaos else msgspec.UNSET,
        cut_off_seconds=round(chaos.cut_off, 2) if chaos and chaos.cut_off is not None else msgspec.UNSET,
        problems=problems or msgspec.UNSET,
    )


def _found(proof: Proof) -> Iterator[str]:
    yield from (f"leftover: {count} {name}" for name, count in proof.leftovers.items() if count)
    yield from (f"lost: {each}" for each in proof.audit.lost)
    yield from (f"duplicate: {each}" for each in proof.audit.duplicates)


def offer(story: Story) -> FirstOffer | None:
    """The offer that the first cluster was created on last."""
    placed = [state for state in _first(story, "cluster") if isinstance(state, Placed)]
    if not placed:
        return None
    placement = placed[-1].attempt.placement
    lot = placement.lots[0]
    return FirstOffer(placement.cloud, placement.region, lot.instance, placement.price_per_hour, lot.spot)


def phases(story: Story) -> dict[str, float]:
    """See `Report.phases`."""
    cluster = spans(_first(story, "cluster"), event_of)
    ending = spans(_first(story, "teardown"), lambda state: f"teardown.{event_of(state)}")
    ends = (TERMINAL["cluster"], f"teardown.{TERMINAL['teardown']}")
    return {name: round(seconds, 3) for name, seconds in (cluster | ending).items() if name not in ends}


def cost(story: Story) -> float:
    """USD, every cluster."""
    return round(sum(s.cost_usd for s in story.domain("cluster").values() if isinstance(s, Released)), 6)


def summary(report: DemoReport) -> Iterator[str]:
    """The same for people."""
    for name, seconds in report.phases.items():
        yield f"  {name:<22}{seconds:>8.2f} s"
    if report.killed is not msgspec.UNSET:
        yield f"killed and back: {', '.join(f'{each.process} ({each.when})' for each in report.killed)}"
    if report.cut_off_seconds is not msgspec.UNSET:
        yield f"deleted while its job ran: gone in {report.cut_off_seconds:.1f} s"
    yield f"{report.transitions} transitions in {report.seconds:.1f} s; cost ${report.cost_usd:.4f} (simulated)"
    yield f"lost: {report.lost}   duplicates: {report.duplicates}   leftovers: {report.leftovers_total}"
    yield "counted: " + ", ".join(f"{name} {count}" for name, count in report.leftovers.items())
    if report.problems is not msgspec.UNSET:
        yield from (f"problem: {problem}" for problem in report.problems)
    yield "ok: nothing is left" if report.ok else "not ok"


def _first(story: Story, domain: str) -> Sequence[State]:
    return next((states for key, states in story.states.items() if key.domain == domain), [])
