"""Our package names are common words: nobody else's distribution may bring the same ones."""

import sys
from importlib.metadata import packages_distributions

import pytest

OURS = ("schemas", "events", "services")


@pytest.mark.parametrize("name", OURS)
def test_no_other_distribution_owns_our_package(name):
    assert set(packages_distributions().get(name, ())) <= {"alate"}


@pytest.mark.parametrize("name", OURS)
def test_our_package_hides_none_of_the_standard_library(name):
    assert name not in sys.stdlib_module_names
