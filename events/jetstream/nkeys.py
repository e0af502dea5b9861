"""An NKey is who somebody is at NATS: its public half stands in the server's file, its seed in one of the owner's."""

from secrets import token_bytes

import nkeys


def made() -> str:
    """The seed of a user's new key, as it is kept in a file."""
    seed: bytes = nkeys.encode_seed(token_bytes(32), nkeys.PREFIX_BYTE_USER)
    return seed.decode()


def public(seed: str) -> str:
    """The public half, as the server's configuration names it."""
    pair = nkeys.from_seed(bytearray(seed.encode()))
    name: bytes = pair.public_key
    pair.wipe()
    return name.decode()
