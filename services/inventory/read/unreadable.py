"""What cannot be read of a cluster is told with it, by name, so that whoever wrote it can mend it."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from events.kube.port import Resource
from schemas.inventory import UNREADABLE, Trouble
from services.kubernetes.malformed import place

NAMED = 3
"""How many of the objects that cannot be read are named."""


def unread(found: Mapping[Resource, Iterable[str]]) -> Iterator[Trouble]:
    """The one trouble that some objects make; none if there are none."""
    every = tuple(chain.from_iterable(found.values()))
    if every:
        more = f"; and {len(every) - NAMED} more" if len(every) > NAMED else ""
        text = f"{len(every)} not counted, as it cannot be read: {'; '.join(every[:NAMED])}{more}"
        yield Trouble(reason=UNREADABLE, message=text, raw={"objects": len(every)})


def broken(error: BaseException) -> Trouble:
    """The trouble of a cluster over which our own code failed."""
    return Trouble(reason=UNREADABLE, message=f"{place(error)}; it is asked again, later and later")
