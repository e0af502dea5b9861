"""What has to be in the kubeconfig of a whole Colony follows from what is known of its clusters alone."""

from dataclasses import replace

import msgspec
import pytest

from events.errors import Denied
from schemas import cluster
from schemas.wish import cluster_name, own_name
from services.gateway.kubeconfig import merge
from services.gateway.kubeconfig.merge import Source, Told, secret_name, sources
from services.gateway.status.facts import Facts
from tests.services.gateway.known import SEEN, WHOLE, WISH, is_

OPEN = (cluster.Provisioned, cluster.Ready, cluster.Hibernated)
SHUT = (cluster.Requested, cluster.Placing, cluster.Launching, cluster.Releasing, cluster.Released, cluster.Stalled)


@pytest.mark.parametrize("kind", OPEN)
def test_a_cluster_whose_api_was_reached_is_in_it(kind):
    assert sources([replace(WHOLE, cluster=is_(kind))]) == {"train/a": Source("train-a-2-kubeconfig")}


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
    told = merge.opened({"name": "train"}, {"train/a": "why", "train/b": "because"})
    assert (told.secret, told.verdict.holds) == ("train.kubeconfig", False)
    assert told.verdict.message == "train/a is left out: why; train/b is left out: because"


def test_where_there_is_nothing_to_open_nothing_is_told():
    assert merge.unopened({}) == Told()


def test_what_is_refused_is_told_with_the_servers_own_words_and_what_is_there_is_still_named():
    told = merge.denied("train.kubeconfig", Denied("quota exceeded", "Forbidden"))
    assert (told.secret, told.verdict.reason) == ("train.kubeconfig", "Forbidden")
    assert told.verdict.message == "the kubeconfig of all clusters cannot be written: quota exceeded"
