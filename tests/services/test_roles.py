"""Roles follow from what is declared: nobody is forgotten, and what is declared later is owned at once."""

import pytest

from events.streams import STREAMS
from schemas.registry import Stream, declarations
from schemas.subjects import matcher
from services.compose import SERVICES as COMPOSED
from services.roles import PEOPLE, ROLES, SANDBOX, SERVICES, tenant
from services.runtime.consumer import wildcard


def test_every_service_has_a_role_of_its_name():
    assert [role.name for role in SERVICES] == list(COMPOSED)


@pytest.mark.parametrize("each", declarations(), ids=lambda each: each.type)
def test_what_is_declared_is_said_by_its_owner_and_by_no_other_service(each):
    said = {role.name for role in SERVICES for s in role.says if matcher((s,))(wildcard(each.subject))}
    # What anyone may ask, the edge asks for whoever it has verified.
    assert said - {"edge"} == set() if each.owner == "anyone" else said == {each.owner}


def test_nobody_but_setup_and_the_sandbox_makes_streams_and_nobody_makes_the_others():
    assert {role.name: role.makes for role in (*ROLES, SANDBOX) if role.makes} == {
        "setup": tuple(spec.name for spec in STREAMS),
        "sandbox": ("KUBE",),
    }


def test_who_lives_apart_writes_nothing_but_requests():
    outside = [*(role for role in PEOPLE if role.apart), tenant("acme")]
    requests = tuple(each.subject.split("{")[0] for each in declarations() if each.stream is Stream.INTAKE)
    assert {role.name for role in outside} == {"reader", "publisher", "tenant-acme"}
    assert not [role for role in outside if role.works or role.forgets or role.drops or role.makes]
    assert all(subject.startswith(requests) for role in outside for subject in role.says)


def test_a_tenants_filters_name_the_tenant_and_no_other():
    for subject in (*tenant("a.b").says, *(subject for _, subject in tenant("a.b").sees)):
        assert subject.split(".").count("a_2Eb") == 1
        assert ">" not in subject
