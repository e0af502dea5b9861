from services.cli.demo.chaos import MOMENTS, Chaos
from services.local.programs import NATS, SANDBOX, SERVICES


def test_every_process_has_its_moment():
    assert set(MOMENTS) == {NATS, SANDBOX, *SERVICES}


def test_the_story_holds_a_moment_for_every_process_but_one_that_is_away(heard):
    killed: list[str] = []
    chaos = Chaos(lambda name: name != "gateway" and not killed.append(name), lambda: 0.0)

    for _, each in heard:
        chaos.receive(each)

    assert sorted(killed) == sorted(set(MOMENTS) - {"gateway"})
    assert not chaos.done
    chaos.hurry = True
    chaos._kill = lambda name: not killed.append(name)
    chaos.receive(heard[0][1])
    assert chaos.done


def test_a_process_is_killed_once(heard):
    killed: list[str] = []
    chaos = Chaos(lambda name: not killed.append(name), lambda: 0.0)

    for _ in range(2):
        for _, each in heard:
            chaos.receive(each)

    assert len(killed) == len(set(killed)) == len(MOMENTS)


def test_it_is_noted_what_had_just_been_said(heard):
    chaos = Chaos(lambda _: True, lambda: 1.234)
    for _, each in heard:
        chaos.receive(each)

    assert {each.process: each.when for each in chaos.killed} == {
        "provisioning": "cluster.launching",
        "addons": "addon.applying",
        "sandbox": "node n0 seen",
        "nats": "job running",
        "inventory": "job finished",
        "gateway": "teardown.draining",
        "teardown": "cluster.releasing",
        "edge": "cluster.ready",
        "outbound": "cluster.provisioned",
    }
