"""The main job of tests/story/kube, played in containers."""

import pytest

from tests.story.kube.test_main_job import test_a_real_cluster_comes_works_and_goes_and_nothing_is_left

__all__ = ["test_a_real_cluster_comes_works_and_goes_and_nothing_is_left"]
pytestmark = [
    pytest.mark.containers,
    pytest.mark.timeout(900),
    # testcontainers 4.15.0 warns of its own ways to wait.
    pytest.mark.filterwarnings("ignore:The .* deprecated:DeprecationWarning:testcontainers"),
]
