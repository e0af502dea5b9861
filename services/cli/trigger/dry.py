"""A dry run goes the way a delivery goes, up to the message that would be said."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import yaml

from events.bus import Message
from events.cloudevents import STRUCTURED, CloudEvent, Malformed, decode
from schemas.crds import read_trigger
from services.bad import BadInput
from services.cli.documents import documents
from services.cli.show import dumped
from services.edge.heard import Heard
from services.edge.providers import PROVIDERS
from services.edge.rules import Rules, Verdict
from services.edge.secrets import Endpoint
from services.edge.wishes import wish


@dataclass(frozen=True)
class Trial:
    """One rule held against the event."""

    tenant: str
    verdict: Verdict
    message: Message | None
    """What would be said; None: nothing."""


def tried(file: Path, event: Path) -> list[Trial]:
    """Every rule of every Trigger of a file. Raises BadInput, Refused."""
    happened = _event(event)
    return [trial for document in documents(file, "Trigger") for trial in _tried(document, happened)]


def _tried(document: dict[str, object], event: CloudEvent) -> list[Trial]:
    trigger = read_trigger(document)
    spec, tenant = trigger.spec, trigger.metadata.namespace
    endpoint = Endpoint(spec.provider or next(iter(PROVIDERS)), tenant, spec.endpoint or "test")
    heard = Heard(event, endpoint, 0)
    return [Trial(tenant, verdict, _message(verdict, heard)) for verdict in Rules(trigger).judge(heard)]


def _message(verdict: Verdict, heard: Heard) -> Message | None:
    return wish(verdict, verdict.intake, heard, datetime.now(UTC))[0] if verdict.intake else None


def _event(file: Path) -> CloudEvent:
    try:
        return decode({"content-type": f"{STRUCTURED}+json"}, file.read_bytes())
    except OSError as error:
        raise BadInput(f"{file} cannot be read ({error.strerror}): name a file with a CloudEvent in it") from error
    except (Malformed, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{file} holds no CloudEvent in JSON: {error}") from error


def written(trials: list[Trial], *, as_json: bool) -> str:
    """A line per rule and below them the messages; or one JSON object."""
    if as_json:
        return dumped({"rules": [_item(each) for each in trials]})
    named = [(f"{each.tenant}/{each.verdict.trigger}", each.verdict.rule) for each in trials]
    widths = [max(map(len, column)) for column in zip(*named, strict=True)]
    lines = [
        f"{trigger:{widths[0]}}   {rule:{widths[1]}}   {each.verdict.why}\n"
        for (trigger, rule), each in zip(named, trials, strict=True)
    ]
    return "".join((*lines, *(f"\n{_yaml(each.message)}" for each in trials if each.message)))


def _item(trial: Trial) -> dict[str, object]:
    verdict, message = trial.verdict, trial.message
    said = {"subject": message.subject, "data": msgspec.json.decode(message.data)} if message else None
    return {"tenant": trial.tenant, "trigger": verdict.trigger, "rule": verdict.rule, "why": verdict.why, "says": said}


def _yaml(message: Message) -> str:
    return yaml.safe_dump({"subject": message.subject, "data": msgspec.json.decode(message.data)}, sort_keys=False)
