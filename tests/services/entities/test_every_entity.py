"""What holds for every entity, in every state it can reach, whatever it hears and whenever it hears it."""

import json
from collections import deque
from datetime import timedelta
from itertools import product

import msgspec

from schemas import addon, attempts, changes, cluster, teardown
from schemas.attempts import AttemptGone
from schemas.entity import Due, Wake
from schemas.infra import InfraSeen

FOREIGN = "c9.9"


def over(entity, state) -> bool:
    return isinstance(state, entity.decide.lifecycle.terminal)


def test_every_event_the_table_knows_has_a_sample(entity):
    assert {event for _, event in entity.decide.table} == {type(event) for event in entity.heard}


def test_every_state_can_be_reached(entity):
    assert {type(state) for state in entity.reached()} == set(entity.decide.lifecycle.states)


def test_every_step_leads_where_the_lifecycle_says(entity):
    ways = entity.decide.lifecycle.leads_to
    for state in (None, *entity.reached()):
        for event in entity.heard:
            new = entity.decide.decide(state, event, entity.instants[1])
            stays = type(new) is type(state)
            assert stays or type(new) in ways[type(state) if state else None], (state, event)


def test_hearing_it_twice_is_hearing_it_once(entity):
    for state in (None, *entity.reached()):
        for event in entity.heard:
            for number, now in enumerate(entity.instants):
                if isinstance(event, Due):
                    continue
                once = entity.decide.decide(state, event, now)
                for later in entity.instants[number:]:
                    assert entity.decide.decide(once, event, later) == once, (state, event)


def test_being_woken_again_and_again_comes_to_rest(entity):
    for state in entity.reached():
        for now in entity.instants:
            woken = state
            for _ in range(4):
                woken = entity.decide.decide(woken, Due(), now)
            assert entity.decide.decide(woken, Due(), now) == woken, state


def test_what_is_said_of_another_incarnation_changes_nothing(entity):
    for state in entity.reached():
        for event in entity.strangers:
            begins = over(entity, state) or isinstance(state, entity.succeeded)
            new = entity.decide.decide(state, event, entity.instants[1])
            assert new == state or (begins and new.uid != state.uid), (state, event)


def test_a_late_echo_changes_nothing(entity):
    for state in entity.reached():
        for event in entity.earlier(state):
            assert entity.decide.decide(state, event, entity.instants[-1]) == state, (state, event)


def test_what_an_incarnation_has_learnt_is_carried_on(entity):
    for state in entity.reached():
        for event in entity.heard:
            new = entity.decide.decide(state, event, entity.instants[-1])
            if new.uid != state.uid:
                continue
            assert new.correlation == state.correlation
            for name in ("attempts", "cost_usd"):
                assert getattr(new, name, 0) >= getattr(state, name, 0), (state, event)
            if isinstance(state, cluster.ClusterState | teardown.TeardownState):
                assert new.wish.generation >= state.wish.generation, (state, event)


def test_what_a_state_asks_for_depends_on_nothing_but_the_state(entity):
    for state in entity.reached():
        again = msgspec.json.decode(msgspec.json.encode(state), type=type(state))
        assert again == state
        assert entity.todo(again) == entity.todo(state) == entity.todo(state)


def test_every_state_is_json_that_any_reader_can_read(entity):
    for state in entity.reached():
        assert isinstance(json.loads(msgspec.json.encode(state)), dict)


def test_every_wait_has_an_end(entity):
    """Nothing that is asked of the world is waited for without a deadline; what is retried or known needs none."""
    of_founding = attempts.Rank | attempts.RecoverAttempt | attempts.Observe | attempts.Release
    polled = of_founding | changes.PricePool | changes.Resize | changes.Upgrade | addon.WithdrawAddon | addon.CheckAddon
    for state in entity.reached():
        commands = entity.todo(state)
        if commands and not any(isinstance(command, Wake) for command in commands):
            assert all(isinstance(command, polled) for command in commands), state


def end(entity, state):
    """Ask for the end, then let the world answer and time pass until nothing more happens."""
    said = {"released"} if getattr(state, "step", type(state).__name__) == "Verifying" else set()
    now = entity.instants[-1]
    events = deque((entity.deletes(state),))
    for _ in range(60):
        while events:
            state = entity.decide.decide(state, events.popleft(), now)
        if over(entity, state):
            return state
        commands = entity.todo(state)
        events.extend(event for command in commands for event in entity.answers(state, command, said))
        if not events:
            now += timedelta(minutes=20)
            events.append(Due())
    return state


def test_from_every_state_a_delete_reaches_the_end(entity):
    for state in entity.reached():
        assert over(entity, end(entity, state)), state


def test_no_event_in_any_state_lets_a_machine_slip(clusters):
    for state in clusters.reached():
        attempt = getattr(state, "attempt", None)
        if attempt is None:
            continue
        for event in clusters.heard:
            new = clusters.decide.decide(state, event, clusters.instants[-1])
            kept = getattr(new, "attempt", None)
            gone = isinstance(event, AttemptGone) or (isinstance(event, InfraSeen) and not event.present)
            assert (kept is not None and kept.number == attempt.number) or (gone and event.attempt == attempt.number)


def test_an_attempt_that_is_not_current_is_being_released(clusters):
    for state in clusters.reached():
        if isinstance(state, cluster.Placed) or getattr(state, "attempt", None) is None:
            continue
        assert attempts.Release(state.wish, state.attempt, state.blocked) in clusters.todo(state)


def test_whatever_stands_of_an_attempt_that_is_over_is_released(clusters):
    for state in clusters.reached():
        for number, adopted, uid in product((1, 2), ("", "theirs"), (state.uid, FOREIGN)):
            seen = InfraSeen(cluster="train-a", uid=uid, attempt=number, adopted=adopted)
            new = clusters.decide.decide(state, seen, clusters.instants[-1])
            known = {one.attempt for one in clusters.todo(new) if isinstance(one, attempts.Release)}
            held = getattr(new, "attempt", None) or getattr(new, "existing", None)
            assert (number, adopted) in {(one.number, one.adopts) for one in {held, *known} - {None}}, (state, seen)


def test_a_cluster_somebody_else_deleted_is_released_as_well(clusters):
    for state in clusters.reached():
        if isinstance(state, cluster.Releasing):
            own = state.attempt
            gone = InfraSeen(cluster="train-a", uid=state.uid, attempt=own.number, present=False, adopted=own.adopts)
            assert isinstance(clusters.decide.decide(state, gone, clusters.instants[1]), cluster.Released)


def test_the_next_incarnation_begins_where_the_last_one_ended(entity):
    for state in entity.reached():
        if over(entity, state):
            new = entity.decide.decide(state, entity.anew, entity.instants[-1])
            assert (type(new), new.uid) == (entity.decide.lifecycle.first[0], "c1.9")
