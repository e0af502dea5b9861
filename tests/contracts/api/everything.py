"""All conversations, as the one list that every server is asked to hold."""

from collections import Counter

from tests.contracts.api.talk import Talk
from tests.contracts.api.talks import applying, asking, checking, ending, listing, patching, writing

TALKS: tuple[Talk, ...] = tuple(
    talk for part in (writing, patching, applying, listing, ending, checking, asking) for talk in part.TALKS
)


def twice() -> list[str]:
    """Facts that are said by more than one conversation: there is none."""
    return [fact for fact, number in Counter(talk.fact for talk in TALKS).items() if number > 1]
