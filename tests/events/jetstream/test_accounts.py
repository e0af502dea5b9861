"""The block of accounts is one that nats-server takes, and shows what it should to whom."""

import re

import pytest

from events.jetstream.accounts import accounts, new_seed, public_key
from events.jetstream.permissions import Role
from events.jetstream.server import NatsServer


def keys(_: Role) -> tuple[str, ...]:
    return (f'"{public_key(new_seed())}"',)


HOUSE = (Role("gateway", says=("a.*",)), Role("tenant-x", says=("b",), sees=(("S", "a.x"),), apart=True))


@pytest.mark.parametrize("roles", [(), HOUSE[:1], HOUSE], ids=len)
async def test_the_server_takes_it(tmp_path, roles):
    async with NatsServer(tmp_path, extra=accounts(roles, keys)) as server:
        assert server.pid


def test_each_side_of_the_wall_says_the_same():
    text = accounts(HOUSE, keys)
    house, _, outside = text.partition('"ALATE-tenant-x" {')
    pages = '{ service: "$JS.API.DIRECT.GET.S.a.x", response_type: stream }'
    for line in ('{ service: "b" }', pages, '{ stream: "a.x" }'):
        assert line in house
    assert '{ service: { account: ALATE, subject: "b" } }' in outside
    assert (
        '{ service: { account: ALATE, subject: "$JS.API.DIRECT.GET.S.a.x" }, to: "JS.API.DIRECT.GET.S.a.x" }' in outside
    )
    assert '{ stream: { account: ALATE, subject: "a.x" } }' in outside


def test_who_may_publish_nothing_is_told_so():
    """An empty list of what is allowed would allow everything."""
    text = accounts((Role("nobody"),), keys)
    assert " ".join(text.split()).count('publish: { deny: [ ">" ] }') == 1


def test_every_key_of_a_role_has_the_same_rights():
    both = " ".join(accounts(HOUSE, lambda _: ("$OLD", "$NEW")).split())
    old, new = (" ".join(accounts(HOUSE, lambda _, name=name: (name,)).split()) for name in ("$OLD", "$NEW"))
    assert old.replace("$OLD", "$NEW") == new
    users = re.findall(r"{ nkey: \$OLD.*?} } }", old)
    assert len(users) == len(HOUSE)
    assert all(f"{user} {user.replace('$OLD', '$NEW')}" in both for user in users)
