"""Makes an add-on of a recipe: whole, with its source, or by the recipe's name with what differs from it."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from schemas.crds.addons import AddonSpec
from schemas.crds.model import InvalidResource, read
from services.addons.catalog.choices import Choices
from services.addons.catalog.files import recipes
from services.addons.catalog.mirror import mirrored_images, mirrored_source
from services.addons.catalog.recipe import Recipe
from services.addons.catalog.values import Values, difference, filled, merged
from services.kubernetes.name_list import nearest

WEBHOOKS = (
    "objects.all(o, !(o.kind in ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'])"
    " || !has(o.webhooks) || o.webhooks.all(w, has(w.clientConfig.caBundle) && w.clientConfig.caBundle != ''))"
)
"""The API server can verify every webhook: before that each object which they look at is refused."""
NO_CHOICES = Choices()
AddonDocument = dict[str, Any]
"""An add-on as it stands in a Colony or a profile."""


def expand(addon: AddonSpec) -> AddonSpec:
    """The add-on with the source, values and readiness of its recipe, under all that it says itself.

    An add-on that names no recipe is returned as it is. Raises InvalidResource.
    """
    if addon.catalog is None:
        return addon
    known = recipes()
    if addon.catalog not in known:
        raise InvalidResource(
            f"add-on {addon.name}: the catalog has no {addon.catalog}: {nearest(addon.catalog, known)}"
        )
    own = addon.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"catalog"})
    return read(AddonSpec, _over(whole(known[addon.catalog]), own))


def canaries(addon: AddonSpec) -> tuple[Mapping[str, Any], ...]:
    """Objects that the API server must accept in a dry run before anything relies on the add-on.

    It is known by its recipe's name, or by the chart or repository of its source, from a mirror too.
    """
    known = recipes().get(addon.catalog or "") or next(
        (each for each in recipes().values() if _is_of(addon, each)), None
    )
    return known.canary if known else ()


def whole(
    recipe: Recipe, beside: Collection[str] = (), lists: Mapping[str, Iterable[str]] | None = None,
    choices: Choices = NO_CHOICES, mirror: str = "",
) -> AddonDocument:  # fmt: skip
    """Everything of a recipe, where the add-ons and capabilities `beside` are in the cluster too."""
    version = choices.version or recipe.version
    variables = {
        "mirror": f"{mirror}/" if mirror else "",
        "release": version.removeprefix("v"),
        **{name: _extended(always, name, lists or {}) for name, always in recipe.lists.items()},
    }
    near = [each for each in recipe.beside if each.present in beside]
    images = mirrored_images(recipe, mirror) if mirror else {}
    values = merged(recipe.values, *(each.values for each in near), images, choices.values)
    patches = (*recipe.patches, *(patch for each in near for patch in each.patches))
    written = {
        "name": recipe.name,
        "source": _source(recipe, version, mirror),
        "namespace": recipe.namespace,
        "release": recipe.release,
        "values": filled(values, variables),
        "kustomize": {"patches": filled(patches, variables)} if patches else None,
        "ready": [*recipe.ready, *([WEBHOOKS] if recipe.webhooks else ())],
        "timeout": recipe.timeout,
    }
    return {name: value for name, value in written.items() if value}


def by_name(recipe: Recipe, full: AddonDocument) -> AddonDocument:
    """The same add-on by its recipe's name, with what differs from the recipe; whole if its source does."""
    plain = whole(recipe)
    if full["source"] != plain["source"]:
        return full
    patches, below = (each.get("kustomize", {}).get("patches", []) for each in (full, plain))
    differs = {
        "values": difference(full.get("values", {}), plain.get("values", {})),
        "kustomize": {"patches": patches[len(below) :]} if len(patches) > len(below) else None,
    }
    return {
        "name": recipe.name,
        "catalog": recipe.name,
        **{name: value for name, value in differs.items() if value},
    }


def _is_of(addon: AddonSpec, recipe: Recipe) -> bool:
    if addon.source is None:
        return False
    if chart := addon.source.chart:
        return "chart" in recipe.source and recipe.source["chart"]["name"] == chart.name
    place = addon.source.git or addon.source.oci
    return place is not None and "git" in recipe.source and place.url.endswith(_path(recipe.source["git"]["url"]))


def _path(address: str) -> str:
    """The address without its scheme and host."""
    return address.partition("://")[2].partition("/")[2]


def _extended(always: Iterable[str], name: str, lists: Mapping[str, Iterable[str]]) -> list[str]:
    return list(dict.fromkeys((*always, *lists.get(name, ()))))


def _source(recipe: Recipe, version: str, mirror: str) -> Values:
    kind, field = ("chart", "version") if "chart" in recipe.source else ("git", "tag")
    source = merged(recipe.source, {kind: {field: version}})
    return dict(mirrored_source(source, mirror)) if mirror else source


def _over(below: AddonDocument, own: AddonDocument) -> AddonDocument:
    """The add-on's own words over its recipe's: values are merged, patches come after the recipe's."""
    values = merged(below.get("values", {}), own.get("values", {}))
    both = [*(each.get("kustomize", {}).get("patches", []) for each in (below, own))]
    kustomize = {**below.get("kustomize", {}), **own.get("kustomize", {}), "patches": [*both[0], *both[1]]}
    return {**below, **own, "values": values, **({"kustomize": kustomize} if any(both) else {})}
