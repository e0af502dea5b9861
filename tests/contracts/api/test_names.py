"""A name means the same to both servers, whatever is in it; what leads elsewhere is never sent to either."""

import pytest

from events.errors import Denied, NotFound
from events.kube.client import Kube, Resource
from events.kube.resources import SECRETS
from tests.contracts.api import sides

pytestmark = [pytest.mark.kube, pytest.mark.timeout(180)]

ODD = ("a b?c=d#e", "system:node:ä", "a&b+c;d", "..a")
ELSEWHERE = ("../../kube-system/secrets/x", "..", "a/../../x", "%2e%2e%2fx")


async def asked(side: sides.Side, name: str) -> str:
    kube = Kube(next(iter(side.ways.values())), random=lambda: 0.5)
    with pytest.raises(NotFound) as missing:
        await kube.get(SECRETS, name, "default")
    return str(missing.value)


@pytest.mark.parametrize("name", ODD)
async def test_an_odd_name_is_looked_for_as_it_is(real: sides.Side, sandbox: sides.Side, name: str):
    theirs = await asked(real, name)
    assert name in theirs
    assert await asked(sandbox, name) == theirs


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize("named", ["name", "namespace", "plural"])
async def test_what_leads_elsewhere_is_never_sent(real: sides.Side, name: str, named: str):
    kube = Kube(next(iter(real.ways.values())), random=lambda: 0.5)
    resource = SECRETS if named != "plural" else Resource("", "v1", name, "Secret")
    space, called = (name, "x") if named == "namespace" else ("default", name if named == "name" else "x")
    with pytest.raises(Denied, match="cannot be part of a path"):
        await kube.get(resource, called, space)
