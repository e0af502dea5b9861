import pytest

from services.cli.demo.proof import _purchase


@pytest.mark.parametrize(
    ("made", "surplus"),
    [
        (["p5.48xlarge"] * 2, 0),
        (["m5.large", *["p5.48xlarge"] * 2], 0),
        (["m5.large", *["p5.48xlarge"] * 3], 1),
        (["m5.large"] * 2 + ["p5.48xlarge"] * 2, 1),
        ([], -2),
    ],
)
def test_a_machine_too_many_is_seen_whether_worker_or_control_plane(attempt, made, surplus):
    purchase = _purchase("default/train-gpu-1", attempt, made)

    assert purchase.made - purchase.bought == surplus


def test_machines_of_an_attempt_nobody_knows_are_all_too_many_but_a_control_plane():
    assert _purchase("default/unknown-1", None, ["p5", "p5", "m5"]) == ("default/unknown-1", 0, 2)
