"""Completed indexes are written as Kubernetes writes them."""

from services.sandbox.clouds.workloads.jobs import spans


def test_indexes_are_written_as_spans():
    assert spans([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"
    assert spans([]) == ""
