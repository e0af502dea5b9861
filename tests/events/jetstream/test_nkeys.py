"""Generated NKeys are unique, and the public key does not contain the seed."""

from events.jetstream.accounts import new_seed, public_key


def test_every_generated_key_is_another():
    assert len({new_seed() for _ in range(50)}) == 50


def test_a_seed_has_one_public_key_that_does_not_reveal_it():
    seed = new_seed()
    assert seed.startswith("SU")
    assert public_key(seed).startswith("U")
    assert len(public_key(seed)) == 56
    assert public_key(seed) == public_key(seed) != public_key(new_seed())
