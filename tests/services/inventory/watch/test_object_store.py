"""A shelf holds what is there, whatever comes late, twice or in another order."""

from services.inventory.watch.object_store import ObjectStore


def item(uid, version, name="a", value=0):
    return {"metadata": {"uid": uid, "name": name, "resourceVersion": str(version)}, "value": value}


def shelf() -> ObjectStore[int]:
    return ObjectStore(lambda each: each["value"])


def test_an_older_version_never_replaces_a_newer_one():
    held = shelf()
    held.change(item("u", 5, value=5), gone=False)
    assert held.change(item("u", 4, value=4), gone=False) == []
    assert held.named("a") == 5


def test_what_is_gone_does_not_come_back():
    held = shelf()
    held.change(item("u", 5), gone=False)
    held.change(item("u", 6), gone=True)
    assert held.change(item("u", 5), gone=False) == []
    assert len(held) == 0


def test_a_tombstone_that_comes_first_keeps_its_object_away():
    held = shelf()
    held.change(item("u", 6), gone=True)
    assert held.change(item("u", 5), gone=False) == []


def test_what_a_list_left_out_is_gone_and_its_late_words_are_nothing():
    held = shelf()
    held.change(item("u", 5), gone=False)
    assert held.replace([], "9") == [(0, None)]
    assert held.change(item("u", 7), gone=False) == []


def test_a_name_has_one_bearer_the_newer_one():
    held = shelf()
    held.change(item("old", 5, value=1), gone=False)
    assert held.change(item("new", 7, value=2), gone=False) == [(1, None), (None, 2)]
    assert held.change(item("old", 6, value=1), gone=False) == []
    assert (len(held), held.named("a")) == (1, 2)


def test_where_versions_are_no_numbers_the_order_of_arrival_counts():
    held = shelf()
    held.change(item("u", "x9", value=1), gone=False)
    held.change(item("u", "x1", value=2), gone=False)
    assert held.named("a") == 2
