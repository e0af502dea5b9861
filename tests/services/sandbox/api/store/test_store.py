"""What the store keeps to look back on is bounded, and what it hands out to read is one object for all."""

import pytest

from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.api.store.store import LARGEST, RECENT, WEIGHT, EncodedObject, ObjectKey, Store

KEY = ObjectKey("c", "", "configmaps", "default", "big")


def config(text: str) -> dict:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "big"}, "data": {"text": text}}


async def written(store: Store, times: int, size: int) -> None:
    store.clusters["c"] = {}
    for _ in range(times):
        async with store.alone(KEY):
            await store.put(KEY, config("x" * size))


async def test_large_changes_push_older_ones_out_of_the_window():
    store, size = Store(MemoryJournal()), LARGEST // 2
    await written(store, 2 * WEIGHT // size, size)
    assert sum(len(change.last.data) for change in store.log) <= WEIGHT
    assert store.oldest == store.log[0].revision - 1
    assert store.since(store.oldest) == list(store.log)


async def test_small_changes_are_kept_up_to_their_number():
    store = Store(MemoryJournal(), window=3)
    await written(store, 5, 1)
    assert (len(store.log), store.oldest) == (3, 2)


async def test_an_object_is_decoded_once_for_all_who_read_it():
    entry = await stored()
    assert entry.read() is entry.read()
    assert entry.object() == entry.read()
    assert entry.object() is not entry.read()


async def test_an_object_written_just_now_is_not_decoded_to_be_read(monkeypatch):
    entry = await stored()
    monkeypatch.setattr(EncodedObject, "object", lambda _: pytest.fail("it was decoded"))
    assert entry.read()["data"] == {"text": "x"}


async def test_an_object_of_a_while_ago_is_decoded_anew_and_reads_the_same():
    entry = await stored()
    before = entry.read()
    await written(Store(MemoryJournal()), RECENT, 1)
    assert entry.read() == before
    assert entry.read() is not before


async def stored() -> EncodedObject:
    store = Store(MemoryJournal())
    await written(store, 1, 1)
    found = store.get(KEY)
    assert found is not None
    return found
