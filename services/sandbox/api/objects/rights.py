"""What somebody may do in whose name an administrator asks (``Impersonate-User``), by the cluster's roles."""

from collections.abc import Iterable, Iterator

from events.kube.client import Object
from services.sandbox.api.objects.patch import APPLY
from services.sandbox.api.status import StatusError, forbidden, not_permitted
from services.sandbox.api.store.store import Store, Topic
from services.sandbox.api.wire.request import ApiRequest

HEADER = "Impersonate-User"
RBAC = "rbac.authorization.k8s.io"
ACCOUNT = "system:serviceaccount:"
EVERYTHING = "cluster-admin"
"""The one role that is there without being written."""
_VERBS = {
    ("POST", False): "create", ("PUT", True): "update", ("PATCH", True): "patch", ("DELETE", True): "delete",
    ("DELETE", False): "deletecollection", ("GET", True): "get", ("GET", False): "list",
}  # fmt: skip


class Rights:
    """Asks a store's roles and their bindings."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def check(self, ask: ApiRequest) -> None:
        """Raises `StatusError` (403) if the request is in the name of somebody who may not do it."""
        user = ask.header(HEADER)
        verb = _VERBS.get((ask.request.method, bool(ask.place.name)), "")
        verb = "watch" if verb == "list" and ask.flag("watch") else verb
        if not user or not verb:
            return
        self._allow(ask, user, verb)
        if verb == "patch" and ask.media == APPLY and not ask.place.subresource and not self._store.get(ask.key()):
            self._allow(ask, user, "create")

    def _allow(self, ask: ApiRequest, user: str, verb: str) -> None:
        if not any(_covers(rule, ask, verb) for rule in self._rules(ask, user)):
            raise _refused(ask, user, verb)

    def _rules(self, ask: ApiRequest, user: str) -> Iterator[Object]:
        """The rules that hold for a user where the request goes."""
        for binding in self._objects(ask.cluster, "clusterrolebindings"):
            yield from self._bound(ask.cluster, binding, user)
        if ask.place.namespace:
            for binding in self._objects(ask.cluster, "rolebindings", ask.place.namespace):
                yield from self._bound(ask.cluster, binding, user)

    def _bound(self, cluster: str, binding: Object, user: str) -> Iterable[Object]:
        if not any(_is(subject, user) for subject in binding.get("subjects") or ()):
            return ()
        ref, space = binding["roleRef"], binding["metadata"].get("namespace", "")
        if ref["name"] == EVERYTHING:
            return ({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},)
        kinds = self._objects(cluster, "roles", space) if ref["kind"] == "Role" else ()
        kinds = kinds or self._objects(cluster, "clusterroles")
        return next((role.get("rules") or () for role in kinds if role["metadata"]["name"] == ref["name"]), ())

    def _objects(self, cluster: str, plural: str, namespace: str = "") -> tuple[Object, ...]:
        found = self._store.scan(Topic(cluster, RBAC, plural), namespace)
        return tuple(entry.read() for _, entry in found)


def _is(subject: Object, user: str) -> bool:
    kind, name = subject.get("kind"), subject.get("name")
    if kind == "ServiceAccount":
        return user == f"{ACCOUNT}{subject.get('namespace')}:{name}"
    return (kind == "User" and name == user) or (kind == "Group" and name in _groups(user))


def _groups(user: str) -> tuple[str, ...]:
    if not user.startswith(ACCOUNT):
        return ("system:authenticated",)
    space = user.split(":")[2]
    return ("system:serviceaccounts", f"system:serviceaccounts:{space}", "system:authenticated")


def _covers(rule: Object, ask: ApiRequest, verb: str) -> bool:
    resource = f"{ask.kind.plural}/{ask.place.subresource}" if ask.place.subresource else ask.kind.plural
    named = rule.get("resourceNames")
    return (
        _has(rule, "verbs", verb)
        and _has(rule, "apiGroups", ask.kind.group)
        and _has(rule, "resources", resource)
        and (not named or ask.place.name in named)
    )


def _has(rule: Object, field: str, value: str) -> bool:
    return bool({"*", value} & set(rule.get(field) or ()))


def _refused(ask: ApiRequest, user: str, verb: str) -> StatusError:
    where = f'in the namespace "{ask.place.namespace}"' if ask.place.namespace else "at the cluster scope"
    resource = f"{ask.kind.plural}/{ask.place.subresource}" if ask.place.subresource else ask.kind.plural
    why = f'User "{user}" cannot {verb} resource "{resource}" in API group "{ask.kind.group}" {where}'
    return forbidden(ask.kind, ask.place.name, why) if ask.place.name else not_permitted(ask.kind, why)
