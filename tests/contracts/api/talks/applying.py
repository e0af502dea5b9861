"""Who owns what after server-side apply, and who may take it."""

from typing import Any

from tests.contracts.api.talk import (
    APPLY,
    CONFIGMAPS,
    DEPLOYMENTS,
    SERVICES,
    WIDGETS,
    Step,
    apply,
    configmap,
    delete,
    get,
    merge,
    post,
    put,
    steps,
    talk,
    widget,
)
from tests.contracts.api.talks.writing import WEB

ONE = f"{WIDGETS}/one"

ANOTHER = configmap("cm") | {"metadata": {"name": "cm", "uid": "00000000-0000-4000-8000-000000000000"}}


def _parts(*names: str, **more: Any) -> dict[str, Any]:
    return widget("one", parts=[{"name": name, **more} for name in names])


def _status(**status: Any) -> dict[str, Any]:
    return {"apiVersion": "demo.io/v1", "kind": "Widget", "metadata": {"name": "one"}, "status": status}


FIXED = configmap("cm", size="small") | {"immutable": True}
RUNNER = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "runner"},
    "spec": {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a", "tier": "b"}},
            "spec": {"containers": [{"name": "main", "image": "x:1"}]},
        },
    },
}
OTHER_SELECTOR = RUNNER | {"spec": RUNNER["spec"] | {"selector": {"matchLabels": {"tier": "b"}}}}

