"""Targets of notifications from a file, read again when it changes; secrets are named in it, not contained."""

import asyncio
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import structlog
from pydantic import AfterValidator, Field, model_validator

from events.jetstream.credentials import without_secrets
from events.telemetry import Meters
from schemas.crds.model import CrdModel, InvalidResource, Label, ListMap, read
from schemas.documents import InvalidYaml, document
from services.outbound.texts import TOLD
from services.runtime.watched_file import WatchedFile

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
LARGEST = 1 << 20
"""Characters of the file."""
EVENT = r"^([a-z]+|\*)\.([a-z]+|\*)$"
LOOK = 2.0
"""Seconds between two looks at the file."""
TARGETS = "alate.outbound.targets"
"""Targets by state: notified or without a secret; and whether the file is refused as it is now."""
SOURCE = "targets"
_OTHER_URL = re.compile(r"\b(?!https?:)([a-z]+)://[^\"\s]+")
"""The URL of a service, whose secrets are in its path."""

log = structlog.get_logger()


def _address(text: str) -> str:
    """The URL of a receiver: encrypted, since a token is sent with each request, and without a secret in it."""
    url = urlsplit(text)
    if not (url.hostname and (url.scheme == "https" or (url.scheme == "http" and url.hostname in LOOPBACK))):
        raise ValueError("must be an https:// URL; http:// is for this host alone")
    if url.username or url.password:
        raise ValueError("must hold no name and no password: a secret is a file of its own")
    return text.rstrip("/")


class Target(CrdModel):
    """One receiver."""

    name: Label
    """Its own name among all; also the name of its file of secrets."""
    tenant: Label | None = None
    """The tenant whose clusters it is notified of; left out: every tenant's."""
    format: Literal["cloudevents", "cdevents", "github", "gitlab", "apprise"]
    """The content: the events themselves, CDEvents of environments, the status of the commit that a Colony names, or a
    text for people, sent by apprise to Slack, Teams, Discord, by e-mail and the like."""
    url: Annotated[str, Field(max_length=2048), AfterValidator(_address)] = ""
    """The receiver; for a forge the base of its API, such as https://api.github.com or https://gitlab.com/api/v4. With
    format apprise there is none: the URL of the service holds its secrets, and is what the file of secrets holds."""
    events: Annotated[list[Annotated[str, Field(pattern=EVENT)]], Field(max_length=64)] = Field(
        default_factory=lambda: ["*.*"]
    )
    """With formats cloudevents and apprise: the events to send, such as cluster.ready or teardown.*; left out: all with
    cloudevents, with apprise those that people should know."""

    @model_validator(mode="before")
    @classmethod
    def _without_url(cls, written: object) -> object:
        """Checked before `url` itself is, which a mistake in it would show."""
        if isinstance(written, dict) and written.get("format") == "apprise" and "url" in written:
            raise ValueError("url must be left out: the URL of apprise is a secret, written in the file of secrets")
        return written

    @model_validator(mode="after")
    def _with_url(self) -> "Target":
        if self.format != "apprise" and not self.url:
            raise ValueError("url must be given: the receiver, such as https://ci.example.com/hooks")
        return self

    @property
    def names_events(self) -> bool:
        """Whether its format can send any event, so that `events` says which."""
        return self.format in ("cloudevents", "apprise")

    @property
    def wanted(self) -> list[str]:
        """The patterns of the events that it wants."""
        if self.format == "apprise":
            return self.events if "events" in self.model_fields_set else TOLD
        return self.events if self.format == "cloudevents" else ["cluster.*"]

    def listens(self, domain: str, event: str, tenant: str) -> bool:
        """Whether it wants such an event of a tenant."""
        wanted = self.wanted
        return self.tenant in (None, tenant) and any(fnmatchcase(f"{domain}.{event}", each) for each in wanted)


class TargetsFile(CrdModel):
    """The content of the file."""

    targets: Annotated[list[Target], Field(max_length=256), ListMap()] = Field(default_factory=list)
    """The receivers; each is notified independently: one that is unreachable delays no other."""


def read_targets(text: str) -> Mapping[str, Target]:
    """The targets by name. Raises InvalidResource, one sentence per mistake."""
    try:
        written = document(text, LARGEST)
        if not isinstance(written, dict):
            raise InvalidResource("the file of targets must be a mapping with the key targets")  # noqa: TRY301 - reported as every other mistake
        return {each.name: each for each in read(TargetsFile, written).targets}
    except InvalidYaml as error:
        raise InvalidResource(f"the file of targets is no YAML: {error}") from error
    except InvalidResource as error:
        raise InvalidResource(_OTHER_URL.sub(r"\1://…", without_secrets(str(error)))) from None


class TargetFile:
    """The file of targets and the folder of their secrets."""

    def __init__(self, file: Path | None, secrets: Path | None) -> None:
        """No file: no targets. Raises InvalidResource, OSError if the file cannot be read at the start."""
        self._secrets = secrets
        self._file: WatchedFile[Mapping[str, Target]] | None = WatchedFile(file, {}) if file else None
        if self._file is not None and self._file.changed():
            self._file.accept(read_targets(self._file.path.read_text()))

    @property
    def wrong(self) -> str:
        """Why the file is refused as it is now; empty: it is not."""
        return self._file.problem if self._file else ""

    def now(self) -> Mapping[str, Target]:
        """The targets by name; a file that has become damaged changes nothing, and is logged once."""
        if (file := self._file) is None:
            return {}
        try:
            if file.changed():
                file.accept(read_targets(file.path.read_text()))
                log.info("outbound.targets_read", targets=len(file.content))
        except (InvalidResource, OSError, UnicodeDecodeError) as wrong:
            if file.refuse(str(wrong), again=isinstance(wrong, OSError)):
                names = sorted(file.content)
                log.warning("outbound.targets_refused", reason=str(wrong), told="those of before", targets=names)
        return file.content

    def secrets(self, target: Target) -> tuple[bytes, ...]:
        """The secrets of a target, one per line of its file; webhooks are signed with each, so that two can overlap."""
        if self._secrets is None:
            return ()
        try:
            lines = (self._secrets / target.name).read_bytes().splitlines()
        except OSError:  # `watch` logs it
            return ()
        return tuple(line.strip() for line in lines if line.strip())


async def watch(targets: TargetFile, meters: Meters) -> None:
    """Read the file when it changes, and report errors in it and missing secrets; until cancelled."""
    before: frozenset[str] = frozenset()
    while True:
        known = targets.now()
        bare = frozenset(name for name, target in known.items() if not targets.secrets(target))
        for name in sorted(bare - before):
            log.warning("outbound.secret_missing", target=name, why="its file among the secrets is absent or empty")
        for name in sorted((before - bare) & known.keys()):
            log.info("outbound.secret_found", target=name)
        before = bare
        states = {"told": len(known) - len(bare), "secretless": len(bare), "refused": bool(targets.wrong)}
        meters.gauge(TARGETS, SOURCE, {(("state", name),): float(count) for name, count in states.items()})
        await asyncio.sleep(LOOK)
