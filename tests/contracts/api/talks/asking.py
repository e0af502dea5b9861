"""What discovery, reviews and tokens answer."""

from typing import Any

from tests.contracts.api.talk import (
    CONFIGMAPS,
    NAMESPACES,
    PODS,
    SECRETS,
    WIDGETS,
    accepting,
    apply,
    asked_by,
    configmap,
    delete,
    differing,
    eventually,
    get,
    post,
    seen,
    talk,
    widget,
)

POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox"}]}}
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings"
_BINDING = {
    "metadata": {"name": "talker"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "talker"},
    "subjects": [{"kind": "ServiceAccount", "name": "talker", "namespace": "kube-system"}],
}
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


def _role(resource: str, *verbs: str) -> dict[str, Any]:
    rule = {"apiGroups": [""], "resources": [resource], "verbs": list(verbs)}
    return {"metadata": {"name": "talker"}, "rules": [rule]}


def _resources(*wanted: str) -> Any:
    def look(body: dict[str, Any]) -> Any:
        found = {each["name"]: each for each in body["resources"] if each["name"] in wanted}
        return [_ordered(found[name]) for name in wanted if name in found]

    return look


def _ordered(resource: dict[str, Any]) -> dict[str, Any]:
    """Verbs have no order; a hash tells of storage."""
    return {k: sorted(v) if k == "verbs" else v for k, v in resource.items() if k != "storageVersionHash"}


def _group(name: str) -> Any:
    def look(body: dict[str, Any]) -> Any:
        return next((each for each in body["groups"] if each["name"] == name), None)

    return look


def _aggregated(group: str, *wanted: str) -> Any:
    def look(body: dict[str, Any]) -> Any:
        found = next(item for item in body["items"] if item["metadata"].get("name", "") == group)
        version = found["versions"][0]
        found = {each["resource"]: _ordered(each) for each in version["resources"]}
        return [
            {**found[name], "subresources": sorted(map(_ordered, found[name].get("subresources", ())), key=str)}
            for name in wanted
        ]

    return look


def _schema(name: str) -> Any:
    def look(body: dict[str, Any]) -> Any:
        return body["components"]["schemas"][name]["properties"]["spec"]

    return look


_CORE = ("configmaps", "secrets", "pods", "pods/status", "namespaces", "nodes", "serviceaccounts", "events")
_ACCESS = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

TALKS = (
    talk("core versions are listed", seen(get("/api"), lambda body: (body["kind"], body["versions"]))),
    talk("a custom group is listed among the groups", seen(get("/apis"), _group("demo.io"))),
    talk("apps is listed among the groups", seen(get("/apis"), _group("apps"))),
    talk("a group names its versions", get("/apis/demo.io")),
    talk("a group that is not there is not found", get("/apis/none.io", 404, "NotFound")),
    talk("a version that is not there is not found", get("/apis/demo.io/v7", 404, "NotFound")),
    talk(
        "a custom version lists its resources",
        seen(get("/apis/demo.io/v1"), _resources("widgets", "widgets/status", "widgets/scale", "plains")),
    ),
    talk("the core version lists its resources", seen(get("/api/v1"), _resources(*_CORE))),
    talk(
        "deployments are listed with their scale",
        seen(get("/apis/apps/v1"), _resources("deployments", "deployments/scale", "deployments/status")),
    ),
    talk("jobs are listed", seen(get("/apis/batch/v1"), _resources("jobs", "jobs/status"))),
    talk(
        "discovery can be had in one document",
        accepting(seen(get("/apis"), _aggregated("demo.io", "widgets", "plains")), AGGREGATED),
    ),
    talk(
        "core discovery can be had in one document",
        accepting(seen(get("/api"), _aggregated("", "configmaps", "pods", "nodes")), AGGREGATED),
    ),
    talk("the version is told", seen(get("/version"), lambda body: (body["major"], body["minor"]))),
    talk("openapi has an index of groups", seen(get("/openapi/v3"), lambda body: "apis/demo.io/v1" in body["paths"])),
    talk(
        "openapi shows a custom kind's schema", seen(get("/openapi/v3/apis/demo.io/v1"), _schema("io.demo.v1.Widget"))
    ),
    talk("health is told to everyone", asked_by("nobody", seen(get("/readyz"), bool))),
    talk("an unknown path is not found", get("/nowhere", 404, "NotFound")),
    talk(
        "who may do everything is told so",
        seen(
            post(_REVIEWS, {**_ACCESS, "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}),
            lambda body: (body["kind"], body["spec"], body["status"]["allowed"]),
        ),
    ),
    talk(
        "whoever asks who they are is told",
        seen(
            post(
                "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
            ),
            lambda body: (body["kind"], "system:masters" in body["status"]["userInfo"]["groups"]),
        ),
    ),
    talk("a wrong token is refused", asked_by("impostor", get(WIDGETS, 401, "Unauthorized"))),
    talk(
        "a wrong token is refused on writing", asked_by("impostor", post(WIDGETS, widget("one"), 401, "Unauthorized"))
    ),
    talk("nobody may read", differing(asked_by("nobody", get(CONFIGMAPS, 403, "Forbidden")), 401, "Unauthorized")),
    talk("logs of a pod that is not there are not found", get(f"{PODS}/none/log", 404, "NotFound")),
    talk("a pod without a node has said nothing", post(PODS, POD), get(f"{PODS}/p/log", 204)),
    talk("a review is not kept", get(_REVIEWS, 405, "MethodNotAllowed")),
    talk(
        "in the name of an account nothing is allowed that nobody allowed it",
        post(CONFIGMAPS, configmap("cm")),
        asked_by("account", get(f"{CONFIGMAPS}/cm", 403, "Forbidden")),
        asked_by("account", get(CONFIGMAPS, 403, "Forbidden")),
        asked_by("account", get(NAMESPACES, 403, "Forbidden")),
        asked_by("account", post(WIDGETS, widget("one"), 403, "Forbidden")),
        asked_by("account", apply(f"{CONFIGMAPS}/new", configmap("new"), says=403, reason="Forbidden")),
        asked_by("account", delete(f"{CONFIGMAPS}/cm", says=403, reason="Forbidden")),
        asked_by("account", get("/api/v1/namespaces/{ns}/configmaps/cm", 403, "Forbidden", watch="true")),
    ),
    talk(
        "in the name of an account what its role allows is done, and nothing else",
        post(ROLES, _role("configmaps", "get", "patch")),
        post(BINDINGS, _BINDING),
        post(CONFIGMAPS, configmap("cm", a="b")),
        seen(
            eventually(asked_by("account", get(f"{CONFIGMAPS}/cm")), lambda body: body["kind"] != "Status"),
            lambda body: body["data"],
        ),
        asked_by("account", apply(f"{CONFIGMAPS}/cm", configmap("cm", c="d"))),
        asked_by("account", apply(f"{CONFIGMAPS}/new", configmap("new"), says=403, reason="Forbidden")),
        asked_by("account", delete(f"{CONFIGMAPS}/cm", says=403, reason="Forbidden")),
        asked_by("account", get(SECRETS, 403, "Forbidden")),
    ),
    talk(
        "who may not act for others is refused whatever is asked",
        asked_by("stranger", get(CONFIGMAPS, 403, "Forbidden")),
        asked_by("impersonator", get(CONFIGMAPS, 403, "Forbidden")),
    ),
    talk(
        "a known user may not do what nobody allowed",
        asked_by("stranger", get(WIDGETS, 403, "Forbidden")),
        asked_by("stranger", post(WIDGETS, widget("one"), 403, "Forbidden")),
    ),
)
