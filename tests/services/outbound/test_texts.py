"""The text of an event says in words what happened, where, and what the cluster costs."""

from datetime import timedelta

import msgspec
import pytest

from schemas import addon, cluster, teardown
from services.outbound.texts import LONGEST, TEMPLATES, TOLD, chat_text, cluster_state
from tests.services.gateway.known import NOW, is_, put_on

READY = is_(cluster.Ready)


def told(event, state, known=READY):
    return chat_text(event, msgspec.json.encode(state), known, NOW, "acme")


def test_a_ready_cluster_is_told_with_its_machines_and_its_cost():
    text = told("cluster.ready", READY)
    assert (text.title, text.kind) == ("Cluster train/a is ready", "success")
    assert text.body.splitlines() == [
        "It runs on aws us-east-1: 2 x p5.48xlarge with 8 H100 (spot).",
        "It costs 20.50 USD per hour, 22.00 USD so far.",
        "Namespace acme.",
    ]


def test_a_degraded_add_on_is_told_with_its_reason_and_when_it_is_tried_again():
    state = put_on(addon.Degraded, addon="base.driver", message="the image cannot be pulled")
    text = told("addon.degraded", state)
    assert (text.title, text.kind) == ("Add-on base.driver on train/a is degraded", "failure")
    assert text.body.startswith("The image cannot be pulled.\nIt is tried again at 2026-01-01 12:00 UTC.\n")
    assert "It costs 20.50 USD per hour" in text.body


def test_a_stuck_teardown_is_told_with_its_step_and_what_it_still_costs():
    text = told("teardown.stuck", is_(teardown.Stuck, message="a volume is left"))
    assert (text.title, text.kind) == ("Teardown of train/a is stuck", "failure")
    assert "A volume is left." in text.body
    assert "The step Releasing" in text.body
    assert "It costs 20.50 USD per hour, 22.00 USD so far." in text.body


def test_a_released_cluster_is_told_with_what_it_has_cost():
    text = told("cluster.released", is_(cluster.Released), is_(cluster.Released))
    assert "It has cost 1.50 USD so far." in text.body


def test_a_cluster_that_is_not_known_is_told_without_its_cost():
    assert "USD" not in told("teardown.warned", is_(teardown.Warned), None).body


@pytest.mark.parametrize("event", sorted(TEMPLATES))
def test_every_template_names_what_it_is_about(event):
    domain = event.partition(".")[0]
    state = (
        put_on(addon.Degraded) if domain == "addon" else is_(teardown.Warned if domain == "teardown" else cluster.Ready)
    )
    text = told(event, state)
    assert "train/a" in text.title
    assert "{" not in text.title + text.body


def test_an_event_without_a_template_is_told_by_its_names():
    assert told("cluster.launching", is_(cluster.Launching)).title == "Cluster of train/a: launching"


def test_the_events_that_people_are_told_of_have_templates():
    assert set(TOLD) <= set(TEMPLATES)


def test_a_text_mentions_nobody_and_has_no_control_characters():
    state = put_on(addon.Degraded, message="@everyone \x1b[31mlook")
    body = told("addon.degraded", state).body
    assert "@everyone" not in body
    assert "\x1b" not in body


def test_a_long_message_is_cut():
    body = told("addon.degraded", put_on(addon.Degraded, message="x" * 5000)).body
    assert len(body) < LONGEST + 300


def test_a_state_of_a_later_release_has_no_cost():
    assert cluster_state("dreaming", b"{}") is None
    assert chat_text("cluster.dreaming", b"{}", None, NOW + timedelta(1), "acme").body == "Namespace acme."
