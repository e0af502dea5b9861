"""Of an add-on that is not applied the reason is one sentence, with every add-on up to the first that blocks."""

import json
import re
from datetime import timedelta

import msgspec
import pytest
from typer.testing import CliRunner

from events.bus import Message, Stored
from events.memory.bus import MemoryBus
from schemas import addon, cluster
from schemas.profile_addons import ProfileAddons, ReleaseConflict, RolloutMark
from schemas.registry import declared
from schemas.subjects import Key
from schemas.wish import AddonRef
from services.cli.app import app
from services.cli.get.kinds import KINDS
from services.cli.placement.blocking import chain, sentence
from services.cli.placement.explain_addon import show
from services.errors import Failed
from services.local.folder import Absent
from tests.services.gateway.known import NOW, THEN, is_, put_on


def on(kind, name, *after, **fields):
    return put_on(kind, addon=name, after=after, since=THEN, kubeconfig="train-a-2-kubeconfig", **fields)


NFD = on(addon.Applying, "base.nfd", "base.certs", gated=True, message="waits for base.certs (applying)")
CERTS = on(addon.Applying, "base.certs", "all.crds.crds", gated=True, message="")
CRDS = on(addon.Degraded, "all.crds.crds", message="the chart cannot be fetched.")
OTHER = on(addon.Applied, "driver", message="")


def why(*states, of="base.nfd", cluster=""):
    return sentence(chain({each.addon: each for each in states}, of), cluster)


def test_the_chain_leads_to_the_first_that_blocks():
    assert why(NFD, CERTS, CRDS, OTHER) == (
        "base.nfd waits for base.certs, which waits for all.crds.crds, which is degraded: the chart cannot be fetched;"
        " it is tried again at 12:00 UTC"
    )


def test_one_that_waits_for_nobody_says_what_it_does():
    assert why(on(addon.Applying, "driver", message="2 of 3 pods are ready"), of="driver") == (
        "driver is applying: 2 of 3 pods are ready"
    )
    assert why(OTHER, of="driver") == "driver is applied"


def test_one_that_has_its_dependencies_waits_for_none_of_them():
    certs = on(addon.Applied, "base.certs", message="")
    assert why(on(addon.Applying, "base.nfd", "base.certs", message="no pod is ready"), certs) == (
        "base.nfd is applying: no pod is ready"
    )


def test_a_dependency_that_is_not_there_is_named():
    assert why(NFD).startswith("base.nfd waits for base.certs, which is not there: ")


def test_a_dependency_of_another_incarnation_is_waited_for():
    old = on(addon.Applied, "base.certs", uid="u0")
    assert why(NFD, old).startswith("base.nfd waits for base.certs, which is applied")


def test_one_without_a_cluster_says_what_its_cluster_does():
    planned = put_on(addon.Planned, addon="base.nfd", after=("base.certs",))
    assert why(planned, cluster="it is Launching: creating") == (
        "base.nfd is planned: it waits for its cluster (it is Launching: creating)"
    )


def test_one_that_is_withdrawn_waits_for_those_that_depend_on_it():
    certs = on(addon.Withdrawing, "base.certs")
    assert why(certs, NFD, CRDS, of="base.certs") == (
        "base.certs waits for base.nfd, which is applying: waits for base.certs (applying)"
    )


def test_a_cycle_ends():
    one, other = on(addon.Applying, "a", "b", gated=True), on(addon.Applying, "b", "a", gated=True)
    assert [each.addon for each in chain({"a": one, "b": other}, "a")] == ["a", "b"]


@pytest.fixture
async def bus():
    bus = MemoryBus()
    for name, state in (
        ("train-a", is_(cluster.Ready)),
        *((f"train-a.{each.addon}", each) for each in (NFD, CERTS, CRDS, OTHER)),
    ):
        await bus.publish(Message(declared(type(state)).at("acme", name), msgspec.json.encode(state)))
    wanted = ProfileAddons(
        tenant="acme", colony="train", cluster="train-a", uid="u1", correlation="c", as_of=NOW,
        addons=(AddonRef("base.nfd", "d1"), AddonRef("base.later", "d1")),
    )  # fmt: skip
    await bus.publish(Message(declared(ProfileAddons).at("acme", "train-a"), msgspec.json.encode(wanted)))
    return bus


