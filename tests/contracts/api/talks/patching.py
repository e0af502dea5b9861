"""What each dialect of patch makes of an object, and how it refuses."""

from tests.contracts.api.talk import (
    CONFIGMAPS,
    DEPLOYMENTS,
    PODS,
    SERVICES,
    WIDGETS,
    Step,
    configmap,
    get,
    merge,
    post,
    steps,
    strategic,
    talk,
    widget,
)
from tests.contracts.api.talks.writing import POD, WEB

SPEC = {"size": "M", "color": "red", "tags": ["a", "b"], "parts": [{"name": "x", "weight": 1}], "limits": {"cpu": 1}}
HEADLESS = {"metadata": {"name": "s"}, "spec": {"clusterIP": "None", "ports": [{"name": "a", "port": 80}]}}


def _part(container: dict[str, object]) -> dict[str, object]:
    return {"spec": {"template": {"spec": {"containers": [container]}}}}


TALKS = (
    talk(
        "a merge patch lays over and takes away",
        post(WIDGETS, widget("one", **SPEC)),
        merge(f"{WIDGETS}/one", {"spec": {"color": None, "limits": {"gpu": 2}, "parts": [{"name": "y"}]}}),
    ),
    talk(
        "a merge patch of a built-in",
        post(CONFIGMAPS, configmap("one", a="b", c="d")),
        merge(f"{CONFIGMAPS}/one", {"data": {"a": None, "e": "f"}}),
    ),
    talk(
        "a null takes a default back",
        post(WIDGETS, widget("one", **SPEC)),
        merge(f"{WIDGETS}/one", {"spec": {"size": None}}),
    ),
    talk("a patch of what is not there is not found", merge(f"{WIDGETS}/one", {"spec": {}}, 404, "NotFound")),
    talk("an empty merge patch changes nothing", post(WIDGETS, widget("one")), merge(f"{WIDGETS}/one", {})),
    talk(
        "a patch at an old version is a conflict",
        post(WIDGETS, widget("one")),
        merge(f"{WIDGETS}/one", {"spec": {"size": "M"}}),
        merge(
            f"{WIDGETS}/one",
            {"metadata": {"resourceVersion": "$0.metadata.resourceVersion"}, "spec": {"color": "red"}},
            409,
            "Conflict",
        ),
    ),
    talk(
        "a patch of the uid is invalid",
        post(WIDGETS, widget("one")),
        merge(f"{WIDGETS}/one", {"metadata": {"uid": "another"}}, 422, "Invalid"),
    ),
    talk(
        "a patch does not rename",
        post(WIDGETS, widget("one")),
        merge(f"{WIDGETS}/one", {"metadata": {"name": "two"}}, 400, "BadRequest"),
    ),
    talk(
        "a patch to an invalid object is invalid",
        post(WIDGETS, widget("one")),
        merge(f"{WIDGETS}/one", {"spec": {"replicas": 11}}, 422, "Invalid"),
    ),
    talk(
        "a merge patch that is no object is refused",
        post(WIDGETS, widget("one")),
        Step("PATCH", f"{WIDGETS}/one", 400, "BadRequest", "nonsense{", "application/merge-patch+json"),
    ),
    talk(
        "a JSON patch tests, adds, replaces, moves, copies and removes",
        post(WIDGETS, widget("one", **SPEC)),
        steps(
            f"{WIDGETS}/one",
            {"op": "test", "path": "/spec/size", "value": "M"},
            {"op": "add", "path": "/spec/tags/-", "value": "c"},
            {"op": "replace", "path": "/spec/color", "value": "blue"},
            {"op": "copy", "from": "/spec/limits/cpu", "path": "/spec/limits/gpu"},
            {"op": "move", "from": "/spec/limits/cpu", "path": "/spec/limits/ram"},
            {"op": "remove", "path": "/spec/parts/0"},
        ),
    ),
    talk(
        "a JSON patch whose test fails is invalid",
        post(WIDGETS, widget("one", size="S")),
        steps(f"{WIDGETS}/one", {"op": "test", "path": "/spec/size", "value": "M"}, says=422, reason="Invalid"),
    ),
    talk(
        "a JSON patch of a path that is not there is invalid",
        post(WIDGETS, widget("one")),
        steps(f"{WIDGETS}/one", {"op": "remove", "path": "/spec/color"}, says=422, reason="Invalid"),
    ),
    talk(
        "a JSON patch of an unknown step is refused",
        post(WIDGETS, widget("one")),
        steps(f"{WIDGETS}/one", {"op": "shake", "path": "/spec/color"}, says=422, reason="Invalid"),
    ),
    talk(
        "a JSON patch escapes slashes",
        post(CONFIGMAPS, configmap("one")),
        merge(f"{CONFIGMAPS}/one", {"metadata": {"annotations": {"a/b": "c", "x": "z"}}}),
        steps(
            f"{CONFIGMAPS}/one",
            {"op": "remove", "path": "/metadata/annotations/a~1b"},
            {"op": "replace", "path": "/metadata/annotations/x", "value": "w"},
        ),
    ),
    talk(
        "a custom object takes no strategic patch",
        post(WIDGETS, widget("one")),
        strategic(f"{WIDGETS}/one", {"spec": {"size": "M"}}, 415, "UnsupportedMediaType"),
    ),
    talk(
        "a patch needs a known dialect",
        post(WIDGETS, widget("one")),
        Step("PATCH", f"{WIDGETS}/one", 415, "UnsupportedMediaType", {}, "application/json"),
    ),
    talk(
        "a strategic patch merges containers by name",
        post(DEPLOYMENTS, WEB),
        strategic(f"{DEPLOYMENTS}/web", _part({"name": "side", "image": "busybox"})),
        strategic(f"{DEPLOYMENTS}/web", _part({"name": "c", "image": "nginx:2"})),
    ),
    talk(
        "a strategic patch deletes by its directive",
        post(DEPLOYMENTS, WEB),
        strategic(f"{DEPLOYMENTS}/web", _part({"name": "side", "image": "busybox"})),
        strategic(f"{DEPLOYMENTS}/web", _part({"name": "c", "$patch": "delete"})),
    ),
    talk(
        "a strategic patch replaces by its directive",
        post(DEPLOYMENTS, WEB),
        strategic(f"{DEPLOYMENTS}/web", {"spec": {"strategy": {"$patch": "replace", "type": "Recreate"}}}),
    ),
    talk(
        "a strategic patch retains keys",
        post(DEPLOYMENTS, WEB),
        strategic(
            f"{DEPLOYMENTS}/web",
            {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
        ),
    ),
    talk(
        "a strategic patch of an item without its key is refused",
        post(DEPLOYMENTS, WEB),
        strategic(f"{DEPLOYMENTS}/web", _part({"image": "busybox"}), 500),
    ),
    talk(
        "a strategic patch merges ports by port",
        post(SERVICES, HEADLESS),
        strategic(f"{SERVICES}/s", {"spec": {"ports": [{"name": "b", "port": 81}]}}),
    ),
    talk(
        "a strategic patch deletes from a list of plain values",
        post(CONFIGMAPS, configmap("one", meta={"finalizers": ["demo.io/a", "demo.io/b"]})),
        strategic(f"{CONFIGMAPS}/one", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["demo.io/a"]}}),
        strategic(f"{CONFIGMAPS}/one", {"metadata": {"finalizers": ["demo.io/c"]}}),
        merge(f"{CONFIGMAPS}/one", {"metadata": {"finalizers": None}}),
    ),
    talk(
        "a strategic patch orders a list",
        post(CONFIGMAPS, configmap("one", meta={"finalizers": ["demo.io/a", "demo.io/b"]})),
        strategic(
            f"{CONFIGMAPS}/one",
            {"metadata": {"$setElementOrder/finalizers": ["demo.io/b", "demo.io/a"], "finalizers": ["demo.io/b"]}},
        ),
        merge(f"{CONFIGMAPS}/one", {"metadata": {"finalizers": None}}),
    ),
    talk(
        "a strategic patch takes a null away",
        post(DEPLOYMENTS, WEB),
        strategic(f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"a": "b", "c": "d"}}}),
        strategic(f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"a": None}}}),
    ),
    talk(
        "a status patch is kept apart",
        post(WIDGETS, widget("one")),
        merge(f"{WIDGETS}/one", {"spec": {"size": "M"}, "status": {"phase": "Lost"}}),
        merge(f"{WIDGETS}/one/status", {"spec": {"size": "S"}, "status": {"phase": "Up"}}),
        get(f"{WIDGETS}/one"),
    ),
    talk(
        "a pod's conditions are merged by type",
        post(PODS, POD),
        strategic(f"{PODS}/p/status", {"status": {"conditions": [{"type": "A", "status": "True"}]}}),
        strategic(f"{PODS}/p/status", {"status": {"conditions": [{"type": "B", "status": "False"}]}}),
        strategic(
            f"{PODS}/p/status", {"status": {"conditions": [{"type": "A", "status": "False"}], "phase": "Running"}}
        ),
    ),
)
