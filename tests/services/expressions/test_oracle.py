"""Conditions over a cluster mean what another implementation of CEL says, whatever is known of the cluster."""

from itertools import product

import pytest

from tests.services.edge.test_cel_oracle import means_the_same
from tests.services.edge.test_hostile import paths, put
from tests.services.expressions.samples import FACTS

CONDITIONS = (
    "cluster.cloud == 'aws' && cluster.version.minor >= 33",
    "cluster.version.major > 1 || cluster.version.major == 1 && cluster.version.minor >= 33",
    "cluster.accelerators.exists(a, a.model.startsWith('H') && a.count >= 8)",
    "cluster.accelerators.all(a, a.count > 0)",
    "cluster.accelerators.filter(a, a.count > 1).size() == 1",
    "'team' in cluster.labels && cluster.labels.team in ['ml', 'web']",
    "'team' in cluster.labels ? cluster.labels.team != 'web' : cluster.nodes > 1",
    "cluster.region.matches('^(eu|us)-') && !cluster.name.endsWith('-test')",
    "cluster.labels.exists(k, cluster.labels[k] == 'prod')",
    "cluster.accelerators.map(a, a.model)",
    "cluster.name + '-' + cluster.region",
    "cluster.nodes * 8 - 1",
)
BENT = (
    None,
    True,
    False,
    -9,
    -1,
    0,
    1,
    9,
    "",
    "a",
    "H",
    "aws",
    "prod",
    "team",
    "web",
    " 1",
    "é",
    [],
    ["web"],
    {},
    {"a": 1},
)


@pytest.mark.parametrize("text", CONDITIONS)
def test_the_facts_of_a_cluster_mean_the_same_to_both(text):
    means_the_same(text, FACTS)


def is_answered(text: str, place: tuple, value: object) -> bool:
    """Whether celpy follows the specification there.

    A truth value is a number to Python, and so to it; an empty text is an empty list to its macros; it cannot say
    whether a text differs from what is none; and where the condition before `?` cannot be answered, it takes the second
    branch.
    """
    if "?" in text and place == ("cluster", "labels"):
        return False
    return isinstance(value, str) if "!=" in text else not isinstance(value, bool) and value != ""


@pytest.mark.parametrize("text", CONDITIONS)
def test_bent_facts_mean_the_same_to_both(text):
    for place, value in product(paths(FACTS)[1:], BENT):
        if is_answered(text, place, value):
            means_the_same(text, put(FACTS, place, value))
