"""What a user chooses about recipes: NAME.version, NAME.OPTION and NAME.values.PATH."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from services.addons.catalog.recipe import Option, Recipe
from services.addons.catalog.values import Values, at_path, filled, merged
from services.errors import BadInput
from services.kubernetes.name_list import nearest

SWITCH = {"true": True, "false": False}
RAW = "values."


@dataclass(frozen=True)
class Choices:
    """What a user chose about one recipe."""

    version: str = ""
    options: frozenset[str] = frozenset()
    """The options that were chosen."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The chart's values that follow."""


def read_choices(settings: Iterable[str], recipes: Mapping[str, Recipe]) -> Mapping[str, Choices]:
    """What NAME.KEY=VALUE say, by recipe. Raises BadInput."""
    by_recipe: dict[str, dict[str, str]] = {}
    for setting in settings:
        place, is_set, value = setting.partition("=")
        name, _, key = place.partition(".")
        if not is_set or not key:
            raise BadInput(f"--set {setting}: must be NAME.KEY=VALUE, such as kuberay.version=1.7.0")
        if name not in recipes:
            raise BadInput(f"--set {setting}: the catalog has no {name}: {nearest(name, recipes)}")
        by_recipe.setdefault(name, {})[key] = value
    return {name: _choices(recipes[name], keys) for name, keys in by_recipe.items()}


def _choices(recipe: Recipe, keys: Mapping[str, str]) -> Choices:
    raw = {key.removeprefix(RAW): value for key, value in keys.items() if key.startswith(RAW)}
    chosen = {key: value for key, value in keys.items() if key != "version" and not key.startswith(RAW)}
    layers = [_option_values(recipe, key, value) for key, value in chosen.items()]
    values = merged(*layers, *(at_path(path, _typed(value)) for path, value in raw.items()))
    return Choices(keys.get("version", ""), frozenset(chosen), values)


def _option_values(recipe: Recipe, key: str, value: str) -> Values:
    if key not in recipe.options:
        known = ["version", *recipe.options, "values.PATH"]
        raise BadInput(f"--set {recipe.name}.{key}: there is no such option: {nearest(key, known)}")
    option = recipe.options[key]
    values: Values = filled(option.values, {"value": _read(f"{recipe.name}.{key}={value}", option, value)})
    return values


def _read(setting: str, option: Option, value: str) -> str | int | bool:
    if option.choices and value not in option.choices:
        raise BadInput(f"--set {setting}: must be one of {', '.join(option.choices)}")
    if option.type == "switch":
        if value not in SWITCH:
            raise BadInput(f"--set {setting}: must be true or false")
        return SWITCH[value]
    if option.type == "number":
        if not (value.isascii() and value.isdecimal()):
            raise BadInput(f"--set {setting}: must be a number")
        return int(value)
    if not value:
        raise BadInput(f"--set {setting}: must not be empty")
    return value


def _typed(value: str) -> object:
    """A value as Helm's --set reads it: true, false and whole numbers are not texts."""
    if value in SWITCH:
        return SWITCH[value]
    return int(value) if value.isascii() and value.isdecimal() else value
