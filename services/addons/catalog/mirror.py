"""Where a registry without the Internet has charts, images and repositories: behind its prefix, under their own names.

It is the layout that ``skopeo sync --scoped`` writes: quay.io/a/b becomes PREFIX/quay.io/a/b.
"""

from collections.abc import Mapping
from typing import Any

from services.addons.catalog.recipe import Recipe
from services.addons.catalog.values import Values, at_path, merged

Source = Mapping[str, Any]


def mirrored_images(recipe: Recipe, mirror: str) -> Values:
    """Values by which every image comes from the mirror."""
    return merged(*(at_path(path, f"{mirror}/{original}") for path, original in recipe.images.items()))


def mirrored_source(source: Source, mirror: str) -> Source:
    """The source in the mirror: charts and repositories alike are OCI artifacts there."""
    if "chart" in source:
        chart = source["chart"]
        return {**source, "chart": {**chart, "repository": f"oci://{mirror}/{_host_and_path(chart['repository'])}"}}
    git = source["git"]
    rest = {name: value for name, value in source.items() if name != "git"}
    return {"oci": {"url": f"oci://{mirror}/{_host_and_path(git['url'])}", "tag": git["tag"]}, **rest}


def _host_and_path(address: str) -> str:
    return address.partition("://")[2].rstrip("/")
