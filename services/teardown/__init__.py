"""Teardown watches a cluster's limits, ends it in order when one is reached, and proves that nothing is left."""
