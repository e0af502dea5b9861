"""Orders recipes by what each needs and what comes first where it is planned too."""

from collections.abc import Collection, Mapping

from services.addons.catalog.recipe import Recipe

EVERYTHING = "*"


def ordered(recipes: Mapping[str, Recipe]) -> dict[str, list[str]]:
    """From each recipe to those that it waits for, directly; in an order in which each comes after them."""
    first = {name: _first(each, recipes) for name, each in recipes.items()}
    last = {name for name, each in recipes.items() if EVERYTHING in each.after}
    for name in last:
        first[name] |= {*recipes} - last
    done: dict[str, set[str]] = {}
    while len(done) < len(recipes):
        free = [name for name in sorted(first) if name not in done and first[name] <= done.keys()]
        if not free:
            raise ValueError(f"recipes wait for each other: {sorted({*first} - {*done})}")
        for name in free:
            done[name] = first[name].union(*(done[each] for each in first[name]))
    return {name: sorted(_direct(first[name], done)) for name in done}


def _first(recipe: Recipe, recipes: Mapping[str, Recipe]) -> set[str]:
    """All that it names, needed or not."""
    named = {*recipe.needs, *recipe.after}
    return {name for name, each in recipes.items() if name != recipe.name and named & {name, *each.provides}}


def _direct(first: Collection[str], all_before: Mapping[str, Collection[str]]) -> set[str]:
    """Those that no other of them waits for."""
    return {name for name in first if not any(name in all_before[other] for other in first if other != name)}
