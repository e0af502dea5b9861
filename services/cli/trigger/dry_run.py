"""Evaluates a Trigger on a sample delivery, up to the request that it would publish."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import yaml

from events.bus import Message
from schemas.crds import read_trigger
from services.cli.documents import documents
from services.cli.output.render import Form, document
from services.edge.preview import InvalidSample, Trial, trials
from services.errors import BadInput


def tried(file: Path, event: Path, name: str = "") -> list[Trial]:
    """Every rule of every Trigger of a file. Raises BadInput, InvalidResource.

    With a `name` the event is a body as its sender posts it, and the sender names it so in a header.
    """
    body, now = _body(event), datetime.now(UTC)
    try:
        return [one for each in documents(file, "Trigger") for one in trials(read_trigger(each), body, name, now)]
    except InvalidSample as wrong:
        raise BadInput(f"{event} {wrong}") from wrong


def _body(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise BadInput(f"{file} cannot be read ({error.strerror}): name a file with an event in it") from error


def written(tried_rules: list[Trial], *, form: Form) -> str:
    """A line per rule and below them the messages; or one JSON object."""
    if form != "table":
        return document({"rules": [_item(each) for each in tried_rules]}, form)
    named = [(f"{each.tenant}/{each.result.trigger}", each.result.rule) for each in tried_rules]
    widths = [max(map(len, column)) for column in zip(*named, strict=True)]
    lines = [
        f"{trigger:{widths[0]}}   {rule:{widths[1]}}   {each.result.why}\n"
        for (trigger, rule), each in zip(named, tried_rules, strict=True)
    ]
    return "".join((*lines, *(f"\n{_yaml(each.message)}" for each in tried_rules if each.message)))


def _item(trial: Trial) -> dict[str, object]:
    result, message = trial.result, trial.message
    publishes = {"subject": message.subject, "data": msgspec.json.decode(message.data)} if message else None
    return {
        "tenant": trial.tenant,
        "trigger": result.trigger,
        "rule": result.rule,
        "why": result.why,
        "publishes": publishes,
    }


def _yaml(message: Message) -> str:
    return yaml.safe_dump({"subject": message.subject, "data": msgspec.json.decode(message.data)}, sort_keys=False)
