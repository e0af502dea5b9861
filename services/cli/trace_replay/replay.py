"""`alate replay` plays a recorded cluster through the inventory, and counts the same by hand beside it."""

import sys
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from events.kube.client import Changed, Kube, Listed, Object, Sight
from events.kube.resources import NODES, PODS
from schemas.inventory import ClusterSeen
from services.cli.output.render import Form, document
from services.cli.trace_replay.trace import NodeRow, PodMove, PodRow, RecordedCluster, counted, moves, read
from services.errors import Failed
from services.eventlog.scan import ReportProgress
from services.inventory.preview import ClusterContents
from services.kubernetes.resources import GPU_MILLI
from services.sandbox.in_process import kubernetes

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
EVERY = 1000
"""Moves between two lines of progress."""


def _progress(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


async def replay(nodes: Path, pods: Path, *, form: Form, show_progress: ReportProgress = _progress) -> None:
    """Play a trace and show the result. Raises BadInput for files that are none, Failed if the counts differ."""
    trace = read(nodes, pods)
    plan = moves(trace)
    uids = count(1)
    # Names come from the trace, ids from a counter: the same files give the same objects.
    async with kubernetes(lambda: EPOCH, lambda: f"00000000-0000-4000-8000-{next(uids):012d}") as kube:
        player = Player(kube, trace, show_progress)
        seen = await player.play(plan)
    by_hand = counted(trace, plan)
    found = {"trace": trace.sizes, "inventory": seen, "by_hand": by_hand, "agree": seen == by_hand}
    sys.stdout.write(table(found) if form == "table" else document(found, form))
    if seen != by_hand:
        raise Failed("the inventory and the count from the files differ: `-o json` shows both")


@dataclass
class Player:
    """Writes what the trace tells to a Kubernetes API, and looks at it through the inventory."""

    kube: Kube
    trace: RecordedCluster
    show_progress: ReportProgress
    book: ClusterContents = field(default_factory=lambda: ClusterContents(ClusterSeen(cluster="openb", uid="openb")))
    peaks: dict[str, int] = field(default_factory=dict)
    _uids: dict[str, str] = field(default_factory=dict)

    async def play(self, plan: Iterable[PodMove]) -> Object:
        """Every move in its order; gives what the inventory saw: allocatable, peak and end by model."""
        for row in self.trace.nodes:
            await self._join(row)
        self.show_progress(f"{len(self.trace.nodes)} nodes joined")
        sights = self.kube.watch(PODS)
        self.book.take(NODES, await self.kube.list(NODES))
        await self._hear(sights, "")
        for number, move in enumerate(plan, start=1):
            await self._move(move, sights)
            if number % EVERY == 0:
                self.show_progress(f"{number} moves, {self._now().pods} pods hold accelerators")
        return self._result()

    async def _join(self, row: NodeRow) -> None:
        made = node_of(row)
        status = made.pop("status")
        await self.kube.create(NODES, made)
        await self.kube.patch(NODES, row.name, None, {"status": status}, subresource="status")

    async def _move(self, move: PodMove, sights: AsyncIterator[Sight]) -> None:
        if move.arrives:
            made = await self.kube.create(PODS, pod_of(move.pod, move.node))
            self._uids[move.pod.name] = made["metadata"]["uid"]
        else:
            await self._end(move.pod)
            await self.kube.delete(PODS, move.pod.name, "default", grace=0)
        await self._hear(sights, self._uids[move.pod.name], gone=not move.arrives)
        for model, amount in self._now().models.items():
            self.peaks[model] = max(self.peaks.get(model, 0), amount.allocated)

    async def _end(self, pod: PodRow) -> None:
        if pod.phase in ("Succeeded", "Failed"):
            await self.kube.patch(PODS, pod.name, "default", {"status": {"phase": pod.phase}}, subresource="status")

    async def _hear(self, sights: AsyncIterator[Sight], uid: str, *, gone: bool = False) -> None:
        """Read the watch until it shows what was just written."""
        async for sight in sights:
            if not isinstance(sight, Listed | Changed):
                raise Failed(f"the API cannot be watched: {sight.reason}")
            self.book.take(PODS, sight)
            if isinstance(sight, Listed) or (sight.object["metadata"]["uid"], sight.gone) == (uid, gone):
                return

    def _now(self) -> ClusterSeen:
        self.book.changed()
        return self.book.cluster(None, EPOCH)

    def _result(self) -> Object:
        now = self._now()
        return {
            model: {
                "allocatable": each.allocatable,
                "peak": self.peaks.get(model, 0),
                "end": each.allocated,
                "nodes": each.nodes,
            }
            for model, each in now.models.items()
        }


def node_of(row: NodeRow) -> Object:
    """A Node with its GPUs in thousandths, as a device plugin for shares would offer them."""
    labels = {"nvidia.com/gpu.product": row.model, "nvidia.com/gpu.count": str(row.gpus)} if row.gpus else {}
    offered = {"cpu": f"{row.cpu_milli}m", "memory": f"{row.memory_mib}Mi", "pods": "1000"}
    offered |= {GPU_MILLI: str(1000 * row.gpus)} if row.gpus else {}
    conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}]
    status = {"capacity": offered, "allocatable": offered, "conditions": conditions}
    return {"metadata": {"name": row.name, "labels": labels}, "spec": {}, "status": status}


def pod_of(row: PodRow, node: str) -> Object:
    """A Pod that asks for what its row says, bound already if the trace bound it."""
    asked = {"cpu": f"{row.cpu_milli}m", "memory": f"{row.memory_mib}Mi"}
    asked |= {GPU_MILLI: str(row.accelerators_milli)} if row.accelerators_milli else {}
    container = {"name": "main", "image": "trace", "resources": {"requests": asked, "limits": asked}}
    spec: Object = {"containers": [container], "restartPolicy": "Never"} | ({"nodeName": node} if node else {})
    return {"metadata": {"name": row.name, "namespace": "default"}, "spec": spec}


def table(found: Object) -> str:
    """Both counts by model, in whole accelerators."""
    lines = [f"{'MODEL':<18}{'NODES':>7}{'ALLOCATABLE':>13}{'PEAK':>11}{'END':>9}   BY HAND"]
    for model, seen in found["inventory"].items():
        hand = found["by_hand"].get(model, {})
        same = "the same" if hand == seen else f"differs: {hand}"
        amounts = (f"{seen[key] / 1000:>{width}.3f}" for key, width in (("allocatable", 13), ("peak", 11), ("end", 9)))
        lines.append(f"{model:<18}{seen['nodes']:>7}{''.join(amounts)}   {same}")
    sizes = ", ".join(f"{value} {name}" for name, value in found["trace"].items())
    return "\n".join([*lines, f"{sizes}; the two counts {'agree' if found['agree'] else 'DIFFER'}"]) + "\n"