WITHOUT = msgspec.structs.replace(is_(cluster.Ready).wish, addons=())


def profiles(*some):
    """Finds these profiles, as the Kubernetes API has them."""

    async def find(tenant, name):
        return next((each for each in some if each["metadata"]["name"] == name), None)

    return find


async def away(tenant, name):
    raise Absent("no stack runs here")


async def shown(bus, name, form="table", find=away):
    out = []
    await show(bus, Key("addon", "acme", f"train-a.{name}"), find=find, form=form, write=out.append)
    return "".join(out)


async def test_it_is_shown_for_people_with_each_link_and_its_age(bus):
    first, *links = (await shown(bus, "base.nfd")).splitlines()
    assert first.startswith("train/a: base.nfd waits for base.certs, which waits for all.crds.crds, which is degraded")
    assert [each.strip().partition(" for ")[0] for each in links] == [
        "base.nfd (applying", "-> base.certs (applying", "-> all.crds.crds (degraded",
    ]  # fmt: skip


async def test_it_is_shown_for_programs(bus):
    told = json.loads(await shown(bus, "base.nfd", "json"))
    assert (told["addon"], told["profile"], told["cluster"]) == ("base.nfd", "base", "train/a")
    assert [(each["addon"], each["state"]) for each in told["chain"]] == [
        ("base.nfd", "applying"), ("base.certs", "applying"), ("all.crds.crds", "degraded"),
    ]  # fmt: skip


async def test_one_that_a_profile_asks_for_and_that_was_not_begun_is_explained(bus):
    assert "base.later is not there" in await shown(bus, "base.later")


async def test_one_that_nobody_asks_for_fails_with_the_names_that_are_like_it(bus):
    with pytest.raises(Failed, match=r"no add-on base\.nfdd .*: did you mean base\.nfd( or \S+)*\?$"):
        await shown(bus, "base.nfdd")


OWNED = ReleaseConflict(addon="base.gpu", release="gpu/gpu", owner="all.base.gpu", priority=100, owner_priority=50)


async def publish_level(bus, **fields):
    level = ProfileAddons(tenant="acme", colony="train", cluster="train-a", uid="u1", correlation="c", **fields)
    await bus.publish(Message(declared(ProfileAddons).at("acme", "train-a"), msgspec.json.encode(level)))


async def test_one_whose_release_another_profile_has_names_it_and_both_priorities(bus):
    await publish_level(bus, conflicts=(OWNED,))
    assert await shown(bus, "base.gpu") == (
        "train/a: base.gpu is not applied: the release gpu/gpu is that of all.base.gpu: priority 50 wins over 100\n"
    )


WAITS = "stage rest waits for the annotation alate.dev/approved=rest@r2"


def profile(**fields):
    conditions = [{"type": "Reconciling", "status": "True", "message": WAITS}]
    known = {"addons": [{"name": "nfd"}], "rollout": {}} | fields.pop("spec", {})
    status = {"revision": "r2", "matched": 2, "conditions": conditions} | fields
    return {"kind": "AddonProfile", "metadata": {"name": "base"}, "spec": known, "status": status}


async def test_one_that_a_rollout_holds_says_what_the_rollout_waits_for(bus):
    applied = on(addon.Applied, "base.nfd", message="")
    await bus.publish(Message(declared(addon.Applied).at("acme", "train-a.base.nfd"), msgspec.json.encode(applied)))
    await publish_level(bus, addons=(AddonRef("base.nfd", "d1"),), rollouts={"base": RolloutMark(revision="r1")})
    told = json.loads(await shown(bus, "base.nfd", "json", profiles(profile())))
    assert told["held"] == f"the rollout of AddonProfile base has not come to this cluster: {WAITS}"
    assert told["why"].endswith(told["held"])


