"""Whose a Secret is, its owner says: neither its name nor its labels do."""

import pytest

from services.gateway.kubeconfig.secret import is_of, is_of_an_earlier, manifest

META = {"name": "train", "namespace": "acme", "uid": "c1"}
OWNER = {"apiVersion": "alate.dev/v1alpha1", "kind": "Colony", "name": "train", "uid": "c1", "controller": True}


def owned(*owners, **meta):
    return {"metadata": {"name": "train.kubeconfig", "ownerReferences": list(owners)} | meta}


def test_what_is_written_is_its_colonys_own():
    written = manifest(META, "text")
    assert written["metadata"]["ownerReferences"] == [OWNER]
    assert is_of(written, META)
    assert written["data"] == {"value": "dGV4dA=="}


@pytest.mark.parametrize(
    ("secret", "whose"),
    [
        (owned(), (False, False)),
        (
            {"metadata": {"name": "train.kubeconfig", "labels": manifest(META, "")["metadata"]["labels"]}},
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
    assert (is_of(secret, META), is_of_an_earlier(secret, META)) == whose
