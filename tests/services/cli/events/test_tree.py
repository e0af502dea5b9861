import json

from services.cli.events.tree import show


async def shown(bus, name, *, form="table") -> str:
    out: list[str] = []
    await show(bus, name, form=form, write=out.append)
    return "".join(out)


async def test_the_tree_of_the_main_job_is_drawn_from_the_request_on(bus):
    lines = (await shown(bus, "run-4711")).splitlines()
    assert lines[0].startswith("* cluster.requested  INTAKE/")
    assert all(not line.startswith("*") for line in lines[1:])
    assert sum("teardown.gone.default.train-gpu" in line for line in lines) == 1
    ready = next(line for line in lines if "cluster.ready." in line)
    requested = next(line for line in lines if "cluster.pending.default.train-gpu" in line)
    assert ready.index("cluster") == requested.index("cluster")  # an entity's own next state stands beside its last
    assert "through a wish that has been replaced since" in requested


async def test_the_same_tree_is_there_for_programs(bus):
    found = json.loads(await shown(bus, "run-4711", form="json"))
    (root,) = found["trees"]
    assert (found["selected"], root["id"], root["because"]) == ("run-4711", "run-4711", "root")
    assert root["effects"][0]["subject"] == "cluster.pending.default.train-gpu"
