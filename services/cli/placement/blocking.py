"""Why an add-on is not applied, or not withdrawn: a pure chain of add-ons up to the first that blocks."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from schemas.addon import AddonState, Applied, Applying, Degraded, Planned, Withdrawing, Withdrawn
from schemas.registry import declared

WAITS = {Planned: "is planned: it waits for its cluster", Applied: "is applied", Withdrawn: "is withdrawn"}


class ChainLink(NamedTuple):
    """One add-on of the chain, and its state; None: there is none."""

    addon: str
    state: AddonState | None

    @property
    def event(self) -> str:
        """Its state in one word."""
        return declared(type(self.state)).event if self.state is not None else "absent"

    @property
    def message(self) -> str:
        """What its state says."""
        text = getattr(self.state, "message", "")
        return " ".join(str(text).split())


def chain(known: Mapping[str, AddonState], addon: str) -> list[ChainLink]:
    """The add-on, then each time the first that the one before it waits for."""
    links, seen = [ChainLink(addon, known.get(addon))], {addon}
    while (following := _waits_for(known, links[-1])) is not None and following not in seen:
        seen.add(following)
        links.append(ChainLink(following, known.get(following)))
    return links


def _waits_for(known: Mapping[str, AddonState], link: ChainLink) -> str | None:
    """The first add-on that one waits for; None: none."""
    state = link.state
    if isinstance(state, Withdrawing):
        users = (name for name, each in known.items() if link.addon in each.after and each.uid == state.uid)
        return next((name for name in users if not isinstance(known[name], Withdrawn | Planned)), None)
    if not isinstance(state, Applying | Planned | Degraded) or (isinstance(state, Planned) and not state.kubeconfig):
        return None
    lacking = (name for name in state.after if not _stands(known.get(name), state.uid))
    return next(lacking, None)


def _stands(state: AddonState | None, uid: str) -> bool:
    return isinstance(state, Applied) and state.uid == uid


def sentence(links: Sequence[ChainLink], cluster: str, held: str = "") -> str:
    """The reason in one sentence; `cluster` is what the cluster of a planned add-on is waiting for.

    `held`: how another profile, or a rollout, holds the last of the chain back.
    """
    waits = "".join(f"waits for {each.addon}, which " for each in links[1:])
    return f"{links[0].addon} {waits}{_of(links[-1], cluster, held)}"


def _of(link: ChainLink, cluster: str, held: str) -> str:
    """What a single add-on does, and why."""
    state = link.state
    if held and (state is None or isinstance(state, Withdrawn)):
        return f"is not applied: {held}"
    if state is None:
        return "is not there: no profile and no Colony asks for it on this cluster, or it was not begun yet"
    told = WAITS.get(type(state), f"is {link.event}")
    if isinstance(state, Planned) and cluster:
        told = f"{told} ({cluster})"
    why = f": {link.message.rstrip('.')}" if link.message else ""
    retried = f"; it is tried again at {state.retry_at:%H:%M} UTC" if isinstance(state, Degraded) else ""
    return f"{told}{why}{retried}{f'; {held}' if held else ''}"
