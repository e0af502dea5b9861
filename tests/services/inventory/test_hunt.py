"""Whatever is delivered, late, twice or in another order, the view is what a count from scratch gives."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from events.kube.port import Changed, Listed
from events.kube.resources import NODES, PODS
from services.inventory.watch.cluster_state import ClusterContents
from tests.examples import examples

STEPS, WALKS = 100, examples(110)
GPU = "nvidia.com/gpu"
OPS = (
    "node",
    "node",
    "unnode",
    "pod",
    "pod",
    "pod",
    "unpod",
    "rename",
    "relist",
    "restart",
    "late",
    "all",
    "all",
    "all",
)
NUMBERS = st.integers(0, 2**16)


class Server:
    """What is true, and the words about it that are still on their way."""

    def __init__(self, make) -> None:
        self.make = make
        self.objects = {NODES: {}, PODS: {}}
        self.version = 0
        self.uids = 0
        self.pending: list[tuple[Any, Changed]] = []
        self.heard: list[tuple[Any, Changed]] = []

    def put(self, resource, key, item) -> None:
        """Write an object: under the UID the name has, or a new one."""
        self.version += 1
        known = self.objects[resource].get(key)
        if known is None:
            self.uids += 1
        uid = known["metadata"]["uid"] if known else f"u{self.uids}"
        item["metadata"] |= {"uid": uid, "resourceVersion": str(self.version)}
        self.objects[resource][key] = item
        self.pending.append((resource, Changed(item)))

    def delete(self, resource, key) -> None:
        item = self.objects[resource].pop(key, None)
        if item is not None:
            self.version += 1
            last = item | {"metadata": item["metadata"] | {"resourceVersion": str(self.version)}}
            self.pending.append((resource, Changed(last, gone=True)))

    def listed(self, resource) -> Listed:
        return Listed(tuple(self.objects[resource].values()), str(self.version))


def write(server: Server, op: str, number: int) -> None:
    make, key = server.make, number % 7
    if op == "node":
        gpus = None if number % 5 == 4 else str(number % 11)
        server.put(NODES, f"n{key}", make.node(f"n{key}", gpus=gpus, ready=number % 3 > 0, labels={}))
    elif op in ("pod", "rename"):
        if op == "rename":
            server.delete(PODS, f"p{key}")
        phase = ("Running", "Pending", "Succeeded", "Failed")[number % 4]
        on = f"n{number % 9}" if number % 6 else ""
        init = [{"name": "i", "resources": {"requests": {"cpu": f"{number % 300}m"}}}]
        server.put(
            PODS, f"p{key}", make.pod(f"p{key}", on, phase=phase, gpu=number % 5, cpu=f"{number % 250}m", init=init)
        )
    elif op.startswith("un"):
        server.delete(*((NODES, f"n{key}") if op == "unnode" else (PODS, f"p{key}")))


def deliver(server: Server, book: ClusterContents, op: str, number: int) -> ClusterContents:
    """Hand over some of what is pending, or a list; a restart forgets everything that was known."""
    if op in ("relist", "restart"):  # a 410 is a list anew; what was on its way may come afterwards all the same
        book = ClusterContents(server.make.BLANK) if op == "restart" else book
        for resource in (NODES, PODS):
            book.take(resource, server.listed(resource))
        server.heard += server.pending
        server.pending.clear()
    elif op == "late" and server.heard:
        resource, word = server.heard[number % len(server.heard)]
        book.take(resource, word)
    while server.pending and (op == "all" or number % 3 == 0):
        place = number % len(server.pending)
        said = server.pending.pop(place)
        server.heard.append(said)
        for _ in range(1 + number % 2):
            book.take(*said)
        if op != "all":
            break
    return book


def scratch(server: Server) -> Iterator[tuple[str, int, int, int]]:
    """Name, accelerators offered, accelerators held, thousandths of cores held; written without any of the code."""
    for name, node in server.objects[NODES].items():
        offered = int(node["status"]["allocatable"].get(GPU, 0))
        gpus, cpu = 0, 0
        for pod in server.objects[PODS].values():
            if pod["spec"]["nodeName"] == name and pod["status"]["phase"] in ("Running", "Pending"):
                asked = pod["spec"]["containers"][0]["resources"]["requests"]
                gpus += int(asked[GPU])
                first = pod["spec"]["initContainers"][0]["resources"]["requests"]["cpu"]
                cpu += max(int(asked["cpu"][:-1]), int(first[:-1]))
        yield name, offered, min(gpus, offered), cpu


def shown(book: ClusterContents) -> Iterator[tuple[str, int, int, int]]:
    for name, seen in book.nodes.items():
        gpus = seen.resources.get(GPU)
        held = gpus.allocated // 1000 if gpus else 0
        yield name, seen.accelerators, held, seen.resources["cpu"].allocated


def lawful(book: ClusterContents) -> bool:
    amounts = [a for seen in book.nodes.values() for a in (*seen.resources.values(), *seen.models.values())]
    return all(0 <= a.allocated <= a.allocatable and 0 <= a.available == a.allocatable - a.allocated for a in amounts)


def test_the_view_is_a_count_from_scratch_after_each_of_thousands_of_steps(make):
    done: Counter[str] = Counter()

    @settings(max_examples=WALKS, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(st.lists(st.tuples(st.sampled_from(OPS), NUMBERS), min_size=STEPS, max_size=STEPS))
    def walk(steps):
        server = Server(make)
        book = deliver(server, ClusterContents(make.BLANK), "restart", 0)
        for op, number in steps:
            write(server, op, number)
            book = deliver(server, book, op, number)
            book.changed()
            whole = book.cluster(None, make.T0)
            done["steps"] += 1
            assert lawful(book)
            if server.pending:
                continue
            done["compared"] += 1
            truth = sorted(scratch(server))
            assert sorted(shown(book)) == truth
            ready = {
                n for n, node in server.objects[NODES].items() if node["status"]["conditions"][0]["status"] == "True"
            }
            assert whole.accelerators == sum(offered for name, offered, _, _ in truth if name in ready)
            assert whole.allocated == sum(held for name, _, held, _ in truth if name in ready)

    walk()
    assert done["steps"] >= 0.9 * STEPS * WALKS
    assert done["compared"] >= 0.36 * STEPS * WALKS
