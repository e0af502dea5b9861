"""What creating, replacing and reading answers."""

from tests.contracts.api.talk import (
    CONFIGMAPS,
    DEPLOYMENTS,
    NAMESPACES,
    PARTIAL,
    PODS,
    SECRETS,
    SERVICES,
    WIDGETS,
    accepting,
    configmap,
    delete,
    get,
    merge,
    post,
    put,
    seen,
    talk,
    widget,
)

PLAINS = "/apis/demo.io/v1/namespaces/{ns}/plains"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox"}]}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
}

TALKS = (
    talk(
        "a created object has an identity and a version",
        post(WIDGETS, widget("one", size="M")),
        get(f"{WIDGETS}/one"),
    ),
    talk("a created built-in object has an identity and a version", post(CONFIGMAPS, configmap("one", a="b"))),
    talk(
        "a name that is taken is a conflict",
        post(WIDGETS, widget("one")),
        post(WIDGETS, widget("one"), 409, "AlreadyExists"),
    ),
    talk("what is not there is not found", get(f"{WIDGETS}/none", 404, "NotFound")),
    talk("what is not there is not found in the core group either", get(f"{CONFIGMAPS}/none", 404, "NotFound")),
    talk("a kind that is not served is not found", get("/apis/demo.io/v1/namespaces/{ns}/none", 404, "NotFound")),
    talk("a group that is not served is not found", get("/apis/none.io/v1/namespaces/{ns}/none", 404, "NotFound")),
    talk(
        "nothing is created in a namespace that is not there",
        post("/apis/demo.io/v1/namespaces/{ns}-none/widgets", widget("one"), 404, "NotFound"),
    ),
    talk(
        "a body of another namespace is refused",
        post(CONFIGMAPS, configmap("one", meta={"namespace": "default"}), 400, "BadRequest"),
    ),
    talk(
        "a body of another namespace is refused for custom kinds",
        post(WIDGETS, widget("w", meta={"namespace": "default"}), 400, "BadRequest"),
    ),
    talk(
        "a body of another kind is refused",
        post(CONFIGMAPS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}}, 400, "BadRequest"),
    ),
    talk(
        "a custom body of another kind is refused",
        post(WIDGETS, {"apiVersion": "demo.io/v1", "kind": "Plain", "metadata": {"name": "one"}}, 422, "Invalid"),
    ),
    talk(
        "a custom body of another version is refused",
        post(WIDGETS, {"apiVersion": "demo.io/v2", "kind": "Widget", "metadata": {"name": "one"}}, 400, "BadRequest"),
    ),
    talk("a body that is no JSON is refused", post(CONFIGMAPS, "{nonsense", 400, "BadRequest")),
    talk(
        "a built-in body needs no type",
        post(CONFIGMAPS, {"metadata": {"name": "one"}, "data": {"a": "b"}}),
    ),
    talk("an object without a name is invalid", post(CONFIGMAPS, configmap(""), 422, "Invalid")),
    talk("a custom object without a name is invalid", post(WIDGETS, widget(""), 422, "Invalid")),
    talk("a name in capitals is invalid", post(CONFIGMAPS, configmap("One"), 422, "Invalid")),
    talk("a custom name in capitals is invalid", post(WIDGETS, widget("One"), 422, "Invalid")),
    talk(
        "a namespace is named as a label",
        post(NAMESPACES, {"metadata": {"name": "{ns}.dotted"}}, 422, "Invalid"),
    ),
    talk(
        "a namespace starts active",
        post(NAMESPACES, {"metadata": {"name": "{ns}-new"}}),
        get(f"{NAMESPACES}/{{ns}}-new"),
    ),
    talk(
        "generateName makes a name",
        post(CONFIGMAPS, configmap("", meta={"generateName": "made-"})),
        post(WIDGETS, widget("", meta={"generateName": "made-"})),
    ),
    talk("a name goes before generateName", post(WIDGETS, widget("one", meta={"generateName": "made-"}))),
    talk(
        "what only the server says is dropped from what is sent",
        post(
            CONFIGMAPS,
            configmap("one", meta={"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/here"}),
        ),
    ),
    talk(
        "a version on creation is refused",
        post(CONFIGMAPS, configmap("one", meta={"resourceVersion": "12"}), 500),
    ),
    talk(
        "a status on creation is dropped where status is apart",
        post(WIDGETS, widget("one", status={"phase": "Done"})),
    ),
    talk(
        "a status on creation stays where it is not apart",
        post(PLAINS, {**widget("one", status={"phase": "Done"}), "kind": "Plain"}),
    ),
    talk(
        "a replace at the version read is taken",
        post(WIDGETS, widget("one", size="M")),
        put(f"{WIDGETS}/one", widget("one", meta={"resourceVersion": "$0.metadata.resourceVersion"}, size="S")),
    ),
    talk(
        "a replace at an old version is a conflict",
        post(WIDGETS, widget("one")),
        merge(f"{WIDGETS}/one", {"spec": {"size": "M"}}),
        put(
            f"{WIDGETS}/one",
            widget("one", meta={"resourceVersion": "$0.metadata.resourceVersion"}),
            409,
            "Conflict",
        ),
    ),
    talk(
        "a custom replace without a version is invalid",
        post(WIDGETS, widget("one")),
        put(f"{WIDGETS}/one", widget("one"), 422, "Invalid"),
    ),
    talk(
        "a built-in replace without a version is taken",
        post(CONFIGMAPS, configmap("one", a="b")),
        put(f"{CONFIGMAPS}/one", configmap("one", a="c")),
    ),
    talk("a replace of what is not there is not found", put(f"{CONFIGMAPS}/one", configmap("one"), 404, "NotFound")),
    talk(
        "a replace under another uid is a conflict",
        post(CONFIGMAPS, configmap("one")),
        put(f"{CONFIGMAPS}/one", configmap("one", meta={"uid": "another"}), 409, "Conflict"),
    ),
    talk(
        "a replace under another name is refused",
        post(CONFIGMAPS, configmap("one")),
        put(f"{CONFIGMAPS}/one", configmap("two"), 400, "BadRequest"),
    ),
    talk(
        "a replace that changes nothing keeps the version",
        post(CONFIGMAPS, configmap("one", a="b")),
        put(f"{CONFIGMAPS}/one", configmap("one", a="b"), fieldManager="talker"),
    ),
    talk(
        "generation counts changes of the spec alone",
        post(WIDGETS, widget("one")),
        merge(f"{WIDGETS}/one", {"metadata": {"labels": {"a": "b"}}}),
        merge(f"{WIDGETS}/one", {"spec": {"size": "M"}}),
        merge(f"{WIDGETS}/one/status", {"status": {"phase": "Up"}}),
    ),
    talk(
        "generation counts changes of the status where it is not apart",
        post(PLAINS, {**widget("one"), "kind": "Plain"}),
        merge(f"{PLAINS}/one", {"status": {"phase": "Up"}}),
    ),
    talk(
        "a status write changes nothing but the status",
        post(WIDGETS, widget("one", size="M")),
        put(
            f"{WIDGETS}/one/status",
            widget(
                "one",
                meta={"resourceVersion": "$0.metadata.resourceVersion", "labels": {"a": "b"}},
                status={"phase": "Up"},
                size="S",
            ),
        ),
        get(f"{WIDGETS}/one/status"),
    ),
    talk(
        "a kind without a status has no such path",
        post(PLAINS, {**widget("one"), "kind": "Plain"}),
        get(f"{PLAINS}/one/status", 404, "NotFound"),
    ),
    talk(
        "a dry run answers and writes nothing",
        post(CONFIGMAPS, configmap("one"), dryRun="All"),
        get(f"{CONFIGMAPS}/one", 404, "NotFound"),
    ),
    talk(
        "a dry change answers and writes nothing",
        post(WIDGETS, widget("one")),
        merge(f"{WIDGETS}/one", {"spec": {"size": "M"}}, dryRun="All"),
        get(f"{WIDGETS}/one"),
    ),
    talk(
        "a dry deletion deletes nothing",
        post(CONFIGMAPS, configmap("one")),
        delete(f"{CONFIGMAPS}/one", dryRun="All"),
        get(f"{CONFIGMAPS}/one"),
    ),
    talk(
        "a secret's texts become data",
        post(SECRETS, {"metadata": {"name": "one"}, "stringData": {"a": "b"}, "type": "Opaque"}),
    ),
    talk("a secret is opaque unless it says so", post(SECRETS, {"metadata": {"name": "one"}, "data": {"a": "Yg=="}})),
    talk(
        "a pod is filled in with its defaults", seen(post(PODS, POD), lambda pod: {**pod["spec"], "tolerations": None})
    ),
    talk("a deployment is filled in with its defaults", post(DEPLOYMENTS, WEB)),
    talk(
        "a service's ports default to TCP",
        seen(
            post(SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "clusterIP": "None"}}),
            lambda service: service["spec"]["ports"],
        ),
    ),
    talk(
        "scale shows and sets replicas",
        post(WIDGETS, widget("one", replicas=2)),
        get(f"{WIDGETS}/one/scale"),
        merge(f"{WIDGETS}/one/scale", {"spec": {"replicas": 4}}),
        get(f"{WIDGETS}/one"),
    ),
    talk("metadata alone can be asked for", post(WIDGETS, widget("one")), accepting(get(f"{WIDGETS}/one"), PARTIAL)),
    talk("a collection takes no replacement", put(CONFIGMAPS, configmap("one"), 405, "MethodNotAllowed")),
    talk("an object takes no creation", post(f"{CONFIGMAPS}/one", configmap("one"), 405, "MethodNotAllowed")),
)
