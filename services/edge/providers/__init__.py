"""Who sends webhooks, one file each, gathered in one table."""

from collections.abc import Mapping

from services.edge.providers.github import GITHUB
from services.edge.providers.provider import Provider

PROVIDERS: Mapping[str, Provider] = {each.name: each for each in (GITHUB,)}
"""By the name that stands in the endpoint's path."""
