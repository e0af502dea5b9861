import json
from datetime import UTC, datetime

import pytest

from events.bus import EPOCH, Message
from services.cli.events.diff import diff, recorded
from services.errors import BadInput
from tests.corpus import FOLDER

RECORDING = FOLDER / "0.1.0.jsonl"


async def looked(bus, *, since=EPOCH, recordings=(RECORDING,), form="json") -> tuple[bool, str]:
    out: list[str] = []
    return await diff(bus, since, recordings, form=form, write=out.append), "".join(out)


async def test_every_transition_is_looked_at_and_counted_once(bus):
    _, text = await looked(bus)
    found = json.loads(text)
    assert found["transitions"] == sum(found["found"].values())
    assert found["found"]["cause not kept"] == 0


async def test_without_a_recording_more_is_left_open_and_that_is_said(bus):
    _, text = await looked(bus, recordings=(), form="table")
    assert "a level that led to them has been replaced since" in text


async def test_a_difference_is_told_and_is_no_success(bus):
    stored = await bus.last("EVENTS", "teardown.gone.default.train-gpu")
    data = json.loads(stored.data) | {"revision": 99, "uid": "another"}
    headers = stored.headers | {"ce-id": "changed", "ce-causationid": "nobody"}
    await bus.publish(Message("teardown.warned.default.train-gpu", json.dumps(data).encode(), headers))
    same, text = await looked(bus, form="table")
    assert not same
    assert "teardown.warned.default.train-gpu" in text


async def test_only_what_was_decided_since_is_looked_at(bus):
    same, text = await looked(bus, since=datetime(2031, 1, 1, tzinfo=UTC))
    assert same
    assert json.loads(text)["transitions"] == 0


def test_what_is_no_recording_is_refused_with_its_line(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_bytes(RECORDING.read_bytes().splitlines(keepends=True)[0] + b"{}\n")
    with pytest.raises(BadInput, match="line 2"):
        recorded(file)
    with pytest.raises(BadInput, match="cannot be read"):
        recorded(tmp_path / "absent")
