"""Reads the recipes and the capabilities from the files of the catalog, once."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

from services.addons.catalog.recipe import Capability, Recipe

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

FOLDER = files("services.addons.catalog")


@cache
def recipes() -> Mapping[str, Recipe]:
    """Every recipe by its name."""
    texts = sorted((each for each in (FOLDER / "recipes").iterdir()), key=lambda each: each.name)
    read = (msgspec.convert(_yaml(each), Recipe) for each in texts if each.name.endswith(".yaml"))
    return {each.name: each for each in read}


@cache
def capabilities() -> Mapping[str, Capability]:
    """Every capability by its name."""
    return msgspec.convert(_yaml(FOLDER / "capabilities.yaml"), dict[str, Capability])


def _yaml(file: "Traversable") -> Any:  # noqa: ANN401 - what YAML holds
    import yaml  # noqa: PLC0415 - who has no add-on of the catalog does without

    return yaml.safe_load(file.read_text("utf-8"))
