"""What a namespace creates Cluster API clusters from: a ClusterClass of the cloud, or a template in a ConfigMap."""

from collections.abc import Iterable

from events.errors import Denied, NotFound
from events.kube.client import Kube, Object
from events.kube.resources import CLUSTERCLASSES, CONFIGMAPS
from schemas.cluster import NOT_INSTALLED
from schemas.wish import Wish
from services.clouds.cluster_object import ObjectCache, newest_served
from services.clouds.manifests import template_can_buy_spot
from services.clouds.topology import can_buy_spot
from services.kubernetes.labels import GROUP

PREFIX = "alate-capi-"
"""A template's ConfigMap is named ``alate-capi-<cloud>``, unless the Colony names another."""
KEY = "cluster.yaml"
CLOUD_LABEL = f"{GROUP}/cloud"
TemplateSource = Object | str
"""A ClusterClass, or the text of a template."""


class TemplateSources:
    """The ClusterClasses and templates of every namespace."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._templates = ObjectCache(kube, CONFIGMAPS, CLOUD_LABEL)
        self._classes = ObjectCache(kube, CLUSTERCLASSES, CLOUD_LABEL)
        self.caches = (self._templates, self._classes)

    async def clouds(self, wish: Wish, *, fresh: bool = False) -> dict[str, bool]:
        """The clouds that have a source, and whether that can buy spot machines."""
        templates = await self._templates.of(wish.tenant, fresh=fresh)
        return _clouds(wish, templates) | {
            cloud_of(each): can_buy_spot(each) for each in await self._labelled(wish, fresh=fresh)
        }

    async def of(self, wish: Wish, cloud: str) -> TemplateSource:
        """The ClusterClass of a cloud, or else its template. Raises Denied if neither exists."""
        classes = (each for each in await self._labelled(wish) if cloud_of(each) == cloud)
        return next(classes, None) or await self.template(wish, cloud)

    async def template(self, wish: Wish, cloud: str) -> str:
        """The text of a cloud's template, or of the one that is named. Raises Denied if it does not exist."""
        name = wish.need.template or f"{PREFIX}{cloud}"
        kept = (each for each in await self._templates.of(wish.tenant) if each["metadata"]["name"] == name)
        try:
            found = next(kept, None) or await self._kube.get(CONFIGMAPS, name, wish.tenant)
        except NotFound as missing:
            raise Denied(f"the template is gone: {missing.message}", NOT_INSTALLED) from missing
        text = found.get("data", {}).get(KEY)
        if not isinstance(text, str):
            raise Denied(f"ConfigMap {wish.tenant}/{name} has no key {KEY}", "BadTemplate")
        return text

    async def classed(self, tenant: str, *, fresh: bool = False) -> tuple[Object, ...]:
        """All ClusterClasses of a namespace that name their cloud."""
        try:
            return await self._classes.of(tenant, fresh=fresh)
        except NotFound:  # not in the version we speak
            return await self._older(tenant)

    async def _labelled(self, wish: Wish, *, fresh: bool = False) -> list[Object]:
        """The ClusterClasses that the wish accepts."""
        found = await self.classed(wish.tenant, fresh=fresh)
        return [each for each in found if wish.need.template in ("", each["metadata"]["name"])]

    async def _older(self, namespace: str) -> tuple[Object, ...]:
        """The ClusterClasses of a Cluster API before v1beta2; none if it serves no such kind."""
        try:
            return (
                await self._kube.list(await newest_served(self._kube, CLUSTERCLASSES), namespace, labels=CLOUD_LABEL)
            ).items
        except NotFound:
            return ()


def cloud_of(labelled: Object) -> str:
    """The cloud that a ClusterClass or a ConfigMap is for."""
    return str(labelled["metadata"]["labels"][CLOUD_LABEL])


def _clouds(wish: Wish, templates: Iterable[Object]) -> dict[str, bool]:
    return {
        cloud_of(each): template_can_buy_spot(each.get("data", {}).get(KEY, ""))
        for each in templates
        if KEY in each.get("data", {}) and wish.need.template in ("", each["metadata"]["name"])
    }
