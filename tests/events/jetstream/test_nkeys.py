"""Keys are made so that nats-server knows them."""

from events.jetstream.nkeys import made, public


def test_no_key_is_made_twice():
    assert len({made() for _ in range(50)}) == 50


def test_a_seed_has_one_public_half_which_does_not_tell_it():
    seed = made()
    assert seed.startswith("SU")
    assert public(seed).startswith("U")
    assert len(public(seed)) == 56
    assert public(seed) == public(seed) != public(made())