TALKS = (
    talk(
        "an immutable map's data stay as they are, and it can go",
        apply(f"{CONFIGMAPS}/cm", FIXED, says=201),
        apply(f"{CONFIGMAPS}/cm", FIXED),
        apply(f"{CONFIGMAPS}/cm", FIXED | {"data": {"size": "large"}}, says=422, reason="Invalid", force="true"),
        apply(f"{CONFIGMAPS}/cm", FIXED | {"immutable": False}, says=422, reason="Invalid", force="true"),
        delete(f"{CONFIGMAPS}/cm"),
    ),
    talk(
        "a Deployment's selector stays as it is",
        apply(f"{DEPLOYMENTS}/runner", RUNNER, says=201),
        apply(f"{DEPLOYMENTS}/runner", OTHER_SELECTOR, says=422, reason="Invalid", force="true"),
    ),
    talk(
        "of a name that is taken a dry run says whether the object would be valid",
        apply(f"{CONFIGMAPS}/cm", FIXED, says=201),
        post(CONFIGMAPS, FIXED, 409, "AlreadyExists", dryRun="All"),
        post(WIDGETS, widget("one")),
        post(WIDGETS, widget("one", size="XXL"), 422, "Invalid", dryRun="All"),
    ),
    talk("an apply creates what is not there", apply(ONE, widget("one", size="M"), says=201)),
    talk(
        "an apply to a uid that is not there creates nothing",
        apply(f"{CONFIGMAPS}/cm", ANOTHER, says=409, reason="Conflict"),
        get(f"{CONFIGMAPS}/cm", 404, "NotFound"),
    ),
    talk(
        "an apply to a uid that is no more changes nothing",
        post(CONFIGMAPS, configmap("cm")),
        apply(f"{CONFIGMAPS}/cm", ANOTHER, says=422, reason="Invalid"),
        get(f"{CONFIGMAPS}/cm"),
    ),
    talk(
        "an apply of the same changes nothing",
        apply(ONE, widget("one", size="M"), says=201),
        apply(ONE, widget("one", size="M")),
    ),
    talk(
        "an apply takes away what it no longer says",
        apply(ONE, widget("one", size="M", color="red", limits={"a": 1, "b": 2}), says=201),
        apply(ONE, widget("one", size="M", limits={"a": 1})),
    ),
    talk(
        "what another owns too is not taken away",
        apply(ONE, widget("one", color="red"), "m1", says=201),
        apply(ONE, widget("one", color="red"), "m2"),
        apply(ONE, widget("one"), "m1"),
        apply(ONE, widget("one"), "m2"),
    ),
    talk(
        "another's field is a conflict",
        apply(ONE, widget("one", color="red"), "m1", says=201),
        apply(ONE, widget("one", color="blue"), "m2", 409, "Conflict"),
    ),
    talk(
        "several fields of others are one refusal",
        apply(ONE, widget("one", color="red", replicas=1), "m1", says=201),
        merge(ONE, {"spec": {"size": "M"}}, fieldManager="ed"),
        apply(ONE, widget("one", color="blue", replicas=2, size="S"), "m2", 409, "Conflict"),
    ),
    talk(
        "force takes the field",
        apply(ONE, widget("one", color="red"), "m1", says=201),
        apply(ONE, widget("one", color="blue"), "m2", force="true"),
    ),
    talk(
        "an equal value is shared",
        apply(ONE, widget("one", color="red"), "m1", says=201),
        apply(ONE, widget("one", color="red"), "m2"),
        apply(ONE, widget("one", color="blue"), "m1", 409, "Conflict"),
    ),
    talk(
        "an update takes what it changes",
        apply(ONE, widget("one", color="red", size="M"), "m1", says=201),
        merge(ONE, {"spec": {"color": "blue"}}, fieldManager="ed"),
        apply(ONE, widget("one", color="red", size="M"), "m1", 409, "Conflict"),
    ),
    talk(
        "a removal by update ends ownership",
        apply(ONE, widget("one", color="red", replicas=1), "m1", says=201),
        merge(ONE, {"spec": {"color": None}}, fieldManager="ed"),
        apply(ONE, widget("one", color="blue"), "m2"),
    ),
    talk(
        "items with keys have owners of their own",
        apply(ONE, _parts("a", weight=1), "m1", says=201),
        apply(ONE, _parts("b", weight=2), "m2"),
        apply(ONE, _parts("c"), "m1"),
    ),
    talk(
        "an item's field is a conflict of its own",
        apply(ONE, _parts("a", weight=1), "m1", says=201),
        apply(ONE, _parts("a", weight=2), "m2", 409, "Conflict"),
        apply(ONE, _parts("a", on=True), "m2"),
    ),
    talk(
        "set items have owners of their own",
        apply(ONE, widget("one", tags=["a", "b"]), "m1", says=201),
        apply(ONE, widget("one", tags=["b", "c"]), "m2"),
        apply(ONE, widget("one", tags=["a"]), "m1"),
    ),
    talk(
        "an atomic list is one field",
        apply(ONE, widget("one", lines=["a"]), "m1", says=201),
        apply(ONE, widget("one", lines=["a", "b"]), "m2", 409, "Conflict"),
        apply(ONE, widget("one", lines=["a", "b"]), "m2", force="true"),
    ),
    talk(
        "an atomic map is one field",
        apply(ONE, widget("one", box={"width": 1}), "m1", says=201),
        apply(ONE, widget("one", box={"height": 2}), "m2", 409, "Conflict"),
        apply(ONE, widget("one", box={"height": 2}), "m2", force="true"),
    ),
    talk(
        "open content has owners too",
        apply(ONE, widget("one", free={"a": {"b": 1}, "l": [1, 2]}), "m1", says=201),
        apply(ONE, widget("one", free={"a": {"c": 2}}), "m2"),
        apply(ONE, widget("one", free={"l": [1]}), "m1"),
    ),
    talk("an apply needs a manager", Step("PATCH", ONE, 422, "Invalid", widget("one"), APPLY)),
    talk("an apply needs a name on both sides", apply(ONE, widget("two"), says=400, reason="BadRequest")),
    talk("an undeclared field cannot be applied", apply(ONE, widget("one", bogus=1), says=500)),
    talk(
        "an undeclared field cannot be applied to what is there",
        post(WIDGETS, widget("one")),
        apply(ONE, widget("one", bogus=1, deep={"odd": 1}), says=500),
    ),
    talk(
        "a built-in's undeclared field cannot be applied",
        apply(f"{CONFIGMAPS}/one", {**configmap("one"), "bogus": 1}, says=500),
    ),
    talk(
        "an apply says no managedFields",
        apply(ONE, widget("one", meta={"managedFields": [{"manager": "x"}]}), says=400, reason="BadRequest"),
    ),
    talk("an invalid apply is invalid", apply(ONE, widget("one", replicas=11), says=422, reason="Invalid")),
    talk(
        "an apply of a status needs the object",
        apply(f"{ONE}/status", _status(phase="Up"), says=404, reason="NotFound"),
    ),
    talk(
        "status and spec have owners apart",
        apply(ONE, widget("one", size="M"), "m1", says=201),
        apply(f"{ONE}/status", _status(phase="Up", conditions=[{"type": "A", "status": "True"}]), "m1"),
        apply(f"{ONE}/status", _status(conditions=[{"type": "B", "status": "True"}]), "m2"),
        apply(f"{ONE}/status", _status(phase="Down"), "m2", 409, "Conflict"),
        apply(ONE, widget("one", color="red"), "m1"),
    ),
    talk(
        "an apply to the object leaves the status out",
        apply(ONE, {**widget("one", size="M"), "status": {"phase": "Up"}}, "m1", says=201),
    ),
    talk(
        "labels and annotations have owners",
        apply(ONE, widget("one", meta={"labels": {"a": "1"}, "annotations": {"x": "y"}}), "m1", says=201),
        apply(ONE, widget("one", meta={"labels": {"b": "2"}}), "m2"),
        apply(ONE, widget("one", meta={"labels": {"b": "3"}}), "m1", 409, "Conflict"),
        apply(ONE, widget("one", meta={"labels": {}}), "m1"),
    ),
    talk(
        "finalizers are a set with owners",
        apply(ONE, widget("one", meta={"finalizers": ["demo.io/a"]}), "m1", says=201),
        apply(ONE, widget("one", meta={"finalizers": ["demo.io/b"]}), "m2"),
        apply(ONE, widget("one"), "m1"),
        apply(ONE, widget("one"), "m2"),
    ),
    talk(
        "a default that nobody sent belongs to nobody",
        apply(ONE, widget("one", color="red"), "m1", says=201),
        apply(ONE, widget("one", size="M"), "m2"),
    ),
    talk(
        "sending empty managedFields ends tracking until the next write",
        apply(ONE, widget("one", color="red"), "m1", says=201),
        steps(ONE, {"op": "replace", "path": "/metadata/managedFields", "value": [{}]}),
        merge(ONE, {"spec": {"size": "M"}}, fieldManager="ed"),
        apply(ONE, widget("one", color="red"), "m1"),
    ),
    talk(
        "an object of before is owned by before the first apply",
        post(CONFIGMAPS, configmap("one", a="b"), fieldManager="maker"),
        apply(f"{CONFIGMAPS}/one", configmap("one", a="c"), "m1", 409, "Conflict"),
        apply(f"{CONFIGMAPS}/one", configmap("one", a="c"), "m1", force="true"),
    ),
    talk(
        "containers are applied by name",
        apply(f"{DEPLOYMENTS}/web", WEB, "m1", says=201),
        apply(
            f"{DEPLOYMENTS}/web",
            {**WEB, "spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}},
            "m2",
        ),
        get(f"{DEPLOYMENTS}/web"),
    ),
    talk(
        "service ports are applied by port and protocol",
        apply(
            f"{SERVICES}/s",
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s"},
                "spec": {"clusterIP": "None", "ports": [{"port": 80, "name": "a"}]},
            },
            "m1",
            says=201,
        ),
        apply(
            f"{SERVICES}/s",
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s"},
                "spec": {"ports": [{"port": 81, "protocol": "UDP", "name": "b"}]},
            },
            "m2",
        ),
    ),
    talk(
        "a dry apply answers and writes nothing",
        apply(ONE, widget("one", size="M"), says=201, dryRun="All"),
        get(ONE, 404, "NotFound"),
    ),
    talk(
        "replacing owns what it changes",
        post(WIDGETS, widget("one", size="M", color="red"), fieldManager="maker"),
        put(
            ONE,
            widget("one", meta={"resourceVersion": "$0.metadata.resourceVersion"}, size="M", color="blue", tags=["a"]),
            fieldManager="ed",
        ),
    ),
    talk(
        "two managers of one name but another way are two",
        apply(ONE, widget("one", color="red"), "me", says=201),
        merge(ONE, {"spec": {"replicas": 3}}, fieldManager="me"),
        apply(ONE, widget("one"), "me"),
    ),
    talk(
        "an apply at an old version is a conflict",
        post(WIDGETS, widget("one")),
        merge(ONE, {"spec": {"size": "M"}}),
        apply(
            ONE,
            widget("one", meta={"resourceVersion": "$0.metadata.resourceVersion"}, color="red"),
            says=409,
            reason="Conflict",
        ),
    ),
)
