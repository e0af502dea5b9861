"""One Secret opens every cluster of a Colony, is written only when it has to be another, and never over another's."""

import asyncio
import base64
from contextlib import asynccontextmanager
from dataclasses import replace

import msgspec
import pytest
import yaml

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube, Response
from events.kube.resources import COLONIES, SECRETS
from schemas import cluster
from schemas.wish import cluster_name, own_name
from services.gateway.kubeconfig import (
    POLL_ROUND,
    Kubeconfigs,
    KubeconfigSource,
    absent_status,
    is_owned_by,
    is_owned_by_predecessor,
    secret_manifest,
    secret_name,
    sources,
    write_denied,
    written_status,
)
from services.gateway.status.facts import Facts, KubeconfigStatus
from services.sandbox.api.server.kubeconfig import kubeconfig
from tests.services.gateway.known import SEEN, WHOLE, WISH, is_
from tests.services.sandbox.clouds.conftest import sandbox

__all__ = ["sandbox"]

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

NAME = "train.kubeconfig"
TAKEN = f"Secret {NAME} is not of this Colony and stays as it is: delete or rename it"
GPU, PREP = {"train/gpu": KubeconfigSource("gpu")}, {"train/prep": KubeconfigSource("prep")}

CLUSTER = {"name": "gpu", "pools": [{"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1}]}


class Away(Exception):
    """The process is not there any more."""


class Way:
    """A way to the API server on which every call is noted, and one may be the last, or be refused."""

    def __init__(self, beyond):
        self.beyond, self.calls = beyond, []
        self.last, self.refused = {}, {}
        """By number of the call: "before" or "after" it. By method: the status of the answer."""
        self.meanwhile = {}
        """By method: what somebody does once, just before it."""

    async def send(self, request):
        self.calls.append(request.method)
        when = self.last.get(len(self.calls))
        if when == "before":
            raise Away
        if request.method in self.meanwhile:
            await self.meanwhile.pop(request.method)
        if request.method in self.refused:
            return Response(self.refused[request.method], {}, b'{"message": "no", "reason": "Forbidden"}')
        answer = await self.beyond.send(request)
        if when == "after":
            raise Away
        return answer


class House:
    def __init__(self, sandbox):
        self.kube = sandbox.kube
        self.way = Way(sandbox.kube.transport)
        self.restart()

    def restart(self):
        self.way.calls, self.way.last = [], {}
        self.kept = Kubeconfigs(Kube(self.way, random=lambda: 0.5))

    async def colony(self):
        wanted = {"metadata": {"name": "train", "namespace": "default"}, "spec": {"clusters": [CLUSTER]}}
        made = await self.kube.create(COLONIES, wanted)
        self.meta = made["metadata"]

    async def holds(self, secret, token, text=None):
        """A back end writes the kubeconfig of a cluster."""
        text = text or kubeconfig(f"https://{secret}", secret, "ca", token)
        data = {"value": base64.b64encode(text.encode()).decode()}
        wanted = {"metadata": {"name": secret, "namespace": "default"}, "data": data}
        await self.kube.apply(SECRETS, wanted, manager="back end")

    async def ensure(self, sources, *, never_created=False):
        await self.kept.ensure(self.meta, sources, never_created=never_created)
        return self.kept.status(self.meta)

    async def opens(self):
        """The token of each context; None where there is no Secret."""
        try:
            secret = await self.kube.get(SECRETS, NAME, "default")
        except NotFound:
            return None
        document = yaml.safe_load(base64.b64decode(secret["data"]["value"]))
        tokens = {each["name"]: each["user"]["token"] for each in document["users"]}
        return {each["name"]: tokens[each["context"]["user"]] for each in document["contexts"]}

    @property
    def writes(self):
        return [call for call in self.way.calls if call != "GET"]


@asynccontextmanager
async def lived(sandbox):
    """Not a fixture: its time would be another one. A Colony with two clusters that were reached."""
    made = House(sandbox)
    await made.colony()
    await made.holds("gpu", "a")
    await made.holds("prep", "b")
    yield made


def reason(told):
    return told.condition.reason if told.condition else None


async def test_every_cluster_is_a_context_of_the_one_secret(sandbox):
    async with lived(sandbox) as house:
        told = await house.ensure(GPU | PREP)
        assert await house.opens() == {"train/gpu": "a", "train/prep": "b"}
        assert (told.secret, told.condition.holds) == (NAME, True)


async def test_it_is_of_a_type_of_its_own_and_owned_by_its_colony(sandbox):
    async with lived(sandbox) as house:
        await house.ensure(GPU)
        secret = await house.kube.get(SECRETS, NAME, "default")
        (owner,) = secret["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == ("Colony", "train", house.meta["uid"])
        assert secret["type"] == "alate.dev/kubeconfig"
        assert secret["metadata"]["labels"]["alate.dev/colony"] == "train"


async def test_a_colony_that_was_never_founded_costs_no_call_and_its_first_cluster_two(sandbox):
    async with lived(sandbox) as house:
        assert await house.ensure({}, never_created=True) == KubeconfigStatus()
        assert house.way.calls == []
        await house.ensure(GPU)
        assert house.way.calls == ["GET", "POST"]


async def test_where_nothing_has_changed_nothing_is_asked(sandbox):
    async with lived(sandbox) as house:
        await house.ensure(GPU)
        house.way.calls.clear()
        await house.ensure(GPU)
        assert house.way.calls == []


async def test_a_restart_writes_nothing_and_tells_the_same(sandbox):
    async with lived(sandbox) as house:
        told = await house.ensure(GPU | PREP)
        house.restart()
        assert await house.ensure(GPU | PREP) == told
        assert house.way.calls == ["GET"] * 3


async def test_a_cluster_that_is_added_is_added_and_one_that_is_taken_out_is_taken_out(sandbox):
    async with lived(sandbox) as house:
        for sources in (GPU, GPU | PREP, PREP):
            await house.ensure(sources)
            assert set(await house.opens()) == set(sources)


async def test_it_goes_with_the_last_cluster(sandbox):
    async with lived(sandbox) as house:
        await house.ensure(GPU)
        assert await house.ensure({}) == KubeconfigStatus()
        assert await house.opens() is None


async def test_it_is_read_anew_when_a_cluster_falls_silent(sandbox):
    async with lived(sandbox) as house:
        await house.ensure(GPU)
        await house.holds("gpu", "rotated")
        await house.ensure({"train/gpu": KubeconfigSource("gpu", unreachable=True)})
        assert await house.opens() == {"train/gpu": "rotated"}


async def test_a_cluster_made_anew_is_opened_by_its_new_secret(sandbox):
    async with lived(sandbox) as house:
        await house.ensure(GPU)
        await house.holds("gpu-2", "c")
        await house.ensure({"train/gpu": KubeconfigSource("gpu-2")})
        assert await house.opens() == {"train/gpu": "c"}


@asynccontextmanager
async def round_after(house, sources):
    """Whatever the block does is found in the next round, and the Colony then looked at."""
    touched = []
    await house.ensure(sources)
    follower = asyncio.create_task(house.kept.poll_secrets(touched.append))
    await asyncio.sleep(0)
    yield
    await asyncio.sleep(POLL_ROUND + 1)
    follower.cancel()
    await asyncio.gather(follower, return_exceptions=True)
    assert touched == [("default", "train")]
    await house.ensure(sources)


async def test_a_kubeconfig_rotated_while_the_old_one_still_opens_is_followed_within_a_round(sandbox):
    async with lived(sandbox) as house:
        async with round_after(house, GPU | PREP):
            await house.holds("prep", "rotated")
        assert await house.opens() == {"train/gpu": "a", "train/prep": "rotated"}


async def test_one_that_somebody_deleted_is_there_again_after_a_round(sandbox):
    async with lived(sandbox) as house:
        async with round_after(house, GPU):
            await house.kube.delete(SECRETS, NAME, "default")
        assert await house.opens() == {"train/gpu": "a"}


async def test_one_that_somebody_changed_is_put_right_after_a_round(sandbox):
    async with lived(sandbox) as house:
        async with round_after(house, GPU):
            await house.holds(NAME, "nonsense")
        assert await house.opens() == {"train/gpu": "a"}


async def test_rounds_ask_and_touch_nothing_as_long_as_nothing_changes(sandbox):
    async with lived(sandbox) as house:
        touched = []
        await house.ensure(GPU)
        house.way.calls.clear()
        follower = asyncio.create_task(house.kept.poll_secrets(touched.append))
        await asyncio.sleep(3 * POLL_ROUND + 1)
        follower.cancel()
        await asyncio.gather(follower, return_exceptions=True)
        assert (touched, house.way.calls) == ([], ["GET"] * 6)


async def test_anothers_secret_stays_as_it_is_and_the_colony_tells(sandbox):
    async with lived(sandbox) as house:
        await house.holds(NAME, "theirs")
        before = await house.kube.get(SECRETS, NAME, "default")
        told = await house.ensure(GPU)
        assert (told.secret, told.condition.reason, told.condition.message) == (None, "NameTaken", TAKEN)
        assert await house.ensure({}) == KubeconfigStatus()
        assert (await house.kube.get(SECRETS, NAME, "default"), house.writes) == (before, [])


async def test_once_anothers_secret_is_away_its_own_is_written(sandbox):
    async with lived(sandbox) as house:
        await house.holds(NAME, "theirs")
        async with round_after(house, GPU):
            await house.kube.delete(SECRETS, NAME, "default")
        assert await house.opens() == {"train/gpu": "a"}


async def test_an_earlier_colonys_secret_is_waited_for(sandbox):
    async with lived(sandbox) as house:
        await house.ensure(GPU)
        earlier, house.meta = house.meta, house.meta | {"uid": "another"}
        with pytest.raises(TryLater, match="earlier Colony's"):
            await house.ensure(GPU)
        assert house.kept.status(house.meta) is None
        await house.kube.delete(SECRETS, NAME, "default", uid=None)
        house.meta = earlier
        house.restart()
        await house.ensure(GPU)
        assert await house.opens() == {"train/gpu": "a"}


@pytest.mark.parametrize("text", ["{a: [token-of-ours", "- token-of-ours"])
async def test_a_cluster_whose_secret_holds_nonsense_is_left_out_and_what_it_holds_is_not_told(sandbox, text):
    async with lived(sandbox) as house:
        await house.holds("prep", "", text)
        told = await house.ensure(GPU | PREP)
        assert await house.opens() == {"train/gpu": "a"}
        assert told.condition.message == "train/prep is left out: Secret prep holds no kubeconfig that can be taken"
        assert told.secret == NAME


async def test_a_cluster_whose_secret_is_not_there_yet_is_added_when_it_is(sandbox):
    async with lived(sandbox) as house:
        later = {"train/late": KubeconfigSource("late")}
        told = await house.ensure(later)
        assert (told.secret, reason(told)) == (None, "Incomplete")
        await house.holds("late", "c")
        assert (await house.ensure(later)).secret == NAME
        assert await house.opens() == {"train/late": "c"}


async def test_a_refusal_is_told_and_ends_when_it_is_none_any_more(sandbox):
    async with lived(sandbox) as house:
        house.way.refused = {"POST": 403}
        told = await house.ensure(GPU)
        assert (told.secret, reason(told)) == (None, "Forbidden")
        assert told.condition.message.startswith("the kubeconfig of all clusters cannot be written: ")
        house.way.refused = {}
        assert (await house.ensure(GPU)).secret == NAME


async def test_what_another_replica_has_written_is_not_written_again(sandbox):
    async with lived(sandbox) as house:
        await house.ensure({}, never_created=True)
        other = House(sandbox)
        other.meta = house.meta
        await other.ensure(GPU)
        with pytest.raises(TryLater):
            await house.ensure(GPU)
        house.way.calls.clear()
        assert (await house.ensure(GPU)).secret == NAME
        assert house.writes == []


async def test_what_was_read_before_another_wrote_is_not_written_over_it(sandbox):
    async with lived(sandbox) as house:
        await house.ensure(GPU)
        house.way.meanwhile = {"PATCH": house.holds(NAME, "newer")}
        with pytest.raises(TryLater):
            await house.ensure(GPU | PREP)
        assert await house.opens() == {NAME: "newer"}
        await house.ensure(GPU | PREP)
        assert await house.opens() == {"train/gpu": "a", "train/prep": "b"}


@pytest.mark.parametrize("before", [{}, GPU, GPU | PREP], ids=["none", "one", "two"])
@pytest.mark.parametrize("then", [{}, PREP, GPU | PREP], ids=["none", "another", "both"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_any_call_is_made_up_for_and_nothing_is_written_afterwards(sandbox, before, then, when):
    async with lived(sandbox) as house:
        for number in range(1, 6):
            house.restart()
            await house.ensure(before)
            house.way.calls, house.way.last = [], {number: when}
            try:
                await house.ensure(then)
            except Away:
                house.restart()
                await house.ensure(then)
            assert await house.opens() == ({name: {"gpu": "a", "prep": "b"}[name[6:]] for name in then} or None)
            house.restart()
            await house.ensure(then)
            assert house.writes == []


OPEN = (cluster.Provisioned, cluster.Ready, cluster.Hibernated)
SHUT = (cluster.Pending, cluster.Placing, cluster.Launching, cluster.Releasing, cluster.Released, cluster.Stalled)


@pytest.mark.parametrize("kind", OPEN)
def test_a_cluster_whose_api_was_reached_is_in_it(kind):
    assert sources([replace(WHOLE, cluster=is_(kind))]) == {"train/a": KubeconfigSource("train-a-2-kubeconfig")}


@pytest.mark.parametrize("kind", SHUT)
def test_one_that_was_not_reached_or_is_being_given_back_is_not(kind):
    assert sources([replace(WHOLE, cluster=is_(kind)), Facts(WISH)]) == {}


def test_that_a_cluster_falls_silent_is_a_reason_to_read_its_secret_again():
    silent = replace(WHOLE, seen=msgspec.structs.replace(SEEN, known=False))
    assert sources([silent]) != sources([WHOLE]) == sources([replace(WHOLE, seen=None)])


@pytest.mark.parametrize("number", [1, 12])
def test_no_cluster_of_any_colony_has_a_secret_of_its_name(number):
    back_ends = f"{own_name(cluster_name('train', 'gpu'), number)}-kubeconfig"
    assert secret_name({"name": f"train-gpu-{number}"}) != back_ends


def test_what_is_left_out_is_told_with_its_reason_and_the_rest_is_there():
    told = written_status({"name": "train"}, {"train/a": "why", "train/b": "because"})
    assert (told.secret, told.condition.holds) == ("train.kubeconfig", False)
    assert told.condition.message == "train/a is left out: why; train/b is left out: because"


def test_where_there_is_nothing_to_open_nothing_is_told():
    assert absent_status({}) == KubeconfigStatus()


def test_what_is_refused_is_told_with_the_servers_own_words_and_what_is_there_is_still_named():
    told = write_denied("train.kubeconfig", Denied("quota exceeded", "Forbidden"))
    assert (told.secret, told.condition.reason) == ("train.kubeconfig", "Forbidden")
    assert told.condition.message == "the kubeconfig of all clusters cannot be written: quota exceeded"


META = {"name": "train", "namespace": "acme", "uid": "c1"}
OWNER = {"apiVersion": "alate.dev/v1alpha1", "kind": "Colony", "name": "train", "uid": "c1", "controller": True}


def owned(*owners, **meta):
    return {"metadata": {"name": "train.kubeconfig", "ownerReferences": list(owners)} | meta}


def test_what_is_written_is_its_colonys_own():
    written = secret_manifest(META, "text")
    assert written["metadata"]["ownerReferences"] == [OWNER]
    assert is_owned_by(written, META)
    assert written["data"] == {"value": "dGV4dA=="}


@pytest.mark.parametrize(
    ("secret", "whose"),
    [
        (owned(), (False, False)),
        (
            {"metadata": {"name": "train.kubeconfig", "labels": secret_manifest(META, "")["metadata"]["labels"]}},
            (False, False),
        ),
        (owned(OWNER | {"uid": "c0"}), (False, True)),
        (owned(OWNER | {"name": "other", "uid": "c0"}), (False, False)),
        (owned(OWNER | {"apiVersion": "exalsius.ai/v1", "uid": "c0"}), (False, False)),
        (owned(OWNER | {"apiVersion": "exalsius.ai/v1"}), (False, False)),
        (owned(OWNER | {"apiVersion": "alate.dev/v1"}), (True, True)),
    ],
    ids=["nobody's", "with our labels", "an earlier one's", "another's", "another kind's", "its uid alone", "newer"],
)
def test_it_is_this_colonys_an_earlier_ones_or_anothers(secret, whose):
    assert (is_owned_by(secret, META), is_owned_by_predecessor(secret, META)) == whose
