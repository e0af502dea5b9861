"""What lists, pages, selectors, tables and watches show."""

from typing import Any

from events.kube.client import METADATA
from tests.contracts.api.talk import (
    COMPACT,
    CONFIGMAPS,
    LIMITRANGES,
    NAMESPACES,
    PARTIALS,
    PODS,
    SECRETS,
    TABLE,
    WIDGETS,
    Step,
    accepting,
    configmap,
    delete,
    differing,
    get,
    merge,
    post,
    seen,
    talk,
    watch,
    widget,
)
from tests.contracts.api.talks.writing import POD


def _labelled(name: str, **labels: str) -> Step:
    return post(CONFIGMAPS, configmap(name, meta={"labels": labels}))


def _names(body: dict[str, Any]) -> object:
    return [item["metadata"]["name"] for item in body["items"]]


def _many(number: int) -> tuple[Step, ...]:
    return tuple(post(WIDGETS, widget(f"w{i}")) for i in range(number))


_MIXED = (_labelled("a", app="x", tier="1"), _labelled("b", app="y", tier="2"), _labelled("c", app="x"), _labelled("d"))
_LIMITS = {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}
_INITIAL = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}

TALKS = (
    talk("a list is ordered by name", post(WIDGETS, widget("b")), post(WIDGETS, widget("a")), get(WIDGETS)),
    talk("an empty list is a list", get(WIDGETS)),
    talk("an empty built-in list is a list", get(LIMITRANGES)),
    *(
        talk(f"labels are selected by {selector}", *_MIXED, seen(get(CONFIGMAPS, labelSelector=selector), _names))
        for selector in (
            "app=x",
            "app==x",
            "app!=x",
            "app",
            "!app",
            "app in (x,y)",
            "app notin (x)",
            "app=x,tier",
            "app=x,tier!=1",
            "tier>1",
            "tier<2",
        )
    ),
    talk("a selector that cannot be read is refused", get(CONFIGMAPS, 400, "BadRequest", labelSelector="app in x")),
    talk(
        "a field selects by name",
        *_MIXED,
        seen(get(CONFIGMAPS, fieldSelector="metadata.name=b"), _names),
        seen(get(CONFIGMAPS, fieldSelector="metadata.name!=b", labelSelector="app"), _names),
    ),
    talk("an unknown field cannot select", get(CONFIGMAPS, 400, "BadRequest", fieldSelector="data.a=b")),
    talk(
        "an unknown field of a custom kind cannot select", get(WIDGETS, 400, "BadRequest", fieldSelector="spec.size=M")
    ),
    talk(
        "a selectable field of a custom kind selects",
        post(WIDGETS, widget("a", color="red")),
        post(WIDGETS, widget("b", color="blue")),
        seen(get(WIDGETS, fieldSelector="spec.color=red"), _names),
    ),
    talk(
        "secrets are selected by type",
        post(SECRETS, {"metadata": {"name": "a"}, "type": "demo.io/x"}),
        post(SECRETS, {"metadata": {"name": "b"}, "type": "Opaque"}),
        seen(get(SECRETS, fieldSelector="type=demo.io/x"), _names),
    ),
    talk(
        "pods are selected by phase",
        post(PODS, POD),
        seen(get(PODS, fieldSelector="status.phase=Pending,spec.nodeName="), _names),
        seen(get(PODS, fieldSelector="status.phase!=Pending"), _names),
    ),
    talk(
        "a namespace is selected by name in its list", seen(get(NAMESPACES, fieldSelector="metadata.name={ns}"), _names)
    ),
    talk(
        "pages go on where the last one ended",
        *_many(5),
        get(WIDGETS, limit="2"),
        get(WIDGETS, limit="2", **{"continue": "$5.metadata.continue"}),
        get(WIDGETS, limit="2", **{"continue": "$6.metadata.continue"}),
    ),
    talk(
        "later pages show the version of the first",
        *_many(4),
        get(WIDGETS, limit="2"),
        post(WIDGETS, widget("w9")),
        delete(f"{WIDGETS}/w3"),
        seen(get(WIDGETS, limit="9", **{"continue": "$4.metadata.continue"}), _names),
    ),
    talk("a page that holds all has no more", *_many(2), get(WIDGETS, limit="2")),
    talk("a page of selected objects counts no rest", *_MIXED, get(CONFIGMAPS, limit="1", labelSelector="app=x")),
    talk(
        "a continue that is nonsense is refused", get(WIDGETS, 400, "BadRequest", limit="1", **{"continue": "nonsense"})
    ),
    talk("a limit that is no number is refused", get(WIDGETS, 400, "BadRequest", limit="many")),
    talk(
        "a page whose version was forgotten has expired",
        *(post(LIMITRANGES, {"metadata": {"name": f"l{i}"}, "spec": _LIMITS}) for i in range(3)),
        get(LIMITRANGES, limit="1"),
        COMPACT,
        seen(get(LIMITRANGES, 410, "Expired", limit="1", **{"continue": "$3.metadata.continue"}), bool),
    ),
    talk("a list of metadata alone", *_many(2), accepting(get(WIDGETS), PARTIALS)),
    talk(
        "of secrets that a label selects the metadata alone can be listed, and nothing else instead",
        post(SECRETS, {"metadata": {"name": "a", "labels": {"app": "x"}}, "stringData": {"value": "hidden"}}),
        post(SECRETS, {"metadata": {"name": "b"}, "stringData": {"value": "hidden"}}),
        accepting(get(SECRETS, labelSelector="app", limit="500"), METADATA),
    ),
    talk(
        "a custom kind is printed by its columns",
        post(WIDGETS, widget("one", color="red", replicas=2)),
        accepting(get(WIDGETS), TABLE),
    ),
    talk("one object is printed as one row", post(WIDGETS, widget("one")), accepting(get(f"{WIDGETS}/one"), TABLE)),
    talk("configmaps are printed", post(CONFIGMAPS, configmap("one", a="b")), accepting(get(CONFIGMAPS), TABLE)),
    talk(
        "secrets are printed",
        post(SECRETS, {"metadata": {"name": "a"}, "data": {"a": "Yg=="}}),
        accepting(get(SECRETS), TABLE),
    ),
    talk("pods are printed", post(PODS, POD), accepting(get(PODS), TABLE)),
    talk("a namespace is printed", accepting(get(f"{NAMESPACES}/{{ns}}"), TABLE)),
    talk(
        "an object's whole is in its row if asked for",
        post(WIDGETS, widget("one")),
        accepting(get(WIDGETS, includeObject="Object"), TABLE),
    ),
    talk(
        "no object is in its row if asked so",
        post(WIDGETS, widget("one")),
        accepting(get(WIDGETS, includeObject="None"), TABLE),
    ),
    talk(
        "a watch goes on from a version",
        post(WIDGETS, widget("one")),
        merge(f"{WIDGETS}/one", {"spec": {"size": "M"}}),
        post(WIDGETS, widget("two")),
        delete(f"{WIDGETS}/one"),
        watch(WIDGETS, 3, resourceVersion="$0.metadata.resourceVersion"),
    ),
    talk(
        "a watch goes on from a list",
        *_many(2),
        get(WIDGETS),
        merge(f"{WIDGETS}/w0", {"metadata": {"labels": {"a": "b"}}}),
        delete(f"{WIDGETS}/w1"),
        watch(WIDGETS, 2, resourceVersion="$2.metadata.resourceVersion"),
    ),
    talk("a watch without a version begins with all", *_many(2), watch(WIDGETS, 2)),
    talk("a watch from zero begins with all", *_many(2), watch(WIDGETS, 2, resourceVersion="0")),
    talk(
        "a watch with a selector shows coming and going",
        _labelled("a", app="x"),
        _labelled("b", app="y"),
        merge(f"{CONFIGMAPS}/b", {"metadata": {"labels": {"app": "x"}}}),
        merge(f"{CONFIGMAPS}/a", {"metadata": {"labels": {"app": "y"}}}),
        merge(f"{CONFIGMAPS}/b", {"data": {"n": "1"}}),
        delete(f"{CONFIGMAPS}/b"),
        watch(CONFIGMAPS, 4, resourceVersion="$1.metadata.resourceVersion", labelSelector="app=x"),
    ),
    talk(
        "a watch of one name shows that one",
        *_many(2),
        merge(f"{WIDGETS}/w1", {"spec": {"size": "M"}}),
        merge(f"{WIDGETS}/w0", {"spec": {"size": "M"}}),
        watch(WIDGETS, 1, resourceVersion="$0.metadata.resourceVersion", fieldSelector="metadata.name=w0"),
    ),
    talk(
        "a watch shows tables",
        post(WIDGETS, widget("one")),
        merge(f"{WIDGETS}/one", {"spec": {"size": "M"}}),
        merge(f"{WIDGETS}/one", {"spec": {"size": "S"}}),
        accepting(watch(WIDGETS, 2, resourceVersion="$0.metadata.resourceVersion"), TABLE),
    ),
    talk(
        "initial events end with a mark",
        *_many(2),
        watch(WIDGETS, 3, **_INITIAL),
    ),
    talk(
        "initial events need a match",
        Step("WATCH", WIDGETS, 422, "Invalid", query={"watch": "true", "sendInitialEvents": "true"}),
    ),
    talk(
        "a watch from a forgotten version is told so",
        post(LIMITRANGES, {"metadata": {"name": "one"}, "spec": _LIMITS}),
        merge(f"{LIMITRANGES}/one", {"metadata": {"labels": {"a": "b"}}}),
        COMPACT,
        seen(watch(LIMITRANGES, 1, resourceVersion="$0.metadata.resourceVersion"), bool),
    ),
    talk(
        "a status write is seen by a watch",
        post(WIDGETS, widget("one")),
        merge(f"{WIDGETS}/one/status", {"status": {"phase": "Up"}}),
        watch(WIDGETS, 1, resourceVersion="$0.metadata.resourceVersion"),
    ),
    talk(
        "a write that changes nothing is no event",
        post(WIDGETS, widget("one")),
        merge(f"{WIDGETS}/one", {"spec": {"size": "S"}}),
        merge(f"{WIDGETS}/one", {"spec": {"size": "M"}}),
        watch(WIDGETS, 1, resourceVersion="$0.metadata.resourceVersion"),
    ),
    talk(
        "a watch's version that is no number is refused",
        differing(Step("WATCH", WIDGETS, 500, query={"watch": "true", "resourceVersion": "then"}), 400, "BadRequest"),
    ),
)
