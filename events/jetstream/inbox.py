"""Messages wait here, in order, between the connection that brings them and the loop that reads them."""

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Mailbox(Generic[T]):
    """What one subscription brought."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self._letters: deque[T | None] = deque()
        self._waiting: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._letters)

    def put(self, letter: T | None) -> None:
        """Add a letter; None says that the connection is another one now."""
        self._letters.append(letter)
        self._wake()

    async def get(self, patience: float) -> T | None:
        """The next letter; None if the connection was renewed or nothing came for so many seconds."""
        if not self._letters:
            await self._letter(patience)
        return self._letters.popleft() if self._letters else None

    def rest(self) -> list[T]:
        """Everything that is still there, taken out."""
        letters = [letter for letter in self._letters if letter is not None]
        self._letters.clear()
        return letters

    async def _letter(self, patience: float) -> None:
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        alarm = loop.call_later(patience, self._wake)
        try:
            await self._waiting
        finally:
            alarm.cancel()
            self._waiting = None

    def _wake(self) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_result(None)
