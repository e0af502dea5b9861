"""The recipes of the catalog and plans made of them, so that the command line uses no more of the service."""

from services.addons.catalog.choices import read_choices
from services.addons.catalog.files import capabilities, recipes
from services.addons.catalog.plan import AddonPlan, Overrides, plan
from services.addons.catalog.recipe import Recipe

__all__ = ["AddonPlan", "Overrides", "Recipe", "capabilities", "plan", "read_choices", "recipes"]
