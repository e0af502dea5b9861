"""Keys are made so that nats-server knows them."""

from events.jetstream.accounts import new_seed, public_key


def test_no_key_is_made_twice():
    assert len({new_seed() for _ in range(50)}) == 50


def test_a_seed_has_one_public_half_which_does_not_tell_it():
    seed = new_seed()
    assert seed.startswith("SU")
    assert public_key(seed).startswith("U")
    assert len(public_key(seed)) == 56
    assert public_key(seed) == public_key(seed) != public_key(new_seed())
