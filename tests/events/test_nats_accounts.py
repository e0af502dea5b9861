"""The block of accounts is one that nats-server takes, and shows what it should to whom."""

import pytest

from events.jetstream_rights import Role
from events.nats_accounts import accounts
from events.nats_server import NatsServer
from events.nkeys import made, public


def key(_: Role) -> str:
    return f'"{public(made())}"'


HOUSE = (Role("gateway", says=("a.*",)), Role("tenant-x", says=("b",), sees=(("S", "a.x"),), apart=True))


@pytest.mark.parametrize("roles", [(), HOUSE[:1], HOUSE], ids=len)
async def test_the_server_takes_it(tmp_path, roles):
    async with NatsServer(tmp_path, extra=accounts(roles, key)) as server:
        assert server.pid


def test_each_side_of_the_wall_says_the_same():
    text = accounts(HOUSE, key)
    house, _, outside = text.partition('"ALATE-tenant-x" {')
    for line in ('{ service: "b" }', '{ service: "$JS.API.DIRECT.GET.S.a.x" }', '{ stream: "a.x" }'):
        assert line in house
    assert '{ service: { account: ALATE, subject: "b" } }' in outside
    assert (
        '{ service: { account: ALATE, subject: "$JS.API.DIRECT.GET.S.a.x" }, to: "JS.API.DIRECT.GET.S.a.x" }' in outside
    )
    assert '{ stream: { account: ALATE, subject: "a.x" } }' in outside


def test_who_may_publish_nothing_is_told_so():
    """An empty list of what is allowed would allow everything."""
    text = accounts((Role("nobody"),), key)
    assert " ".join(text.split()).count('publish: { deny: [ ">" ] }') == 1
