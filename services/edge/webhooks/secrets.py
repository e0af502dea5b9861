"""Secrets of endpoints: one file each in a folder, read again when it changes.

The folder is also what a Kubernetes Secret looks like when it is mounted: one key per endpoint.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import structlog

from events.http.standard_webhooks import key_of
from services.runtime.watched_file import WatchedFile, read_start

LARGEST = 64 * 1024
"""Bytes of a file of secrets."""

log = structlog.get_logger()


class WebhookEndpoint(NamedTuple):
    """The endpoint of one sender: ``/hooks/<provider>/<tenant>/<name>``."""

    provider: str
    tenant: str
    name: str

    @property
    def file(self) -> str:
        """The name of its file of secrets; no part contains a dot."""
        return ".".join(self)

    @property
    def path(self) -> str:
        """Its path in the URL."""
        return "/".join(("", "hooks", *self))


class WebhookSecrets:
    """The folder of secrets. Each line of a file is a valid secret, so that two can overlap."""

    def __init__(self, folder: Path | None) -> None:
        """`folder` is None: there are no endpoints."""
        self._folder = folder
        self._known: dict[str, WatchedFile[tuple[bytes, ...]]] = {}

    def of(self, endpoint: WebhookEndpoint) -> tuple[bytes, ...]:
        """The valid secrets of an endpoint; empty: it does not exist."""
        return self.at(endpoint.file)

    def named(self, *patterns: str) -> Iterator[tuple[str, tuple[bytes, ...]]]:
        """The name and the valid secrets of every file that matches one of the patterns."""
        if self._folder is None:
            return
        for pattern in patterns:
            for file in sorted(self._folder.glob(pattern)):
                yield file.name, self.at(file.name)

    def at(self, name: str) -> tuple[bytes, ...]:
        """The valid secrets in a file; empty: it does not exist. The name must not contain a slash."""
        if self._folder is None:
            return ()
        file = self._known.get(name) or WatchedFile(self._folder / name, ())
        try:
            if file.changed():
                file.accept(_read(file.path))
                self._known[name] = file
        except OSError as error:
            return self._unread(name, error)
        return file.content

    def _unread(self, name: str, error: OSError) -> tuple[bytes, ...]:
        self._known.pop(name, None)
        if not isinstance(error, FileNotFoundError):
            log.warning("edge.endpoint_unreadable", endpoint=name, reason=error.strerror)
        return ()


def _read(file: Path) -> tuple[bytes, ...]:
    lines = read_start(file, LARGEST).splitlines()
    return tuple(line.strip() for line in lines if line.strip() and _good(file, line.strip()))


def _good(file: Path, secret: bytes) -> bool:
    try:
        return bool(key_of(secret))
    except ValueError as error:
        log.warning("edge.endpoint_damaged", endpoint=file.name, reason=str(error))
        return False
