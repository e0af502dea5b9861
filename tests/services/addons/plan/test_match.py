"""What profiles want of a cluster: selection, priority, and what becomes of add-ons that are wanted no longer."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from schemas.crds import read_profile
from schemas.profile_addons import DroppedAddon, ProfileAddons
from services.addons.plan.match import lost_level, match
from services.addons.plan.profile import Profile, profile_set
from services.addons.plan.rules import profile_rules
from services.addons.plan.target import KnownCluster
from services.expressions.facts import ClusterFacts

T0 = datetime(2026, 1, 1, tzinfo=UTC)
GOLD = {"tier": "gold"}


def cluster(uid="u1", *, lost=False, ending=False, **labels: str) -> KnownCluster:
    facts = ClusterFacts("train-a", "acme", "train", labels or GOLD)
    return KnownCluster("acme", "train-a", "train", uid, "c1", "k1", facts, lost=lost, ending=ending)


def chart(name, release):
    source = {"chart": {"repository": "https://charts.example.org", "name": name}}
    return {"name": name, "source": source, "release": release}


def profile(name, *addons, namespace="acme", **spec) -> Profile:
    listed = [each if isinstance(each, dict) else {"name": each, "catalog": each} for each in addons]
    read = read_profile({"metadata": {"name": name}, "spec": {"addons": listed} | spec})
    return Profile(name if namespace else f"all/{name}", namespace, read.spec)


RULES = replace(profile_rules(), expand=lambda addon: addon)


def matched(target, *profiles, last=None, standing=()):
    return match(target, profile_set(profiles, "acme", RULES.expand), last, frozenset(standing), RULES)


def names(level: ProfileAddons) -> list[str]:
    return [ref.name for ref in level.addons]


def test_a_profile_wants_its_add_ons_of_the_clusters_that_it_selects():
    gold = profile("base", "nfd", clusters={"matchLabels": {"tier": "gold"}})
    assert names(matched(cluster(), gold).level) == ["base.nfd"]
    assert names(matched(cluster(tier="iron"), gold).level) == []


def test_profiles_of_another_namespace_concern_no_cluster_of_this_one():
    everywhere, elsewhere = profile("base", "nfd", namespace=""), profile("base", "nfd", namespace="other")
    assert names(matched(cluster(), everywhere, elsewhere).level) == ["all.base.nfd"]


def test_what_is_selected_no_longer_is_dropped_as_long_as_it_stands():
    gold = profile("base", "nfd", clusters={"matchLabels": {"tier": "gold"}})
    had = matched(cluster(), gold).level
    after = matched(cluster(tier="iron"), gold, last=had, standing=["base.nfd"]).level
    assert after.dropped == (DroppedAddon("base.nfd"),)
    assert matched(cluster(tier="iron"), gold, last=after).level.dropped == ()


@pytest.mark.parametrize("deleted", [False, True])
def test_what_a_profile_leaves_stays_even_after_the_profile_is_deleted(deleted):
    gold = profile("base", "nfd", clusters={"matchLabels": {"tier": "gold"}}, onUnmatch="Leave")
    had = matched(cluster(), gold).level
    rest = () if deleted else (gold,)
    after = matched(cluster(tier="iron"), *rest, last=had, standing=["base.nfd"]).level
    assert after.dropped == (DroppedAddon("base.nfd", leave=True),)


def test_the_colonys_own_add_ons_are_not_the_profiles_to_drop():
    assert matched(cluster(), standing=["driver"]).level.dropped == ()


def test_a_suspended_profile_changes_nothing():
    had = matched(cluster(), profile("base", "nfd")).level
    paused = profile("base", "other", suspend=True)
    after = matched(cluster(), paused, last=had, standing=["base.nfd"]).level
    assert (names(after), after.dropped) == (["base.nfd"], ())
    assert names(matched(cluster(), paused).level) == []


def test_of_two_that_want_one_release_the_lower_number_has_it_and_the_other_is_left_in_place():
    first, second = profile("a", chart("x", "r")), profile("b", chart("y", "r"), priority=50)
    had = matched(cluster(), first).level
    found = matched(cluster(), first, second, last=had, standing=["a.x"])
    assert names(found.level) == ["b.y"]
    assert found.level.dropped == (DroppedAddon("a.x", leave=True),)
    (conflict,) = found.conflicts
    assert (conflict.addon, conflict.owner, conflict.release) == ("a.x", "b.y", "default/r")


def test_among_equals_the_one_that_has_it_keeps_it():
    first, second = profile("b", chart("x", "r")), profile("a", chart("y", "r"))
    had = matched(cluster(), first).level
    assert names(matched(cluster(), first, second, last=had, standing=["b.x"]).level) == ["b.x"]


def test_the_second_takes_over_when_the_first_is_deleted():
    second = profile("b", chart("y", "r"))
    had = matched(cluster(), profile("a", chart("x", "r")), second).level
    after = matched(cluster(), second, last=had, standing=["a.x"]).level
    assert names(after) == ["b.y"]
    assert after.dropped == (DroppedAddon("a.x", leave=True),)


def test_a_dry_run_takes_a_release_from_nobody():
    one = profile("one", chart("a", "shared"))
    two = profile("two", chart("b", "shared") | {"mode": "DryRun"}, priority=1)
    found = matched(cluster(), one, two, standing={"one.a"})
    assert (names(found.level), found.conflicts) == (["one.a", "two.b"], ())
    gone = matched(cluster(), two, last=found.level, standing={"one.a", "two.b"})
    assert gone.level.dropped == (DroppedAddon("one.a"),)


def test_a_dry_run_is_kept_as_it_stands_where_its_profile_selects_the_cluster_no_longer():
    iron = profile("base", {"name": "a", "catalog": "a", "mode": "DryRun"}, clusters={"matchLabels": {"tier": "iron"}})
    found = matched(cluster(), iron, standing={"base.a"})
    assert (names(found.level), found.unmatched) == (["base.a"], {"base.a"})
    assert names(matched(cluster(lost=True), iron, standing={"base.a"}).level) == []


def test_a_lost_cluster_has_nothing_any_more():
    had = matched(cluster(), profile("base", "nfd")).level
    after = matched(cluster(lost=True, ending=True), profile("base", "nfd"), last=had, standing=["base.nfd"]).level
    assert (after.lost, names(after), after.dropped) == (True, [], (DroppedAddon("base.nfd"),))


def test_what_stands_of_an_earlier_incarnation_is_lost_first():
    level = lost_level(("acme", "train-a"), {"base.nfd": "u0", "base.gpu": "u0", "base.x": "u9"}, None)
    assert (level.uid, level.lost) == ("u0", True)
    assert [each.name for each in level.dropped] == ["base.gpu", "base.nfd"]


def test_nothing_new_is_the_same_level():
    had = matched(cluster(), profile("base", "nfd")).level.but(as_of=T0)
    assert matched(cluster(), profile("base", "nfd"), last=had, standing=["base.nfd"]).level == had
