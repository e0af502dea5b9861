"""In one place, each pool's machines are combined, cheapest first, without looking further than is asked for."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from services.provisioning.placement.offer_index import Entry

Combination = tuple[Entry, ...]
"""One entry for each pool, in the order of the pools."""
Room = Callable[[Entry], int | None]
"""How many machines of an entry are left; None: as many as one likes."""


def in_turns(pools: Sequence[Iterable[Entry]]) -> Iterator[Combination]:
    """The cheapest of every pool together, then the second cheapest of each, and so on; a pool that has no more stays.

    Nothing is taken from a pool before it is asked for.
    """
    columns = [iter(pool) for pool in pools]
    now = [next(column, None) for column in columns]
    moved = True
    while moved:
        combination = tuple(entry for entry in now if entry is not None)
        if len(combination) < len(now):
            return
        yield combination
        following = [next(column, None) for column in columns]
        moved = any(following)
        now = [new or old for new, old in zip(following, now, strict=True)]


def in_limits(pools: Sequence[Sequence[Entry]], nodes: Sequence[int], room: Room) -> list[Combination]:
    """The same where machines are limited, and pools may compete for them; in no order.

    The pool with the fewest kinds to choose from chooses first, each the cheapest that still has room. So whatever
    the pools' order, the same comes out; it need not be the cheapest of all ways to share limited machines.
    """
    found = (_filled(pools, nodes, room, turn) for turn in range(max(map(len, pools))))
    return list(dict.fromkeys(combination for combination in found if combination is not None))


def _filled(pools: Sequence[Sequence[Entry]], nodes: Sequence[int], room: Room, turn: int) -> Combination | None:
    """Every pool's first entry from its `turn`-th on that has room, if there is one for each."""
    chosen: dict[int, Entry] = {}
    left: dict[tuple[str, str], int] = {}
    for pool in sorted(range(len(pools)), key=lambda index: (len(pools[index]), -nodes[index])):
        for entry in pools[pool][min(turn, len(pools[pool]) - 1) :]:
            stock, there = (entry.zone, entry.instance), room(entry)
            if there is None or left.get(stock, there) >= nodes[pool]:
                left[stock] = left.get(stock, there or 0) - nodes[pool]
                chosen[pool] = entry
                break
        else:
            return None
    return tuple(chosen[index] for index in range(len(pools)))
