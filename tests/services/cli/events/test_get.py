import json

from services.cli.events.get import get


async def test_one_event_is_shown_in_full_for_people(bus):
    out: list[str] = []
    await get(bus, "EVENTS/1", form="table", write=out.append)
    text = "".join(out)
    assert text.startswith("cluster.pending.default.train-gpu   EVENTS/1   2030-")
    assert '"colony": "train"' in text
    assert "correlationid" in text


async def test_one_event_is_shown_in_full_for_programs(bus):
    out: list[str] = []
    await get(bus, "run-4711", form="json", write=out.append)
    item = json.loads("".join(out))
    assert (item["stream"], item["event"]["id"]) == ("INTAKE", "run-4711")
    assert item["event"]["data"]["name"] == "train"
