"""What is wanted of a cluster is followed, before it is founded as after it is gone."""

import msgspec

from schemas.cluster import Placing, Released, Releasing, Requested, Stalled, Waiting
from schemas.wish import Wish


def request_again(state: Released, wish: Wish) -> Released | Requested:
    """It is wanted anew: by another Colony of the name, after a deletion, or because it is asked for once more."""
    if wish.uid == state.wish.uid and not wish.asks_anew(state.wish):
        # However its Colony changes, what ran out of time or work is bought again for no edit.
        deleted = wish.deleting and wish.newer_than(state.wish)
        return msgspec.structs.replace(state, wish=wish) if deleted else state
    if wish.deleting:
        return state
    return Requested(uid=_incarnation(wish), correlation=wish.uid, wish=wish, strays=state.strays)


def reconsider(state: Requested | Placing, wish: Wish) -> Requested | Placing:
    """Nothing is founded yet: the newest wish simply counts."""
    return msgspec.structs.replace(state, wish=wish) if wish.newer_than(state.wish) else state


def let_ask_again(state: Releasing, wish: Wish) -> Releasing:
    """What is asked for anew is asked for once this is gone."""
    if not wish.newer_than(state.wish) or wish.asks_anew(state.wish):
        return state
    return msgspec.structs.replace(state, wish=wish)


def try_again(state: Stalled | Waiting, wish: Wish) -> Stalled | Waiting | Requested:
    """What could not be founded as asked may be founded as asked now."""
    if not wish.newer_than(state.wish):
        return state
    if wish.deleting:
        return msgspec.structs.replace(state, wish=wish)
    return state.to(Requested, wish=wish, tried=())


def _incarnation(wish: Wish) -> str:
    return f"{wish.uid}.{wish.generation}"
