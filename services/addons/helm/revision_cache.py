"""Keeps what revisions of releases consist of, so that one that did not change is not read by a process again."""

import zlib
from collections import OrderedDict

from services.addons.helm.protocol import WorkerReply, decode_reply, encode_reply

MOST = 64 * 1024**2
"""Bytes of all that is kept, compressed; the largest known chart comes to 200 KB, and most to less than 5."""
ReleaseKey = tuple[str, str, str, str]
"""Server, namespace, release, and the user who reads it."""


class RevisionCache:
    """The newest revision that was read of each release; the one that was not asked for longest goes first."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._size = 0
        self._kept: OrderedDict[ReleaseKey, tuple[str, bytes]] = OrderedDict()

    def find(self, key: ReleaseKey, version: str) -> WorkerReply | None:
        """What was read while the release's Secret had this version; None if that is not known."""
        kept, text = self._kept.get(key, ("", b""))
        if kept != version:
            return None
        self._kept.move_to_end(key)
        return decode_reply(zlib.decompress(text))

    def keep(self, key: ReleaseKey, version: str, reply: WorkerReply) -> None:
        """Keep what the release consists of as long as its Secret has this version."""
        self._drop(key)
        text = zlib.compress(encode_reply(reply), 1)
        if len(text) > self._most:
            return
        self._kept[key] = (version, text)
        self._size += len(text)
        while self._size > self._most:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: ReleaseKey) -> None:
        _, text = self._kept.pop(key, ("", b""))
        self._size -= len(text)
