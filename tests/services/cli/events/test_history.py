import json

from services.cli.events.history import show


async def test_it_is_shown_for_people_and_for_programs(bus):
    out: list[str] = []
    await show(bus, "default", "train-gpu", "table", out.append)
    text = "".join(out)
    assert text.startswith("AT (UTC)")
    assert "\ntrain/gpu: pending 0." in text
    out.clear()
    await show(bus, "default", "train-gpu", "json", out.append)
    first = json.loads("".join(out))["items"][0]
    assert (first["entity"], first["state"], first["revision"]) == ("cluster/train-gpu", "pending", 1)
