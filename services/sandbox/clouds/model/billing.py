"""A record of every machine that a simulated cloud ever sold, so that leaks and duplicates can be ruled out."""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from events.kube.client import Kube, Object
from events.kube.resources import CONFIGMAPS
from services.sandbox.clouds.model.actions import RecordMachine
from services.sandbox.clouds.model.annotations import BILL
from services.sandbox.clouds.model.objects import annotation, label, name, when, written
from services.sandbox.clouds.model.snapshot import ClusterSnapshot

NAMESPACE = "kube-system"
UID = "alate.dev/uid"
"""The label with a cluster's uid, which our back ends set."""
START, END = "start", "end"


@dataclass(frozen=True)
class Billed:
    """One virtual machine."""

    cluster: str
    """``<namespace>/<name>`` of its Cluster API Cluster."""
    uid: str
    """The label ``alate.dev/uid`` of that Cluster; empty without one."""
    machine: str
    instance: str
    spot: bool
    start: datetime
    end: datetime | None


def bought(view: ClusterSnapshot, machine: Object, now: datetime) -> RecordMachine:
    """The line that records a machine's start. Raises KeyError for a view without its Cluster."""
    order = view.order(machine)
    line = {"machine": name(machine), "instance": order.instance, "spot": order.spot, "at": written(now)}
    if view.cluster is None:
        raise KeyError(f"machine {name(machine)} is of no Cluster")
    return RecordMachine(view.cluster, {f"{machine['metadata']['uid']}.{START}": msgspec.json.encode(line).decode()})


def given_back(cluster: Object, machine: Object, now: datetime) -> RecordMachine:
    """The line that records a machine's end."""
    return RecordMachine(cluster, {f"{machine['metadata']['uid']}.{END}": written(now)})


def book(bill: RecordMachine) -> Object:
    """The ConfigMap that holds the lines."""
    meta = bill.cluster["metadata"]
    return {
        "metadata": {
            "name": f"bill-{meta['uid']}",
            "namespace": NAMESPACE,
            "labels": {BILL: ""} | ({UID: uid} if (uid := label(bill.cluster, UID)) else {}),
            "annotations": {BILL: f"{meta['namespace']}/{meta['name']}"},
        },
        "data": bill.lines,
    }


async def machines_ever(kube: Kube) -> list[Billed]:
    """Every machine that ever ran, by its start. Raises the faults of `kube`."""
    books = (await kube.list(CONFIGMAPS, NAMESPACE, labels=BILL)).items
    return sorted((line for each in books for line in _lines(each)), key=lambda line: line.start)


def _lines(of: Object) -> list[Billed]:
    data = of.get("data") or {}
    return [
        _line(of, msgspec.json.decode(text), data.get(f"{key.removesuffix(START)}{END}"))
        for key, text in data.items()
        if key.endswith(f".{START}")
    ]


def _line(of: Object, start: Object, end: str | None) -> Billed:
    return Billed(
        annotation(of, BILL), label(of, UID), start["machine"], start["instance"], start["spot"],
        when(start["at"]), when(end) if end else None,
    )  # fmt: skip
