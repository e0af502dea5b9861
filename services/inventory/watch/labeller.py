"""Adds and removes alate's own node labels."""

import asyncio
from collections.abc import Callable, Mapping

import structlog

from events.errors import Denied, Fault, NotFound
from events.kube.client import Kube
from events.kube.resources import NODES
from schemas.inventory import Trouble
from schemas.subjects import Key
from services.inventory.read.labels import MANAGER

PACE = 1.0
"""Seconds between two rounds: whoever writes the same labels can never make us write without end."""
REFUSED = 300.0
"""Seconds until what was refused is tried again."""
GONE = ("Conflict", "Invalid")
"""How an API server refuses to write to the uid of a node that is no more."""

log = structlog.get_logger()


class Labeller:
    """One cluster's: `want` what nodes shall bear, and `run` sees to it."""

    def __init__(self, key: Key, told: Callable[[], None]) -> None:
        """`told` is called when `trouble` is another."""
        self.trouble: Trouble | None = None
        """Why nodes cannot be labelled."""
        self._key = key
        self._told = told
        self._wanted: dict[str, tuple[str, Mapping[str, str]]] = {}
        self._news = asyncio.Event()

    def want(self, node: str, uid: str, labels: Mapping[str, str], borne: Mapping[str, str]) -> None:
        """These labels and no others of ours on the node; `borne`: what of ours is there."""
        if labels == borne or not uid:  # without one, a write could bring a node back that has just gone
            self._wanted.pop(node, None)
        elif self._wanted.get(node) != (uid, labels):
            self._wanted[node] = (uid, labels)
            self._news.set()

    async def run(self, kube: Kube) -> None:
        """Write what is wanted, for ever; what fails is tried again, as long as it is wanted."""
        while True:
            await self._news.wait()
            self._news.clear()
            failed = [
                fault
                for node in tuple(self._wanted)
                if node in self._wanted and (fault := await self._write(kube, node)) is not None
            ]
            refused = next((fault for fault in failed if isinstance(fault, Denied)), None)
            self._tell(refused)
            if failed:
                self._news.set()
            await asyncio.sleep(REFUSED if refused else PACE)

    async def _write(self, kube: Kube, node: str) -> Fault | None:
        """Write one node's labels; gives why it is to be tried again."""
        wanted = uid, labels = self._wanted[node]
        try:
            # With the uid: a node that went meanwhile is never made anew by its labels.
            await kube.apply(NODES, {"metadata": {"name": node, "uid": uid, "labels": dict(labels)}}, manager=MANAGER)
        except NotFound:
            pass
        except Denied as denied:
            if denied.reason not in GONE:
                return denied
        except Fault as fault:
            return fault
        else:
            log.info("node.labelled", entity=self._key.path, node=node, labels=dict(labels))
        if self._wanted.get(node) == wanted:
            del self._wanted[node]
        return None

    def _tell(self, refused: Denied | None) -> None:
        text = f"nodes cannot be labelled: {refused.message}" if refused else ""
        trouble = Trouble(reason="Unlabelled", message=text) if refused else None
        if trouble != self.trouble:
            self.trouble = trouble
            self._told()
