"""The Colony's kubeconfig Secret: which clusters it opens, and whose it is."""

from dataclasses import replace

import msgspec
import pytest

from events.errors import Denied
from schemas import cluster
from schemas.wish import cluster_name, own_name
from services.gateway.kubeconfig.secret import (
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
from tests.services.gateway.known import SEEN, WHOLE, WISH, is_

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
