"""How deletion goes: finalizers, dependents in each way, preconditions, collections, namespaces."""

from typing import Any

from tests.contracts.api.talk import (
    CONFIGMAPS,
    NAMESPACES,
    PODS,
    WIDGETS,
    Step,
    configmap,
    delete,
    eventually,
    get,
    gone,
    merge,
    post,
    seen,
    strategic,
    talk,
    watch,
    widget,
)

ONE = f"{CONFIGMAPS}/one"
HELD = {"finalizers": ["demo.io/hold"]}
POD = f"{PODS}/p"


def _pod(**spec: Any) -> Step:
    """One that is on a node, where no kubelet ends it."""
    containers = [{"name": "c", "image": "busybox"}]
    return seen(post(PODS, {"metadata": {"name": "p"}, "spec": {"containers": containers} | spec}), _grace)


def _grace(body: Any) -> Any:
    """What it is given, and whether that is how far its end is away."""
    return body["metadata"].get("deletionGracePeriodSeconds"), "deletionTimestamp" in body["metadata"]


def _within(seconds: int) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": seconds}


def _child(name: str, *, block: bool = False, **meta: Any) -> Step:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "uid": "$0.metadata.uid"}
    reference = {**owner, **({"blockOwnerDeletion": True} if block else {})}
    return post(CONFIGMAPS, configmap(name, meta={"ownerReferences": [reference], **meta}))


def _options(policy: str) -> dict[str, str]:
    return {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy}


