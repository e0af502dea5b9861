"""Every row of the roles is held against all that its service does on the bus through a whole story."""

import pytest

from schemas.subjects import matcher
from services.roles import ROLES
from tests.deploy.record import recorded

BY_NAME = {role.name: role for role in ROLES}


@pytest.mark.looptime
async def test_every_row_has_all_that_its_service_does_and_hardly_more():
    for name, each in (await recorded()).items():
        used, role = each.bus, BY_NAME[name]
        assert {s for s in used.said if not any(matcher((says,))(s) for says in role.says)} == set(), name
        assert {(one.stream, one.name) for one in used.worked} == {(one.stream, one.name) for one in role.works}, name
        assert used.streams == set(role.reads), name
        assert used.looked <= {*role.reads, *role.looks}, name
        assert used.purged <= set(role.forgets), name