async def test_one_that_a_rollout_has_never_brought_says_what_it_waits_for(bus):
    await publish_level(bus)
    line = {"name": "acme/train-a", "phase": "Waiting", "message": "keeps what it had, by the rollout"}
    find = profiles(profile(clusters=[line], spec={"addons": [{"name": "new"}]}))
    assert await shown(bus, "base.new", find=find) == (
        f"train/a: base.new is not applied: the rollout of AddonProfile base has not come to this cluster: {WAITS}\n"
    )


NONE = {"addons": [{"name": "new"}], "rollout": None}


@pytest.mark.parametrize(
    ("asked", "find", "said"),
    [
        ("bse.new", profiles(), "there is no AddonProfile bse: `kubectl get addonprofiles` lists those that are there"),
        ("base.nw", profiles(profile(spec=NONE)), "AddonProfile base has no add-on nw: it has new"),
        ("base.new", profiles(profile(spec=NONE, matched=0)), "AddonProfile base selects no cluster: compare"),
        ("base.new", profiles(profile(spec=NONE)), "AddonProfile base selects 2 clusters, but not this one: compare"),
        ("base.new", profiles(profile(spec=NONE | {"suspend": True})), "is suspended: set spec.suspend to false"),
        (
            "base.new",
            profiles(profile(spec=NONE, conditions=[{"type": "Accepted", "status": "False", "message": "a cycle"}])),
            "AddonProfile base is not accepted: a cycle",
        ),
    ],
)
async def test_one_that_is_not_there_says_why_and_where_to_look(bus, asked, find, said):
    with pytest.raises(Failed, match=re.escape(said)):
        await shown(bus, asked, find=find)


async def test_an_add_on_of_a_cluster_that_is_not_there_is_told_as_that():
    with pytest.raises(Failed, match="no cluster train-a in namespace acme: there is none: `alate get clusters -A`"):
        await shown(MemoryBus(), "driver")


async def test_of_a_cluster_without_add_ons_it_is_told_where_all_are():
    bus, ready = MemoryBus(), msgspec.structs.replace(is_(cluster.Ready), wish=WITHOUT)
    await bus.publish(Message(declared(cluster.Ready).at("acme", "train-a"), msgspec.json.encode(ready)))
    with pytest.raises(Failed, match="nor any other: `alate get addons -A` shows all"):
        await shown(bus, "driver")


def test_the_table_has_profile_state_age_and_what_it_waits_for():
    kind = KINDS["addons"]
    rows = []
    for each in (NFD, OTHER, put_on(addon.Planned, addon="all.base.x"), CERTS):
        subject = declared(type(each)).at("acme", f"train-a.{each.addon}")
        (item,) = kind.items(Stored(subject, msgspec.json.encode(each), {}, 1, NOW))
        rows.append(kind.row(item, THEN + timedelta(minutes=5)))
    assert [(row[1], row[2], row[3], row[5]) for row in rows] == [
        ("nfd", "base", "applying", "waits for base.certs (applying)"),
        ("driver", "(Colony)", "applied", ""),
        ("x", "all/base", "planned", "waits for its cluster"),
        ("certs", "base", "applying", "waits for all.crds.crds"),
    ]
    assert rows[0][4] == "5m"


@pytest.mark.parametrize("words", [["train/gpu", "base.nfd"], ["train-gpu.base.nfd"], ["train/gpu.base.nfd"]])
def test_an_add_on_is_named_as_people_or_events_do(monkeypatch, words):
    asked = []

    async def show(bus, key, *, find, form, write):
        asked.append(key)

    class Connected:
        def __init__(self, *_, **__):
            pass

        def bus(self):
            return self

        async def __aenter__(self):
            return None

        async def __aexit__(self, *_):
            return None

    monkeypatch.setattr("services.cli.connection.Connection", Connected)
    monkeypatch.setattr("services.cli.placement.explain_addon.show", show)
    assert CliRunner().invoke(app, ["explain", *words]).exit_code == 0
    assert asked == [Key("addon", "default", "train-gpu.base.nfd")]
