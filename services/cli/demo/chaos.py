"""Kills every process once, at the moment when it is needed most."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from schemas import addon, cluster, teardown
from schemas.inventory import ClusterSeen, NodeSeen
from services.cli.demo.story import DemoEvent
from services.local.programs import NATS, SANDBOX

KillCondition = Callable[[DemoEvent], bool]


def _says(kind: type) -> KillCondition:
    return lambda event: isinstance(event.content, kind)


MOMENTS: Mapping[str, KillCondition] = {
    "provisioning": _says(cluster.Launching),
    SANDBOX: _says(NodeSeen),
    "addons": _says(addon.Applying),
    NATS: lambda event: isinstance(event.content, ClusterSeen) and event.content.allocated > 0,
    "inventory": lambda event: isinstance(event.content, ClusterSeen) and event.content.finished > 0,
    "gateway": _says(teardown.Draining),
    "teardown": _says(cluster.Releasing),
    "edge": _says(cluster.Ready),
    "outbound": _says(cluster.Provisioned),
}
"""Which process dies when."""


@dataclass(frozen=True)
class Killed:
    """One kill."""

    process: str
    at: float
    """Seconds since the demo began."""
    when: str
    """What had just happened."""


class Chaos:
    """Follows the story, and kills."""

    def __init__(self, kill: Callable[[str], bool], clock: Callable[[], float]) -> None:
        """`kill` ends a process by its name, False if it is not there; `clock` is in seconds since the demo began."""
        self.killed: list[Killed] = []
        self.hurry = False
        """The next message is moment enough."""
        self.cut_off: float | None = None
        """Seconds from a Colony's delete to the proof that nothing is left of it, though its job ran."""
        self._kill = kill
        self._clock = clock
        self._left = dict(MOMENTS)

    @property
    def done(self) -> bool:
        """Every process was killed."""
        return not self._left

    def receive(self, event: DemoEvent) -> None:
        """Kill whose moment this is."""
        now = [name for name, moment in self._left.items() if moment(event)]
        for name in now or ([*self._left][:1] if self.hurry else []):
            if self._kill(name):
                del self._left[name]
                self.killed.append(Killed(name, round(self._clock(), 2), _when(event)))


def _when(event: DemoEvent) -> str:
    domain, name = event.names[:2]
    match event.content:
        case ClusterSeen() as seen:
            return f"job {'finished' if seen.finished else 'running'}"
        case NodeSeen() as seen:
            return f"node {seen.node} seen"
    return f"{domain}.{name}"
