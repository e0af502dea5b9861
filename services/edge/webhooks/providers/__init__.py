"""The table of webhook providers, one file each."""

from collections.abc import Mapping

from services.edge.webhooks.providers.alertmanager import ALERTMANAGER
from services.edge.webhooks.providers.cdevents import CDEVENTS
from services.edge.webhooks.providers.cloudevents import CLOUDEVENTS
from services.edge.webhooks.providers.github import GITHUB
from services.edge.webhooks.providers.gitlab import GITLAB
from services.edge.webhooks.providers.plain import PLAIN
from services.edge.webhooks.providers.provider import Provider
from services.edge.webhooks.providers.standard import STANDARD

_ALL = (STANDARD, GITHUB, GITLAB, CLOUDEVENTS, CDEVENTS, ALERTMANAGER, PLAIN)

PROVIDERS: Mapping[str, Provider] = {each.name: each for each in _ALL}
"""Providers by their name in the endpoint's path."""
