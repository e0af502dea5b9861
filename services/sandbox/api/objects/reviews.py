"""Access reviews: in the sandbox everybody is allowed everything."""

from events.kube.client import Object, Request, Response
from services.sandbox.api.schema.kinds import ServedKind
from services.sandbox.api.status import JSON, not_allowed, unknown_path
from services.sandbox.api.store.store import encode
from services.sandbox.api.wire import bodies
from services.sandbox.api.wire.request import ApiRequest, ResourcePath

_USER = {"username": "alate", "groups": ["system:masters", "system:authenticated"]}
_ALLOWED: Object = {"allowed": True, "reason": "the sandbox allows everything"}
_RULES: Object = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}

_TABLE: tuple[tuple[str, str, str, Object], ...] = (
    ("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", _ALLOWED),
    ("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", _ALLOWED),
    ("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview", _RULES),
    ("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview", {"userInfo": _USER}),
)

REVIEWS = {
    (group, "v1", plural): ServedKind(group, "v1", plural, kind, namespaced=False) for group, plural, kind, _ in _TABLE
}
"""Kinds that can only be created, and are answered instead of stored."""

_ANSWERS = {plural: status for _, plural, _, status in _TABLE}


def review(request: Request, where: ResourcePath) -> Response:
    """Answer a review. Raises `Refused`: 404 for any other path."""
    kind = REVIEWS.get(where[:3])
    if kind is None:
        raise unknown_path()
    if request.method != "POST":
        raise not_allowed()
    asked = bodies.object_of(ApiRequest(request, "", kind, where))
    return Response(201, JSON, encode({**asked, "status": _ANSWERS[kind.plural]}))
