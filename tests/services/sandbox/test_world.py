"""Founded clusters come back with the process, whatever a bus that was killed made of what was kept of them."""

from datetime import UTC, datetime
from itertools import count

from events.kube.resources import NAMESPACES, NODES
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.world import SandboxWorld


def api(journal: MemoryJournal) -> Api:
    uids = count()
    return Api(journal, lambda: datetime(2030, 1, 1, tzinfo=UTC), lambda: f"uid-{next(uids)}")


async def test_the_sandbox_starts_on_a_store_that_holds_only_a_part_of_a_cluster():
    journal = MemoryJournal()
    first = api(journal)
    await first.start()
    world = SandboxWorld(first, b"seal", b"")
    for place in ("acme.half", "acme.whole"):
        await world.found(place)
        await world.kube(place).create(NODES, {"metadata": {"name": "n1"}})
    await first.close()
    half = next(subject for subject, _, _ in await journal.load() if "half" in subject and "kube-system" in subject)
    await journal.append(half, b"")
    again = api(journal)
    await again.start()
    restored = SandboxWorld(again, b"seal", b"")
    await restored.restore()
    assert set(again.clusters) == {MANAGEMENT, "acme.whole"}
    assert again.tokens["acme.whole"] == first.tokens["acme.whole"]
    assert not [subject for subject, _, _ in await journal.load() if "half" in subject]
    await restored.found("acme.half")
    listed = await restored.kube("acme.half").list(NAMESPACES)
    assert {one["metadata"]["name"] for one in listed.items} == {"default", "kube-system"}
    assert not (await restored.kube("acme.half").list(NODES)).items
    await again.close()
