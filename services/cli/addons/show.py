"""The catalog and plans as people and programs read them."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from services.addons.catalog.preview import (
    AddonPlan,
    Overrides,
    Recipe,
    capabilities,
    plan,
    read_choices,
    recipes,
)
from services.cli.output.render import Columns, Form, document, json_text, table
from services.errors import BadInput
from services.kubernetes.name_list import nearest
from services.queries.item import Item

RECIPES = Columns(
    {
        "NAME": lambda item, _: str(item["name"]),
        "VERSION": lambda item, _: str(item["version"]),
        "PROVIDES": lambda item, _: ",".join(item["provides"]),
        "NEEDS": lambda item, _: ",".join(item.get("needs", ())),
        "WHAT IT DOES": lambda item, _: str(item["title"]),
    }
)


def catalog_text(form: Form) -> str:
    """Every recipe."""
    items = [_item(each) for each in recipes().values()]
    if form != "table":
        return document({"addons": items, "capabilities": capabilities()}, form)
    return table(RECIPES, items)


def recipe_text(name: str, form: Form) -> str:
    """All about one recipe. Raises BadInput."""
    if name not in recipes():
        raise BadInput(f"the catalog has no {name}: {nearest(name, recipes())}")
    item = _item(recipes()[name])
    return document(item, "yaml" if form == "table" else form)


def overrides_of(settings: Iterable[str], mirror: str, *, pinned: bool) -> Overrides:
    """What shall be otherwise than in the catalog. Raises BadInput."""
    return Overrides(read_choices(settings, recipes()), _registry(mirror), pinned)


def plan_text(needs: str, have: str, overrides: Overrides, form: Literal["yaml", "json"]) -> str:
    """A plan as `addons:`. Raises BadInput."""
    wanted = _names(needs)
    if not wanted:
        raise BadInput(
            f"--needs is empty: name what the cluster shall have, such as ray: {nearest('', capabilities())}"
        )
    made = plan(wanted, _names(have), overrides)
    return _json(made) if form == "json" else "".join(_yaml(made))


def _item(recipe: Recipe) -> Item:
    item: Item = {"name": recipe.name, "version": recipe.version}
    return item | {name: value for name, value in msgspec.to_builtins(recipe).items() if value}


def _names(listed: str) -> list[str]:
    return [name for each in listed.split(",") if (name := each.strip())]


def _registry(mirror: str) -> str:
    """The registry without its scheme, as images name it."""
    return mirror.removeprefix("oci://").removeprefix("https://").rstrip("/")


def _addons(made: AddonPlan) -> list[dict[str, Any]]:
    return [each.model_dump(mode="json", by_alias=True, exclude_defaults=True) for each in made.addons]


def _json(made: AddonPlan) -> str:
    return json_text({"addons": _addons(made), "because": made.because, "notes": made.notes})


def _yaml(made: AddonPlan) -> Iterator[str]:
    yield from (f"# note: {note}\n" for note in made.notes)
    yield "addons:\n" if made.addons else "addons: [] # the cluster has it all\n"
    for addon in _addons(made):
        yield f"# {addon['name']}: {made.because[addon['name']]}\n"
        yield _block([addon])


def _block(value: object) -> str:
    """YAML in which a text of several lines stands as it is."""
    import yaml  # noqa: PLC0415 - a table does without

    class Dumper(yaml.SafeDumper):
        pass

    def text(dumper: yaml.SafeDumper, written: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", written, style="|" if "\n" in written else None)

    Dumper.add_representer(str, text)
    return yaml.dump(value, Dumper=Dumper, sort_keys=False, width=120)
