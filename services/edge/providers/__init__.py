"""Who sends webhooks, one file each, gathered in one table."""

from collections.abc import Mapping

from services.edge.providers.alertmanager import ALERTMANAGER
from services.edge.providers.cdevents import CDEVENTS
from services.edge.providers.cloudevents import CLOUDEVENTS
from services.edge.providers.github import GITHUB
from services.edge.providers.gitlab import GITLAB
from services.edge.providers.plain import PLAIN
from services.edge.providers.provider import Provider
from services.edge.providers.standard import STANDARD

_ALL = (STANDARD, GITHUB, GITLAB, CLOUDEVENTS, CDEVENTS, ALERTMANAGER, PLAIN)

PROVIDERS: Mapping[str, Provider] = {each.name: each for each in _ALL}
"""By the name that stands in the endpoint's path."""
