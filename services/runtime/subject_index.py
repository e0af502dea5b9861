"""What was said last under a subject is found by the names it begins with, without a look at all that was said."""

from collections.abc import Iterator

Said = tuple[bytes, int]
"""The words, and where in the stream they stand."""
NOTHING: Said = (b"", 0)


class SubjectIndex:
    """Words by subject."""

    def __init__(self) -> None:
        self._said: dict[str, Said] = {}
        self._below: dict[str, dict[str, None]] = {}
        """The subjects below each one of a token less."""

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._said))

    def get(self, subject: str) -> Said:
        """What was said last; `NOTHING` if nothing was."""
        return self._said.get(subject, NOTHING)

    def keep(self, subject: str, data: bytes, sequence: int) -> None:
        """What was said now."""
        self._said[subject] = (data, sequence)
        self._below.setdefault(_above(subject), {})[subject] = None

    def drop(self, subject: str) -> None:
        """Nothing was said, as far as anybody knows."""
        if self._said.pop(subject, None) is not None:
            below = self._below[_above(subject)]
            del below[subject]
            if not below:
                del self._below[_above(subject)]

    def under(self, filter: str) -> tuple[str, ...]:  # noqa: A002 - the bus's own word
        """The subjects that a filter means whose stars stand at its end; one star is found at once."""
        if not filter.endswith("*"):
            return (filter,) if filter in self._said else ()
        head = filter.rstrip("*.")
        if filter == f"{head}.*":
            return tuple(self._below.get(head, ()))
        return tuple(subject for subject in self._said if subject.startswith(f"{head}."))


def _above(subject: str) -> str:
    return subject.rpartition(".")[0]
