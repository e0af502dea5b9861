"""What a namespace founds Cluster API clusters from: a ClusterClass of the cloud, or else a template in a ConfigMap."""

from collections.abc import Iterable

from events.errors import Denied, NotFound
from events.kube.client import Kube, Object
from events.kube.resources import CLUSTERCLASSES, CONFIGMAPS
from schemas.cluster import NOT_INSTALLED
from schemas.wish import Wish
from services.clouds.cluster_object import Kept, newest
from services.clouds.manifests import sells_spot
from services.clouds.topology import buys_spot
from services.kubernetes.labels import GROUP

PREFIX = "alate-capi-"
"""A template's ConfigMap is named ``alate-capi-<cloud>``, unless the Colony names another."""
KEY = "cluster.yaml"
CLOUD_LABEL = f"{GROUP}/cloud"
Source = Object | str
"""A ClusterClass, or the text of a template."""


class Sources:
    """Those of every namespace, as they were seen last."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._templates = Kept(kube, CONFIGMAPS, CLOUD_LABEL)
        self._classes = Kept(kube, CLUSTERCLASSES, CLOUD_LABEL)
        self.kept = (self._templates, self._classes)

    async def clouds(self, wish: Wish, *, anew: bool = False) -> dict[str, bool]:
        """The clouds there is anything for, and whether that can buy spot machines."""
        templates = await self._templates.of(wish.tenant, anew=anew)
        return _clouds(wish, templates) | {
            cloud_of(each): buys_spot(each) for each in await self._labelled(wish, anew=anew)
        }

    async def of(self, wish: Wish, cloud: str) -> Source:
        """The ClusterClass of a cloud, or else its template. Raises Denied where neither is there."""
        classes = (each for each in await self._labelled(wish) if cloud_of(each) == cloud)
        return next(classes, None) or await self.template(wish, cloud)

    async def template(self, wish: Wish, cloud: str) -> str:
        """The text of a cloud's template, or of the one that is named. Raises Denied where it is not there."""
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

    async def classed(self, tenant: str, *, anew: bool = False) -> tuple[Object, ...]:
        """All ClusterClasses of a namespace that say which cloud they are for."""
        try:
            return await self._classes.of(tenant, anew=anew)
        except NotFound:  # not in the version we speak
            return await self._older(tenant)

    async def _labelled(self, wish: Wish, *, anew: bool = False) -> list[Object]:
        """Those of them that are wanted."""
        found = await self.classed(wish.tenant, anew=anew)
        return [each for each in found if wish.need.template in ("", each["metadata"]["name"])]

    async def _older(self, namespace: str) -> tuple[Object, ...]:
        """The same of a Cluster API before v1beta2; none where there are no ClusterClasses at all."""
        try:
            return (
                await self._kube.list(await newest(self._kube, CLUSTERCLASSES), namespace, labels=CLOUD_LABEL)
            ).items
        except NotFound:
            return ()


def cloud_of(labelled: Object) -> str:
    """Which cloud a ClusterClass or a ConfigMap says it is for."""
    return str(labelled["metadata"]["labels"][CLOUD_LABEL])


def _clouds(wish: Wish, templates: Iterable[Object]) -> dict[str, bool]:
    return {
        cloud_of(each): sells_spot(each.get("data", {}).get(KEY, ""))
        for each in templates
        if KEY in each.get("data", {}) and wish.need.template in ("", each["metadata"]["name"])
    }
