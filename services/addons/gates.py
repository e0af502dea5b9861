"""What an add-on waits for besides itself: those it depends on come first, and those that depend on it go first."""

from collections.abc import Callable, Iterable, Iterator

from schemas.addon import (
    AddonState,
    Applied,
    ApplyAddon,
    Applying,
    Planned,
    WithdrawAddon,
    Withdrawing,
    Withdrawn,
    addon_name,
)
from schemas.entity import State
from schemas.registry import declared
from schemas.subjects import Key
from schemas.wish import AddonRef
from services.addons.plan.target import ClusterName
from services.kubernetes.name_list import first_names
from services.runtime.read_model import ReadModel

PAUSED = "its cluster is paused"


class Gates:
    """The order among the add-ons of each cluster, from their states."""

    def __init__(
        self,
        addons: ReadModel[Key, State],
        wanted: Callable[[ClusterName], Iterable[AddonRef]],
        resume: Callable[[Key], None],
        paused: Callable[[ClusterName], bool] = lambda _: False,
    ) -> None:
        """`wanted` gives what profiles want; `resume` is called with each add-on that may go on as another changed."""
        self._paused = paused
        self._wanted = wanted
        self._resume = resume
        self._of_cluster: dict[ClusterName, dict[str, AddonState]] = {}
        addons.listen(self._on_changed, self._on_dropped)

    def before_apply(self, command: ApplyAddon) -> str:
        """What an add-on waits for before it is applied, one sentence; empty: nothing."""
        if self._paused((command.tenant, command.cluster)):
            return PAUSED
        return _lacking(command, self._of_cluster.get((command.tenant, command.cluster), {}))

    def before_withdrawal(self, command: WithdrawAddon) -> str:
        """What an add-on waits for before it is withdrawn, one sentence; empty: nothing.

        Those that depend on it go first; and where only this one is withdrawn, those that are being applied may take
        over what it has.
        """
        if command.stays and self._paused((command.tenant, command.cluster)):
            return PAUSED
        known = self._of_cluster.get((command.tenant, command.cluster), {})
        users = [
            name
            for name, each in known.items()
            if command.addon in each.after and each.uid == command.uid and not isinstance(each, Withdrawn | Planned)
        ]
        if users:
            return f"waits until {first_names(tuple(users))} {'is' if len(users) == 1 else 'are'} withdrawn"
        heirs = tuple(self._heirs(command, known)) if command.dropped else ()
        return f"waits for {first_names(heirs)}, which may take over its objects" if heirs else ""

    def wanted(self, about: ApplyAddon | WithdrawAddon) -> Iterator[str]:
        """Full names of the add-ons that profiles want its cluster to have."""
        return (ref.name for ref in self._wanted((about.tenant, about.cluster)))

    def _heirs(self, command: WithdrawAddon, known: dict[str, AddonState]) -> Iterator[str]:
        """Add-ons of profiles that are wanted and not there yet, though nothing keeps them."""
        for ref in self._wanted((command.tenant, command.cluster)):
            state = known.get(ref.name)
            starts = state is None or isinstance(state, Planned | Withdrawn)
            applies = isinstance(state, Applying) and not (state.gated or state.message or state.overdue)
            if (starts or applies) and all(_stands(known.get(name), command.uid) for name in ref.after):
                yield ref.name

    def _on_changed(self, key: Key, state: State) -> None:
        if not isinstance(state, AddonState):
            return
        known = self._of_cluster.setdefault((state.tenant, state.cluster), {})
        known[state.addon] = state
        if isinstance(state, Applying) and state.gated and state.after and _lacking(state, known) != state.message:
            self._resume(key)  # what it waits for changed before it was known here to wait
        for name in tuple(_concerned(known, state)):
            self._resume(key._replace(name=addon_name(state.cluster, name)))

    def _on_dropped(self, key: Key) -> None:
        cluster, _, addon = key.name.partition(".")
        known = self._of_cluster.get((key.tenant, cluster), {})
        known.pop(addon, None)
        if not known:
            self._of_cluster.pop((key.tenant, cluster), None)


def _lacking(waiting: ApplyAddon | Applying, known: dict[str, AddonState]) -> str:
    """Which of those that it depends on are not applied, one sentence; empty: all are."""
    lacking = [name for name in waiting.after if not _stands(known.get(name), waiting.uid)]
    if not lacking:
        return ""
    return f"waits for {first_names(tuple(_described(name, known.get(name)) for name in lacking))}"


def _concerned(known: dict[str, AddonState], changed: AddonState) -> Iterator[str]:
    """Add-ons that may have waited for this change."""
    for name, each in known.items():
        waits = isinstance(each, Applying) and each.gated and changed.addon in each.after
        waits = waits or (isinstance(each, Applying) and bool(each.message) and isinstance(changed, Withdrawn))
        if waits or (isinstance(each, Withdrawing) and each.message and name != changed.addon):
            yield name


def _stands(state: AddonState | None, uid: str) -> bool:
    return isinstance(state, Applied) and state.uid == uid


def _described(name: str, state: AddonState | None) -> str:
    return f"{name} ({declared(type(state)).event if state else 'which is not there'})"