TALKS = (
    talk(
        "a deletion answers with a Status", post(CONFIGMAPS, configmap("one")), delete(ONE), get(ONE, 404, "NotFound")
    ),
    talk(
        "a custom deletion answers with a Status",
        post(WIDGETS, widget("one")),
        delete(f"{WIDGETS}/one"),
        get(f"{WIDGETS}/one", 404, "NotFound"),
    ),
    talk("a deletion of what is not there is not found", delete(ONE, says=404, reason="NotFound")),
    talk(
        "a finalizer holds an object until it is taken off",
        post(WIDGETS, widget("one", meta=HELD)),
        delete(f"{WIDGETS}/one"),
        get(f"{WIDGETS}/one"),
        merge(f"{WIDGETS}/one", {"metadata": {"finalizers": None}}),
        get(f"{WIDGETS}/one", 404, "NotFound"),
    ),
    talk(
        "a built-in's finalizer holds it",
        post(CONFIGMAPS, configmap("one", meta=HELD)),
        delete(ONE),
        delete(ONE),
        merge(ONE, {"metadata": {"finalizers": []}}),
        get(ONE, 404, "NotFound"),
    ),
    talk(
        "the watch of a held object's end",
        post(WIDGETS, widget("one", meta=HELD)),
        delete(f"{WIDGETS}/one"),
        merge(f"{WIDGETS}/one", {"metadata": {"finalizers": None}}),
        watch(WIDGETS, 2, resourceVersion="$0.metadata.resourceVersion"),
    ),
    talk(
        "no finalizer can be added to what is being deleted",
        post(CONFIGMAPS, configmap("one", meta=HELD)),
        delete(ONE),
        merge(ONE, {"metadata": {"finalizers": ["demo.io/hold", "demo.io/late"]}}, 422, "Invalid"),
        merge(ONE, {"metadata": {"finalizers": None}}),
    ),
    talk(
        "no finalizer can be added to a custom object that is being deleted",
        post(WIDGETS, widget("one", meta=HELD)),
        delete(f"{WIDGETS}/one"),
        merge(f"{WIDGETS}/one", {"metadata": {"finalizers": ["demo.io/hold", "demo.io/late"]}}, 422, "Invalid"),
        merge(f"{WIDGETS}/one", {"metadata": {"finalizers": None}}),
    ),
    talk(
        "what is being deleted can still be changed",
        post(WIDGETS, widget("one", meta=HELD)),
        delete(f"{WIDGETS}/one"),
        merge(f"{WIDGETS}/one", {"spec": {"size": "M"}}),
        merge(f"{WIDGETS}/one", {"metadata": {"finalizers": None}}),
    ),
    talk(
        "a custom object's finalizer needs no slash",
        post(WIDGETS, widget("one", meta={"finalizers": ["hold.demo.io"]})),
    ),
    talk(
        "a finalizer needs a qualified name",
        post(CONFIGMAPS, configmap("one", meta={"finalizers": ["hold"]}), 422, "Invalid"),
    ),
    talk(
        "a deletion under another uid is a conflict",
        post(CONFIGMAPS, configmap("one")),
        delete(ONE, {"preconditions": {"uid": "another"}}, 409, "Conflict"),
        delete(ONE, {"preconditions": {"uid": "$0.metadata.uid"}}),
    ),
    talk(
        "a deletion at an old version is a conflict",
        post(CONFIGMAPS, configmap("one")),
        merge(ONE, {"data": {"a": "b"}}),
        delete(ONE, {"preconditions": {"resourceVersion": "$0.metadata.resourceVersion"}}, 409, "Conflict"),
    ),
    talk(
        "an unknown way of deletion is invalid",
        post(CONFIGMAPS, configmap("one")),
        delete(ONE, says=422, reason="Invalid", propagationPolicy="Sometimes"),
    ),
    talk(
        "background deletion takes dependents along",
        post(CONFIGMAPS, configmap("one")),
        _child("child"),
        delete(ONE, _options("Background")),
        gone(f"{CONFIGMAPS}/child"),
    ),
    talk(
        "foreground deletion waits for dependents that block",
        post(CONFIGMAPS, configmap("one")),
        _child("child", block=True, **HELD),
        delete(ONE, _options("Foreground")),
        eventually(get(f"{CONFIGMAPS}/child"), lambda body: "deletionTimestamp" in body["metadata"]),
        get(ONE),
        merge(f"{CONFIGMAPS}/child", {"metadata": {"finalizers": None}}),
        gone(ONE),
    ),
    talk(
        "foreground deletion does not wait for those that do not block",
        post(CONFIGMAPS, configmap("one")),
        _child("child", **HELD),
        delete(ONE, _options("Foreground")),
        gone(ONE),
        eventually(get(f"{CONFIGMAPS}/child"), lambda body: "deletionTimestamp" in body["metadata"]),
        merge(f"{CONFIGMAPS}/child", {"metadata": {"finalizers": None}}),
        gone(f"{CONFIGMAPS}/child"),
    ),
    talk(
        "orphans stay and forget their owner",
        post(CONFIGMAPS, configmap("one")),
        _child("child"),
        delete(ONE, _options("Orphan")),
        gone(ONE),
        get(f"{CONFIGMAPS}/child"),
    ),
    talk(
        "a child of nobody is collected",
        post(CONFIGMAPS, configmap("one")),
        delete(ONE),
        _child("child"),
        gone(f"{CONFIGMAPS}/child"),
    ),
    talk(
        "a child with another owner left stays",
        post(CONFIGMAPS, configmap("one")),
        post(CONFIGMAPS, configmap("two")),
        post(
            CONFIGMAPS,
            configmap(
                "child",
                meta={
                    "ownerReferences": [
                        {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "uid": "$0.metadata.uid"},
                        {"apiVersion": "v1", "kind": "ConfigMap", "name": "two", "uid": "$1.metadata.uid"},
                    ]
                },
            ),
        ),
        delete(ONE),
        eventually(get(f"{CONFIGMAPS}/child"), lambda body: len(body["metadata"]["ownerReferences"]) == 1),
    ),
    talk(
        "an owner reference needs its parts",
        post(CONFIGMAPS, configmap("one", meta={"ownerReferences": [{"kind": "ConfigMap"}]}), 422, "Invalid"),
    ),
    talk(
        "a collection is deleted by its selector",
        post(CONFIGMAPS, configmap("a", meta={"labels": {"x": "y"}})),
        post(CONFIGMAPS, configmap("b")),
        delete(CONFIGMAPS, labelSelector="x=y"),
        get(f"{CONFIGMAPS}/a", 404, "NotFound"),
        get(f"{CONFIGMAPS}/b"),
    ),
    talk(
        "a custom collection is deleted whole",
        post(WIDGETS, widget("a")),
        post(WIDGETS, widget("b")),
        delete(WIDGETS),
        get(WIDGETS),
    ),
    talk(
        "a namespace takes everything in it along",
        post(CONFIGMAPS, configmap("one")),
        post(WIDGETS, widget("one")),
        seen(delete(f"{NAMESPACES}/{{ns}}"), lambda body: body["status"]["phase"]),
        gone(f"{NAMESPACES}/{{ns}}"),
        get(ONE, 404, "NotFound"),
    ),
    talk(
        "nothing new comes into a namespace that ends",
        post(CONFIGMAPS, configmap("one", meta=HELD)),
        seen(delete(f"{NAMESPACES}/{{ns}}"), lambda body: body["status"]["phase"]),
        post(CONFIGMAPS, configmap("two"), 403, "Forbidden"),
        eventually(get(ONE), lambda body: "deletionTimestamp" in body["metadata"]),
        merge(ONE, {"metadata": {"finalizers": None}}),
        gone(f"{NAMESPACES}/{{ns}}"),
    ),
    talk(
        "a pod on a node has the grace it asked for",
        _pod(nodeName="none", terminationGracePeriodSeconds=77),
        seen(delete(POD), _grace),
        seen(get(POD), _grace),
    ),
    talk(
        "a pod on a node has half a minute if it says nothing",
        _pod(nodeName="none"),
        seen(delete(POD), _grace),
        seen(get(POD), _grace),
    ),
    talk(
        "a grace is made shorter and never longer",
        _pod(nodeName="none", terminationGracePeriodSeconds=50),
        seen(delete(POD, _within(40)), _grace),
        seen(delete(POD, _within(45)), _grace),
        seen(delete(POD), _grace),
        seen(delete(POD, _within(20)), _grace),
        seen(get(POD), _grace),
    ),
    talk(
        "without a grace a pod goes at once",
        _pod(nodeName="none"),
        seen(delete(POD, _within(0)), _grace),
        get(POD, 404, "NotFound"),
    ),
    talk(
        "a pod that goes is let go by whoever has ended it",
        _pod(nodeName="none"),
        seen(delete(POD), _grace),
        seen(delete(POD, gracePeriodSeconds="0"), _grace),
        get(POD, 404, "NotFound"),
    ),
    talk("a pod without a node goes at once", _pod(), seen(delete(POD), _grace), get(POD, 404, "NotFound")),
    talk(
        "a pod that is finished goes at once",
        _pod(nodeName="none"),
        seen(strategic(f"{POD}/status", {"status": {"phase": "Failed"}}), _grace),
        seen(delete(POD), _grace),
        get(POD, 404, "NotFound"),
    ),
    talk(
        "a finalizer holds a pod after its grace, and its grace after the finalizer",
        _pod(nodeName="none"),
        seen(merge(POD, {"metadata": HELD}), _grace),
        seen(delete(POD), _grace),
        seen(merge(POD, {"metadata": {"finalizers": None}}), _grace),
        seen(merge(POD, {"metadata": {"annotations": {"a": "b"}}}), _grace),
        seen(delete(POD, _within(0)), _grace),
        get(POD, 404, "NotFound"),
    ),
    talk("the first namespaces stay", delete(f"{NAMESPACES}/kube-system", says=403, reason="Forbidden")),
)
