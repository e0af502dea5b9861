"""Reads a recorded cluster from its two files and counts its capacity and use from them alone."""

import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from events.kube.port import Object
from services.errors import BadInput
from services.inventory.preview import model_of

T = TypeVar("T")


class NodeRow(NamedTuple):
    """One line of the node file."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str


class PodRow(NamedTuple):
    """One line of the pod file; times are seconds since the trace began."""

    name: str
    cpu_milli: int
    memory_mib: int
    accelerators_milli: int
    phase: str
    arrives: int
    leaves: int
    scheduled: bool


class PodMove(NamedTuple):
    """One pod arrives (on a node, or waiting) or leaves."""

    pod: PodRow
    node: str
    arrives: bool


class RecordedCluster(NamedTuple):
    """All of it, in the files' order."""

    nodes: tuple[NodeRow, ...]
    pods: tuple[PodRow, ...]

    @property
    def sizes(self) -> dict[str, int]:
        """How large it is."""
        return {"nodes": len(self.nodes), "gpus": sum(row.gpus for row in self.nodes), "pods": len(self.pods)}


def read(nodes: Path, pods: Path) -> RecordedCluster:
    """Both files. Raises BadInput with file, line and what would be right."""
    return RecordedCluster(tuple(_rows(nodes, _node)), tuple(_rows(pods, _pod)))


def _rows(path: Path, make: Callable[[Object], T]) -> Iterator[T]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for line, row in enumerate(csv.DictReader(file), start=2):
                try:
                    yield make(row)
                except ValueError as wrong:
                    raise BadInput(f"{path} line {line}: {wrong}") from wrong
    except (OSError, UnicodeDecodeError, csv.Error) as wrong:
        raise BadInput(f"{path} cannot be read: {wrong}") from wrong


def _node(row: Object) -> NodeRow:
    gpus = _count(row, "gpu")
    return NodeRow(_text(row, "sn"), _count(row, "cpu_milli"), _count(row, "memory_mib"), gpus, row.get("model") or "")


def _pod(row: Object) -> PodRow:
    gpus, share = _count(row, "num_gpu"), _count(row, "gpu_milli")
    arrives = _count(row, "creation_time")
    scheduled = bool(row.get("scheduled_time"))
    return PodRow(
        name=_text(row, "name"),
        cpu_milli=_count(row, "cpu_milli"),
        memory_mib=_count(row, "memory_mib"),
        accelerators_milli=gpus * share,
        phase=row.get("pod_phase") or "Running",
        arrives=_count(row, "scheduled_time") if scheduled else arrives,
        leaves=_count(row, "deletion_time") if row.get("deletion_time") else -1,
        scheduled=scheduled,
    )


def _text(row: Object, column: str) -> str:
    if not row.get(column):
        raise ValueError(f"{column} is missing")
    return str(row[column])


def _count(row: Object, column: str) -> int:
    text = row.get(column) or ""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{column} is {text!r}: expected a whole number of 0 or more")
    return int(text)


def moves(trace: RecordedCluster) -> list[PodMove]:
    """Arrivals and departures in the order of the trace; at one instant, who leaves goes first.

    The trace does not tell the node: each scheduled pod goes to the first one, in the file's order, that has room for
    its accelerators and its cores; one that fits nowhere waits.
    """
    events = [(pod.arrives, 1, place, pod) for place, pod in enumerate(trace.pods)]
    events += [
        (pod.leaves, 0 if pod.leaves > pod.arrives else 2, place, pod)
        for place, pod in enumerate(trace.pods)
        if pod.leaves >= 0
    ]
    room = {row.name: [1000 * row.gpus, row.cpu_milli] for row in trace.nodes}
    where: dict[str, str] = {}
    found = []
    for _, kind, _, pod in sorted(events):
        if kind == 1:
            where[pod.name] = _place(pod, room) if pod.scheduled else ""
        found.append(PodMove(pod, where[pod.name], kind == 1))
        _take(room, where[pod.name], pod, 1 if kind == 1 else -1)
    return found


def _place(pod: PodRow, room: dict[str, list[int]]) -> str:
    gpus, cpu = pod.accelerators_milli, pod.cpu_milli
    return next((name for name, (free, cores) in room.items() if free >= gpus and cores >= cpu), "")


def _take(room: dict[str, list[int]], node: str, pod: PodRow, sign: int) -> None:
    if node:
        room[node][0] -= sign * pod.accelerators_milli
        room[node][1] -= sign * pod.cpu_milli


def counted(trace: RecordedCluster, plan: Iterable[PodMove]) -> Object:
    """Allocatable, peak and end by model in thousandths, with nothing but the files and who went where."""
    model = {row.name: model_of(row.model, "nvidia") for row in trace.nodes if row.gpus}
    found = {name: {"allocatable": 0, "peak": 0, "end": 0, "nodes": 0} for name in sorted(set(model.values()))}
    for row in trace.nodes:
        if row.gpus:
            found[model[row.name]]["allocatable"] += 1000 * row.gpus
            found[model[row.name]]["nodes"] += 1
    for move in plan:
        if move.pod.accelerators_milli and move.node:
            each = found[model[move.node]]
            each["end"] += move.pod.accelerators_milli if move.arrives else -move.pod.accelerators_milli
            each["peak"] = max(each["peak"], each["end"])
    return found
