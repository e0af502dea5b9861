from schemas.registry import declared
from services.cli.demo.story import LIFECYCLES
from services.cli.demo.words import line


def test_every_change_of_a_state_is_one_line(heard):
    lines = [text for _, each in heard if (text := line(each))]

    assert len(lines) == len(heard)
    assert not any("\n" in text for text in lines)


def test_the_line_of_an_offer_says_what_the_next_best_would_have_cost(heard):
    (launching,) = (line(each) for _, each in heard if each.names[1] == "launching")

    assert " ".join(launching.split()) == (
        "cluster train-gpu launching 2 x p5.48xlarge spot on aws us-east-1 for $28.50/h, next best $30.00/h"
    )


def test_every_state_has_a_name_on_the_wire():
    for lifecycle in LIFECYCLES:
        assert all(declared(state).event for state in lifecycle.states)


def test_a_cluster_and_its_add_ons_are_named_as_people_write_them(heard):
    lines = [text for _, each in heard if (text := line(each, {"train-gpu": "train/gpu"}))]
    assert any(text.split()[:2] == ["cluster", "train/gpu"] for text in lines)
    assert any(text.split()[:3] == ["addon", "train/gpu", "job"] for text in lines)
    assert not any(text.split()[1] == "train-gpu" for text in lines)
