"""What kubectl prints is laid out by the server."""

import pytest

from events.kube.client import Request
from services.sandbox.api.print.jsonpath import path

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
WIDGETS = "/apis/demo.io/v1/namespaces/default/widgets"


async def rows(client, where, **query):
    table = await client.ask("GET", where, accept=TABLE, **query)
    assert table["kind"] == "Table"
    names = [column["name"] for column in table["columnDefinitions"]]
    return [dict(zip(names, row["cells"], strict=True)) for row in table["rows"]]


async def test_a_custom_resource_prints_its_own_columns(world, client):
    await client.create(WIDGETS, {"metadata": {"name": "a"}, "spec": {"color": "red"}})
    await client.patch(f"{WIDGETS}/a/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    world.later(minutes=5, seconds=30)
    assert await rows(client, WIDGETS) == [{"Name": "a", "Size": "S", "Ready": "True", "Color": "red", "Age": "5m30s"}]
    table = await client.ask("GET", f"{WIDGETS}/a", accept=TABLE)
    assert [column["priority"] for column in table["columnDefinitions"]] == [0, 0, 0, 1, 0]
    assert table["rows"][0]["object"]["metadata"]["name"] == "a"
    assert "spec" not in table["rows"][0]["object"]


async def test_a_watch_prints_too(client):
    await client.create(WIDGETS, {"metadata": {"name": "a"}})
    lines = client.transport.stream(Request("GET", WIDGETS, {"watch": "true"}, {"Accept": TABLE}))
    line = await anext(lines)
    await lines.aclose()
    assert b'"kind":"Table"' in line
    assert b'"type":"ADDED"' in line


async def test_nodes_pods_and_jobs_print_how_they_are(world, client):
    ready = [{"type": "Ready", "status": "True"}]
    labels = {"node-role.kubernetes.io/worker": ""}
    status = {"conditions": ready, "nodeInfo": {"kubeletVersion": "v1.33.0"}}
    await client.create("/api/v1/nodes", {"metadata": {"name": "n", "labels": labels}, "status": status})
    pods, jobs = "/api/v1/namespaces/default/pods", "/apis/batch/v1/namespaces/default/jobs"
    await client.create(pods, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], "nodeName": "n"}})
    ran = {"phase": "Running", "containerStatuses": [{"name": "c", "ready": True, "restartCount": 2}]}
    await client.patch(f"{pods}/p/status", {"status": ran})
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    await client.create(jobs, {"metadata": {"name": "j"}, "spec": {"template": template}})
    done = {"succeeded": 1, "startTime": "2030-01-01T00:00:00Z", "completionTime": "2030-01-01T00:01:00Z"}
    complete = [{"type": "Complete", "status": "True"}]
    await client.patch(f"{jobs}/j/status", {"status": {**done, "conditions": complete}})
    (node,), (pod,), (job,) = [await rows(client, where) for where in ("/api/v1/nodes", pods, jobs)]
    assert (node["Status"], node["Roles"], node["Version"]) == ("Ready", "worker", "v1.33.0")
    assert (pod["Ready"], pod["Status"], pod["Restarts"], pod["Node"]) == ("1/1", "Running", "2", "n")
    assert (job["Status"], job["Completions"], job["Duration"]) == ("Complete", "1/1", "60s")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (".spec.a", [1]),
        (".spec.list[0].k", ["x"]),
        (".spec.list[*].k", ["x", "y"]),
        ('.spec.list[?(@.k=="y")].v', [2]),
        (".spec.list[-1].v", [2]),
        (".metadata.labels['a.b/c']", ["l"]),
        (r".metadata.labels.a\.b/c", ["l"]),
        (".spec.nope.deeper", []),
        ("{.spec.a}", [1]),
    ],
)
def test_paths_lead_where_they_say(text, found):
    item = {"spec": {"a": 1, "list": [{"k": "x", "v": 1}, {"k": "y", "v": 2}]}, "metadata": {"labels": {"a.b/c": "l"}}}
    assert path(text)(item) == found
