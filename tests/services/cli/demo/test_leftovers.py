import json

from services.cli.demo.leftovers import BILL, MUST_NAME, counted, made, running


def book(cluster: str, *lines: tuple[str, str, bool]) -> dict:
    """A cloud's book: machines as (uid, instance, still running)."""
    data = {f"{uid}.start": json.dumps({"instance": instance}) for uid, instance, _ in lines}
    data |= {f"{uid}.end": "2026-01-01T00:00:00Z" for uid, _, runs in lines if not runs}
    return {"metadata": {"annotations": {BILL: cluster}, "labels": {BILL: ""}}, "data": data}


BEFORE = frozenset({("secrets", "kube-system/seed"), ("namespaces", "/default")})


def test_what_was_there_before_is_not_left_over():
    assert not any(counted(BEFORE, BEFORE).values())


def test_every_kind_that_could_be_left_is_named():
    assert set(counted(BEFORE, BEFORE)) == {resource.plural for resource in MUST_NAME}


def test_whatever_is_new_is_left_over_of_whatever_kind():
    after = BEFORE | {("secrets", "default/train-gpu-1-kubeconfig"), ("devmachines", "default/m")}
    found = counted(BEFORE, after)

    assert (found["secrets"], found["devmachines"], sum(found.values())) == (1, 1, 2)


def test_a_machine_that_was_never_given_back_runs():
    books = [book("default/a-1", ("m1", "p5", False), ("m2", "p5", True)), book("default/b-1", ("m3", "p5", False))]

    assert running(books) == 1


def test_every_machine_ever_bought_is_told_by_its_cluster():
    books = [book("default/a-1", ("m1", "p5", False), ("m2", "m5", True)), book("default/b-1")]

    assert made(books) == {"default/a-1": ["p5", "m5"], "default/b-1": []}
