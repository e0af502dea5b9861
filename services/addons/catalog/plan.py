"""Plans the fewest add-ons that give a cluster what is needed, and in which order they come."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from schemas.crds.addons import AddonSpec
from schemas.crds.model import read
from services.addons.catalog.build import NO_CHOICES, AddonDocument, by_name, whole
from services.addons.catalog.choices import Choices
from services.addons.catalog.files import capabilities, recipes
from services.addons.catalog.order import ordered
from services.addons.catalog.recipe import Recipe
from services.errors import BadInput
from services.kubernetes.name_list import nearest


@dataclass(frozen=True)
class Overrides:
    """What a user wants otherwise than the catalog."""

    choices: Mapping[str, Choices] = field(default_factory=dict)
    """By recipe."""
    mirror: str = ""
    """The registry, with a path if it has one, that charts and images come from."""
    pinned: bool = False
    """Write each add-on whole, with its source and version, so that another release of alate changes nothing."""


NO_OVERRIDES = Overrides()


@dataclass(frozen=True)
class AddonPlan:
    """Add-ons, each after all that it depends on."""

    addons: tuple[AddonSpec, ...]
    because: Mapping[str, str]
    """From each add-on to what needs it."""
    notes: tuple[str, ...]
    """What is left for the user to do."""


def plan(needs: Iterable[str], have: Iterable[str] = (), overrides: Overrides = NO_OVERRIDES) -> AddonPlan:
    """The fewest add-ons for what is needed, in a cluster that has some already. Raises BadInput.

    Both name capabilities or add-ons of the catalog.
    """
    wanted, there = _known("--needs", needs), _with_provided(_known("--have", have))
    because = _chosen(wanted, there)
    _refuse_conflicts(because, there)
    after = ordered({name: recipes()[name] for name in because})
    addons = tuple(read(AddonSpec, _written(name, after, there, overrides)) for name in after)
    return AddonPlan(addons, {name: because[name] for name in after}, tuple(_notes(after, overrides)))


def _known(option: str, names: Iterable[str]) -> list[str]:
    known = {*recipes(), *capabilities()}
    listed = sorted(set(names))
    for name in listed:
        if name not in known:
            raise BadInput(f"{option} {name}: there is no such capability or add-on: {nearest(name, known)}")
    return listed


def _with_provided(names: Iterable[str]) -> set[str]:
    """The names, and what the add-ons among them provide."""
    listed = list(names)
    return {*listed, *(one for name in listed if name in recipes() for one in recipes()[name].provides)}


def _beside(name: str, names: Iterable[str], there: Collection[str]) -> set[str]:
    """What else the cluster has."""
    return {*there, *_with_provided(other for other in names if other != name)}


def _provides(name: str, names: Iterable[str], there: Collection[str]) -> set[str]:
    """What an add-on provides, without that which it leaves to others."""
    recipe, beside = recipes()[name], _beside(name, names, there)
    return {*recipe.provides} - {one for each in recipe.beside if each.present in beside for one in each.drops}


def _chosen(wanted: Iterable[str], there: Collection[str]) -> dict[str, str]:
    """From each recipe that is chosen to what needs it. A choice between several is made when all else is clear."""
    asked = [name for name in wanted if name not in there]
    because = {name: "asked for" for name in asked if name in recipes()}
    while missing := list(_missing(asked, because, there)):
        clear = [each for each in missing if len(_providers(each[0])) == 1] or missing[:1]
        for need, whose in clear:
            because.setdefault(_best(need), whose)
    return _without_spare(asked, because, there)


def _missing(asked: Iterable[str], because: Mapping[str, str], there: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each need that nothing meets, and whose it is."""
    present = {*there, *_with_provided(because)}
    yield from ((need, f"provides {need}") for need in asked if need not in present)
    for name in because:
        yield from ((need, f"needed by {name}") for need in recipes()[name].needs if need not in present)


def _providers(need: str) -> list[Recipe]:
    return sorted((each for each in recipes().values() if need in each.provides), key=lambda each: each.rank)


def _best(need: str) -> str:
    return _providers(need)[0].name


def _without_spare(asked: Collection[str], because: Mapping[str, str], there: Collection[str]) -> dict[str, str]:
    """Only the recipes without which a need would not be met."""
    kept = dict(because)
    for name in reversed(list(because)):
        rest = {other: why for other, why in kept.items() if other != name}
        if name not in asked and not any(_missing(asked, rest, there)):
            kept = rest
    return kept


def _refuse_conflicts(names: Collection[str], there: Collection[str]) -> None:
    for capability, about in capabilities().items():
        givers = sorted(name for name in names if capability in _provides(name, names, there))
        givers += [f"the cluster (--have {capability})"] if givers and capability in there else []
        if about.single and len(givers) > 1:
            raise BadInput(
                f"{' and '.join(givers)} both provide {capability}, but {about.single}: ask for one of them alone"
            )


def _written(
    name: str, after: Mapping[str, Collection[str]], there: Collection[str], overrides: Overrides
) -> AddonDocument:
    recipe, choices = recipes()[name], overrides.choices.get(name, NO_CHOICES)
    extended = {
        key: [item for other in after for item in recipes()[other].extends.get(key, ())] for key in recipe.lists
    }
    full = whole(recipe, _beside(name, after, there), extended, choices, overrides.mirror)
    written = full if overrides.pinned else by_name(recipe, full)
    return {**written, "dependsOn": [{"name": first} for first in after[name]]} if after[name] else written


def _notes(names: Iterable[str], overrides: Overrides) -> Iterator[str]:
    for name in names:
        recipe, chosen = recipes()[name], overrides.choices.get(name, NO_CHOICES)
        for key, option in recipe.options.items():
            if option.required and key not in chosen.options:
                yield f"{name} does nothing before --set {name}.{key}=… says {option.about}"
        yield from (f"{name}: {note}" for note in recipe.notes)
    unused = sorted({*overrides.choices} - {*names})
    yield from (f"--set {name}.… changes nothing: {name} is not in this plan" for name in unused)
