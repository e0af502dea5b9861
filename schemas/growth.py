"""What pods ask for and a cluster does not follow is kept in its state, for people to see."""

import msgspec


class Ungrown(msgspec.Struct, frozen=True, kw_only=True):
    """Why pods that wait for nodes get none."""

    reason: str
    """CamelCase, such as PriceCap or Taken."""
    message: str
