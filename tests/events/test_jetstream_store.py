"""What could not be stored is said until it could, domain by domain."""

import pytest

from events.bus import Conflict, Unavailable
from events.faults import Denied
from events.jetstream_store import Storing


def tried(storing, subject, fault):
    with pytest.raises(type(fault)), storing.noting(subject):
        raise fault


def test_what_is_not_stored_is_trouble_until_the_same_domain_is_stored_again():
    storing = Storing()
    assert storing.trouble == ""
    tried(storing, "cluster.ready.acme.train", Unavailable("no answer"))
    with storing.noting("inventory.nodes.acme.train"):
        pass
    assert storing.trouble == "the bus does not store cluster.>: no answer"
    with storing.noting("cluster.released.acme.other"):
        pass
    assert storing.trouble == ""


@pytest.mark.parametrize("answer", [Conflict(1), Denied("too large")])
def test_a_refusal_is_an_answer(answer):
    storing = Storing()
    tried(storing, "cluster.ready.acme.train", Unavailable("no answer"))
    tried(storing, "cluster.ready.acme.train", answer)
    assert storing.trouble == ""
